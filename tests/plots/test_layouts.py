"""Planar graphs are drawn without crossings, near their distances; every node has a place."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from graphscore.datasets import sample_planar
from graphscore.plots import layouts
from graphscore.plots.layouts import crossings, layout


def drawn(graph):
    """Places of the nodes, and edges as their numbers."""
    where = layout(graph)
    number = {node: k for k, node in enumerate(graph)}
    edges = [(number[u], number[v]) for u, v in graph.edges]
    return np.array([where[v] for v in graph]), np.array(edges, dtype=int).reshape(-1, 2)


def wheels():
    """Blocks that share nodes, hanging trees, and parts."""
    one = nx.disjoint_union_all([nx.wheel_graph(7), nx.complete_graph(4), nx.ladder_graph(4)])
    one.add_edges_from([(0, 7), (1, "leaf"), ("leaf", "end"), (8, 3)])
    return nx.disjoint_union(one, nx.complete_bipartite_graph(2, 5))


PLANAR = {
    "Delaunay": sample_planar(1, seed=0)[0],
    "blocks": wheels(),
    "tree": nx.random_labeled_tree(64, seed=2),
    "grid": nx.grid_2d_graph(10, 12),
    "dodecahedron": nx.dodecahedral_graph(),
    "labels": nx.relabel_nodes(nx.cubical_graph(), {0: "a", 1: (2, 3)}),
}


@pytest.mark.parametrize("name", PLANAR)
def test_planar_graphs_have_no_crossings(name):
    points, edges = drawn(PLANAR[name])
    assert crossings(points, edges) == 0
    assert np.isfinite(points).all()


def test_all_small_planar_graphs_have_no_crossings():
    """Every fifth of the 1253 graphs of up to seven nodes."""
    for graph in nx.graph_atlas_g()[1::5]:
        if nx.check_planarity(graph)[0]:
            assert crossings(*drawn(graph)) == 0, nx.to_graph6_bytes(graph)


def test_edges_of_planar_graphs_have_similar_lengths():
    """Straight lines on a grid, which networkx gives, differ a hundredfold."""
    points, edges = drawn(PLANAR["Delaunay"])
    lengths = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
    assert lengths.max() < 12 * lengths.min()


def test_places_by_distance_are_kept_where_nothing_crosses():
    graph = nx.path_graph(5)
    expected = nx.kamada_kawai_layout(graph)
    for node, place in layout(graph).items():
        assert place == pytest.approx(expected[node], abs=1e-6)


@pytest.mark.parametrize("graph", [nx.complete_graph(6), nx.petersen_graph()])
def test_other_graphs_are_drawn_by_distance(graph):
    points, _ = drawn(graph)
    expected = nx.kamada_kawai_layout(graph)
    assert points == pytest.approx(np.array([expected[node] for node in graph]), abs=1e-6)


def test_large_planar_graphs_take_no_long_time(monkeypatch):
    """They are drawn by distance."""
    monkeypatch.setattr(layouts, "MOST_SPREAD_NODES", 63)
    graph = PLANAR["Delaunay"]
    points, _ = drawn(graph)
    expected = nx.kamada_kawai_layout(graph)
    assert points == pytest.approx(np.array([expected[node] for node in graph]), abs=1e-6)


def test_crossings_are_counted():
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.5, 0.5]])
    assert crossings(square, np.array([[0, 2], [1, 3]])) == 1
    assert crossings(square, np.array([[0, 1], [1, 2], [2, 3], [0, 3]])) == 0
    assert crossings(square, np.array([[0, 2], [1, 4]])) == 1  # touches
    assert crossings(square, np.zeros((0, 2), dtype=int)) == 0
