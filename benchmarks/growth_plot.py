"""How time and memory grow with the number of nodes, on logarithmic axes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from graphscore.plots.figure import new_figure, plain_axes, write_figure
from graphscore.plots.graphs import check_picture
from graphscore.plots.looks import PALETTE

_STYLES = ("-", "--", ":")
_MARKERS = ("o", "s", "^")


@dataclass(frozen=True)
class GrowthCurve:
    """One kind of work on one device.

    Attributes:
        label: what the legend says.
        device: number of the device, which chooses the colour.
        case: number of the kind of work, which chooses the line.
        nodes: sizes of the graphs.
        seconds: time per graph.
        bytes: peak memory per graph.
    """

    label: str
    device: int
    case: int
    nodes: Sequence[int]
    seconds: Sequence[float]
    bytes: Sequence[float]


def draw_growth(curves: Sequence[GrowthCurve], path: str | os.PathLike[str]) -> None:
    """Draw time and memory per graph against the number of nodes and write the picture.

    Args:
        path: .png, .pdf or .svg.

    Raises:
        OutputError: the suffix is none of these, or the file cannot be written.
    """
    target = Path(path)
    check_picture(target)
    figure = new_figure(9.2, 4.6, layout="constrained")
    time_axis, memory_axis = figure.subplots(1, 2)
    for curve in curves:
        style = {
            "color": PALETTE[curve.device],
            "linestyle": _STYLES[curve.case],
            "marker": _MARKERS[curve.case],
            "markersize": 4.5,
            "linewidth": 1.6,
            "label": curve.label,
        }
        time_axis.plot(curve.nodes, [1e3 * seconds for seconds in curve.seconds], **style)
        memory_axis.plot(curve.nodes, [size / 2**20 for size in curve.bytes], **style)
    sizes = sorted({nodes for curve in curves for nodes in curve.nodes})
    for axis, heading in ((time_axis, "milliseconds per graph"), (memory_axis, "MiB per graph")):
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xticks(sizes, [str(size) for size in sizes])
        axis.xaxis.minorticks_off()
        axis.set_xlabel("nodes")
        axis.set_title(heading, fontsize=11)
        plain_axes(axis)
    handles, labels = time_axis.get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=max(1, len(curves) // 3),
        fontsize=9,
        frameon=False,
    )
    write_figure(figure, target)
