"""Isomorphism classes against networkx, and on graphs that simple invariants confuse."""

from __future__ import annotations

import itertools
import math

import networkx as nx
import numpy as np
import pytest

from graphscore.errors import GraphDataError
from graphscore.metrics import isomorphism_classes, novelty, uniqueness


def shrikhande():
    """Strongly regular (16,6,2,2), like the 4x4 rook's graph, but not isomorphic to it."""
    steps = [(0, 1), (1, 0), (1, 1)]
    graph = nx.Graph()
    for x, y in itertools.product(range(4), repeat=2):
        for a, b in steps:
            graph.add_edge(4 * x + y, 4 * ((x + a) % 4) + (y + b) % 4)
    return graph


def rook():
    return nx.convert_node_labels_to_integers(
        nx.cartesian_product(nx.complete_graph(4), nx.complete_graph(4))
    )


def cycles(*lengths):
    return nx.disjoint_union_all([nx.cycle_graph(length) for length in lengths])


def test_all_graphs_on_four_nodes_fall_into_eleven_classes():
    pairs = list(itertools.combinations(range(4), 2))
    graphs = []
    for chosen in itertools.product([False, True], repeat=6):
        graph = nx.empty_graph(4)
        graph.add_edges_from(itertools.compress(pairs, chosen))
        graphs.append(graph)
    classes = isomorphism_classes(graphs)
    assert set(classes) == set(range(11))
    for (one, a), (other, b) in itertools.combinations(zip(graphs, classes), 2):
        assert (a == b) == nx.is_isomorphic(one, other)


def test_random_graphs_agree_with_networkx(random_graphs):
    graphs = random_graphs(60, 2, 6, seed=5)
    classes = isomorphism_classes(graphs)
    for (one, a), (other, b) in itertools.combinations(zip(graphs, classes), 2):
        assert (a == b) == nx.is_isomorphic(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (cycles(6), cycles(3, 3)),
        (rook(), shrikhande()),
        (cycles(12), cycles(5, 7)),
        (cycles(5, 9), cycles(6, 8)),
        (
            nx.disjoint_union(nx.petersen_graph(), cycles(7)),
            nx.disjoint_union(nx.circular_ladder_graph(5), cycles(7)),
        ),
    ],
    ids=["C6-2C3", "rook-shrikhande", "C12-C5C7", "C5C9-C6C8", "petersen-prism"],
)
def test_regular_graphs_are_told_apart_and_recognised_after_relabelling(one, other, shuffled):
    rng = np.random.default_rng(0)
    graphs = [one, other, shuffled(one, rng), shuffled(other, rng), shuffled(one, rng)]
    assert isomorphism_classes(graphs) == [0, 1, 0, 1, 0]


def test_classes_are_numbered_in_order_of_appearance():
    graphs = [nx.path_graph(3), nx.empty_graph(0), nx.star_graph(2), nx.empty_graph(2)]
    assert isomorphism_classes(graphs) == [0, 1, 0, 2]
    assert isomorphism_classes([]) == []


def test_a_hash_that_confuses_everything_does_no_harm(random_graphs, monkeypatch):
    graphs = random_graphs(25, 0, 5, seed=7)
    expected = isomorphism_classes(graphs)
    monkeypatch.setattr("graphscore.metrics.isomorphism._mixed", np.zeros_like)
    assert isomorphism_classes(graphs) == expected


def test_uniqueness_and_novelty_are_shares():
    samples = [nx.path_graph(3), nx.star_graph(2), nx.cycle_graph(4), nx.cycle_graph(5)]
    assert uniqueness(samples) == 3 / 4
    assert novelty(samples, [nx.path_graph(3), nx.cycle_graph(5)]) == 1 / 4
    assert math.isclose(novelty(samples, [nx.empty_graph(1)]), 1.0)


def test_isolated_nodes_count_unless_dropped():
    larger = nx.path_graph(3)
    larger.add_node(3)
    assert uniqueness([larger, nx.path_graph(3)]) == 1.0
    assert uniqueness([larger, nx.path_graph(3)], drop_isolated=True) == 0.5
    assert novelty([larger], [nx.path_graph(3)]) == 1.0
    assert novelty([larger], [nx.path_graph(3)], drop_isolated=True) == 0.0


def test_empty_lists_are_refused():
    with pytest.raises(GraphDataError, match="samples holds no graph"):
        uniqueness([])
    with pytest.raises(GraphDataError, match="training holds no graph"):
        novelty([nx.path_graph(2)], [])
