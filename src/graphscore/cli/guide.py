"""`graphscore guide`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def guide(
    run: str,
    weaker: str,
    *,
    out: Annotated[Path, Parameter(name=("--out", "-o"))],
    weight: float = 1.0,
    sigma_min: float | None = None,
    sigma_max: float | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Put the model RUN and its guide WEAKER together into the folder OUT.

    Samples of a guided model come nearer to what all training graphs have in common, at the cost
    of variety, and take a call of both networks at every step.

    Parameters
    ----------
    run
        Folder that `graphscore train` or `GraphGenerator.save` wrote, or the name of a model that
        comes with the package.
    weaker
        The same, of a model that was trained on the same graphs with a smaller network or for a
        shorter time.
    out
        New folder for the guided model, for `graphscore sample` and the like.
    weight
        How far the model goes beyond itself, away from its guide; 0 is without guidance.
    sigma_min
        Smallest noise level at which the guide is asked; all if not given.
    sigma_max
        Largest noise level at which the guide is asked; all if not given.
    json
        Print the result as JSON.
    """
    from graphscore.cli.info import report
    from graphscore.errors import OutputError
    from graphscore.generator import GraphGenerator
    from graphscore.pretrained import find_model

    if out.exists():
        raise OutputError(f"{out}: exists already. Give the name of a new folder.")
    better, worse = (
        GraphGenerator.load(find_model(name).folder, device="cpu") for name in (run, weaker)
    )
    guided = better.guided_by(worse, weight=weight, sigma_min=sigma_min, sigma_max=sigma_max)
    guided.save(out)
    report(out, json=json)
    return 0
