"""Histograms against networkx and numpy.histogram, count by count."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from graphscore.errors import GraphDataError
from graphscore.metrics import (
    clustering_coefficients,
    clustering_histograms,
    degree_histograms,
    laplacian_spectra,
    mean_orbit_counts,
    orbit_counts,
    spectrum_histograms,
)
from graphscore.metrics.disjoint_union import GraphUnion


def published_histogram(graph):
    values = list(nx.clustering(graph).values())
    return np.histogram(values, bins=100, range=(0.0, 1.0))[0]


def test_degree_histograms_equal_networkx(random_graphs):
    graphs = [*random_graphs(20, 1, 15), nx.empty_graph(2)]
    table = degree_histograms(graphs)
    for graph, row in zip(graphs, table):
        expected = nx.degree_histogram(graph)
        assert row.tolist() == expected + [0] * (len(row) - len(expected))


def test_clustering_equals_networkx_bit_for_bit(random_graphs):
    graphs = [*random_graphs(60, 1, 25), nx.complete_graph(6), nx.empty_graph(3)]
    for graph, values in zip(graphs, clustering_coefficients(graphs)):
        assert values.tolist() == list(nx.clustering(graph).values())
    for graph, row in zip(graphs, clustering_histograms(graphs)):
        assert row.tolist() == published_histogram(graph).tolist()


@pytest.mark.parametrize("degree", range(2, 27))
def test_every_possible_coefficient_falls_into_the_bin_of_numpy(degree):
    """Coefficients such as 0.29 or 0.57 sit on the edge of a bin; all fractions are tried."""
    union = GraphUnion.of([nx.star_graph(degree)])
    for triangles in range(degree * (degree - 1) // 2 + 1):
        orbits = np.zeros((degree + 1, 15), dtype=np.int64)
        orbits[0, 3] = triangles
        row = clustering_histograms(union, orbits)[0]
        values = [2 * triangles / (degree * (degree - 1))] + [0.0] * degree
        assert row.tolist() == np.histogram(values, bins=100, range=(0.0, 1.0))[0].tolist()


def test_spectra_equal_those_of_networkx(random_graphs):
    isolated = nx.path_graph(4)
    isolated.add_node(4)
    graphs = [*random_graphs(20, 1, 15), isolated, nx.empty_graph(2), nx.path_graph(2)]
    for graph, values in zip(graphs, laplacian_spectra(graphs)):
        laplacian = nx.normalized_laplacian_matrix(graph).toarray()
        np.testing.assert_allclose(values, np.linalg.eigvalsh(laplacian), atol=1e-12)
    for graph, row in zip(graphs, spectrum_histograms(graphs)):
        values = np.linalg.eigvalsh(nx.normalized_laplacian_matrix(graph).toarray()).clip(0, 2)
        assert row.tolist() == np.histogram(values, bins=200, range=(-1e-5, 2))[0].tolist()


def test_known_spectra():
    complete, cycle, star, single = laplacian_spectra(
        [nx.complete_graph(6), nx.cycle_graph(5), nx.star_graph(4), nx.empty_graph(1)]
    )
    np.testing.assert_allclose(complete, [0] + [6 / 5] * 5, atol=1e-12)
    np.testing.assert_allclose(cycle, np.sort(1 - np.cos(2 * np.pi * np.arange(5) / 5)), atol=1e-12)
    np.testing.assert_allclose(star, [0, 1, 1, 1, 2], atol=1e-12)
    assert single.tolist() == [0.0]


def test_both_ends_of_a_bipartite_spectrum_are_counted():
    """Rounding puts the eigenvalue 2 above 2 as often as below; it must not fall off the bins."""
    trees = [nx.random_labeled_tree(64, seed=seed) for seed in range(20)]
    assert all(0 <= values.min() <= values.max() <= 2 for values in laplacian_spectra(trees))
    counts = spectrum_histograms(trees)
    assert (counts.sum(1) == 64).all()
    assert (counts[:, [0, 199]] >= 1).all()


def test_mean_orbit_counts_are_means(random_graphs):
    graphs = random_graphs(10, 1, 9)
    for row, counts in zip(mean_orbit_counts(graphs), orbit_counts(graphs)):
        np.testing.assert_array_equal(row, counts.sum(0) / len(counts))


def test_a_graph_without_nodes_has_no_mean():
    with pytest.raises(GraphDataError, match="graph 1: it has no nodes"):
        mean_orbit_counts([nx.path_graph(2), nx.empty_graph(0)])


def test_no_graphs():
    assert degree_histograms([]).shape == (0, 1)
    assert clustering_histograms([]).shape == (0, 100)
    assert clustering_coefficients([]) == []
    assert laplacian_spectra([]) == []
    assert spectrum_histograms([]).shape == (0, 200)
    assert spectrum_histograms([nx.empty_graph(0), nx.empty_graph(3)]).sum(1).tolist() == [0, 3]
    assert mean_orbit_counts([]).shape == (0, 15)
