"""Blocks of a graph: the partition of minimum description length under a stochastic block model.

In a stochastic block model the probability of an edge depends only on the blocks of its two ends.
Minimising the description length also determines the number of blocks.
"""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from graphscore.errors import GraphDataError
from graphscore.metrics.disjoint_union import FloatArray, GraphUnion, IntArray

MAX_BLOCKS = 8
"""Partitions into more blocks than this are not tried."""

_GAIN = 1e-9  # least reduction of the description length that is not rounding


def find_blocks(graph: nx.Graph[Any]) -> IntArray:
    """Return the block of every node, (n,), for the partition of minimum description length.

    For each number of blocks up to `MAX_BLOCKS`, nodes are clustered by the leading eigenvectors of
    the regularised normalised adjacency matrix (Ward's method on their rows), then all nodes are
    moved to their most likely blocks as long as the description length falls. The best partition is
    then improved by single moves until none helps. The search is deterministic.

    Blocks are numbered in the order of their first nodes; nodes have the order of the graph.

    Raises:
        GraphDataError: the graph is directed, a multigraph or has self-loops.

    Example:
        >>> two_cliques = nx.disjoint_union(nx.complete_graph(8), nx.complete_graph(7))
        >>> find_blocks(two_cliques).tolist()
        [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1]
    """
    adj = dense_adjacency(graph)
    whole = np.zeros(len(adj), dtype=np.int64)
    if not len(adj):
        return whole
    vectors = _leading_vectors(adj)
    parted = [
        _refined(adj, _clustered(vectors[:, :count], count))
        for count in range(2, min(MAX_BLOCKS, len(adj)) + 1)
    ]
    shortest = min([whole, *parted], key=lambda blocks: _length(adj, blocks))
    return _numbered(_improved(adj, shortest))


def description_length(graph: nx.Graph[Any], blocks: npt.ArrayLike) -> float:
    """Return the description length of a graph and a partition into blocks, in nats.

    With n_r nodes in block r, N_rs pairs of nodes and e_rs edges between blocks r and s, it is
    sum_{r<=s} log[(N_rs + 1) C(N_rs, e_rs)] for the edges, with a uniform prior on each edge
    probability (minus the log of the integral of p^e (1-p)^(N-e) over p), plus
    log[n! / prod_r n_r!] + log C(n-1, B-1) + log n for the partition into B blocks.

    Args:
        graph: a simple undirected graph with at least one node.
        blocks: (n,) block of every node, in the order of the graph.

    Raises:
        GraphDataError: the graph is not simple, or `blocks` does not give one number per node.

    Example:
        >>> two_cliques = nx.disjoint_union(nx.complete_graph(8), nx.complete_graph(7))
        >>> one = description_length(two_cliques, [0] * 15)
        >>> two = description_length(two_cliques, [0] * 8 + [1] * 7)
        >>> one > two
        True
    """
    adj = dense_adjacency(graph)
    labels = np.asarray(blocks)
    if labels.shape != (len(adj),) or not len(adj):
        raise GraphDataError(
            f"blocks has shape {labels.shape}, but the graph has {len(adj)} nodes. Give one number "
            "for each node of a graph that has nodes."
        )
    return _length(adj, _numbered(labels))


def dense_adjacency(graph: nx.Graph[Any]) -> FloatArray:
    """Return the (n,n) adjacency matrix in the graph's node order; raise if it is not simple."""
    union = GraphUnion.of([graph])
    adj = np.zeros((union.node_count, union.node_count))
    adj[union.src, union.dst] = 1.0
    return adj


def block_counts(adj: FloatArray, blocks: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the (B,) sizes of blocks and the (B,B) edge counts, those within blocks twice.

    >>> sizes, edges = block_counts(nx.to_numpy_array(nx.path_graph(3)), np.array([0, 0, 1]))
    >>> sizes.tolist(), edges.tolist()
    ([2.0, 1.0], [[2.0, 1.0], [1.0, 0.0]])
    """
    members = _members(blocks)
    return members.sum(0), members.T @ adj @ members


def _length(adj: FloatArray, blocks: IntArray) -> float:
    return float(_lengths(*block_counts(adj, blocks)))


def _lengths(sizes: FloatArray, edges: FloatArray) -> FloatArray:
    """Return description lengths (...,) for (...,B) sizes and (...,B,B) edges as `block_counts`."""
    from scipy.special import gammaln  # slow to import, so not before it is needed

    rows, columns = np.triu_indices(sizes.shape[-1])
    within = rows == columns
    pairs = sizes[..., rows] * (sizes[..., columns] - within) / (1 + within)
    present = edges[..., rows, columns] / (1 + within)
    edge_part = gammaln(pairs + 2) - gammaln(present + 1) - gammaln(pairs - present + 1)
    # An empty block has no pairs and adds nothing, but it must not be counted as a block.
    count, nodes = (sizes > 0).sum(-1), sizes.sum(-1)
    node_part = gammaln(nodes + 1) - gammaln(sizes + 1).sum(-1) + np.log(nodes)
    choice = gammaln(nodes) - gammaln(count) - gammaln(nodes - count + 1)
    total: FloatArray = edge_part.sum(-1) + node_part + choice
    return total


def _leading_vectors(adj: FloatArray) -> FloatArray:
    """Return the leading eigenvectors (n,MAX_BLOCKS) of the regularised normalised adjacency."""
    degrees = adj.sum(1)
    # Regularisation: without it, leading eigenvectors concentrate on a few nodes of low degree.
    extra = max(float(degrees.mean()), 1.0)
    scale = np.sqrt(degrees + extra)
    _, vectors = np.linalg.eigh((adj + extra / len(adj)) / np.outer(scale, scale))
    leading: FloatArray = vectors[:, ::-1][:, :MAX_BLOCKS]
    return leading


def _clustered(vectors: FloatArray, count: int) -> IntArray:
    """Cluster the rows of (n,D) vectors, by direction, into at most `count` blocks."""
    from scipy.cluster.hierarchy import fcluster, linkage  # slow to import

    rows = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return _numbered(fcluster(linkage(rows, "ward"), count, "maxclust"))


def _refined(adj: FloatArray, blocks: IntArray) -> IntArray:
    """Move all nodes at once to their most likely blocks while the description length falls."""
    least = _length(adj, blocks)
    while True:
        members = _members(blocks)
        sizes, edges = block_counts(adj, blocks)
        pairs = np.outer(sizes, sizes) - np.diag(sizes)
        p = (edges + 1) / (pairs + 2)
        ties = adj @ members
        likelihood = ties @ np.log(p / (1 - p)) + (sizes - members) @ np.log(1 - p) + np.log(sizes)
        moved = _numbered(likelihood.argmax(1))
        length = _length(adj, moved)
        if length >= least - _GAIN:
            return blocks
        blocks, least = moved, length


def _improved(adj: FloatArray, blocks: IntArray) -> IntArray:
    """Make the single move that reduces the description length most, until none reduces it."""
    blocks = blocks.copy()
    sizes, edges = block_counts(adj, blocks)
    least = float(_lengths(sizes, edges))
    while True:
        members = _members(blocks, len(sizes))
        # Counts after moving each node (first axis) to each block (second axis).
        change = np.eye(len(sizes))[None] - members[:, None]
        ties = (adj @ members)[:, None]
        shift = change[..., :, None] * ties[..., None, :]
        lengths = _lengths(sizes + change, edges + shift + shift.swapaxes(-1, -2))
        node, block = np.unravel_index(lengths.argmin(), lengths.shape)
        if lengths[node, block] >= least - _GAIN:
            return blocks
        least = float(lengths[node, block])
        blocks[node] = block
        sizes, edges = (
            sizes + change[node, block],
            edges + shift[node, block] + shift[node, block].T,
        )


def _members(blocks: IntArray, count: int | None = None) -> FloatArray:
    """Return the (n,B) matrix that is 1 where a node belongs to a block."""
    members: FloatArray = np.eye(int(blocks.max()) + 1 if count is None else count)[blocks]
    return members


def _numbered(labels: npt.NDArray[Any]) -> IntArray:
    """Number labels 0, 1, ... in order of first appearance."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]
