"""Orbit counts against enumeration of all subsets of up to four nodes."""

from __future__ import annotations

import itertools
from math import comb

import networkx as nx
import numpy as np
import pytest

from graphscore.metrics import orbit_counts, orbits
from graphscore.metrics.disjoint_union import GraphUnion

# (nodes, edges, largest degree, degree of the node) -> orbit; the largest degree distinguishes
# graphlets with equally many edges.
ORBIT = {
    (2, 1, 1, 1): 0,
    (3, 2, 2, 1): 1,
    (3, 2, 2, 2): 2,
    (3, 3, 2, 2): 3,
    (4, 3, 2, 1): 4,
    (4, 3, 2, 2): 5,
    (4, 3, 3, 1): 6,
    (4, 3, 3, 3): 7,
    (4, 4, 2, 2): 8,
    (4, 4, 3, 1): 9,
    (4, 4, 3, 2): 10,
    (4, 4, 3, 3): 11,
    (4, 5, 3, 2): 12,
    (4, 5, 3, 3): 13,
    (4, 6, 3, 3): 14,
}


def counts_by_enumeration(graph):
    counts = np.zeros((len(graph), 15), dtype=np.int64)
    for size in (2, 3, 4):
        for nodes in itertools.combinations(range(len(graph)), size):
            part = graph.subgraph(nodes)
            if nx.is_connected(part):
                degrees = dict(part.degree())
                for node, degree in degrees.items():
                    key = (size, part.number_of_edges(), max(degrees.values()), degree)
                    counts[node, ORBIT[key]] += 1
    return counts


def test_random_graphs_of_mixed_size(random_graphs):
    graphs = random_graphs(40, 1, 10, seed=3)
    for graph, counts in zip(graphs, orbit_counts(graphs)):
        assert counts.dtype == np.int64
        np.testing.assert_array_equal(counts, counts_by_enumeration(graph))


@pytest.mark.parametrize("cells", [1, 60, 1000])
def test_small_blocks_change_nothing(random_graphs, monkeypatch, cells):
    graphs = random_graphs(15, 0, 12, seed=1)
    whole = orbit_counts(graphs)
    monkeypatch.setattr(orbits, "_BLOCK_CELLS", cells)
    for one, other in zip(orbits.orbit_counts(graphs), whole):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("probability", [0.02, 0.3])
def test_graphs_wider_than_one_word_of_bits(probability):
    graph = nx.gnp_random_graph(150, probability, seed=2)
    small = nx.path_graph(3)
    wide, narrow = orbit_counts([graph, small])
    adj = nx.to_numpy_array(graph, dtype=np.int64)
    np.testing.assert_array_equal(wide[:, 3], list(nx.triangles(graph).values()))
    assert wide[:, 14].sum() == 4 * sum(len(c) == 4 for c in nx.enumerate_all_cliques(graph))
    paths = adj @ adj
    np.fill_diagonal(paths, 0)
    # Every four-cycle is induced, or lies once in a diamond, or three times in a complete graph.
    cycles = (paths * (paths - 1) // 2).sum(1)
    np.testing.assert_array_equal(cycles, wide[:, 8] + wide[:, 12] + wide[:, 13] + 3 * wide[:, 14])
    np.testing.assert_array_equal(narrow, counts_by_enumeration(small))


@pytest.mark.parametrize("size", [63, 64, 65, 128, 129])
def test_the_last_bit_of_a_word_and_the_first_of_the_next(size):
    """Among the last four nodes, only the last three are joined to each other."""
    graph = nx.path_graph(size - 4)
    graph.add_node(size - 4)
    last = range(size - 3, size)
    graph.add_edges_from([*itertools.combinations(last, 2), (0, size - 1)])
    counts = orbit_counts([graph])[0]
    assert counts[:, 3].tolist() == [0] * (size - 3) + [1] * 3
    assert counts[:, 0].tolist() == [2] + [2] * (size - 6) + [1, 0, 2, 2, 3]
    assert counts[:, 9:12].sum(0).tolist() == [1, 2, 1]


def mixed_union(random_graphs):
    return [
        GraphUnion.of([graph, nx.cycle_graph(4), nx.gnp_random_graph(80, 0.3, seed=1)])
        for graph in [*random_graphs(5, 60, 140), nx.gnp_random_graph(300, 0.01, seed=0)]
    ]


@pytest.mark.parametrize("cells", [3000, orbits._BLOCK_CELLS])
def test_both_ways_of_counting_four_cycles_agree(random_graphs, monkeypatch, cells):
    monkeypatch.setattr(orbits, "_BLOCK_CELLS", cells)
    for union in mixed_union(random_graphs):
        bits = orbits._NeighbourBits.of(union)
        np.testing.assert_array_equal(
            orbits._four_cycles_sparse(union), orbits._four_cycles_pairs(union, bits)
        )


@pytest.mark.parametrize(
    ("graphs", "sparse"),
    [
        ([nx.cycle_graph(10)], False),
        ([nx.cycle_graph(10)] * 100, False),
        ([nx.cycle_graph(40)], True),
        ([nx.cycle_graph(60)] * 3, True),
        ([nx.star_graph(100)], False),
        ([nx.complete_graph(70)], False),
        ([nx.circulant_graph(200, [1, 2, 3])], True),
    ],
)
def test_the_sparse_product_is_for_large_graphs_of_low_degree(graphs, sparse, monkeypatch):
    ran = []

    def noted(name):
        function = getattr(orbits, name)
        monkeypatch.setattr(orbits, name, lambda *given: ran.append(name) or function(*given))

    for name in ("_four_cycles_sparse", "_four_cycles_pairs"):
        noted(name)
    orbits.orbit_counts(graphs)
    assert ran == ["_four_cycles_sparse" if sparse else "_four_cycles_pairs"]


@pytest.mark.parametrize(
    ("sizes", "cells", "blocks"),
    [
        ([5] * 10, 100, [[0, 1, 2], [3, 4, 5, 6], [7, 8, 9]]),
        ([5] * 4, 100, [[0, 1, 2, 3]]),
        ([5] * 4, 99, [[0, 1], [2, 3]]),
        ([3, 1, 2, 1], 9, [[1, 3], [2], [0]]),
        ([3, 1, 2, 1], 8, [[1, 3], [2], [0]]),
        ([0, 9, 0, 9], 80, [[0, 2], [1], [3]]),
        ([1, 1, 1, 1, 4], 17, [[0, 1, 2], [3], [4]]),
        ([], 1, []),
    ],
)
def test_blocks_of_similar_graphs_are_halved_until_they_fit(sizes, cells, blocks, monkeypatch):
    monkeypatch.setattr(orbits, "_BLOCK_CELLS", cells)
    assert [block.tolist() for block in orbits._blocks(np.array(sizes, dtype=int))] == blocks


@pytest.mark.parametrize(
    ("amounts", "limit", "stops"),
    [
        ([3, 3, 3, 3], 6, [2, 4]),
        ([3, 3, 3, 3], 5, [1, 2, 3, 4]),
        ([3, 4, 1], 6, [1, 3]),
        ([9, 1, 9, 0, 9], 2, [1, 2, 3, 4, 5]),
        ([0, 0], 1, [2]),
        ([], 1, []),
    ],
)
def test_parts_are_as_long_as_their_total_allows(amounts, limit, stops):
    parts = list(orbits._parts_of_total(np.array(amounts, dtype=int), limit))
    assert parts == [slice(start, stop) for start, stop in zip([0, *stops], stops)]


def test_complete_graph_has_only_complete_graphlets_and_large_numbers_stay_exact():
    counts = orbit_counts([nx.complete_graph(90)])[0]
    expected = np.zeros(15, dtype=np.int64)
    expected[[0, 3, 14]] = 89, comb(89, 2), comb(89, 3)
    assert (counts == expected).all()
    star = orbit_counts([nx.star_graph(3000)])[0]
    assert star[0, 7] == comb(3000, 3)
    assert star[1, 6] == comb(2999, 2)


def test_graphs_with_few_or_no_nodes():
    none, one, two = orbit_counts([nx.empty_graph(0), nx.empty_graph(1), nx.path_graph(2)])
    assert none.shape == (0, 15)
    assert one.tolist() == [[0] * 15]
    assert two.tolist() == [[1] + [0] * 14] * 2
    assert orbit_counts([nx.empty_graph(0)])[0].shape == (0, 15)
    assert orbit_counts([]) == []


def test_counting_of_bits_without_numpy_two(monkeypatch):
    words = np.array([[0, 1, 2**64 - 1], [2**63, 0b1011 << 30, 5]], dtype=np.uint64)
    monkeypatch.delattr(np, "bitwise_count", raising=False)
    assert orbits.popcount(words).tolist() == [[0, 1, 64], [1, 3, 2]]
