"""Create figures without a window and write them to files."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from graphscore.atomic import write_file

GRID = "#d9d9d9"


def new_figure(width: float, height: float, **options: Any) -> Any:
    """Return an empty figure of this size in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=160, **options)
    FigureCanvasAgg(figure)
    return figure


def write_figure(figure: Any, target: Path) -> None:
    """Write a figure in the format of the suffix."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format=target.suffix[1:].lower(), facecolor="white")
    write_file(target, buffer.getvalue())


def plain_axes(axis: Any) -> None:
    """Add a light grid and remove the frame at the top and right."""
    axis.grid(True, which="major", color=GRID, linewidth=0.6)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
