"""What makes a graph simple: edges given as two arrays of ends, and weights."""

from __future__ import annotations

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
import torch

from graphscore.errors import GraphDataError
from graphscore.graphs import simple
from graphscore.graphs.repairs import Repairs, check_weight
from graphscore.graphs.simple import check_simple, edge_codes, first_repeated, simple_edges

EVERY = Repairs(drop_self_loops=True, undirected=True)


def edges_of(number, pairs, repairs=EVERY, kind="arcs", names=None):
    ends = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    found = simple_edges("g", number, ends[:, 0], ends[:, 1], repairs, kind, names)
    return list(zip(found.rows.tolist(), found.columns.tolist())), found.changes


@pytest.mark.parametrize(
    ("kind", "pairs", "edges", "changes"),
    [
        ("edges", [], [], ()),
        ("edges", [(2, 0), (1, 2), (3, 1)], [(0, 2), (1, 2), (1, 3)], ()),
        ("edges", [(2, 0), (3, 3), (3, 3), (1, 1)], [(0, 2)], ("self-loops dropped",)),
        ("arcs", [(3, 1), (0, 2), (1, 3), (2, 0)], [(0, 2), (1, 3)], ()),
        ("arcs", [(3, 1), (0, 2), (1, 3)], [(0, 2), (1, 3)], ("made undirected",)),
        ("arcs", [(3, 1), (2, 0)], [(0, 2), (1, 3)], ("made undirected",)),
        ("arcs", [(1, 1), (1, 1), (0, 1), (1, 0)], [(0, 1)], ("self-loops dropped",)),
        ("arcs", [(3, 3), (2, 1)], [(1, 2)], ("made undirected", "self-loops dropped")),
        ("directed", [(1, 0), (0, 1)], [(0, 1)], ("made undirected",)),
    ],
)
def test_edges_are_sorted_and_repairs_are_told(kind, pairs, edges, changes):
    """Every edge is there once, from its smaller end to its larger one."""
    assert edges_of(4, pairs, kind=kind) == (edges, changes)


@pytest.mark.parametrize(
    ("kind", "pairs", "message"),
    [
        ("edges", [(2, 0), (1, 3), (0, 2)], "parallel edges between nodes 'a' and 'c'"),
        ("edges", [(3, 2), (3, 2)], "parallel edges between nodes 'c' and 'd'"),
        ("arcs", [(2, 0), (1, 1), (1, 1), (2, 0)], "parallel edges between nodes 'c' and 'a'"),
        ("arcs", [(3, 2), (3, 1), (3, 2), (3, 1)], "parallel edges between nodes 'd' and 'b'"),
        ("arcs", [(1, 0), (0, 1), (3, 2)], "edge 'd' -> 'c' has no reverse"),
        ("arcs", [(3, 0), (1, 2), (2, 1), (2, 3)], "edge 'c' -> 'd' has no reverse"),
        ("directed", [(1, 0), (0, 1), (1, 3)], "edge 'b' -> 'd' has no reverse"),
        ("directed", [(1, 0), (0, 1)], "g: directed, but an undirected graph"),
        ("edges", [(0, 1), (3, 3), (2, 2), (2, 2)], "2 self-loops, the first at node 'c'"),
        ("arcs", [(1, 1), (1, 1)], "1 self-loop, the first at node 'b'"),
    ],
)
def test_what_is_not_repaired_is_refused_with_the_names_of_nodes(kind, pairs, message):
    """Of several defects of a kind, the one at the first nodes is named."""
    with pytest.raises(GraphDataError, match=message):
        edges_of(4, pairs, Repairs(), kind, "abcd")


@pytest.mark.parametrize("number", [1, 3])
def test_all_ends_are_between_0_and_the_last_node(number):
    """The first edge out of range is named, whichever end it is."""
    last = number - 1
    assert edges_of(number, [(0, last), (last, 0)])[0] == [(0, last)] * (number > 1)
    for wrong in (-1, number):
        for edge in ((wrong, 0), (0, wrong), (wrong, wrong)):
            with pytest.raises(GraphDataError, match=f"nodes {edge[0]} and {edge[1]}, but"):
                edges_of(number, [(last, 0), (0, last), edge, (9, 9)])


def test_a_graph_without_nodes_is_refused_before_it_is_built():
    """Its arrays of edges are empty, so nothing else would notice."""
    with pytest.raises(GraphDataError, match="g: no nodes"):
        edges_of(0, [])


def test_codes_keep_the_direction_unless_told_otherwise():
    """The code of an edge is tail * N + head."""
    tails, heads = np.array([3, 0, 1]), np.array([1, 2, 3])
    assert edge_codes(10, tails, heads).tolist() == [2, 13, 31]
    assert edge_codes(10, tails, heads, undirected=True).tolist() == [2, 13, 13]


@pytest.mark.parametrize(
    ("codes", "found"),
    [
        ([], None),
        ([12], None),
        ([11, 12, 13], None),
        ([0, 0, 11, 11, 11, 22], None),
        ([11, 11, 12, 21, 21, 31, 31], 21),
        ([1, 1], 1),
    ],
)
def test_a_repeated_code_is_a_parallel_edge_unless_it_is_a_loop(codes, found):
    """With 10 nodes, the digits of a code are the ends of the edge."""
    assert first_repeated(np.array(codes, dtype=np.int64), 10) == found


@pytest.mark.parametrize("block", [1, 2, 3])
def test_many_edges_are_looked_at_in_parts(monkeypatch, block):
    """Where the parts end does not matter."""
    random = np.random.default_rng(block)
    cases = []
    for _ in range(60):
        upper = np.unique(np.sort(random.integers(0, 5, (4, 2))), axis=0).tolist()
        pairs = [tuple(pair) for pair in upper]
        both = pairs + [pair[::-1] for pair in pairs]
        cases += [
            (both, "arcs"),
            (both[1:], "arcs"),
            (pairs, "edges"),
            (pairs + both[-1:], "edges"),
        ]

    def outcomes():
        for pairs, kind in cases:
            for repairs in (EVERY, Repairs()):
                try:
                    yield edges_of(5, pairs, repairs, kind)
                except GraphDataError as error:
                    yield str(error)

    expected = list(outcomes())
    assert {isinstance(outcome, str) for outcome in expected} == {True, False}
    monkeypatch.setattr(simple, "_BLOCK", block)
    assert list(outcomes()) == expected


@pytest.mark.parametrize("weight", [1, 1.0, True, np.int8(1), np.float16(1), np.bool_(True)])
def test_weight_1_of_any_kind_of_number_is_no_weight(weight):
    """An array or tensor without axes counts as a number."""
    for same in (weight, np.array(weight), torch.tensor(float(weight))):
        check_weight("g", 0, 1, same)


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (2, "non-binary weight 2 on edge 'a' - 'b'"),
        (0, "non-binary weight 0"),
        (np.float32(0.5), "non-binary weight"),
        (torch.tensor(0.5), "non-binary weight"),
        (np.array(2), "non-binary weight"),
        (np.ones(1), "non-binary weight"),
        (torch.ones(1), "non-binary weight"),
        (1 + 0j, "non-binary weight"),
        (Fraction(1), "non-binary weight"),
        ("1", "non-binary weight '1'"),
        (float("nan"), "NaN weight"),
        (np.float32("nan"), "NaN weight"),
    ],
)
def test_any_other_weight_is_refused(weight, words):
    """Values that equal 1 but are no plain number are refused, too."""
    with pytest.raises(GraphDataError, match=words):
        check_weight("g", "a", "b", weight)


def test_edges_of_directed_multigraphs_are_parallel_in_one_direction_only():
    """An arc and its reverse are two arcs of a directed graph, and one edge of another."""
    check_simple("g", nx.MultiDiGraph([(0, 1), (1, 0)]), Repairs(undirected=True))
    with pytest.raises(GraphDataError, match="parallel edges between nodes 1 and 0"):
        check_simple("g", nx.MultiDiGraph([(0, 1), (1, 0), (1, 0)]), Repairs(undirected=True))
    with pytest.raises(GraphDataError, match="parallel edges between nodes 0 and 1"):
        check_simple("g", nx.MultiGraph([(2, 0), (0, 1), (1, 0)]), Repairs())


def test_an_arc_without_reverse_is_named_only_where_there_is_one():
    """Arcs with a reverse before it are passed over."""
    with pytest.raises(GraphDataError, match="asymmetric: edge 1 -> 2 has no reverse"):
        check_simple("g", nx.DiGraph([(0, 1), (1, 0), (1, 2), (3, 0)]), Repairs())
    with pytest.raises(GraphDataError, match="g: directed, but an undirected graph"):
        check_simple("g", nx.DiGraph([(0, 1), (1, 0)]), Repairs())


def test_self_loops_of_networkx_graphs_are_counted():
    """The number is that of edges, which a multigraph may have several of at a node."""
    graph = nx.MultiGraph([(0, 1), (1, 1), (1, 1), (2, 2)])
    assert check_simple("g", graph, Repairs(drop_self_loops=True)) == 3
    assert check_simple("g", nx.path_graph(3), Repairs()) == 0
