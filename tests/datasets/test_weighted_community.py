"""Weighted-community: sizes, edges and weights have the documented distribution."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from graphscore.datasets import load_dataset, sample_weighted_community
from graphscore.errors import DatasetError
from graphscore.graphs import read_graphs, write_graphs


def weights_of(graphs):
    """Weights within and between the two communities."""
    found = ([], [])
    for graph in graphs:
        first = len(graph) // 2
        for u, v, weight in graph.edges(data="weight"):
            found[(u < first) != (v < first)].append(weight)
    return tuple(map(np.array, found))


def pairs_of(graphs):
    sizes = [(len(graph) // 2, -(-len(graph) // 2)) for graph in graphs]
    within = sum(n * (n - 1) // 2 for both in sizes for n in both)
    return within, sum(a * b for a, b in sizes)


def test_distribution():
    graphs = sample_weighted_community(3000, seed=4)
    counts = Counter(map(len, graphs))
    # Uniform over nine sizes: 333 each, standard deviation 17.
    assert set(counts) == set(range(12, 21))
    assert all(abs(count - 333) < 90 for count in counts.values())
    within, between = weights_of(graphs)
    pairs_within, pairs_between = pairs_of(graphs)
    # 170,000 pairs or more of each kind: standard deviations of the rates are about .001.
    assert abs(len(within) / pairs_within - 0.7) < 0.006
    # One edge is added to the graphs that have none, about 1 in 500.
    assert abs(len(between) / pairs_between - 0.1) < 0.006
    for weights, mean in ((within, 1.0), (between, 0.0)):
        logs = np.log(weights)
        assert abs(logs.mean() - mean) < 0.015
        assert abs(logs.std() - 0.4) < 0.015


def test_weights_are_positive_floats_and_communities_are_joined():
    for graph in load_dataset("weighted-community").graphs:
        weights = [weight for *_, weight in graph.edges(data="weight")]
        assert all(type(weight) is float and weight > 0 for weight in weights)
        assert all(list(data) == ["weight"] for *_, data in graph.edges(data=True))
        assert not any(data for _, data in graph.nodes(data=True))
        assert len(weights_of([graph])[1]) >= 1


def test_weights_follow_the_seed():
    def weights(seed):
        return [
            list(graph.edges(data="weight"))
            for graph in load_dataset("weighted-community", seed=seed).graphs
        ]

    one, again, other = weights(1), weights(1), weights(2)
    assert one == again
    assert one != other


def test_fresh_graphs_continue_one_sequence_and_are_not_the_dataset():
    few, more = sample_weighted_community(3), sample_weighted_community(6)
    assert all(nx.utils.graphs_equal(a, b) for a, b in zip(few, more))
    known = {
        weight
        for g in load_dataset("weighted-community").graphs
        for *_, weight in g.edges(data="weight")
    }
    assert not known & {weight for graph in more for *_, weight in graph.edges(data="weight")}
    assert not any(nx.utils.graphs_equal(a, b) for a, b in pairwise(more))
    assert sample_weighted_community(0) == []
    with pytest.raises(DatasetError, match="-1 graphs"):
        sample_weighted_community(-1)


def test_files_keep_the_weights(tmp_path):
    graphs = sample_weighted_community(3)
    write_graphs(tmp_path / "set", graphs, format="graphml")
    again = read_graphs(tmp_path / "set", edge_attributes=["weight"])
    assert all(nx.utils.graphs_equal(a, b) for a, b in zip(graphs, again))
