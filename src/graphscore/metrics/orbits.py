"""Exact counts of the 15 orbits of connected graphlets with two to four nodes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from graphscore.metrics.disjoint_union import GraphUnion, IntArray

ORBIT_COUNT = 15
"""Number of orbits of connected graphlets with two, three or four nodes."""

Words = npt.NDArray[np.uint64]

_BLOCK_CELLS = 1_000_000  # cells of one temporary array; bounds memory whatever the graphs are

# Orbit by (sorted degrees of the graphlet, degree of the root): unique for connected four-node
# graphlets, and absent for disconnected ones.
_ORBIT_BY_DEGREES: dict[tuple[tuple[int, ...], int], int] = {
    ((1, 1, 2, 2), 1): 4,
    ((1, 1, 2, 2), 2): 5,
    ((1, 1, 1, 3), 1): 6,
    ((1, 1, 1, 3), 3): 7,
    ((2, 2, 2, 2), 2): 8,
    ((1, 2, 2, 3), 1): 9,
    ((1, 2, 2, 3), 2): 10,
    ((1, 2, 2, 3), 3): 11,
    ((2, 2, 3, 3), 2): 12,
    ((2, 2, 3, 3), 3): 13,
    ((3, 3, 3, 3), 3): 14,
}


def orbit_counts(graphs: Iterable[nx.Graph[Any]]) -> list[IntArray]:
    """Count the induced connected graphlets that contain each node, by the node's orbit in them.

    Numbering as in ORCA: 0 degree; 1, 2 end and middle of a path of three; 3 triangle; 4, 5 end and
    middle of a path of four; 6, 7 leaf and centre of a claw; 8 four-cycle; 9, 10, 11 paw: tail end,
    node of degree two, of degree three; 12, 13 diamond: node of degree two, of degree three; 14
    complete graph of four.

    Counts f of subgraphs that need not be induced have closed formulas in degrees, triangles and
    common neighbours. The induced counts g solve the triangular system f = M g, where M[o, p] is
    the number of spanning subgraphs of the graphlet of orbit p in which its root has orbit o.

    Returns:
        One (n,15) int64 array per graph, rows in the order in which the graph lists its nodes.

    Raises:
        GraphDataError: a graph is directed, a multigraph or has self-loops.

    Example:
        >>> orbit_counts([nx.cycle_graph(4)])[0][0].tolist()
        [2, 2, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    """
    union = GraphUnion.of(graphs)
    return np.split(union_orbit_counts(union), np.cumsum(union.sizes)[:-1]) if len(union) else []


def union_orbit_counts(union: GraphUnion) -> IntArray:
    """Count orbits for all nodes of a union, (V,15); see `orbit_counts`.

    >>> union_orbit_counts(GraphUnion.of([nx.complete_graph(4)]))[:, 14].tolist()
    [1, 1, 1, 1]
    """
    counts = np.empty((union.node_count, ORBIT_COUNT), dtype=np.int64)
    for graph_ids in _blocks(union.sizes):
        part, nodes = union.select(graph_ids)
        if len(nodes):
            counts[nodes] = _counts_of_block(part)
    return counts


def _blocks(sizes: IntArray) -> Iterator[IntArray]:
    """Split graphs, ordered by size, into blocks with little padding and bounded memory."""
    order = np.argsort(sizes, kind="stable")
    start = 0
    while start < len(order):
        # The last graph of a block sets its width, so the block is shrunk until it fits.
        stop = len(order)
        while stop > start + 1 and (stop - start) * int(sizes[order[stop - 1]]) ** 2 > _BLOCK_CELLS:
            stop = start + (stop - start + 1) // 2
        yield order[start:stop]
        start = stop


def _counts_of_block(union: GraphUnion) -> IntArray:
    d = union.degrees
    rows = _NeighbourBits.of(union)
    t_edge = rows.common(union.src, union.dst)

    def over_neighbours(values: npt.NDArray[np.generic]) -> IntArray:
        """Sum values given on directed edges into their first node (exact below 2^53)."""
        return np.bincount(union.src, values, union.node_count).astype(np.int64)

    d_far = d[union.dst]
    t = over_neighbours(t_edge) // 2
    wedges = over_neighbours(d_far - 1)
    diamond_tips, k4 = _triangle_sums(union, rows, t_edge)
    f = np.empty((union.node_count, ORBIT_COUNT), dtype=np.int64)
    f[:, 0] = d
    f[:, 1] = wedges - 2 * t
    f[:, 2] = d * (d - 1) // 2 - t
    f[:, 3] = t
    f[:, 4] = over_neighbours(wedges[union.dst]) - d * (d - 1) - 2 * t
    f[:, 5] = over_neighbours((d[union.src] - 1) * (d_far - 1) - t_edge)
    f[:, 6] = over_neighbours((d_far - 1) * (d_far - 2) // 2)
    f[:, 7] = d * (d - 1) * (d - 2) // 6
    f[:, 8] = _four_cycles(union, rows)
    f[:, 9] = over_neighbours(t[union.dst] - t_edge)
    f[:, 10] = over_neighbours(t_edge * (d_far - 2))
    f[:, 11] = t * (d - 2)
    f[:, 12] = diamond_tips
    f[:, 13] = over_neighbours(t_edge * (t_edge - 1) // 2)
    f[:, 14] = k4
    f[:, 4:] = f[:, 4:] @ _induced_from_all().T
    return f


@cache
def _induced_from_all() -> IntArray:
    """Return the inverse of M, (11,11), for the four-node orbits 4 to 14."""
    pairs = list(itertools.combinations(range(4), 2))
    graphlet_of: dict[int, frozenset[tuple[int, int]]] = {}
    subsets = [
        frozenset(itertools.compress(pairs, present))
        for present in itertools.product((True, False), repeat=len(pairs))
    ]
    for edges in subsets:
        orbit = _orbit_of_root(edges)
        if orbit is not None:
            graphlet_of[orbit] = edges
    system = np.zeros((11, 11))
    for orbit, graphlet in graphlet_of.items():
        for edges in subsets:
            sub_orbit = _orbit_of_root(edges) if edges <= graphlet else None
            if sub_orbit is not None:
                system[sub_orbit - 4, orbit - 4] += 1
    # M has ones on its diagonal and is triangular, so its inverse is a matrix of integers.
    inverse: IntArray = np.rint(np.linalg.inv(system)).astype(np.int64)
    return inverse


def _orbit_of_root(edges: frozenset[tuple[int, int]]) -> int | None:
    """Return the orbit of node 0 in a graph on the nodes 0 to 3; None if it is disconnected."""
    ends = list(itertools.chain.from_iterable(edges))
    degrees = [ends.count(node) for node in range(4)]
    root, *_ = degrees
    return _ORBIT_BY_DEGREES.get((tuple(sorted(degrees)), root))


def popcount(words: Words) -> npt.NDArray[np.uint8]:
    """Count the ones in each 64-bit word.

    >>> popcount(np.array([0, 7, 2**63], dtype=np.uint64)).tolist()
    [0, 3, 1]
    """
    counts: npt.NDArray[np.uint8]
    if hasattr(np, "bitwise_count"):
        counts = np.bitwise_count(words)
    else:  # numpy below 2 has no such function; look up quarters of a word instead
        quarters = np.ascontiguousarray(words).view(np.uint16).reshape(*words.shape, 4)
        counts = _ones_of_16_bits()[quarters].sum(-1, dtype=np.uint8)
    return counts


@cache
def _ones_of_16_bits() -> npt.NDArray[np.uint8]:
    return np.array([value.bit_count() for value in range(65_536)], dtype=np.uint8)


@dataclass(frozen=True)
class _NeighbourBits:
    """The neighbours of each node as bits: word w, bit b of node v is its graph's node 64 w + b.

    Attributes:
        words: (W,V) 64-bit words.
        later: (W,V) the same of those neighbours only that have a larger number than the node.
        onward: (E,) whether a directed edge leads to the larger number.
        local: (V,) number of each node inside its graph.
    """

    words: Words
    later: Words
    onward: npt.NDArray[np.bool_]
    local: IntArray

    @classmethod
    def of(cls, union: GraphUnion) -> _NeighbourBits:
        local = np.arange(union.node_count) - union.first[union.graph_of_node]
        shape = (-(-int(union.sizes.max()) // 64), union.node_count)
        place = local[union.dst]
        word, bit = place >> 6, np.uint64(1) << (place & 63).astype(np.uint64)
        # Edges are distinct, so adding bits sets them.
        words, later = np.zeros(shape, dtype=np.uint64), np.zeros(shape, dtype=np.uint64)
        np.add.at(words, (word, union.src), bit)
        onward = union.src < union.dst
        np.add.at(later, (word, union.src), np.where(onward, bit, np.uint64(0)))
        return cls(words, later, onward, local)

    def common(self, nodes: IntArray, *others: IntArray) -> IntArray:
        """Count the common neighbours of the nodes at each index of the given arrays."""
        total = np.zeros(len(nodes), dtype=np.int64)
        for word in self.words:
            both = word[nodes]
            for other in others:
                both = both & word[other]
            total += popcount(both)
        return total


def _triangle_sums(
    union: GraphUnion, rows: _NeighbourBits, t_edge: IntArray
) -> tuple[IntArray, IntArray]:
    """Return per node i the sum over its triangles (i,j,k) of t_jk - 1, and its number of K4.

    Each of the three triangles at node i in a K4 finds it once.
    """
    tips, cliques = np.zeros((2, union.node_count))
    edges = np.flatnonzero(np.where(rows.onward, t_edge, 0))
    u, v, t = union.src[edges], union.dst[edges], t_edge[edges]
    for part in _parts_of_total(t, _BLOCK_CELLS):
        edge, k = _triangles(union, rows, u[part], v[part])
        i, j = u[part][edge], v[part][edge]
        fourth = rows.common(i, j, k)
        opposite = ((i, rows.common(j, k)), (j, rows.common(i, k)), (k, t[part][edge]))
        for node, common in opposite:
            tips += np.bincount(node, common - 1, union.node_count)
            cliques += np.bincount(node, fourth, union.node_count)
    return tips.astype(np.int64), cliques.astype(np.int64) // 3


def _triangles(
    union: GraphUnion, rows: _NeighbourBits, u: IntArray, v: IntArray
) -> tuple[IntArray, IntArray]:
    """List triangles u < v < w as (index of the edge uv, node w)."""
    edge_parts: list[IntArray] = []
    node_parts: list[IntArray] = []
    first = union.first[union.graph_of_node[u]]
    for index, (word, later_word) in enumerate(zip(rows.words, rows.later)):
        later = word[u] & later_word[v]
        some = np.flatnonzero(later)
        octets = later[some].astype("<u8").view(np.uint8).reshape(-1, 8)
        which, bit = np.nonzero(np.unpackbits(octets, axis=1, bitorder="little"))
        edge_parts.append(some[which])
        node_parts.append(first[some[which]] + 64 * index + bit)
    return np.concatenate(edge_parts), np.concatenate(node_parts)


def _four_cycles(union: GraphUnion, rows: _NeighbourBits) -> IntArray:
    """Return per node i the number of four-cycles through it, sum over j of C((A^2)_ij, 2)."""
    d = union.degrees
    pair_work = int((union.sizes**2).sum()) * len(rows.words)
    # Measured: one step of the sparse product takes about as long as six words of all pairs.
    if 6 * int((d**2).sum()) < pair_work:
        return _four_cycles_sparse(union)
    return _four_cycles_pairs(union, rows)


def _four_cycles_sparse(union: GraphUnion) -> IntArray:
    import scipy.sparse  # only large sparse graphs need it, and it is slow to import

    indptr = np.concatenate([[0], np.cumsum(union.degrees)])
    shape = (union.node_count, union.node_count)
    adj = scipy.sparse.csr_array((np.ones(len(union.dst), np.int64), union.dst, indptr), shape)
    totals: list[IntArray] = []
    work = np.bincount(union.src, union.degrees[union.dst], union.node_count)
    for part in _parts_of_total(work.astype(np.int64), _BLOCK_CELLS):
        paths = adj[part] @ adj
        paths.data = paths.data * (paths.data - 1) // 2
        totals.append(paths.sum(1))
    # The diagonal of A^2 holds degrees, which are not paths to another node.
    return np.concatenate(totals) - union.degrees * (union.degrees - 1) // 2


def _four_cycles_pairs(union: GraphUnion, rows: _NeighbourBits) -> IntArray:
    graphs, width = len(union), int(union.sizes.max())
    slot = union.graph_of_node * width + rows.local
    flat = np.zeros((len(rows.words), graphs * width), dtype=np.uint64)
    flat[:, slot] = rows.words
    padded = flat.reshape(len(rows.words), graphs, width)
    totals: list[IntArray] = []
    for part in _parts_of_total(np.full(width, padded[0].size), _BLOCK_CELLS):
        paths = np.zeros((graphs, part.stop - part.start, width), dtype=np.int64)
        for word in padded:
            paths += popcount(word[:, part, None] & word[:, None, :])
        totals.append((paths * (paths - 1) // 2).sum(-1))
    total = np.concatenate(totals, axis=1).reshape(-1)[slot]
    cycles: IntArray = total - union.degrees * (union.degrees - 1) // 2
    return cycles


def _parts_of_total(amounts: IntArray, limit: int) -> Iterator[slice]:
    """Split a list into consecutive slices whose amounts sum to at most about `limit`."""
    reached = np.cumsum(amounts)
    start = 0
    while start < len(amounts):
        before = int(reached[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(reached, before + limit, side="right")))
        yield slice(start, stop)
        start = stop
