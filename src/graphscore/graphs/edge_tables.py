"""Graphs given as edges: lists of tuples, and tables (pandas) with a row for each edge."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence, Set
from numbers import Integral, Real
from typing import Any

import networkx as nx

from graphscore.errors import GraphDataError
from graphscore.graphs.simple import other_way

ENDS = (
    *(("source", "target"), ("from", "to"), ("u", "v"), ("src", "dst"), ("tail", "head")),
    *(("node1", "node2"), ("id1", "id2"), ("sourceid", "targetid"), ("sourcenode", "targetnode")),
    *(("fromid", "toid"), ("fromnode", "tonode"), ("fromnodeid", "tonodeid"), ("srcid", "dstid")),
)
"""Names of the two columns with the ends of an edge, in small letters and digits only."""
GRAPH_COLUMNS = ("graph", "graphid", "graphindex", "graphidx", "graphname", "graphnumber")
"""Names of the column that says which graph an edge is of."""


def is_edge(given: object) -> bool:
    """Return whether an object is a tuple of two nodes, that is whole numbers or texts.

    >>> is_edge((0, 1)), is_edge(("a", "b", 0.5)), is_edge([0, 1])
    (True, True, False)
    """
    return isinstance(given, tuple) and len(given) in (2, 3) and all(map(_is_node, given[:2]))


def is_edges(given: object) -> bool:
    """Return whether an object is a list or set of edges, such as `[(0, 1), (1, 2)]` or `g.edges`.

    A tuple is none, because a tuple of two tuples may also be one edge.
    """
    if not isinstance(given, list | Set):  # views of edges are sets
        return False
    return is_edge(next(iter(given), None))


def is_table(given: object) -> bool:
    """Return whether an object is a table, such as a DataFrame of pandas, by its columns."""
    return hasattr(given, "columns") and hasattr(given, "__getitem__") and hasattr(given, "shape")


def graph_of_edges(where: str, edges: Collection[Any]) -> nx.MultiGraph[Any]:
    """Return edges as a multigraph, which is still to be checked.

    Nodes are those named: in numeric order if all are whole numbers, else in order of appearance.
    Each edge may be listed once, or all edges in both directions.

    Args:
        where: its name, for errors.
        edges: tuples of two nodes, and optionally the weight or a dictionary of attributes.

    Raises:
        GraphDataError: one is no edge, or its two directions have different attributes.

    Example:
        >>> graph_of_edges("g", [(2, 1), (1, 5)]).edges()
        MultiEdgeDataView([(1, 2), (1, 5)])
    """
    listed = [_parts_of(where, number, edge) for number, edge in enumerate(edges, start=1)]
    nodes = list(dict.fromkeys(node for tail, head, _ in listed for node in (tail, head)))
    if all(isinstance(node, Integral) for node in nodes):
        nodes.sort()
    graph: nx.MultiGraph[Any] = nx.MultiGraph()
    graph.add_nodes_from(nodes)
    arcs = {(tail, head): attributes for tail, head, attributes in listed}
    both_ways = len(arcs) == len(listed) and all((head, tail) in arcs for tail, head in arcs)
    number = {node: k for k, node in enumerate(nodes)}
    for tail, head, attributes in listed:
        if both_ways and number[tail] > number[head]:
            if arcs[head, tail] != attributes:
                raise other_way(where, tail, head)
            continue
        graph.add_edges_from([(tail, head, attributes)])
    return graph


def edges_of_table(where: str, table: Any) -> list[list[tuple[Any, Any, dict[str, Any]]]]:
    """Return the edges of each graph of a table, in the order in which the graphs appear.

    Other columns are attributes of edges; None and NaN are none.

    Args:
        where: its name, for errors.
        table: has a column for each end of an edge (`ENDS`), and one that says which graph an edge
            is of (`GRAPH_COLUMNS`) if they are not all of one.

    Raises:
        GraphDataError: columns for the ends are missing, or there are several; or a cell there is
            neither a whole number nor a text.
    """
    names = {re.sub(r"[^a-z0-9]", "", str(name).lower()): name for name in table.columns}
    pairs = [pair for pair in ENDS if names.keys() >= set(pair)]
    graph_columns = [name for name in GRAPH_COLUMNS if name in names]
    if len(pairs) != 1 or len(graph_columns) > 1:
        raise GraphDataError(
            f"{where}: a table with the columns {', '.join(map(repr, [*table.columns][:10]))}, but "
            "one pair of columns with the ends of edges is expected, 'source' and 'target', and "
            "'graph' if there are several graphs. Rename them, for instance table.rename(columns="
            "{'a': 'source', 'b': 'target'}); an adjacency matrix is given as table.to_numpy()."
        )
    columns = {name: _cells(table[name]) for name in table.columns}
    tails, heads = (columns.pop(names[name]) for name in pairs[0])
    graph_of = columns.pop(names[graph_columns[0]]) if graph_columns else [0] * len(tails)
    graphs: dict[Any, list[tuple[Any, Any, dict[str, Any]]]] = {}
    for row, (graph, tail, head) in enumerate(zip(graph_of, tails, heads), start=1):
        for cell in (graph, tail, head):
            if not _is_node(cell):
                raise GraphDataError(
                    f"{where}, row {row}: {cell!r:.40} where a whole number or a text is expected. "
                    "Correct it, or remove the row."
                )
        attributes = {str(name): cells[row - 1] for name, cells in columns.items()}
        present = {name: cell for name, cell in attributes.items() if not _is_missing(cell)}
        graphs.setdefault(graph, []).append((tail, head, present))
    return list(graphs.values())


def _parts_of(where: str, number: int, edge: Any) -> tuple[Any, Any, dict[str, Any]]:
    if is_edge(edge):
        tail, head, *rest = edge
        if not rest or isinstance(rest[0], Mapping):
            return tail, head, dict(*rest)
        if isinstance(rest[0], Real):
            return tail, head, {"weight": rest[0]}
    raise GraphDataError(
        f"{where}: {edge!r:.60} as edge {number}, but a tuple of two nodes is expected, whole "
        "numbers or texts: (0, 1), with a weight (0, 1, 0.5), or with attributes "
        "(0, 1, {'bond': 'single'})."
    )


def _is_node(value: object) -> bool:
    return isinstance(value, str | Integral) and not isinstance(value, bool)


def _is_missing(cell: object) -> bool:
    if isinstance(cell, str):
        return False
    is_nan = isinstance(cell, float) and cell != cell
    return cell is None or is_nan or str(cell) in ("<NA>", "NaT")  # of pandas


def _cells(column: Any) -> Sequence[Any]:
    """Return the cells of a column as plain Python values where it can give them."""
    return column.tolist() if hasattr(column, "tolist") else list(column)
