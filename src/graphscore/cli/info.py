"""`graphscore info`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from graphscore.cli.train import report


def info(run: Path, *, json: Annotated[bool, Parameter(negative="")] = False) -> int:
    """Show what the run folder RUN holds.

    Parameters
    ----------
    run
        Folder that `graphscore train` or `GraphGenerator.save` wrote.
    json
        Print it as JSON.
    """
    report(run, json=json)
    return 0
