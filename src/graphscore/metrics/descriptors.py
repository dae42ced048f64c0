"""Descriptors: the histograms and vectors by which two sets of graphs are compared."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from graphscore.errors import GraphDataError
from graphscore.metrics.disjoint_union import GraphUnion, IntArray
from graphscore.metrics.orbits import ORBIT_COUNT, union_orbit_counts

FloatArray = npt.NDArray[np.float64]

CLUSTERING_BINS = 100
"""Number of equal bins on [0,1] for clustering coefficients, as in published evaluations."""

SPECTRUM_BINS = 200
SPECTRUM_RANGE = (-1e-5, 2.0)
"""Equal bins for Laplacian eigenvalues, as in published evaluations; the first begins below 0, so
that the frequent eigenvalue 0 is not on the edge of a bin."""


def degree_histograms(graphs: Iterable[nx.Graph[Any]]) -> IntArray:
    """Count the nodes of each degree, (G,D+1) with D the largest degree of all graphs.

    Raises:
        GraphDataError: a graph is directed, a multigraph or has self-loops.

    Example:
        >>> degree_histograms([nx.path_graph(4), nx.empty_graph(1)]).tolist()
        [[0, 2, 2], [1, 0, 0]]
    """
    return union_degree_histograms(GraphUnion.of(graphs))


def clustering_coefficients(graphs: Iterable[nx.Graph[Any]]) -> list[FloatArray]:
    """Return the clustering coefficient c_i = 2 t_i / (d_i (d_i - 1)) of every node, one (n,) each.

    Here d_i is the degree of node i and t_i its number of triangles; c_i is 0 where d_i < 2.

    Raises:
        GraphDataError: a graph is directed, a multigraph or has self-loops.

    Example:
        >>> clustering_coefficients([nx.complete_graph(3), nx.path_graph(2)])
        [array([1., 1., 1.]), array([0., 0.])]
    """
    union = GraphUnion.of(graphs)
    values = union_clustering(union, union_orbit_counts(union)[:, 3])
    return np.split(values, np.cumsum(union.sizes)[:-1]) if len(union) else []


def clustering_histograms(graphs: Iterable[nx.Graph[Any]]) -> IntArray:
    """Count the nodes in each of 100 equal bins of the clustering coefficient, (G,100).

    Raises:
        GraphDataError: a graph is directed, a multigraph or has self-loops.

    Example:
        >>> counts = clustering_histograms([nx.complete_graph(3)])
        >>> counts.shape, int(counts[0, 99])
        ((1, 100), 3)
    """
    union = GraphUnion.of(graphs)
    return union_clustering_histograms(union, union_orbit_counts(union)[:, 3])


def laplacian_spectra(graphs: Iterable[nx.Graph[Any]]) -> list[FloatArray]:
    """Return the eigenvalues of the normalised Laplacian, ascending, one (n,) for each graph.

    The normalised Laplacian is L_ij = [i = j] - A_ij / sqrt(d_i d_j), with zero rows for nodes
    without edges; its eigenvalues lie in [0,2].

    Raises:
        GraphDataError: a graph is directed, a multigraph or has self-loops.

    Example:
        >>> laplacian_spectra([nx.complete_graph(3)])[0].round(6).tolist()
        [0.0, 1.5, 1.5]
    """
    return union_laplacian_spectra(GraphUnion.of(graphs))


def spectrum_histograms(graphs: Iterable[nx.Graph[Any]]) -> IntArray:
    """Count the eigenvalues of the normalised Laplacian in 200 equal bins on [-1e-5,2], (G,200).

    Raises:
        GraphDataError: a graph is directed, a multigraph or has self-loops.

    Example:
        >>> counts = spectrum_histograms([nx.path_graph(2)])
        >>> counts.shape, int(counts[0, 0]), int(counts[0, 199])
        ((1, 200), 1, 1)
    """
    return union_spectrum_histograms(GraphUnion.of(graphs))


def mean_orbit_counts(graphs: Iterable[nx.Graph[Any]]) -> FloatArray:
    """Return the orbit counts of each graph averaged over its nodes, (G,15).

    Raises:
        GraphDataError: a graph has no nodes, is directed, a multigraph or has self-loops.

    Example:
        >>> mean_orbit_counts([nx.path_graph(3)])[0, :3].round(3).tolist()
        [1.333, 0.667, 0.333]
    """
    union = GraphUnion.of(graphs)
    return union_mean_orbits(union, union_orbit_counts(union))


def union_degree_histograms(union: GraphUnion) -> IntArray:
    """Count the nodes of each degree in every graph of a union; see `degree_histograms`."""
    bins = int(union.degrees.max(initial=0)) + 1
    return _histograms(union, union.degrees, bins)


def union_clustering(union: GraphUnion, triangles: IntArray) -> FloatArray:
    """Return the (V,) clustering coefficients of a union whose (V,) triangle counts are known."""
    d = union.degrees
    # One division of two exact integers, as in networkx, so that values on the edge of a bin
    # round in the same direction.
    values: FloatArray = 2 * triangles / np.maximum(d * (d - 1), 1)
    return values


def union_clustering_histograms(union: GraphUnion, triangles: IntArray) -> IntArray:
    """Bin the clustering coefficients of every graph of a union; see `clustering_histograms`."""
    values = union_clustering(union, triangles)
    # numpy.histogram assigns by comparison with these very edges; its last bin includes 1.
    edges = np.linspace(0.0, 1.0, CLUSTERING_BINS + 1)
    place = np.searchsorted(edges, values, side="right") - 1
    return _histograms(union, np.minimum(place, CLUSTERING_BINS - 1), CLUSTERING_BINS)


def union_laplacian_spectra(union: GraphUnion) -> list[FloatArray]:
    """Return the normalised Laplacian's eigenvalues of every graph; see `laplacian_spectra`."""
    scale = 1 / np.sqrt(np.maximum(union.degrees, 1))
    values = scale[union.src] * scale[union.dst]
    local = np.arange(union.node_count) - union.first[union.graph_of_node]
    edge_counts = np.bincount(union.graph_of_node[union.src], minlength=len(union))
    last_edge, last_node = np.cumsum(edge_counts).tolist(), np.cumsum(union.sizes).tolist()
    spectra = []
    for index, (size, edges) in enumerate(zip(union.sizes.tolist(), edge_counts.tolist())):
        here = slice(last_edge[index] - edges, last_edge[index])
        nodes = slice(last_node[index] - size, last_node[index])
        laplacian = np.diag((union.degrees[nodes] > 0).astype(np.float64))
        laplacian[local[union.src[here]], local[union.dst[here]]] = -values[here]
        # Rounding may leave [0,2], the more so as 0 (always) and 2 (bipartite graphs) are attained.
        spectra.append(np.linalg.eigvalsh(laplacian).clip(0.0, 2.0))
    return spectra


def union_spectrum_histograms(union: GraphUnion) -> IntArray:
    """Bin the eigenvalues of every graph of a union; see `spectrum_histograms`."""
    spectra = union_laplacian_spectra(union)
    values = np.concatenate(spectra) if spectra else np.zeros(0)
    edges = np.linspace(*SPECTRUM_RANGE, SPECTRUM_BINS + 1)
    place = np.searchsorted(edges, values, side="right") - 1
    # As many eigenvalues as nodes, in the same order of graphs, so they can be counted like nodes.
    return _histograms(union, np.minimum(place, SPECTRUM_BINS - 1), SPECTRUM_BINS)


def union_mean_orbits(union: GraphUnion, orbits: IntArray) -> FloatArray:
    """Average (V,15) orbit counts over the nodes of each graph; see `mean_orbit_counts`."""
    empty = np.flatnonzero(union.sizes == 0)
    if len(empty):
        raise GraphDataError(
            f"graph {empty[0]}: it has no nodes, so there is no mean over nodes. Remove empty "
            "graphs first, or use evaluate, which treats them as a single node."
        )
    totals = np.zeros((len(union), ORBIT_COUNT), dtype=np.int64)
    if len(union):
        totals = np.add.reduceat(orbits, union.first, axis=0)
    return totals / union.sizes[:, None]


def _histograms(union: GraphUnion, bin_of_node: IntArray, bins: int) -> IntArray:
    flat = np.bincount(union.graph_of_node * bins + bin_of_node, minlength=len(union) * bins)
    return flat.astype(np.int64).reshape(len(union), bins)
