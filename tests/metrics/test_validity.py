"""Validity: all small graphs against networkx and definitions, true and false block models."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from graphscore.datasets import list_datasets, load_dataset, sample_planar, sample_sbm
from graphscore.errors import GraphDataError
from graphscore.metrics import (
    VALIDITY_CHECKS,
    BlockFit,
    find_blocks,
    fit_blocks,
    is_block_structured,
    is_grid,
    is_lobster,
    is_planar,
    is_tree,
    validity_of,
)

ALL = (is_planar, is_tree, is_lobster, is_grid, is_block_structured)
SMALL = [graph for graph in nx.graph_atlas_g() if len(graph)]


def renamed(graph, rng):
    """The same graph with other names and another order of nodes and edges."""
    nodes = list(graph)
    names = dict(zip(nodes, (f"n{k}" for k in rng.permutation(len(nodes)))))
    other = nx.Graph()
    other.add_nodes_from(names[nodes[k]] for k in rng.permutation(len(nodes)))
    edges = list(graph.edges)
    other.add_edges_from(
        (names[edges[k][1]], names[edges[k][0]]) for k in rng.permutation(len(edges))
    )
    return other


def is_lobster_by_definition(tree):
    """Whether some path has every node within distance two."""
    distance = dict(nx.all_pairs_shortest_path_length(tree))
    for ends in itertools.combinations_with_replacement(tree, 2):
        path = nx.shortest_path(tree, *ends)
        if all(min(distance[node][on] for on in path) <= 2 for node in tree):
            return True
    return False


def block_model(sizes, inside, between, seed):
    p = np.full((len(sizes), len(sizes)), between)
    np.fill_diagonal(p, inside)
    return nx.stochastic_block_model(sizes, p.tolist(), seed=seed)


def test_all_graphs_of_up_to_seven_nodes():
    grids = [nx.grid_2d_graph(2, 2), nx.grid_2d_graph(2, 3)]
    for graph in SMALL:
        connected = nx.is_connected(graph)
        assert is_planar(graph) == (connected and nx.check_planarity(graph)[0])
        assert is_tree(graph) == nx.is_tree(graph)
        assert is_grid(graph) == any(nx.is_isomorphic(graph, grid) for grid in grids)
        assert not is_block_structured(graph)


@pytest.mark.parametrize("size", [8, 11, 14])
def test_lobsters_by_definition(size):
    trees = [nx.random_labeled_tree(size, seed=seed) for seed in range(15)]
    found = [is_lobster(tree) for tree in trees]
    assert found == [is_lobster_by_definition(tree) for tree in trees]
    assert not is_lobster(nx.cycle_graph(size))
    assert not is_lobster(nx.disjoint_union(trees[0], trees[1]))


def test_three_long_legs_are_no_lobster():
    legs = nx.Graph([(0, 1), (1, 2), (2, 3), (0, 4), (4, 5), (5, 6), (0, 7), (7, 8)])
    assert is_lobster(legs)
    legs.add_edge(8, 9)
    assert not is_lobster(legs)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 7), st.integers(2, 7), st.integers(0, 1000))
def test_grids_under_any_name(rows, columns, seed):
    rng = np.random.default_rng(seed)
    grid = renamed(nx.grid_2d_graph(rows, columns), rng)
    assert is_grid(grid)
    assert is_grid(grid, sides=(rows, columns)) == (rows <= columns)
    assert not is_grid(grid, sides=(max(rows, columns) + 1, 99))
    nodes = list(grid)
    cut, spare = grid.copy(), grid.copy()
    cut.remove_edge(*next(iter(grid.edges)))
    assert not is_grid(cut)
    u, v = (nodes[k] for k in rng.choice(len(nodes), 2, replace=False))
    if not grid.has_edge(u, v):
        spare.add_edge(u, v)
        assert not is_grid(spare)
        # As many edges as before, but others; the result may be a grid again.
        spare.remove_edge(*next(iter(grid.edges)))
        assert is_grid(spare) == nx.is_isomorphic(spare, grid)


def test_what_is_nearly_a_grid():
    assert is_grid(nx.grid_2d_graph(10, 19), sides=(10, 19))
    assert not is_grid(nx.grid_2d_graph(9, 19), sides=(10, 19))
    assert not is_grid(nx.path_graph(12))
    assert not is_grid(nx.grid_2d_graph(4, 5, periodic=True))
    # Nodes and edges of a 3 by 3 grid, but nodes of degree two to start from are missing.
    cornerless = nx.circular_ladder_graph(3)
    cornerless.add_edges_from([(0, 6), (1, 7), (2, 8)])
    assert not is_grid(cornerless)
    # The same degrees, with two parallel edges crossed.
    crossed = nx.grid_2d_graph(4, 6)
    crossed.remove_edges_from([((1, 2), (1, 3)), ((2, 2), (2, 3))])
    crossed.add_edges_from([((1, 2), (2, 3)), ((2, 2), (1, 3))])
    assert not is_grid(crossed)
    assert not is_grid(nx.disjoint_union(nx.grid_2d_graph(3, 3), nx.grid_2d_graph(3, 3)))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_names_of_nodes_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    (blocks,), (planar,) = sample_sbm(1, seed=seed), sample_planar(1, seed=seed)
    one, other = fit_blocks(blocks), fit_blocks(renamed(blocks, rng))
    assert one.sizes == other.sizes
    assert (one.spectre_p_value, one.p_value) == pytest.approx(
        (other.spectre_p_value, other.p_value)
    )
    assert is_planar(renamed(planar, rng))
    planar.add_edges_from(itertools.combinations(range(5), 2))
    assert not is_planar(renamed(planar, rng))


def test_published_statistic_by_its_formula():
    """As in SPECTRE's program, given the blocks: W without the number of pairs, mean p-value."""
    for graph in sample_sbm(5, seed=8):
        blocks, adj = find_blocks(graph), nx.to_numpy_array(graph)
        p_values = []
        for r, s in itertools.product(range(blocks.max() + 1), repeat=2):
            cells = adj[np.ix_(blocks == r, blocks == s)]
            share = cells.sum() / (cells.size - (r == s) * len(cells))
            p = 0.3 if r == s else 0.005
            w = (share - p) ** 2 / (share * (1 - share) + 1e-6)
            p_values.append(chi2.sf(w, 1))
        assert fit_blocks(graph).spectre_p_value == pytest.approx(np.mean(p_values), rel=1e-9)


def test_published_statistic_of_blocks_of_one_node():
    """Half of the pairs of the second hub and the leaves are edges; all other shares are 0 or 1."""
    graph = nx.star_graph(12)
    graph.add_edges_from((13, node) for node in range(7))
    fit = fit_blocks(graph)
    assert fit.sizes == (12, 1, 1)
    p_value = chi2.sf((0.5 - 0.005) ** 2 / (0.5 * 0.5 + 1e-6), 1)
    assert fit.spectre_p_value == pytest.approx(2 * p_value / 9, rel=1e-9)


def test_blocks_without_an_edge_between_them_have_a_statistic_of_25():
    fit = fit_blocks(nx.disjoint_union(nx.complete_graph(20), nx.complete_graph(20)))
    assert fit.sizes == (20, 20)
    # Within the blocks it is 0.49 / 1e-6.
    assert fit.spectre_p_value == pytest.approx(chi2.sf(25, 1) * 2 / 4, rel=1e-9)


def test_the_calibrated_p_value_is_that_of_two_densities():
    """Edges within and between blocks are two normal numbers; their squares are chi-squared, 2."""
    (graph,) = sample_sbm(1, seed=5)
    fit = fit_blocks(graph)
    blocks = find_blocks(graph)
    squares = 0.0
    for within, p in ((True, 0.3), (False, 0.005)):
        pairs = [
            (u, v)
            for u, v in itertools.combinations(graph, 2)
            if bool(blocks[u] == blocks[v]) is within
        ]
        found = sum(graph.has_edge(u, v) for u, v in pairs)
        squares += (found - len(pairs) * p) ** 2 / (len(pairs) * p * (1 - p))
    assert fit.p_value == pytest.approx(chi2.sf(squares, 2), rel=1e-6)


def test_p_values_of_true_graphs_are_uniform():
    p_values = np.array([fit_blocks(graph).p_value for graph in sample_sbm(80, seed=4)])
    # Shares of 80 uniform numbers below .5 and .9: standard deviations .056 and .034.
    assert abs((p_values < 0.5).mean() - 0.5) < 0.2
    assert abs((p_values < 0.9).mean() - 0.9) < 0.12


@pytest.mark.parametrize("published", [False, True])
def test_true_block_models_pass(published):
    graphs = load_dataset("sbm-spectre").train[:40] if published else sample_sbm(40, seed=11)
    # Nine in ten and 99 in 100: standard deviations .05 and .016.
    assert np.mean([is_block_structured(graph) for graph in graphs]) > 0.75
    assert np.mean([is_block_structured(graph, calibrated=True) for graph in graphs]) > 0.92


WRONG = {
    "one block": ([40], 0.3, 0.005),
    "six blocks": ([25] * 6, 0.3, 0.005),
    "small blocks": ([14] * 4, 0.3, 0.005),
    "large blocks": ([55] * 3, 0.3, 0.005),
    "dense blocks": ([30] * 3, 0.6, 0.005),
    "sparse blocks": ([30] * 3, 0.12, 0.005),
    "many bridges": ([30] * 3, 0.3, 0.06),
}


@pytest.mark.parametrize("kind", WRONG)
def test_wrong_block_models_fail(kind):
    graphs = [block_model(*WRONG[kind], seed=seed) for seed in range(6)]
    assert not any(is_block_structured(graph) for graph in graphs)
    assert not any(is_block_structured(graph, calibrated=True) for graph in graphs)


def test_calibrated_sees_what_the_published_statistic_does_not():
    graphs = [block_model([30] * 4, 0.3, 0.02, seed=seed) for seed in range(6)]
    assert sum(is_block_structured(graph) for graph in graphs) >= 5
    assert not any(is_block_structured(graph, calibrated=True) for graph in graphs)


def test_unstructured_graphs_fail():
    for seed, graph in enumerate(sample_sbm(12, seed=2)):
        shuffled = nx.gnm_random_graph(len(graph), graph.number_of_edges(), seed=seed)
        assert not is_block_structured(shuffled)
    assert not is_block_structured(nx.empty_graph(60))
    assert not is_block_structured(nx.complete_graph(60))


def test_sizes_outside_the_family_fail_without_a_search(monkeypatch):
    module = is_block_structured.__globals__
    monkeypatch.setitem(module, "fit_blocks", None)
    assert not is_block_structured(nx.empty_graph(39))
    assert not is_block_structured(nx.empty_graph(201))


def test_fit_of_graphs_without_pairs():
    assert fit_blocks(nx.empty_graph(0)) == BlockFit((), 0.0, 0.0)
    assert fit_blocks(nx.empty_graph(1)) == BlockFit((1,), 0.0, 1.0)


@pytest.mark.parametrize(
    ("sizes", "seed", "reason"),
    [
        ([20, 20], 0, None),
        ([20, 19], 0, "too few or too many nodes"),
        ([40] * 5, 0, None),
        ([40] * 4 + [41], 0, "too few or too many nodes"),
        ([30, 40, 20], 1, None),
        ([19, 30], 0, "a block too small"),
        ([41, 30], 0, "a block too large"),
    ],
)
def test_the_fewest_and_most_blocks_and_the_smallest_and_largest(sizes, seed, reason):
    graph = block_model(sizes, 0.3, 0.005, seed)
    assert fit_blocks(graph).sizes == tuple(sorted(sizes, reverse=True))
    assert validity_of("sbm").invalid_reason(graph) == reason
    assert is_block_structured(graph, calibrated=True) is (reason is None)


def test_graphs_of_every_checked_family_are_valid():
    names = [info.name for info in list_datasets() if not info.needs_download]
    families = {name for name in names if validity_of(name) is not None}
    assert families == {
        *("grid", "lobster", "planar", "sbm", "tree"),
        *("planar-spectre", "sbm-spectre", "tree-spectre"),
    }
    for name in families - {"sbm", "sbm-spectre"}:
        valid = validity_of(name)
        assert all(valid(graph) for graph in load_dataset(name).test)
    assert validity_of("sbm") is validity_of("sbm-spectre")
    assert validity_of("no-such-set") is None


@pytest.mark.parametrize("valid", ALL)
def test_empty_graphs_and_bad_input(valid):
    assert valid(nx.empty_graph(0)) is False
    with pytest.raises(GraphDataError, match="undirected"):
        valid(nx.DiGraph([(0, 1)]))
    with pytest.raises(GraphDataError, match="joined to itself"):
        valid(nx.Graph([(0, 0), (0, 1)]))
    with pytest.raises(GraphDataError, match=r"expected a networkx\.Graph"):
        valid([[0, 1], [1, 0]])


@pytest.mark.parametrize(
    ("name", "graph", "reason"),
    [
        ("planar", nx.empty_graph(0), "no nodes"),
        ("planar", nx.empty_graph(2), "not connected"),
        ("planar", nx.complete_graph(5), "not planar"),
        ("tree", nx.disjoint_union(nx.path_graph(2), nx.cycle_graph(3)), "not connected"),
        ("tree", nx.cycle_graph(3), "with a cycle"),
        ("lobster", nx.cycle_graph(3), "with a cycle"),
        ("lobster", nx.balanced_tree(3, 3), "a tree, but no lobster"),
        ("grid", nx.empty_graph(2), "not connected"),
        ("grid", nx.complete_graph(5), "no grid has its numbers of nodes and edges"),
        ("grid", nx.path_graph(5), "a side too short or too long"),
        ("sbm", nx.path_graph(5), "too few or too many nodes"),
        ("sbm", nx.gnp_random_graph(90, 0.1, seed=0), "too few or too many blocks"),
        ("sbm", block_model([25, 45], 0.3, 0.005, 0), "a block too large"),
        ("sbm", block_model([30, 16], 0.4, 0.005, 0), "a block too small"),
        ("sbm", block_model([30, 30], 0.3, 0.0, 0), "edge probabilities"),
        ("sbm", block_model([30] * 4, 0.3, 0.02, 0), None),
        ("planar", nx.empty_graph(1), None),
        ("tree", nx.empty_graph(1), None),
        ("grid", nx.empty_graph(1), "a side too short or too long"),
        ("grid", nx.complete_graph(6), "no grid has its numbers of nodes and edges"),
    ],
)
def test_invalid_reasons(name, graph, reason):
    check = validity_of(name)
    assert check.invalid_reason(graph) == reason
    assert check(graph) is (reason is None)


def test_invalid_grids_with_moved_edges_or_corners():
    grid = nx.grid_2d_graph(4, 5)
    grid.remove_edge((1, 1), (1, 2))
    across = grid.copy()
    across.add_edge((1, 1), (2, 2))
    assert validity_of("grid").invalid_reason(across) == "edges that no grid has"
    cut = grid.copy()
    cut.add_edge((0, 0), (1, 1))
    assert validity_of("grid").invalid_reason(cut) == "not four corners"


@pytest.mark.parametrize("name", VALIDITY_CHECKS)
def test_checks_equal_the_functions_of_their_name(name):
    check = validity_of(name)
    function = next(one for one in ALL if one.__name__ == check.name)
    trees = [nx.random_labeled_tree(12, seed=seed) for seed in range(5)]
    for graph in [*SMALL[:200], *trees, *sample_sbm(2)]:
        assert check(graph) == function(graph)
