"""What the channels of a network hold: each as a matrix and as a drawn graph, layer by layer."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from graphscore.plots.figure import new_figure, plain_axes, write_figure
from graphscore.plots.graphs import check_picture
from graphscore.plots.layouts import layout
from graphscore.plots.looks import BETWEEN, INSIDE, PALETTE

Matrix = NDArray[np.float64]
_LIMIT = 2.0
"""Standard deviations at which the colours of the matrices end."""
CONSTANT = 1e-5
"""Spread, relative to the entries, below which a channel says nothing on a graph."""


@dataclass(frozen=True)
class ChannelPicture:
    """One channel on one graph.

    Attributes:
        weights: (N,N) symmetric; standardised when drawn.
        caption: below the channel.
        marked: drawn with a frame, as the best of its layer.
    """

    weights: Matrix
    caption: str
    marked: bool = False


@dataclass(frozen=True)
class ChannelRow:
    """The channels of one layer."""

    heading: str
    channels: Sequence[ChannelPicture]


def standardise(weights: Matrix) -> Matrix:
    """Give the pairs i < j mean 0 and variance 1; a channel that is constant becomes zero."""
    pairs = weights[np.triu_indices(len(weights), k=1)]
    spread = float(pairs.std())
    if spread <= CONSTANT * float(np.abs(pairs).max(initial=0.0)):
        return np.zeros(weights.shape)
    return np.asarray((weights - pairs.mean()) / spread, dtype=np.float64)


def strongest(weights: Matrix, count: int) -> list[tuple[int, int]]:
    """Return the pairs i < j with the largest weights, at most `count`.

    Of pairs with the same weight either all are taken or none, as no order would be theirs.
    """
    rows, columns = np.triu_indices(len(weights), k=1)
    values = weights[rows, columns]
    levels, counts = np.unique(values, return_counts=True)
    fits = np.cumsum(counts[::-1]) <= count
    taken = np.isin(values, levels[::-1][fits])
    return [(int(row), int(column)) for row, column in zip(rows[taken], columns[taken])]


def draw_channels(
    graph: nx.Graph[Any],
    communities: Sequence[int],
    rows: Sequence[ChannelRow],
    path: str | os.PathLike[str],
) -> None:
    """Draw every channel of every layer for one graph and write the picture.

    A channel is shown as its standardised matrix and as the graph of its strongest pairs, as many
    as the graph has edges, always with the nodes where the clean graph has them. Nodes are coloured
    by community; pairs of different communities are red.

    Args:
        graph: the clean graph, nodes 0..n-1.
        communities: 0 or 1 for each node; the matrices are ordered by it.
        path: .png, .pdf or .svg.

    Raises:
        OutputError: the suffix is none of these, or the file cannot be written.
    """
    target = Path(path)
    check_picture(target)
    columns = max(2, *(len(row.channels) for row in rows))
    width, height = 2.5 * columns + 0.85, 1.42 * len(rows) + 0.85
    figure = new_figure(width, height)
    grid = figure.add_gridspec(
        len(rows), 2 * columns, left=0.8 / width, right=0.985, top=1 - 0.1 / height,
        bottom=0.95 / height, hspace=0.28, wspace=0.08,
    )  # fmt: skip
    order = np.argsort(np.asarray(communities), kind="stable")
    where = _upright(layout(graph))
    shown = None
    for index, row in enumerate(rows):
        for column, channel in enumerate(row.channels):
            matrix_axis = figure.add_subplot(grid[index, 2 * column])
            graph_axis = figure.add_subplot(grid[index, 2 * column + 1])
            scaled = standardise(channel.weights)
            entries = scaled[np.ix_(order, order)]
            np.fill_diagonal(entries, np.nan)  # there are no entries, and white says so
            shown = matrix_axis.imshow(entries, cmap="viridis", vmin=-_LIMIT, vmax=_LIMIT)
            matrix_axis.set_xticks([])
            matrix_axis.set_yticks([])
            _draw_graph(graph, scaled, communities, where, graph_axis)
            _caption(matrix_axis, channel, constant=not scaled.any())
            if column == 0:
                matrix_axis.set_ylabel(
                    row.heading, fontsize=10, rotation=0, ha="right", va="center", labelpad=8
                )
    _legend(figure, shown)
    write_figure(figure, target)


def _upright(where: dict[Any, np.ndarray]) -> dict[Any, np.ndarray]:
    """Turn a layout so that its longest extent is horizontal."""
    points = np.array(list(where.values()))
    centred = points - points.mean(0)
    turned = centred @ np.linalg.svd(centred, full_matrices=False)[2].T
    return dict(zip(where, turned))


def _draw_graph(
    graph: nx.Graph[Any],
    weights: Matrix,
    communities: Sequence[int],
    where: dict[Any, np.ndarray],
    axis: Any,
) -> None:
    edges = strongest(weights, graph.number_of_edges())
    inside = [pair for pair in edges if communities[pair[0]] == communities[pair[1]]]
    between = [pair for pair in edges if communities[pair[0]] != communities[pair[1]]]
    style = {"ax": axis, "width": 0.6}
    nx.draw_networkx_edges(graph, where, edgelist=inside, edge_color=INSIDE.colour, **style)
    nx.draw_networkx_edges(graph, where, edgelist=between, edge_color=BETWEEN.colour, **style)
    nx.draw_networkx_nodes(
        graph,
        where,
        ax=axis,
        node_size=13,
        node_color=[PALETTE[communities[node]] for node in graph],
        linewidths=0,
    )
    axis.set_axis_off()
    axis.margins(0.08)


def _caption(axis: Any, channel: ChannelPicture, *, constant: bool) -> None:
    caption = f"{channel.caption}; constant here" if constant else channel.caption
    weight = "bold" if channel.marked else "normal"
    # Under both panels of the channel: the right end of the matrix is the middle.
    axis.text(
        1.03, -0.045, caption, transform=axis.transAxes, fontsize=8.5, fontweight=weight,
        ha="center", va="top",
    )  # fmt: skip
    for spine in axis.spines.values():
        spine.set_linewidth(2.2 if channel.marked else 0.5)
        spine.set_edgecolor(PALETTE[1] if channel.marked else "#555555")


def _legend(figure: Any, shown: Any) -> None:
    from matplotlib.lines import Line2D

    height = figure.get_size_inches()[1]
    bar_axis = figure.add_axes((0.1, 0.3 / height, 0.2, 0.1 / height))
    bar = figure.colorbar(shown, cax=bar_axis, orientation="horizontal", extend="both")
    bar.set_ticks([-2, -1, 0, 1, 2])
    bar.ax.tick_params(labelsize=7.5, length=2)
    bar_axis.set_title("standardised weight", fontsize=8, pad=2)
    handles = [
        Line2D([], [], marker="o", linestyle="", color=PALETTE[0], label="first community"),
        Line2D([], [], marker="o", linestyle="", color=PALETTE[1], label="second community"),
        Line2D([], [], color=INSIDE.colour, label="strong pair inside"),
        Line2D([], [], color=BETWEEN.colour, label="strong pair between"),
    ]
    figure.legend(
        handles=handles,
        loc="lower right",
        bbox_to_anchor=(0.985, 0.1 / height),
        ncols=2 if figure.get_size_inches()[0] < 8 else 4,
        fontsize=8.5,
        frameon=False,
    )


@dataclass(frozen=True)
class SeparationCurve:
    """A number for each layer, from the input on, with its spread."""

    label: str
    means: Sequence[float]
    spreads: Sequence[float]


def draw_separation(
    curves: Sequence[SeparationCurve], levels: dict[str, float], path: str | os.PathLike[str]
) -> None:
    """Draw how well the best channel of each layer separates the communities.

    Args:
        curves: one for each network.
        levels: horizontal lines to compare with, by name.
        path: .png, .pdf or .svg.

    Raises:
        OutputError: the suffix is none of these, or the file cannot be written.
    """
    target = Path(path)
    check_picture(target)
    figure = new_figure(6.0, 3.6, layout="constrained")
    axis = figure.subplots()
    layers = max(len(curve.means) for curve in curves)
    for index, (label, level) in enumerate(levels.items()):
        axis.axhline(level, color="#777777", linestyle=("--", ":")[index % 2], linewidth=1.1)
        axis.annotate(
            label, (layers - 0.75, level), fontsize=8.5, color="#555555", va="bottom", ha="right",
            xytext=(0, 2), textcoords="offset points",
        )  # fmt: skip
    for index, curve in enumerate(curves):
        axis.errorbar(
            range(len(curve.means)),
            curve.means,
            yerr=curve.spreads,
            color=PALETTE[index],
            marker="os^"[index % 3],
            markersize=5,
            linewidth=1.6,
            capsize=3,
            label=curve.label,
        )
    names = ["input", *(f"layer {number}" for number in range(1, layers))]
    axis.set_xticks(range(layers), names)
    axis.set_xlim(-0.3, layers - 0.7)
    axis.set_ylabel("AUC, same community\nagainst different ones", fontsize=9.5)
    axis.set_title("Best channel of each layer", fontsize=11)
    plain_axes(axis)
    axis.legend(fontsize=9, frameon=False, loc="best")
    write_figure(figure, target)
