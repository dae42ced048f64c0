"""Blocks: the description length by counting, and partitions against exhaustive search."""

from __future__ import annotations

import itertools
import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphscore.datasets import sample_sbm
from graphscore.errors import GraphDataError
from graphscore.metrics import description_length, find_blocks
from graphscore.metrics.blocks import (
    MAX_BLOCKS,
    _clustered,
    _improved,
    _leading_vectors,
    _refined,
    block_counts,
)


def length_by_counting(graph, blocks):
    """log of (numbers of edges) x (graphs with these) x (sizes) x (partitions with these)."""
    kinds = sorted(set(blocks))
    total = 0.0
    for r, s in itertools.combinations_with_replacement(kinds, 2):
        pairs = [
            (u, v)
            for u, v in itertools.combinations(range(len(graph)), 2)
            if sorted((blocks[u], blocks[v])) == [r, s]
        ]
        edges = sum(graph.has_edge(u, v) for u, v in pairs)
        total += math.log((len(pairs) + 1) * math.comb(len(pairs), edges))
    n = len(graph)
    sizes = [list(blocks).count(kind) for kind in kinds]
    partitions = math.factorial(n) // math.prod(math.factorial(size) for size in sizes)
    return total + math.log(n * math.comb(n - 1, len(kinds) - 1) * partitions)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 9), st.floats(0, 1), st.integers(0, 1000), st.data())
def test_description_length_counts_possibilities(size, density, seed, data):
    graph = nx.gnp_random_graph(size, density, seed=seed)
    blocks = data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    expected = length_by_counting(graph, blocks)
    assert description_length(graph, blocks) == pytest.approx(expected, abs=1e-9)
    # Names of blocks mean nothing.
    assert description_length(graph, [7 - 2 * b for b in blocks]) == pytest.approx(expected)


@pytest.mark.parametrize(
    "graph",
    [
        nx.disjoint_union(nx.complete_graph(4), nx.complete_graph(4)),
        nx.complete_bipartite_graph(4, 4),
        nx.complete_graph(7),
        nx.empty_graph(6),
        nx.star_graph(7),
    ],
    ids=["cliques", "bipartite", "complete", "empty", "star"],
)
def test_no_partition_is_shorter(graph):
    found = description_length(graph, find_blocks(graph))
    # All partitions into up to three blocks; the first node can always be in block 0.
    others = itertools.product(range(3), repeat=len(graph) - 1)
    assert found <= min(description_length(graph, (0, *rest)) for rest in others) + 1e-9


def test_planted_blocks_are_found():
    rng = np.random.default_rng(0)
    for count in range(1, 7):
        sizes = rng.integers(20, 41, size=count).tolist()
        p = np.full((count, count), 0.005)
        np.fill_diagonal(p, 0.35)
        graph = nx.stochastic_block_model(sizes, p.tolist(), seed=count)
        planted = [graph.nodes[node]["block"] for node in graph]
        blocks = find_blocks(graph)
        assert len(set(zip(planted, blocks.tolist()))) == count == blocks.max() + 1


@pytest.mark.parametrize("seed", range(6))
def test_no_single_move_shortens_the_description(seed):
    """Blocks that are hard to see, so that grouping by eigenvectors alone misplaces nodes."""
    p = np.where(np.eye(3), 0.3, 0.05).tolist()
    graph = nx.stochastic_block_model([20] * 3, p, seed=seed)
    blocks = find_blocks(graph)
    least = description_length(graph, blocks)
    for node, block in itertools.product(range(60), range(blocks.max() + 1)):
        moved = blocks.copy()
        moved[node] = block
        assert description_length(graph, moved) > least - 1e-6


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_names_of_nodes_do_not_matter(seed):
    (graph,) = sample_sbm(1, seed=seed)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(graph)).tolist()
    renamed = nx.relabel_nodes(graph, dict(zip(graph, order)))
    found = dict(zip(graph, find_blocks(graph).tolist()))
    again = dict(zip(renamed, find_blocks(renamed).tolist()))
    pairs = {(found[node], again[order[node]]) for node in graph}
    assert len(pairs) == len(set(found.values())) == len(set(again.values()))


def test_blocks_are_numbered_by_first_node():
    blocks = find_blocks(nx.disjoint_union(nx.complete_graph(8), nx.complete_graph(12)))
    assert blocks.tolist() == [0] * 8 + [1] * 12
    assert blocks.dtype == np.int64


def test_tiny_graphs():
    assert find_blocks(nx.empty_graph(0)).tolist() == []
    assert find_blocks(nx.empty_graph(1)).tolist() == [0]
    assert find_blocks(nx.path_graph(2)).tolist() == [0, 0]


def test_bad_input():
    with pytest.raises(GraphDataError, match=r"shape \(2,\).*3 nodes"):
        description_length(nx.path_graph(3), [0, 1])
    with pytest.raises(GraphDataError, match="0 nodes"):
        description_length(nx.empty_graph(0), [])
    with pytest.raises(GraphDataError, match="undirected"):
        find_blocks(nx.DiGraph([(0, 1)]))


def test_nodes_are_grouped_by_the_direction_of_their_rows():
    """How long a row is follows from the node's degree, and says nothing about its block."""
    angles = np.array([0.1, 0.2, 1.4, 1.5, 0.15])
    lengths = np.array([0.01, 1.0, 0.02, 1.0, 0.5])
    rows = lengths[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    assert _clustered(rows, 2).tolist() == [0, 0, 1, 1, 0]
    assert _clustered(np.zeros((3, 2)), 2).tolist() == [0, 0, 0]


@pytest.mark.parametrize("graph", [nx.path_graph(12), nx.gnp_random_graph(15, 0.4, seed=1)])
def test_rows_are_leading_eigenvectors_of_the_regularised_adjacency(graph):
    """Of T^-1/2 (A + t / n) T^-1/2, with t the mean degree and T the degrees plus t."""
    adj = nx.to_numpy_array(graph)
    extra = max(adj.sum(1).mean(), 1.0)
    scale = 1 / np.sqrt(adj.sum(1) + extra)
    matrix = scale[:, None] * (adj + extra / len(adj)) * scale
    vectors = _leading_vectors(adj)
    assert vectors.shape == (len(adj), MAX_BLOCKS)
    values = np.diag(vectors.T @ matrix @ vectors)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-9)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix)[::-1][:MAX_BLOCKS])


def test_all_misplaced_nodes_are_moved_to_their_most_likely_blocks_at_once():
    cliques = [nx.complete_graph(nodes) for nodes in (10, 9, 8)]
    adj = nx.to_numpy_array(nx.disjoint_union_all(cliques))
    planted = np.repeat([0, 1, 2], [10, 9, 8])
    misplaced = planted.copy()
    misplaced[[2, 5, 12]] = [1, 2, 0]
    assert _refined(adj, misplaced).tolist() == planted.tolist()


def most_likely_blocks(graph, blocks):
    """Of each node, given the others and edge probabilities (e + 1) / (N + 2)."""
    nodes, kinds = range(len(graph)), sorted(set(blocks))
    p = {}
    for r, s in itertools.product(kinds, repeat=2):
        pairs = [(u, v) for u in nodes for v in nodes if u != v and blocks[u] == r]
        pairs = [(u, v) for u, v in pairs if blocks[v] == s]
        p[r, s] = (sum(graph.has_edge(*pair) for pair in pairs) + 1) / (len(pairs) + 2)

    def likelihood(node, kind):
        ties = [
            p[kind, blocks[v]] if graph.has_edge(node, v) else 1 - p[kind, blocks[v]]
            for v in nodes
            if v != node
        ]
        return math.prod(ties) * list(blocks).count(kind)

    return [max(kinds, key=lambda kind: likelihood(node, kind)) for node in nodes]


def graphs_and_blocks(count, size):
    for seed in range(count):
        rng = np.random.default_rng(seed)
        graph = nx.gnp_random_graph(size, rng.uniform(0.1, 0.9), seed=seed)
        blocks = np.append(np.arange(3), rng.integers(0, 3, size - 3))
        yield graph, nx.to_numpy_array(graph), blocks


def test_all_nodes_are_moved_while_that_shortens_the_description():
    moves = 0
    for graph, adj, blocks in graphs_and_blocks(60, 14):
        expected, least = blocks.tolist(), description_length(graph, blocks)
        while True:
            moved = most_likely_blocks(graph, expected)
            if description_length(graph, moved) >= least - 1e-9:
                break
            expected, least, moves = moved, description_length(graph, moved), moves + 1
        pairs = set(zip(expected, _refined(adj, blocks).tolist()))
        assert len(pairs) == len(set(expected)) == len({found for _, found in pairs})
    assert moves > 30


def test_the_best_single_move_is_made_until_none_helps():
    moves = 0
    for graph, adj, blocks in graphs_and_blocks(12, 11):
        expected, least = blocks.tolist(), description_length(graph, blocks)
        while True:
            each = itertools.product(range(11), range(3))
            moved = [[*expected[:n], r, *expected[n + 1 :]] for n, r in each]
            best = min(moved, key=lambda one: description_length(graph, one))
            if description_length(graph, best) >= least - 1e-9:
                break
            expected, least, moves = best, description_length(graph, best), moves + 1
        assert _improved(adj, blocks).tolist() == expected
    assert moves > 20


def test_as_many_blocks_as_are_tried_and_no_more():
    most = nx.disjoint_union_all([nx.complete_graph(8)] * MAX_BLOCKS)
    assert np.bincount(find_blocks(most)).tolist() == [8] * MAX_BLOCKS
    more = nx.disjoint_union_all([nx.complete_graph(8)] * (MAX_BLOCKS + 2))
    assert find_blocks(more).max() + 1 <= MAX_BLOCKS == 8


def test_counts_of_blocks_by_hand():
    """Edges inside a block count twice."""
    graph = nx.Graph([(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (1, 4)])
    sizes, edges = block_counts(
        nx.to_numpy_array(graph, nodelist=range(5)), np.array([1, 1, 1, 0, 0])
    )
    assert sizes.tolist() == [2, 3]
    assert edges.tolist() == [[2, 2], [2, 6]]
