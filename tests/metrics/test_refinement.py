"""Equitable partitions against repeated recolouring, and the few edges that they leave."""

from __future__ import annotations

import sys

import networkx as nx
import numpy as np
import pytest

from graphscore.metrics.refinement import ColouredGraph, Partition


def coloured(graph, colours=None):
    rows = [sorted(graph[node]) for node in range(len(graph))]
    return ColouredGraph(rows, [0] * len(rows) if colours is None else colours)


def cells_by_recolouring(graph):
    """Colour nodes by their own and their neighbours' colours until nothing changes."""
    colours = list(graph.colours)
    for _ in graph.rows:
        seen = [(c, sorted(colours[n] for n in row)) for c, row in zip(colours, graph.rows)]
        colours = [sorted(map(repr, seen)).index(repr(one)) for one in seen]
    return {frozenset(n for n, c in enumerate(colours) if c == one) for one in colours}


def test_cells_are_those_of_recolouring():
    """And every node of a cell has the neighbours that the key says."""
    rng = np.random.default_rng(0)
    for seed in range(60):
        size = int(rng.integers(2, 13))
        made = nx.gnp_random_graph(size, rng.uniform(0.1, 0.9), seed=seed)
        graph = coloured(made, rng.integers(0, 3, size).tolist())
        partition = Partition.of(graph)
        assert set(map(frozenset, partition.cells)) == cells_by_recolouring(graph)
        for node, index in enumerate(partition.cell_of):
            assert node in partition.cells[index]
            near = [partition.cell_of[other] for other in graph.rows[node]]
            counts = [value for one in sorted(set(near)) for value in (one, near.count(one))]
            expected = (graph.colours[node], len(partition.cells[index]), *counts)
            assert partition.key[index] == expected


def test_the_largest_part_keeps_the_number_of_its_cell():
    """A triangle 0, 1, 2 with a tail 3: new cells in the order of their numbers of neighbours."""
    partition = Partition.of(coloured(nx.Graph([(0, 1), (0, 2), (1, 2), (0, 3)])))
    assert partition.cells == [[1, 2], [3], [0]]
    assert partition.key == ((0, 2, 0, 1, 2, 1), (0, 1, 2, 1), (0, 1, 0, 2, 1, 1))


def test_only_what_a_marked_node_distinguishes_is_looked_at():
    """The node, its two neighbours, and of the others the smaller part."""
    counted = []
    marked = coloured(nx.cycle_graph(6)).marked(2)
    partition = Partition.of(marked, [marked.colours[2]], counted.append)
    assert sorted(map(sorted, partition.cells)) == [[0, 4], [1, 3], [2], [5]]
    assert counted == [2, 4, 2]
    assert [marked.colours.count(colour) for colour in marked.colours] == [5, 5, 1, 5, 5, 5]


def test_a_partition_into_single_nodes_is_not_looked_at_further():
    counted = []
    Partition.of(coloured(nx.path_graph(3), [0, 1, 2]), None, counted.append)
    assert counted == []


def instructions(graph, count):
    """Return how many instructions of Python it takes to find the cells of a graph."""
    taken, before = 0, sys.gettrace()

    def trace(frame, event, argument):
        nonlocal taken
        frame.f_trace_opcodes = True
        taken += event == "opcode"
        return trace

    sys.settrace(trace)
    try:
        Partition.of(graph, None, count)
    finally:
        sys.settrace(before)
    return taken


@pytest.mark.parametrize("make", [nx.path_graph, nx.cycle_graph])
def test_the_work_is_in_proportion_to_what_is_counted(make):
    """Also where every splitter takes two nodes from all others."""
    work = []
    for size in (150, 300):
        graph, counted = coloured(make(size)).marked(0), []
        work.append(instructions(graph, counted.append) / sum(counted))
    assert work[1] < 1.2 * work[0]


TWO_FOURS = [0] * 4 + [1] * 4
CROWN = nx.Graph((a, 4 + b) for a in range(4) for b in range(4) if a != b)
"""Four nodes, each joined to three of four others."""
LEAVES = nx.complete_graph(4)
LEAVES.add_edges_from((node, node + 4) for node in range(4))


@pytest.mark.parametrize(
    ("graph", "colours", "left"),
    [
        (nx.cycle_graph(4), [0] * 4, [(0, 2), (1, 3)]),
        (nx.cycle_graph(5), [0] * 5, nx.cycle_graph(5).edges),
        (nx.path_graph(2), [0] * 2, []),
        (nx.path_graph(2), [0, 1], []),
        (nx.complete_bipartite_graph(2, 3), [0, 0, 1, 1, 1], []),
        (CROWN, TWO_FOURS, [(node, node + 4) for node in range(4)]),
        (
            nx.relabel_nodes(nx.cycle_graph(8), {n: n // 2 + n % 2 * 4 for n in range(8)}),
            TWO_FOURS,
            [(0, 4), (0, 7), (1, 4), (1, 5), (2, 5), (2, 6), (3, 6), (3, 7)],
        ),
        (
            nx.disjoint_union(nx.complete_graph(4), nx.cycle_graph(5)),
            [0] * 4 + [1] * 5,
            [(4, 5), (5, 6), (6, 7), (7, 8), (4, 8)],
        ),
        (LEAVES, TWO_FOURS, [(node, node + 4) for node in range(4)]),
    ],
    ids=[
        "four-cycle",
        "five-cycle",
        "edge",
        "edge of two colours",
        "complete bipartite",
        "three of four",
        "two of four",
        "one cell of two",
        "inside a cell",
    ],
)
def test_edges_are_replaced_by_the_missing_ones_where_these_are_fewer(graph, colours, left):
    made = coloured(graph, colours)
    sparse = Partition.of(made).sparse(made)
    edges = {(node, other) for node, row in enumerate(sparse.rows) for other in row}
    assert edges == {pair for a, b in left for pair in ((a, b), (b, a))}
    assert sum(map(len, sparse.rows)) == len(edges)
