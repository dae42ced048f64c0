"""GraphUnion: many graphs as one sparse graph without edges between them.

Metrics compare thousands of small graphs. A Python loop over them would be slow, so graphs are
converted once and every descriptor is computed on flat arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from graphscore.errors import GraphDataError

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
Columns = Mapping[str, IntArray]
"""Whole numbers for what nodes or edges carry, by name; 0 for nothing."""
NODE_TYPES, EDGE_TYPES = "node_types", "edge_types"
"""Names of what isomorphisms keep."""


@dataclass(frozen=True)
class GraphUnion:
    """The disjoint union of G graphs with V nodes in all, as sorted directed edges.

    Attributes:
        sizes: (G,) number of nodes of each graph; its nodes are numbered one after the other.
        src: (E,) first node of every directed edge, ascending.
        dst: (E,) second node; every undirected edge occurs in both directions.
        of_nodes: (V,) numbers for what nodes carry.
        of_edges: (E,) numbers for what edges carry.

    Example:
        >>> union = GraphUnion.of([nx.path_graph(3), nx.empty_graph(2)])
        >>> union.sizes.tolist(), union.src.tolist(), union.dst.tolist()
        ([3, 2], [0, 1, 1, 2], [1, 0, 2, 1])
        >>> union.degrees.tolist()
        [1, 2, 1, 0, 0]
    """

    sizes: IntArray
    src: IntArray
    dst: IntArray
    of_nodes: Columns = field(default_factory=dict)
    of_edges: Columns = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        graphs: Iterable[nx.Graph[Any]] | GraphUnion,
        of_nodes: Columns | None = None,
        of_edges: Columns | None = None,
    ) -> GraphUnion:
        """Convert networkx graphs, nodes in their order; a union is returned as it is.

        Args:
            graphs: the graphs.
            of_nodes: (V,) numbers for what all nodes carry.
            of_edges: the same of all edges, each once, in the order of the graphs' `edges`.

        Raises:
            GraphDataError: a graph is directed, a multigraph, has self-loops, or is not a graph.
        """
        if isinstance(graphs, GraphUnion):
            return graphs
        sizes: list[int] = []
        degrees: list[int] = []
        neighbours: list[int] = []
        for index, graph in enumerate(graphs):
            check_kind(graph, index)
            nodes = list(graph)
            columns: list[Any] = []
            for _, row in graph.adjacency():
                columns.extend(row)
                degrees.append(len(row))
            if nodes != list(range(len(nodes))):
                position = {node: place for place, node in enumerate(nodes)}
                columns = [position[node] for node in columns]
            neighbours.extend(columns)
            sizes.append(len(nodes))
        size = np.array(sizes, dtype=np.int64)
        first = np.cumsum(size) - size
        src = np.repeat(np.arange(len(degrees)), degrees)
        owner = np.repeat(np.arange(len(size)), size)[src]
        dst = np.array(neighbours, dtype=np.int64) + first[owner]
        _check_loops(src, dst, owner)
        order = np.lexsort((dst, src))
        directed = {
            name: _in_both_directions(numbers, src, dst)[order]
            for name, numbers in (of_edges or {}).items()
        }
        return cls(size, src[order], dst[order], of_nodes or {}, directed)

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def node_count(self) -> int:
        """Total number of nodes V."""
        return int(self.sizes.sum())

    @cached_property
    def first(self) -> IntArray:
        """(G,) number of the first node of each graph."""
        return np.cumsum(self.sizes) - self.sizes

    @cached_property
    def graph_of_node(self) -> IntArray:
        """(V,) which graph each node belongs to."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def degrees(self) -> IntArray:
        """(V,) number of neighbours of each node."""
        return np.bincount(self.src, minlength=self.node_count).astype(np.int64)

    def without_isolated(self) -> GraphUnion:
        """Drop nodes without edges, as published evaluation code does; the graphs stay in place.

        >>> graph = nx.Graph([(0, 2)])
        >>> graph.add_node(1)
        >>> GraphUnion.of([graph, nx.empty_graph(2)]).without_isolated().sizes.tolist()
        [2, 0]
        """
        kept = self.degrees > 0
        renumbered = np.cumsum(kept) - 1
        sizes = np.bincount(self.graph_of_node[kept], minlength=len(self)).astype(np.int64)
        of_nodes = _taken(self.of_nodes, kept)
        return GraphUnion(
            sizes, renumbered[self.src], renumbered[self.dst], of_nodes, self.of_edges
        )

    def with_node_in_empty(self) -> GraphUnion:
        """Put one isolated node into every graph that has no node.

        A histogram over no nodes cannot be normalised. A single node has the same degrees,
        clustering and orbit counts (all zero) as any graph without edges. It carries nothing.

        >>> GraphUnion.of([nx.empty_graph(0), nx.path_graph(2)]).with_node_in_empty().sizes.tolist()
        [1, 2]
        """
        sizes = np.maximum(self.sizes, 1)
        shift = ((np.cumsum(sizes) - sizes) - self.first)[self.graph_of_node]
        of_nodes = {name: np.zeros(sizes.sum(), dtype=np.int64) for name in self.of_nodes}
        for name, numbers in self.of_nodes.items():
            of_nodes[name][np.arange(self.node_count) + shift] = numbers
        src, dst = self.src + shift[self.src], self.dst + shift[self.dst]
        return GraphUnion(sizes, src, dst, of_nodes, self.of_edges)

    def select(self, graph_ids: IntArray) -> tuple[GraphUnion, IntArray]:
        """Return the union of some of the graphs, in that order, and their (V',) node numbers.

        >>> union = GraphUnion.of([nx.path_graph(3), nx.path_graph(2)])
        >>> part, nodes = union.select(np.array([1, 0]))
        >>> part.src.tolist(), nodes.tolist()
        ([0, 1, 2, 3, 3, 4], [3, 4, 0, 1, 2])
        """
        sizes = self.sizes[graph_ids]
        nodes = ranges(self.first[graph_ids], sizes)
        renumbered = np.empty(self.node_count, dtype=np.int64)
        renumbered[nodes] = np.arange(len(nodes))
        row_end = np.cumsum(self.degrees)
        degrees = self.degrees[nodes]
        edges = ranges(row_end[nodes] - degrees, degrees)
        part = GraphUnion(
            sizes,
            renumbered[self.src[edges]],
            renumbered[self.dst[edges]],
            _taken(self.of_nodes, nodes),
            _taken(self.of_edges, edges),
        )
        return part, nodes

    @staticmethod
    def concatenate(unions: Sequence[GraphUnion]) -> GraphUnion:
        """Concatenate unions whose nodes and edges carry the same.

        >>> path = GraphUnion.of([nx.path_graph(2)])
        >>> GraphUnion.concatenate([path, path]).dst.tolist()
        [1, 0, 3, 2]
        """
        starts = np.cumsum([0] + [union.node_count for union in unions])
        return GraphUnion(
            np.concatenate([union.sizes for union in unions]),
            np.concatenate([union.src + start for union, start in zip(unions, starts)]),
            np.concatenate([union.dst + start for union, start in zip(unions, starts)]),
            _joined([union.of_nodes for union in unions]),
            _joined([union.of_edges for union in unions]),
        )


def union_of(
    graphs: Sequence[nx.Graph[Any]],
    name: str,
    *,
    drop_isolated: bool = False,
    of_nodes: Columns | None = None,
    of_edges: Columns | None = None,
) -> GraphUnion:
    """Convert the graphs of an argument that must hold at least one, naming it in errors.

    Args:
        graphs: the graphs.
        name: of the argument.
        drop_isolated: remove nodes without edges.
        of_nodes, of_edges: as of `GraphUnion.of`.

    Raises:
        GraphDataError: there is no graph, or one is not simple and undirected.

    Example:
        >>> union_of([nx.empty_graph(2)], "samples", drop_isolated=True).sizes.tolist()
        [0]
    """
    with naming(name):
        union = GraphUnion.of(graphs, of_nodes, of_edges)
    if not len(union):
        raise GraphDataError(f"{name} holds no graph; give at least one.")
    return union.without_isolated() if drop_isolated else union


def _taken(columns: Columns, places: npt.NDArray[Any]) -> Columns:
    return {name: numbers[places] for name, numbers in columns.items()}


def _joined(parts: Sequence[Columns]) -> Columns:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _in_both_directions(numbers: IntArray, src: IntArray, dst: IntArray) -> IntArray:
    """Return (E,) numbers of directed edges from those of edges in the order of networkx.

    networkx lists an edge at the first of its nodes, so in the order of directed edges to later
    nodes.
    """
    found = np.empty(len(src), dtype=np.int64)
    later = src < dst
    found[later] = numbers
    # By (smaller end, larger end), the k-th edge is the k-th of either direction.
    forth, back = (np.flatnonzero(there) for there in (later, ~later))
    forth = forth[np.lexsort((dst[forth], src[forth]))]
    back = back[np.lexsort((src[back], dst[back]))]
    found[back] = found[forth]
    return found


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Name the argument in errors about its graphs."""
    try:
        yield
    except GraphDataError as error:
        raise GraphDataError(f"{name}, {error}") from None


def ranges(starts: IntArray, lengths: IntArray) -> IntArray:
    """Concatenate the integer ranges [starts, starts + lengths).

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    before = np.cumsum(lengths) - lengths
    values: IntArray = np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)
    return values


def check_kind(graph: object, index: int) -> None:
    """Refuse what is no undirected graph.

    Raises:
        GraphDataError: it is directed, a multigraph or no networkx graph.
    """
    if not isinstance(graph, nx.Graph):
        raise GraphDataError(
            f"graph {index}: expected a networkx.Graph, got {type(graph).__name__}. "
            "Convert it first, for instance with networkx.from_numpy_array."
        )
    if graph.is_directed() or graph.is_multigraph():
        raise GraphDataError(
            f"graph {index}: metrics are defined for simple undirected graphs, "
            f"got a {type(graph).__name__}. Convert it with networkx.Graph(graph)."
        )


def _check_loops(src: IntArray, dst: IntArray, owner: IntArray) -> None:
    loops = np.flatnonzero(src == dst)
    if len(loops):
        raise GraphDataError(
            f"graph {owner[loops[0]]}: a node is joined to itself, but metrics are defined for "
            "simple graphs. Remove self-loops with "
            "graph.remove_edges_from(list(networkx.selfloop_edges(graph)))."
        )
