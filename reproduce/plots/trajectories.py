"""Pictures of the paper's experiments."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from graphscore.errors import OutputError
from graphscore.plots.communities import communities
from graphscore.plots.figure import new_figure, write_figure
from graphscore.plots.graphs import check_picture, draw_graph
from graphscore.plots.layouts import layout


@dataclass(frozen=True)
class Stage:
    """One state of a trajectory.

    Attributes:
        name: what stands above it.
        adj: (N,N) continuous state.
    """

    name: str
    adj: np.ndarray


def draw_trajectories(
    trajectories: Sequence[Sequence[Stage]], path: str | os.PathLike[str], *, threshold: float = 0.5
) -> None:
    """Draw each trajectory from left to right, as matrices and, below, as graphs.

    Nodes are ordered, placed and coloured as in the last graph, so that its structure is seen to
    come out of the noise.

    Args:
        trajectories: one or more, with the same stages.
        path: .png, .pdf or .svg.
        threshold: entries above it are drawn as edges.

    Raises:
        OutputError: nothing to draw, the suffix is none of these, or the file cannot be written.
    """
    target = Path(path)
    check_picture(target)
    if not trajectories or not trajectories[0]:
        raise OutputError(f"{target}: nothing to draw. Give at least one trajectory.")
    columns, rows = len(trajectories[0]), 2 * len(trajectories)
    figure = new_figure(1.35 * columns + 1.0, 1.42 * rows + 0.35)
    axes = figure.subplots(rows, columns, squeeze=False)
    figure.subplots_adjust(0.035, 0.02, 0.93, 0.93, wspace=0.08, hspace=0.08)
    for number, stages in enumerate(trajectories):
        final = _graph(stages[-1].adj, threshold)
        where, community = layout(final), communities(final)
        order = sorted(final, key=lambda node: (community[node], -final.degree(node)))
        for column, stage in enumerate(stages):
            matrix, drawing = axes[2 * number][column], axes[2 * number + 1][column]
            shown = stage.adj[np.ix_(order, order)]
            matrix.imshow(shown, cmap="Greys", vmin=0.0, vmax=1.0)
            matrix.set_xticks([])
            matrix.set_yticks([])
            matrix.spines[:].set_color("#8d99ae")
            draw_graph(_graph(stage.adj, threshold), drawing, where, community)
            drawing.set_axis_off()
            if number == 0:
                matrix.set_title(stage.name, fontsize=11)
        axes[2 * number][0].set_ylabel("state", fontsize=10)
        drawing = axes[2 * number + 1][0]
        drawing.text(
            -0.035, 0.5, "graph", rotation=90, va="center", ha="right", fontsize=10,
            transform=drawing.transAxes,
        )  # fmt: skip
    image = axes[0][0].images[0]
    bar = figure.colorbar(image, cax=figure.add_axes((0.942, 0.3, 0.01, 0.4)), extend="both")
    bar.set_ticks([0.0, 0.5, 1.0])
    bar.set_label("entry of the matrix", fontsize=9)
    bar.ax.tick_params(labelsize=9)
    write_figure(figure, target)


def _graph(adj: np.ndarray, threshold: float) -> nx.Graph[Any]:
    graph: nx.Graph[Any] = nx.empty_graph(len(adj))
    rows, columns = np.nonzero(np.triu(adj > threshold, 1))
    graph.add_edges_from(zip(rows.tolist(), columns.tolist()))
    return graph
