"""`graphscore guide`."""

from __future__ import annotations

from graphscore.cli.data import READING, ReadingOptions, load_to_compare
from graphscore.cli.option_types import Flag, Out


def guide(
    run: str,
    weaker: str,
    *,
    out: Out,
    weight: float | None = None,
    validation: str | None = None,
    sigma_min: float | None = None,
    sigma_max: float | None = None,
    device: str = "auto",
    json: Flag = False,
    reading: ReadingOptions = READING,
) -> int:
    """Guide the model RUN by the weaker model WEAKER (autoguidance); writes the folder OUT.

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
        Strength of the guidance; 0 is without, 1 if not given.
    validation
        Dataset name (its validation part is used), file or folder of graphs;
        the weight is chosen by the distance to them.
    sigma_min
        Smallest noise level with guidance; all if not given.
    sigma_max
        Largest noise level with guidance; all if not given.
    device
        auto, cpu, cuda or mps, for samples to compare with the validation graphs.
    json
        Print the result as JSON.
    """
    from graphscore.artifacts import find_model
    from graphscore.atomic import check_folder_target, check_place
    from graphscore.cli.info import report
    from graphscore.cli.tables import print_table
    from graphscore.errors import SettingsError
    from graphscore.generator import GraphGenerator
    from graphscore.graphs import NOTHING

    check_folder_target(out)
    check_place(out)
    if weight is not None and validation is not None:
        raise SettingsError(
            "--validation chooses the weight, so --weight has no meaning; give only one of them."
        )
    held_out = None
    if validation is not None:
        held_out = load_to_compare(validation, reading, split="val", names=NOTHING)
    better, worse = (
        GraphGenerator.load(find_model(name).folder, device=device) for name in (run, weaker)
    )
    guided = better.guided_by(
        worse, weight=1.0 if weight is None else weight, sigma_min=sigma_min, sigma_max=sigma_max
    )
    trials = [] if held_out is None else guided.select_guidance(held_out).trials
    guided.save(out)
    report(out, json=json, more={"trials": [{"weight": w, "average": d} for w, d in trials]})
    if trials and not json:
        rows = [[f"{w:g}", f"{d:.4f}"] for w, d in trials]
        print_table("Guidance", ["weight", "average MMD to validation graphs"], rows)
    return 0
