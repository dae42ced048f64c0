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
from graphscore.graphs import COMMUNITY, Schema
from graphscore.plots.figure import new_figure, write_figure
from graphscore.plots.formulae import Formula, formula_of
from graphscore.plots.key import add_key
from graphscore.plots.looks import NO_LOOKS, OUTLINE, EdgeLook, Looks, NodeLook

PALETTE = ("#2a6f97", "#e07a5f", "#81b29a", "#f2cc8f", "#6d597a", "#b56576", "#355070", "#bc6c25")
EDGE_INSIDE, EDGE_BETWEEN = "#8d99ae", "#d62828"
_INSIDE, _BETWEEN = EdgeLook(EDGE_INSIDE), EdgeLook(EDGE_BETWEEN, layer=1)
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


def layout(graph: nx.Graph[Any]) -> dict[Any, np.ndarray]:
    """Return node positions by graph distances (Kamada and Kawai), components side by side."""
    if graph.number_of_nodes() < 2:
        return {node: np.zeros(2) for node in graph}
    distances = dict(nx.all_pairs_shortest_path_length(graph))
    widest = max(max(row.values()) for row in distances.values())
    # Nodes of different components get a distance slightly above the largest finite one.
    full = {u: {v: distances[u].get(v, widest + 1.5) for v in graph} for u in graph}
    positions: dict[Any, np.ndarray] = nx.kamada_kawai_layout(graph, dist=full)
    return positions


def communities(graph: nx.Graph[Any]) -> dict[Any, int]:
    """Return the community of each node: the node attribute "community" if all nodes have it.

    Otherwise communities are found by greedy modularity and numbered from the largest.
    """
    given = nx.get_node_attributes(graph, COMMUNITY)
    if len(given) == len(graph):
        number_of = {value: number for number, value in enumerate(dict.fromkeys(given.values()))}
        return {node: number_of[value] for node, value in given.items()}
    if graph.number_of_edges() == 0:
        return dict.fromkeys(graph, 0)
    names = list(graph)
    # networkx compares node labels, which fails for mixed types, so nodes are numbered first.
    numbered = nx.relabel_nodes(graph, {name: number for number, name in enumerate(names)})
    parts = nx.community.greedy_modularity_communities(numbered)
    return {names[node]: number for number, part in enumerate(parts) for node in part}


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
            axis.set_title(self.remark, fontsize=7, color=EDGE_BETWEEN, pad=0)


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

    Nodes are coloured by community and sized by degree; edges between communities are red. Rows
    that are empty in all groups are left out. What nodes and edges carry is drawn as `Looks` says,
    with a key below; molecules as structural formulae, those that are not valid as other graphs.

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
    groups: Mapping[str, Sequence[nx.Graph[Any]]], columns: int, rows: int, schema: Schema
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
        community: community of each node, by default from `communities`.
        looks: how what nodes and edges carry looks.
    """
    where = layout(graph) if where is None else where
    nodes = looks.of_nodes(graph)
    plain, outline = [EdgeLook()] * graph.size(), OUTLINE
    if nodes is None:
        community = communities(graph) if community is None else community
        nodes = [NodeLook(PALETTE[community[node] % len(PALETTE)]) for node in graph]
        plain = [(_INSIDE, _BETWEEN)[community[u] != community[v]] for u, v in graph.edges]
        outline = {"linewidths": 0}
    _draw_edges(graph, axis, where, looks.of_edges(graph, plain))
    # Smaller nodes in large graphs, so that they do not hide edges.
    scale = min(1.0, FULL_SIZE_NODES / max(1, len(graph)))
    scale *= 1.0 if looks == NO_LOOKS else TYPED_NODES
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
