"""Create figures without a window, show them in notebooks, and write them to files."""

from __future__ import annotations

import base64
import io
from functools import cache
from pathlib import Path
from typing import Any

from graphscore.atomic import write_file

GRID = "#d9d9d9"
NOTEBOOK_DPI = 80
"""Dots per inch in notebooks, which keep their pictures; files have 160."""


@cache
def _figure_class() -> Any:
    """Return matplotlib's class of figures; in notebooks its figures show themselves."""
    from matplotlib.figure import Figure

    class NotebookFigure(Figure):
        def _repr_png_(self) -> bytes:
            return picture_bytes(self, "png", dpi=NOTEBOOK_DPI)

    return NotebookFigure


def new_figure(width: float, height: float, **options: Any) -> Any:
    """Return an empty figure of this size in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = _figure_class()(figsize=(width, height), dpi=160, **options)
    FigureCanvasAgg(figure)
    return figure


def picture_bytes(figure: Any, kind: str, **options: Any) -> bytes:
    """Return the content of a file with a figure: "png", "pdf" or "svg"."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, facecolor="white", **options)
    return buffer.getvalue()


def write_figure(figure: Any, target: Path) -> None:
    """Write a figure in the format of the suffix."""
    write_file(target, picture_bytes(figure, target.suffix[1:].lower()))


def html_picture(figure: Any) -> str:
    """Return a figure as an HTML element that needs no file."""
    data = base64.b64encode(picture_bytes(figure, "png", dpi=NOTEBOOK_DPI)).decode()
    return f'<img src="data:image/png;base64,{data}" alt="graphs" style="max-width:100%">'


def plain_axes(axis: Any) -> None:
    """Add a light grid and remove the frame at the top and right."""
    axis.grid(True, which="major", color=GRID, linewidth=0.6)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
