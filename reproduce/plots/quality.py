"""Quality against what it costs: one panel for each dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

from graphscore.plots.figure import new_figure, plain_axes, write_figure
from graphscore.plots.graphs import check_picture
from graphscore.plots.looks import PALETTE

if TYPE_CHECKING:
    from matplotlib.axis import Axis

_MARKERS = ("o", "s", "^", "D")
_COLUMNS = 4


@dataclass(frozen=True)
class QualityCurve:
    """One line of a panel.

    Attributes:
        label: what the legend says; nothing for a single line.
        costs: along the horizontal axis.
        values: the quality at each.
    """

    label: str
    costs: Sequence[float]
    values: Sequence[float]


def draw_quality(
    panels: Mapping[str, Sequence[QualityCurve]],
    target: Path,
    *,
    along: str,
    measures: Mapping[str, str],
    targets: Mapping[str, float],
) -> None:
    """Draw curves of several datasets and write the picture.

    Args:
        panels: curves by dataset.
        target: .png, .pdf or .svg.
        along: what the costs are.
        measures: what is measured on each dataset.
        targets: what is to be reached there, a dashed line.

    Raises:
        OutputError: the suffix is none of these, or the file cannot be written.
    """
    check_picture(target)
    columns = min(_COLUMNS, len(panels))
    rows = ceil(len(panels) / columns)
    figure = new_figure(3.1 * columns, 2.7 * rows + 0.4, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for axis, (name, curves) in zip(axes, panels.items()):
        for index, curve in enumerate(curves):
            axis.plot(
                curve.costs,
                curve.values,
                color=PALETTE[index],
                marker=_MARKERS[index],
                markersize=4.5,
                linewidth=1.6,
                label=curve.label or None,
            )
        axis.axhline(targets[name], color="0.4", linestyle="--", linewidth=1)
        axis.set_xscale("log")
        _tick_plainly(axis.xaxis)
        if "MMD" in measures[name]:
            axis.set_yscale("log")
            _tick_plainly(axis.yaxis)
        axis.set_title(name, fontsize=10)
        axis.set_xlabel(along, fontsize=9)
        axis.set_ylabel(measures[name], fontsize=9)
        plain_axes(axis)
        if any(curve.label for curve in curves):
            axis.legend(fontsize=8, frameon=False)
    for axis in axes[len(panels) :]:
        axis.set_visible(False)
    write_figure(figure, target)


def _tick_plainly(axis: Axis) -> None:
    """Label a logarithmic axis with 1, 10, 100; the shorter it is, the more between them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    between = [1.0] if high > 40 * low else [1.0, 2.0, 5.0] if high > 4 * low else range(1, 10)
    axis.set_major_locator(LogLocator(subs=between))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
