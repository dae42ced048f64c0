"""Draw graphs side by side, for visual comparison of samples and data."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import ceil
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from graphscore.atomic import check_place
from graphscore.errors import GraphDataError, OutputError
from graphscore.graphs import Schema
from graphscore.plots.communities import communities
from graphscore.plots.figure import new_figure, write_figure
from graphscore.plots.formulae import Formula, formula_of
from graphscore.plots.key import add_key
from graphscore.plots.layouts import layout
from graphscore.plots.looks import (
    BETWEEN,
    INSIDE,
    NO_LOOKS,
    OUTLINE,
    PALETTE,
    EdgeLook,
    Looks,
    NodeLook,
)

NO_SCHEMA = Schema()
SIZE, TYPED_SIZE = 1.15, 1.6
"""Inches of a graph, and of one that carries something."""
TYPED_HEADING = 0.4
"""Inches of the heading above graphs that carry something."""
TYPED_NODES = 1.4
"""How many times larger the nodes of a graph are that carries something."""
FORMATS = (".png", ".pdf", ".svg")
FULL_SIZE_NODES = 30
"""Largest number of nodes at which nodes have full size; those of larger graphs are smaller."""


@dataclass(frozen=True)
class _Drawing:
    """A graph, its structural formula if it is a molecule, and what is said of it."""

    graph: nx.Graph[Any]
    formula: Formula | None
    remark: str

    def draw(self, axis: Any, looks: Looks) -> None:
        if self.formula is not None:
            self.formula.draw(axis)
        else:
            draw_graph(self.graph, axis, looks=looks)
            axis.set_title(self.remark, fontsize=7, color=BETWEEN.colour, pad=0)


def _drawings(name: str, graphs: Sequence[nx.Graph[Any]], schema: Schema) -> list[_Drawing]:
    try:
        Looks.of(graphs, schema)
    except GraphDataError as error:
        raise GraphDataError(f"{name}: {error}") from None
    return [_Drawing(graph, *formula_of(graph, schema)) for graph in graphs]


def draw_comparison(
    groups: Mapping[str, Sequence[nx.Graph[Any]]],
    path: str | os.PathLike[str],
    *,
    columns: int = 4,
    rows: int = 4,
    schema: Schema = NO_SCHEMA,
) -> None:
    """Draw the first graphs of each group in a block of its own and write the figure.

    Nodes are sized by degree. Where most graphs have communities, nodes are coloured by them and
    edges between them are red. Planar graphs are drawn without crossings. Rows that are empty in
    all groups are left out. What nodes and edges carry is drawn as `Looks` says; molecules as
    structural formulae, those that are not valid as other graphs. A key says what colours mean.

    Args:
        groups: heading and graphs of each block, left to right.
        path: .png, .pdf or .svg.
        schema: what nodes and edges carry; `GraphGenerator.schema` of a model, or `Schema.of`.

    Raises:
        OutputError: the suffix is not one of these, or the file cannot be written.
        GraphDataError: a node or edge does not carry what the schema says.

    Example:
        >>> import tempfile
        >>> from graphscore.graphs import AttributeSettings
        >>> graph = nx.Graph([(0, 1, {"bond": "single"}), (1, 2, {"bond": "double"})])
        >>> schema = Schema.of([graph], AttributeSettings(edge_type="bond"))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     draw_comparison({"one": [graph]}, f"{folder}/one.png", schema=schema)
    """
    target = Path(path)
    check_picture(target)
    if not groups:
        raise OutputError(f"{target}: nothing to draw. Give at least one group of graphs.")
    write_figure(comparison(groups, columns, rows, schema), target)


def comparison(
    groups: Mapping[str, Sequence[nx.Graph[Any]]],
    columns: int = 4,
    rows: int = 4,
    schema: Schema = NO_SCHEMA,
) -> Any:
    """Return the figure that `draw_comparison` writes."""
    rows = min(rows, max(1, *(ceil(len(graphs) / columns) for graphs in groups.values())))
    shown = [
        _drawings(name, list(graphs[: rows * columns]), schema) for name, graphs in groups.items()
    ]
    looks = Looks.of([each.graph for each in chain(*shown) if each.formula is None], schema)
    size = SIZE if schema == NO_SCHEMA else TYPED_SIZE
    height = size * rows + 0.5
    top = 0.9 if schema == NO_SCHEMA else 1 - TYPED_HEADING / height
    figure = new_figure(size * columns * len(groups) + 0.4, height)
    above = add_key(figure, looks)
    blocks = above.subfigures(1, len(groups), squeeze=False, wspace=0.04)[0]
    for block, heading, drawings in zip(blocks, groups, shown):
        block.suptitle(heading, fontsize=11, y=0.985)
        axes = block.subplots(rows, columns, squeeze=False)
        block.subplots_adjust(0.02, 0.02, 0.98, top, wspace=0.05, hspace=0.05)
        for axis in axes.flat:
            axis.set_axis_off()
        for axis, drawing in zip(axes.flat, drawings):
            drawing.draw(axis, looks)
    return figure


def check_picture(path: str | os.PathLike[str]) -> None:
    """Refuse a path that a figure could not be written to, before long work.

    Raises:
        OutputError: its suffix is not one of `FORMATS`, it is a folder, or it is not writable.
    """
    suffix = Path(path).suffix
    if suffix.lower() not in FORMATS:
        raise OutputError(
            f"{path}: cannot write a picture of kind {suffix!r}. Use one of: {', '.join(FORMATS)}."
        )
    check_place(Path(path))
    if Path(path).is_dir():
        raise OutputError(f"{path}: a folder of that name exists. Give another name.")


def draw_graph(
    graph: nx.Graph[Any],
    axis: Any,
    where: Mapping[Any, np.ndarray] | None = None,
    community: Mapping[Any, int] | None = None,
    looks: Looks = NO_LOOKS,
) -> None:
    """Draw a graph on a matplotlib axis: nodes sized by degree, coloured by community or `looks`.

    Args:
        where: position of each node, by default from `layout`.
        community: community of each node; by default as `looks` says.
        looks: how what nodes and edges carry looks.
    """
    where = layout(graph) if where is None else where
    nodes = looks.of_nodes(graph)
    plain, outline = [EdgeLook()] * graph.size(), OUTLINE
    if nodes is None:
        if community is None:
            community = communities(graph) if looks.communities else dict.fromkeys(graph, 0)
        nodes = [NodeLook(PALETTE[community[node] % len(PALETTE)]) for node in graph]
        plain = [(INSIDE, BETWEEN)[community[u] != community[v]] for u, v in graph.edges]
        outline = {"linewidths": 0}
    _draw_edges(graph, axis, where, looks.of_edges(graph, plain))
    # Smaller nodes in large graphs, so that they do not hide edges.
    scale = min(1.0, FULL_SIZE_NODES / max(1, len(graph)))
    scale *= TYPED_NODES if looks.carry else 1.0
    drawn: dict[str, list[tuple[Any, NodeLook]]] = {}
    for node, look in zip(graph, nodes):
        drawn.setdefault(look.marker, []).append((node, look))
    for marker, members in drawn.items():
        nx.draw_networkx_nodes(
            graph,
            where,
            ax=axis,
            nodelist=[node for node, _ in members],
            node_size=[scale * (8 + 2.5 * graph.degree[node]) for node, _ in members],
            node_color=[look.colour for _, look in members],
            node_shape=marker,
            **outline,
        )
    axis.set_aspect("equal", adjustable="datalim")
    axis.margins(0.08)


def _draw_edges(
    graph: nx.Graph[Any],
    axis: Any,
    where: Mapping[Any, np.ndarray],
    looks: Sequence[tuple[EdgeLook, float]],
) -> None:
    drawn: dict[EdgeLook, list[tuple[Any, float]]] = {}
    for edge, (look, width) in zip(graph.edges, looks):
        drawn.setdefault(look, []).append((edge, width))
    for look in sorted(drawn, key=lambda look: look.layer):
        edges = [edge for edge, _ in drawn[look]]
        for stroke in zip(*(look.strokes(width) for _, width in drawn[look])):
            nx.draw_networkx_edges(
                graph,
                where,
                ax=axis,
                edgelist=edges,
                edge_color=stroke[0][0],
                width=[width for _, width in stroke],
                style=look.dashes,
            )
