"""Community-small: the described distribution, and the five base graphs of the released one."""

from __future__ import annotations

from collections import Counter
from typing import Any

import networkx as nx
import pytest

from graphscore.datasets import load_dataset, sample_community
from graphscore.errors import DatasetError


def parts(graph: nx.Graph[Any]) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """Edges inside the two communities, and the bridges between them."""
    half = len(graph) // 2
    edges = {(min(edge), max(edge)) for edge in graph.edges}
    bridges = {(i, j) for i, j in edges if i < half <= j}
    return edges - bridges, bridges


def test_described_graphs_have_one_bridge_and_fresh_communities() -> None:
    graphs = load_dataset("community-small").graphs
    assert {len(graph) for graph in graphs} == {12, 14, 16, 18, 20}
    # round(0.05 N) is 1 for all of 12..20.
    assert {len(parts(graph)[1]) for graph in graphs} == {1}
    assert len({(len(graph), frozenset(parts(graph)[0])) for graph in graphs}) == 100


def test_described_moments() -> None:
    graphs = sample_community(3000, seed=4)
    sizes = Counter(len(graph) for graph in graphs)
    # Uniform over five sizes: 600 each, standard deviation 22.
    assert all(abs(count - 600) < 110 for count in sizes.values())
    possible = sum((len(graph) // 2) * (len(graph) // 2 - 1) for graph in graphs)
    present = sum(len(parts(graph)[0]) for graph in graphs)
    # About 170,000 pairs: standard deviation of the rate is .0011.
    assert abs(present / possible - 0.7) < 0.006


def test_bridges_are_spread_over_all_pairs() -> None:
    graphs = [graph for graph in sample_community(3000, seed=5) if len(graph) == 12]
    ends = Counter(next(iter(parts(graph)[1])) for graph in graphs)
    assert set(ends) == {(i, j) for i in range(6) for j in range(6, 12)}


def test_released_has_five_base_graphs() -> None:
    graphs = load_dataset("community-small-released").graphs
    bases = {(len(graph), frozenset(parts(graph)[0])) for graph in graphs}
    assert len(bases) == 5
    # The same five whatever the seed: only sizes and bridges are drawn.
    others = load_dataset("community-small-released", seed=9).graphs
    assert {(len(graph), frozenset(parts(graph)[0])) for graph in others} == bases
    for size, inside in bases:
        half = size // 2
        for index in range(2):
            community = nx.gnp_random_graph(half, 0.7, seed=index)
            expected = {
                (index * half + min(edge), index * half + max(edge)) for edge in community.edges
            }
            assert expected <= inside
            assert nx.is_connected(community)


def test_released_sizes_and_bridges() -> None:
    graphs = sample_community(4500, seed=6, released=True)
    sizes = Counter(len(graph) for graph in graphs)
    # Nine totals, odd ones rounded down: 20 comes half as often as the rest.
    assert abs(sizes[20] - 500) < 110
    assert all(abs(sizes[size] - 1000) < 150 for size in (12, 14, 16, 18))
    assert all(nx.is_connected(graph) for graph in graphs)
    for size in sizes:
        half, count = size // 2, sizes[size]
        drawn = [len(parts(graph)[1]) for graph in graphs if len(graph) == size]
        none = (1 - 0.1 / half) ** (half * half)
        mean = 0.1 * half + none  # one bridge is added where none was drawn
        assert abs(sum(drawn) / count - mean) < 0.15
    least = [parts(graph)[1] for graph in graphs if len(graph) == 12]
    # (0, 6) is added when no bridge was drawn: (1 - .1/6)**36 = 55 % of the time.
    assert 0.48 < sum(bridges == {(0, 6)} for bridges in least) / len(least) < 0.64


def test_fresh_graphs_continue_one_sequence_and_are_not_the_dataset() -> None:
    for released, name in ((False, "community-small"), (True, "community-small-released")):
        few, more = (sample_community(num, released=released) for num in (5, 20))
        assert [parts(graph) for graph in few] == [parts(graph) for graph in more[:5]]
        test = load_dataset(name).test
        assert [parts(graph) for graph in more] != [parts(graph) for graph in test]
    fresh = {frozenset(graph.edges) for graph in sample_community(100)}
    assert not fresh & {frozenset(graph.edges) for graph in load_dataset("community-small").graphs}


def test_number_of_fresh_graphs() -> None:
    assert sample_community(0) == []
    with pytest.raises(DatasetError, match="-1 graphs"):
        sample_community(-1)
