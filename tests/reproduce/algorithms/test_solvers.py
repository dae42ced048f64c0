"""Batched solvers beside networkx and brute force, and their symmetry."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import networkx as nx
import pytest
import torch

from graphscore.errors import GraphDataError
from reproduce.algorithms.graphs import random_edges, random_weights
from reproduce.algorithms.solvers import (
    is_shortest_path,
    maximum_spanning_forest,
    path_counts,
    random_shortest_path,
    shortest_distances,
)

INF = float("inf")
CASES = [(1, 0.5), (2, 0.5), (3, 0.5), (5, 0.4), (8, 0.15), (8, 0.5), (12, 0.3), (12, 1.0)]
"""Sizes and densities: single nodes, disconnected graphs, complete ones."""
KINDS = ["unweighted", "weighted", "few lengths"]


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def random_lengths(nodes, probability, kind, count=40, seed=0):
    """Lengths (B,N,N); "few lengths" are 1 to 3, so that unequal paths tie too."""
    g = generator(seed)
    edges = random_edges(count, nodes, probability, generator=g)
    if kind == "weighted":
        lengths = random_weights(edges, generator=g).double()
    else:
        lengths = edges.double()
        if kind == "few lengths":
            lengths = (3 * random_weights(edges, generator=g)).ceil().double()
    return lengths.masked_fill(~edges, INF)


def networkx_of(lengths):
    graph = nx.Graph()
    graph.add_nodes_from(range(len(lengths)))
    graph.add_weighted_edges_from(
        (i, j, lengths[i, j].item()) for i, j in lengths.isfinite().nonzero().tolist() if i < j
    )
    return graph


def edges_of(matrix):
    return {(i, j) for i, j in matrix.nonzero().tolist() if i < j}


def edges_of_path(path):
    return {(min(pair), max(pair)) for pair in pairwise(path)}


def square(*pairs, nodes):
    """One graph of unit lengths."""
    lengths = torch.full((1, nodes, nodes), INF, dtype=torch.float64)
    for i, j in pairs:
        lengths[0, i, j] = lengths[0, j, i] = 1
    return lengths


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("nodes", "probability"), CASES)
def test_distances_are_those_of_networkx(nodes, probability, kind):
    lengths = random_lengths(nodes, probability, kind)
    distances = shortest_distances(lengths)
    assert distances.dtype == torch.float64
    for matrix, found in zip(lengths, distances):
        expected = dict(nx.all_pairs_dijkstra_path_length(networkx_of(matrix)))
        rows = [[expected[i].get(j, INF) for j in range(nodes)] for i in range(nodes)]
        assert torch.allclose(found, torch.tensor(rows, dtype=torch.float64), rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("nodes", "probability"), CASES)
def test_path_counts_are_those_of_brute_force(nodes, probability, kind):
    """Every pair of every graph, against the list of all shortest paths."""
    lengths = random_lengths(nodes, probability, kind, count=8, seed=1)
    distances = shortest_distances(lengths)
    graphs = [networkx_of(matrix) for matrix in lengths]
    for target in range(nodes):
        counts, steps = path_counts(lengths, distances[:, target])
        for graph, row, first in zip(graphs, counts.tolist(), steps):
            for source in range(nodes):
                paths = []
                if nx.has_path(graph, source, target):
                    paths = list(nx.all_shortest_paths(graph, source, target, "weight"))
                assert row[source] == len(paths)
                assert set(first[source].nonzero().flatten().tolist()) == {
                    path[1] for path in paths if len(path) > 1
                }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("nodes", "probability"), CASES)
def test_a_drawn_path_is_a_shortest_one(nodes, probability, kind):
    """Edges of one of networkx's shortest paths, and none where no path leads."""
    lengths = random_lengths(nodes, probability, kind, seed=2)
    distances = shortest_distances(lengths)
    ends = torch.randint(nodes, (2, len(lengths)), generator=generator())
    drawn, counts = random_shortest_path(lengths, distances, *ends, generator=generator(1))
    assert torch.equal(drawn, drawn.mT)
    judged = is_shortest_path(drawn, lengths, distances, *ends)
    for graph, path, count, source, target, good in zip(
        map(networkx_of, lengths), drawn, counts.tolist(), *ends.tolist(), judged.tolist()
    ):
        if nx.has_path(graph, source, target):
            known = [
                edges_of_path(p) for p in nx.all_shortest_paths(graph, source, target, "weight")
            ]
            assert edges_of(path) in known
            assert count == len(known)
            assert good
        else:
            assert not path.any()
            assert count == 0
            assert not good


@pytest.mark.parametrize(("nodes", "probability"), CASES)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_spanning_forest_is_that_of_networkx(nodes, probability, seed):
    edges = random_edges(60, nodes, probability, generator=generator(seed))
    weights = random_weights(edges, generator=generator(seed + 10))
    forest = maximum_spanning_forest(weights, edges)
    assert torch.equal(forest, forest.mT)
    for matrix, present, found in zip(weights, edges, forest):
        graph = networkx_of(matrix.masked_fill(~present, INF))
        expected = nx.maximum_spanning_edges(graph, data=False)
        assert edges_of(found) == {(min(pair), max(pair)) for pair in expected}


@pytest.mark.parametrize(("nodes", "probability"), CASES)
def test_equal_weights_still_give_a_spanning_forest_of_largest_weight(nodes, probability):
    edges = random_edges(40, nodes, probability, generator=generator())
    weights = (2 * random_weights(edges, generator=generator(1))).ceil()
    for matrix, present, found in zip(weights, edges, maximum_spanning_forest(weights, edges)):
        graph = networkx_of(matrix.masked_fill(~present, INF))
        ours = networkx_of(matrix.masked_fill(~found, INF))
        assert nx.is_forest(ours)
        assert nx.number_connected_components(ours) == nx.number_connected_components(graph)
        expected = nx.maximum_spanning_tree(graph).size("weight")
        assert ours.size("weight") == expected


def test_weights_may_be_negative_or_zero():
    """Only the mask says whether there is an edge: a weight of zero may be an edge or none."""
    weights = torch.tensor([[[0.0, -1, 0], [-1, 0, -2], [0, -2, 0]]])
    edges = ~torch.eye(3, dtype=torch.bool).unsqueeze(0)
    assert edges_of(maximum_spanning_forest(weights, edges)[0]) == {(0, 1), (0, 2)}
    edges[0, 0, 2] = edges[0, 2, 0] = False
    assert edges_of(maximum_spanning_forest(weights, edges)[0]) == {(0, 1), (1, 2)}


def test_ties_are_broken_uniformly():
    """From 0 to 6 lead five shortest paths: 0-{1,2}-3-6 and 0-8-{4,5,7}-6.

    A walk that chose among neighbours instead of among paths would take each of the first two with
    1/3 and each of the others with 1/9 instead of 1/5.
    """
    lengths = square(
        (0, 1), (0, 2), (1, 3), (2, 3), (3, 6), (0, 8), (8, 4), (8, 5), (8, 7), (4, 6), (5, 6),
        (7, 6), nodes=9,
    )  # fmt: skip
    count = 5000
    many = lengths.expand(count, -1, -1)
    distances = shortest_distances(lengths).expand(count, -1, -1)
    source, target = torch.zeros(count, dtype=torch.long), torch.full((count,), 6)
    drawn, counts = random_shortest_path(many, distances, source, target, generator=generator())
    assert counts.unique().tolist() == [5]
    seen = Counter(frozenset(edges_of(path)) for path in drawn)
    known = {
        frozenset(edges_of_path(p)) for p in nx.all_shortest_paths(networkx_of(lengths[0]), 0, 6)
    }
    assert seen.keys() == known
    chi_squared = sum((times - count / 5) ** 2 / (count / 5) for times in seen.values())
    assert chi_squared < 18.5  # one in a thousand, four degrees of freedom


@pytest.mark.usefixtures("_global_state_untouched")
def test_drawing_is_reproducible_and_leaves_the_global_state_alone():
    lengths = random_lengths(12, 0.3, "unweighted", count=200)
    distances = shortest_distances(lengths)
    ends = torch.randint(12, (2, 200), generator=generator())
    paths = [
        random_shortest_path(lengths, distances, *ends, generator=generator(seed))[0]
        for seed in (1, 1, 2)
    ]
    assert torch.equal(paths[0], paths[1])
    assert not torch.equal(paths[0], paths[2])


@pytest.mark.parametrize("kind", KINDS)
def test_solvers_follow_a_permutation_of_the_nodes(kind):
    """Solving permuted graphs gives the permuted solution, wherever it is unique."""
    lengths = random_lengths(10, 0.35, kind, count=100, seed=3)
    order = torch.stack([torch.randperm(10, generator=generator(i)) for i in range(100)])
    place = order.argsort()  # where each node went
    rows = torch.arange(100)

    def permuted(matrix):
        return matrix[rows[:, None, None], order[:, :, None], order[:, None, :]]

    moved, distances = permuted(lengths), shortest_distances(lengths)
    assert torch.allclose(shortest_distances(moved), permuted(distances), rtol=1e-12)
    ends = torch.randint(10, (2, 100), generator=generator())
    there = [place[rows, end] for end in ends]
    path, count = random_shortest_path(lengths, distances, *ends, generator=generator())
    moved_path, moved_count = random_shortest_path(
        moved, shortest_distances(moved), *there, generator=generator()
    )
    assert torch.equal(count, moved_count)
    unique = count == 1
    assert unique.sum() > 20
    assert torch.equal(permuted(path)[unique], moved_path[unique])
    if kind == "weighted":
        edges = lengths.isfinite()
        weights = lengths.masked_fill(~edges, 0.0)
        assert torch.equal(
            permuted(maximum_spanning_forest(weights, edges)),
            maximum_spanning_forest(permuted(weights), permuted(edges)),
        )


DIAMOND = square((0, 1), (1, 3), (0, 2), (2, 3), (1, 2), nodes=5)
"""Two shortest paths from 0 to 3, over 1 and over 2, which are neighbours; 4 is alone."""


@pytest.mark.parametrize(
    ("chosen", "ends", "expected"),
    [
        ([(0, 1), (1, 3)], (0, 3), True),
        ([(0, 2), (2, 3)], (3, 0), True),
        ([(0, 1), (2, 3)], (0, 3), False),  # a half of each
        ([(0, 1), (1, 3), (0, 2), (2, 3)], (0, 3), False),  # both
        ([(0, 1), (1, 3), (1, 2)], (0, 3), False),  # one edge too many
        ([(0, 1), (1, 2), (2, 3)], (0, 3), False),  # a longer path
        ([(0, 1)], (0, 3), False),
        ([], (0, 3), False),
        ([(0, 1)], (0, 1), True),
        ([], (4, 4), True),  # a node with itself
        ([(0, 1)], (4, 4), False),
        ([], (0, 4), False),  # no path leads there
    ],
)
def test_any_shortest_path_is_accepted_and_nothing_else(chosen, ends, expected):
    mask = torch.zeros(1, 5, 5, dtype=torch.bool)
    for i, j in chosen:
        mask[0, i, j] = mask[0, j, i] = True
    source, target = torch.tensor(ends).view(2, 1)
    found = is_shortest_path(mask, DIAMOND, shortest_distances(DIAMOND), source, target)
    assert found.tolist() == [expected]


@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 4), (1, 2, 3, 3)])
def test_matrices_of_another_shape_are_refused(shape):
    wrong = torch.ones(shape)
    for solve in (
        lambda: shortest_distances(wrong),
        lambda: path_counts(wrong, torch.zeros(1, 3)),
        lambda: maximum_spanning_forest(wrong, wrong > 0),
    ):
        with pytest.raises(GraphDataError, match=r"must have shape \(B,N,N\)"):
            solve()
