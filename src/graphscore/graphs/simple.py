"""What makes a graph simple: the checks and repairs of edges, on arrays and on networkx graphs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from graphscore.errors import GraphDataError
from graphscore.graphs.attributes import chosen
from graphscore.graphs.repairs import Repairs, check_weight

Ends = NDArray[np.integer[Any]]
"""One end of every edge, as node numbers."""
Kind = Literal["edges", "arcs", "directed"]
"""How edges are listed: each once; each in both directions if it is undirected; as directed."""

DIRECTED, LOOPS = "made undirected", "self-loops dropped"
_BLOCK = 2**16
MERGE_ADVICE = "Keep one edge per pair, for instance with nx.Graph(g) on a networkx multigraph."


@dataclass(frozen=True)
class SimpleEdges:
    """The edges of a simple graph on nodes 0..n-1, and what was repaired.

    Attributes:
        rows: the smaller end of every edge.
        columns: the larger end.
        changes: the repairs that changed something.
    """

    rows: Ends
    columns: Ends
    changes: tuple[str, ...] = ()

    def graph(self, num_nodes: int) -> nx.Graph[Any]:
        """Build the graph."""
        graph: nx.Graph[Any] = nx.Graph()
        graph.add_nodes_from(range(num_nodes))
        graph.add_edges_from(zip(self.rows.tolist(), self.columns.tolist()))
        return graph


def simple_edges(
    where: str,
    num_nodes: int,
    tails: Ends,
    heads: Ends,
    repairs: Repairs,
    kind: Kind = "arcs",
    names: Sequence[object] | None = None,
) -> SimpleEdges:
    """Check edges `tails[k] -> heads[k]` before a graph is built of them.

    Of the kind "arcs", they are undirected when every arc has its reverse. Self-loops may be
    listed once or more often. `names` are those of the nodes in the file, for errors.

    Raises:
        GraphDataError: no nodes, an edge out of the range of nodes or listed twice, or what
            `repairs` does not repair: directed edges and self-loops.

    Example:
        >>> simple_edges("g", 3, np.array([0, 2]), np.array([2, 0]), Repairs()).graph(3).edges
        EdgeView([(0, 2)])
    """
    if num_nodes == 0:
        raise no_nodes(where)
    _check_range(where, num_nodes, tails, heads)
    names = range(num_nodes) if names is None else names
    codes = edge_codes(num_nodes, tails, heads, undirected=kind == "edges")
    repeated = first_repeated(codes, num_nodes)
    if repeated is not None:
        tail, head = divmod(repeated, num_nodes)
        raise parallel_edges(where, names[tail], names[head])
    changes = []
    if kind != "edges":
        reverse = np.empty_like(codes)
        for part in _parts(codes):
            by_tail, by_head = np.divmod(codes[part], num_nodes)
            reverse[part] = by_head * num_nodes + by_tail
        reverse.sort()
        if kind == "directed" or not np.array_equal(reverse, codes):
            if not repairs.undirected:
                one_way = _one_way(codes, reverse, num_nodes)
                raise directed(where, one_way and (names[one_way[0]], names[one_way[1]]))
            changes.append(DIRECTED)
            codes = np.union1d(codes, reverse)
        del reverse
    loops, upper = set(), []
    for part in _parts(codes):
        ends = np.stack(np.divmod(codes[part], num_nodes))
        loops.update(ends[0, ends[0] == ends[1]].tolist())
        upper.append(ends[:, ends[0] < ends[1]].astype(np.intc))
    if loops:
        if not repairs.drop_self_loops:
            raise self_loops(where, len(loops), names[min(loops)])
        changes.append(LOOPS)
    del codes
    rows, columns = np.concatenate(upper, axis=1)
    return SimpleEdges(rows, columns, tuple(changes))


def _one_way(
    codes: NDArray[np.int64], reverse: NDArray[np.int64], num_nodes: int
) -> tuple[int, int] | None:
    """Return the first edge without reverse, if there is one, from sorted codes of both."""
    for part in _parts(codes):
        some = codes[part]
        place = reverse.searchsorted(some).clip(max=len(reverse) - 1)
        missing = some[reverse[place] != some]
        if len(missing):
            return divmod(int(missing[0]), num_nodes)
    return None


def edge_codes(
    num_nodes: int, tails: Ends, heads: Ends, *, undirected: bool = False
) -> NDArray[np.int64]:
    """Return `tail * num_nodes + head` of all edges, sorted; if undirected, from smaller to larger.

    >>> edge_codes(10, np.array([3, 0]), np.array([1, 2]), undirected=True)
    array([ 2, 13])
    """
    codes = tails.astype(np.int64)
    if undirected:
        np.minimum(codes, heads, out=codes)
    codes *= num_nodes
    codes += np.maximum(tails, heads) if undirected else heads
    codes.sort()
    return codes


def first_repeated(codes: NDArray[np.int64], num_nodes: int) -> int | None:
    """Return the first of sorted codes `tail * num_nodes + head` that occurs twice, loops apart."""
    for part in _parts(codes):
        some = codes[part.start : part.stop + 1]  # the first of the next part may be the same
        again = some[1:][some[1:] == some[:-1]]
        again = again[again // num_nodes != again % num_nodes]
        if len(again):
            return int(again[0])
    return None


def _parts(codes: NDArray[np.int64]) -> list[slice]:
    """Return at least one slice of codes, because millions of them at once take memory."""
    return [slice(start, start + _BLOCK) for start in range(0, max(1, len(codes)), _BLOCK)]


def _check_range(where: str, num_nodes: int, tails: Ends, heads: Ends) -> None:
    outside = (tails < 0) | (tails >= num_nodes) | (heads < 0) | (heads >= num_nodes)
    if outside.any():
        k = int(np.flatnonzero(outside)[0])
        raise GraphDataError(
            f"{where}: edge between nodes {int(tails[k])} and {int(heads[k])}, but the graph has "
            f"{num_nodes} nodes, numbered from 0. Correct the edge or the number of nodes."
        )


def no_nodes(where: str) -> GraphDataError:
    """Return the error for a graph without nodes."""
    return GraphDataError(
        f"{where}: no nodes, but a graph needs at least one. Remove the empty graph."
    )


def parallel_edges(where: str, tail: object, head: object) -> GraphDataError:
    """Return the error for an edge that occurs twice."""
    return GraphDataError(
        f"{where}: parallel edges between nodes {tail!r} and {head!r}, but a simple graph is "
        f"expected. {MERGE_ADVICE}"
    )


def directed(where: str, one_way: tuple[object, object] | None) -> GraphDataError:
    """Return the error for directed edges, with one that has no reverse if there is one."""
    example = "" if one_way is None else " (asymmetric: edge {!r} -> {!r} has no reverse)"
    return GraphDataError(
        f"{where}: directed{example.format(*one_way or ())}, but an undirected graph is expected. "
        "To read every edge as undirected, use --undirected (in Python: repairs="
        "Repairs(undirected=True); Repairs is in graphscore)."
    )


def self_loops(where: str, number: int, node: object) -> GraphDataError:
    """Return the error for self-loops."""
    return GraphDataError(
        f"{where}: {number} self-loop{'s' * (number > 1)}, the first at node {node!r}, but none "
        "is expected. To drop them, use --drop-self-loops (in Python: repairs="
        "Repairs(drop_self_loops=True); Repairs is in graphscore)."
    )


def check_simple(
    where: str, graph: nx.Graph[Any], repairs: Repairs, *, weighted: bool = False
) -> int:
    """Refuse what `repairs` does not repair and return the number of self-loops.

    Args:
        weighted: whether edges may have weights.

    Raises:
        GraphDataError: parallel edges, weights other than 1, directed edges or self-loops.
    """
    if graph.is_multigraph():
        edges = set()
        for tail, head in graph.edges():
            if tail == head:
                continue  # counted below as self-loops
            if (tail, head) in edges:  # networkx lists undirected ones from the same end
                raise parallel_edges(where, tail, head)
            edges.add((tail, head))
    weight: object
    for tail, head, weight in graph.edges(data="weight"):
        if weight is not None and not weighted:
            check_weight(where, tail, head, weight)
    if graph.is_directed() and not repairs.undirected:
        one_way = (edge for edge in graph.edges() if not graph.has_edge(edge[1], edge[0]))
        raise directed(where, next(one_way, None))
    loops = nx.number_of_selfloops(graph)
    if loops and not repairs.drop_self_loops:
        raise self_loops(where, loops, next(iter(nx.nodes_with_selfloops(graph))))
    return loops


def renumbered(where: str, source: nx.Graph[Any], kept: Collection[str] | None) -> nx.Graph[Any]:
    """Copy onto nodes 0..n-1 in node order, without self-loops, directions or other attributes.

    Args:
        where: its name, for errors.
        source: the graph.
        kept: names of the edge attributes that are kept; None for all.

    Raises:
        GraphDataError: the two directions of an edge have different attributes.
    """
    number = {node: k for k, node in enumerate(source)}
    graph: nx.Graph[Any] = nx.Graph()
    graph.add_nodes_from((number[node], data) for node, data in source.nodes(data=True))
    if kept == ():
        graph.add_edges_from((number[u], number[v]) for u, v in source.edges() if u != v)
        return graph
    for u, v, data in source.edges(data=True):
        ends, carried = (number[u], number[v]), data if kept is None else chosen(data, kept)
        if source.is_directed() and graph.has_edge(*ends) and graph.edges[ends] != carried:
            raise other_way(where, u, v)
        if u != v:
            graph.add_edge(*ends, **{str(name): value for name, value in carried.items()})
    return graph


def other_way(where: str, tail: object, head: object) -> GraphDataError:
    """Return the error for an edge whose two directions carry different values."""
    return GraphDataError(
        f"{where}: the edge between nodes {tail!r} and {head!r} has other attributes in the "
        "other direction, but one undirected edge is expected. Make them equal."
    )
