"""Planar: triangulations of uniform points, by what every Delaunay triangulation must satisfy."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from scipy.spatial import ConvexHull

from graphscore.datasets import load_dataset, sample_planar
from graphscore.datasets.planar import triangulation


def in_circle(a, b, c, point) -> bool:
    """Whether a point lies inside the circle through a, b and c, by the sign of a determinant."""
    rows = [[*(corner - point), np.sum((corner - point) ** 2)] for corner in (a, b, c)]
    turn = np.linalg.det(np.array([b - a, c - a]))
    return np.linalg.det(np.array(rows)) * turn > 0


@pytest.mark.parametrize("seed", range(3))
def test_number_of_edges_follows_from_the_hull(seed):
    """A triangulation of n points with h of them on the hull has 3 n - 3 - h edges (Euler)."""
    points = np.random.default_rng(seed).random((40, 2))
    graph = triangulation(points)
    assert graph.number_of_edges() == 3 * 40 - 3 - len(ConvexHull(points).vertices)
    assert list(graph) == list(range(40))


def test_edges_are_those_of_triangles_with_empty_circles():
    points = np.random.default_rng(5).random((12, 2))
    expected = set()
    for a in range(12):
        for b in range(a):
            for c in range(b):
                others = [p for p in range(12) if p not in (a, b, c)]
                corners = points[[a, b, c]]
                if not any(in_circle(*corners, points[p]) for p in others):
                    expected |= {frozenset(pair) for pair in ((a, b), (b, c), (a, c))}
    assert {frozenset(edge) for edge in triangulation(points).edges} == expected


def test_graphs_are_connected_and_planar():
    for graph in load_dataset("planar").graphs[:50]:
        assert nx.is_connected(graph)
        assert nx.check_planarity(graph)[0]


def test_points_are_uniform_in_a_square():
    edges = [graph.number_of_edges() for graph in sample_planar(500)]
    # Renyi and Sulanke 1963: about 8/3 (ln n + gamma - ln 2) of n such points are on the hull.
    hull = 8 / 3 * (np.log(64) + np.euler_gamma - np.log(2))
    assert abs(np.mean(edges) - (3 * 64 - 3 - hull)) < 0.35
