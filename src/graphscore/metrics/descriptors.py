"""What a graph is reduced to before two sets of graphs are compared."""

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


def union_mean_orbits(union: GraphUnion, orbits: IntArray) -> FloatArray:
    """Average (V,15) orbit counts over the nodes of each graph; see `mean_orbit_counts`."""
    empty = np.flatnonzero(union.sizes == 0)
    if len(empty):
        raise GraphDataError(
            f"graph {empty[0]}: it has no nodes, so nothing can be averaged over them. "
            "Remove empty graphs first, or use evaluate, which counts them."
        )
    totals = np.zeros((len(union), ORBIT_COUNT), dtype=np.int64)
    if len(union):
        totals = np.add.reduceat(orbits, union.first, axis=0)
    return totals / union.sizes[:, None]


def _histograms(union: GraphUnion, bin_of_node: IntArray, bins: int) -> IntArray:
    flat = np.bincount(union.graph_of_node * bins + bin_of_node, minlength=len(union) * bins)
    return flat.astype(np.int64).reshape(len(union), bins)
