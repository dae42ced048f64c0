"""Descriptors: the histograms and vectors by which two sets of graphs are compared.

All functions take networkx graphs or a `GraphUnion`, and raise `GraphDataError` if a graph is
directed, a multigraph or has self-loops. Those that need orbit counts accept the (V,15) counts of
all nodes, so that `evaluate` computes them only once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

from graphscore.errors import GraphDataError
from graphscore.metrics.disjoint_union import FloatArray, GraphUnion, IntArray
from graphscore.metrics.orbits import union_orbit_counts

if TYPE_CHECKING:  # networkx graphs take type arguments only in its stubs
    Graphs = Iterable[nx.Graph[Any]] | GraphUnion

CLUSTERING_BINS = 100
"""Number of equal bins on [0,1] for clustering coefficients, as in published evaluations."""

SPECTRUM_BINS = 200
SPECTRUM_RANGE = (-1e-5, 2.0)
"""Equal bins for Laplacian eigenvalues, as in published evaluations; the first begins below 0, so
that the frequent eigenvalue 0 is not on the edge of a bin."""


def degree_histograms(graphs: Graphs) -> IntArray:
    """Count the nodes of each degree, (G,D+1) with D the largest degree of all graphs.

    Example:
        >>> degree_histograms([nx.path_graph(4), nx.empty_graph(1)]).tolist()
        [[0, 2, 2], [1, 0, 0]]
    """
    union = GraphUnion.of(graphs)
    return _histograms(union, union.degrees, int(union.degrees.max(initial=0)) + 1)


def clustering_coefficients(graphs: Graphs) -> list[FloatArray]:
    """Return the clustering coefficient c_i = 2 t_i / (d_i (d_i - 1)) of every node, one (n,) each.

    Here d_i is the degree of node i and t_i its number of triangles; c_i is 0 where d_i < 2.

    Example:
        >>> clustering_coefficients([nx.complete_graph(3), nx.path_graph(2)])
        [array([1., 1., 1.]), array([0., 0.])]
    """
    union = GraphUnion.of(graphs)
    values = _clustering(union, union_orbit_counts(union))
    return np.split(values, np.cumsum(union.sizes)[:-1]) if len(union) else []


def clustering_histograms(graphs: Graphs, orbits: IntArray | None = None) -> IntArray:
    """Count the nodes in each of 100 equal bins of the clustering coefficient, (G,100).

    Example:
        >>> counts = clustering_histograms([nx.complete_graph(3)])
        >>> counts.shape, int(counts[0, 99])
        ((1, 100), 3)
    """
    union = GraphUnion.of(graphs)
    values = _clustering(union, union_orbit_counts(union) if orbits is None else orbits)
    return _binned(union, values, 0.0, 1.0, CLUSTERING_BINS)


def laplacian_spectra(graphs: Graphs) -> list[FloatArray]:
    """Return the eigenvalues of the normalised Laplacian, ascending, one (n,) for each graph.

    The normalised Laplacian is L_ij = [i = j] - A_ij / sqrt(d_i d_j), with zero rows for nodes
    without edges; its eigenvalues lie in [0,2].

    Example:
        >>> laplacian_spectra([nx.complete_graph(3)])[0].round(6).tolist()
        [0.0, 1.5, 1.5]
    """
    union = GraphUnion.of(graphs)
    # Only nodes with edges are divided by the root of their degree.
    values = 1 / np.sqrt(union.degrees[union.src]) * (1 / np.sqrt(union.degrees[union.dst]))
    local = np.arange(union.node_count) - union.first[union.graph_of_node]
    edge_counts = np.bincount(union.graph_of_node[union.src], minlength=len(union))
    last_edge, last_node = np.cumsum(edge_counts).tolist(), np.cumsum(union.sizes).tolist()
    spectra = []
    for index, (size, edges) in enumerate(zip(union.sizes.tolist(), edge_counts.tolist())):
        here = slice(last_edge[index] - edges, last_edge[index])
        nodes = slice(last_node[index] - size, last_node[index])
        laplacian = np.diag((union.degrees[nodes] > 0).astype(np.float64))
        laplacian[local[union.src[here]], local[union.dst[here]]] = -values[here]
        # Eigenvalues 0 (always) and 2 (bipartite graphs) occur, and rounding may leave [0,2].
        spectra.append(np.linalg.eigvalsh(laplacian).clip(0.0, 2.0))
    return spectra


def spectrum_histograms(graphs: Graphs) -> IntArray:
    """Count the eigenvalues of the normalised Laplacian in 200 equal bins on [-1e-5,2], (G,200).

    Example:
        >>> counts = spectrum_histograms([nx.path_graph(2)])
        >>> counts.shape, int(counts[0, 0]), int(counts[0, 199])
        ((1, 200), 1, 1)
    """
    union = GraphUnion.of(graphs)
    # A graph has as many eigenvalues as nodes, so they are counted like values of nodes.
    values = np.concatenate([[], *laplacian_spectra(union)])
    return _binned(union, values, *SPECTRUM_RANGE, SPECTRUM_BINS)


def mean_orbit_counts(graphs: Graphs, orbits: IntArray | None = None) -> FloatArray:
    """Return the orbit counts of each graph averaged over its nodes, (G,15).

    Raises:
        GraphDataError: also if a graph has no nodes.

    Example:
        >>> mean_orbit_counts([nx.path_graph(3)])[0, :3].round(3).tolist()
        [1.333, 0.667, 0.333]
    """
    union = GraphUnion.of(graphs)
    empty = np.flatnonzero(union.sizes == 0)
    if len(empty):
        raise GraphDataError(
            f"graph {empty[0]}: it has no nodes, so there is no mean over nodes. Remove empty "
            "graphs first, or use evaluate, which treats them as a single node."
        )
    counts = union_orbit_counts(union) if orbits is None else orbits
    return np.add.reduceat(counts, union.first, axis=0) / union.sizes[:, None]


def _clustering(union: GraphUnion, orbits: IntArray) -> FloatArray:
    """Return the (V,) clustering coefficients; orbit 3 counts triangles."""
    d = union.degrees
    # One division of two exact integers, as in networkx, so that values on the edge of a bin
    # round in the same direction.
    values: FloatArray = orbits[:, 3] / np.maximum(d * (d - 1) // 2, 1)
    return values


def _binned(union: GraphUnion, values: FloatArray, low: float, high: float, bins: int) -> IntArray:
    """Count (V,) values in equal bins for each graph, as numpy.histogram does, (G,bins)."""
    # Comparison with these very edges decides, and the last bin includes its upper edge.
    place = np.searchsorted(np.linspace(low, high, bins + 1), values, side="right") - 1
    return _histograms(union, np.minimum(place, bins - 1), bins)


def _histograms(union: GraphUnion, bin_of_node: IntArray, bins: int) -> IntArray:
    return counted(len(union), union.graph_of_node, bin_of_node, bins)


def counted(graphs: int, graph_of: IntArray, values: IntArray, width: int) -> IntArray:
    """Count (N,) values 0..width-1 of graphs, (G,width).

    >>> counted(2, np.array([0, 0, 1]), np.array([1, 1, 2]), 3).tolist()
    [[0, 2, 0], [0, 0, 1]]
    """
    flat = np.bincount(graph_of * width + values, minlength=graphs * width)
    return flat.astype(np.int64).reshape(graphs, width)
