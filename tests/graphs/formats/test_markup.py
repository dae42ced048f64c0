"""What GraphML and GML have in common: declared nodes, and one line about a foreign error."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from graphscore.errors import GraphDataError
from graphscore.graphs import Repairs
from graphscore.graphs.formats.markup import NamedGraph, reason, with_scalars
from graphscore.graphs.limits import MAX_NODES, Limits, Reading


def named(keep=True, **limits):
    return NamedGraph("GML", "g.gml", Reading(Limits(**limits)), keep=keep)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("  wrong.\n"), "wrong"),
        (ValueError("first\nsecond"), "first"),
        (KeyError(), "KeyError"),
        (ValueError(" ."), "ValueError"),
        (ValueError("a" * 200), "a" * 200),
        (ValueError("a" * 200 + "b"), "a" * 200),
    ],
)
def test_a_reason_is_one_line_of_at_most_200_characters(error, line):
    assert reason(error) == line


def test_only_numbers_and_texts_are_kept_for_markup():
    graph = nx.path_graph(3)
    scalars = {"a": 1, "b": 0.5, "c": "text", "d": True, "e": np.int8(3), "f": np.bool_(True)}
    graph.nodes[1].update({**scalars, "g": np.float16(2), 5: 7, "x": [1.0], "n": None, "t": (1,)})
    plain = with_scalars(graph)
    assert dict(plain.nodes(data=True)) == {0: {}, 1: {**scalars, "g": 2.0, "5": 7}, 2: {}}
    assert list(plain.edges) == [(0, 1), (1, 2)]


@pytest.mark.parametrize(("declared", "words"), [("ab", "an edge of node 'z'"), ("", "node 'a'")])
def test_every_node_is_declared(declared, words):
    graph = named()
    for name in declared:
        graph.add_node(name, {})
    graph.add_edge("a", "z", {})
    with pytest.raises(
        GraphDataError, match=f"g.gml: not valid GML .*{words}, which is not declared.* Decl"
    ):
        graph.edges()


def test_nodes_are_numbered_as_they_are_declared():
    """Edges may name them before, in another order."""
    graph = named()
    graph.add_edge("z", "b", {"weight": 1})
    for name in "abz":
        graph.add_node(name, {"name": name})
    candidate = graph.candidate()
    assert list(candidate.graph.nodes(data="name")) == [(0, "a"), (1, "b"), (2, "z")]
    assert list(candidate.graph.edges) == [(1, 2)]
    assert (candidate.where, candidate.clean, candidate.changes) == ("g.gml", True, ())


def test_errors_of_edges_name_nodes_in_any_order():
    graph = named()
    graph.add_edge("z", "a", {})
    graph.add_edge("z", "a", {})
    for name in "abz":
        graph.add_node(name, {})
    with pytest.raises(GraphDataError, match="parallel edges between nodes 'a' and 'z'"):
        graph.edges()


@pytest.mark.parametrize("said", [None, True, False])
def test_the_file_may_say_last_whether_the_graph_is_directed(said):
    graph = NamedGraph("GML", "g.gml", Reading(repairs=Repairs(undirected=True)), keep=True)
    for name in "ab":
        graph.add_node(name, {})
    graph.add_edge("a", "b", {}, said)
    graph.directed_by_default = True
    assert graph.edges().changes == (() if said is False else ("made undirected",))


def test_a_graph_without_nodes_is_refused():
    with pytest.raises(GraphDataError, match=r"g\.gml: no nodes"):
        named().edges()


def test_edges_over_twice_the_limit_are_refused_at_once():
    graph = named(keep=False, max_total_edges=2)
    for edge in ((0, 1), (1, 0), (1, 2), (2, 1), (2, 3)):
        graph.add_edge(*edge, {})  # a directed graph may hold both directions
    with pytest.raises(GraphDataError, match="more than 2 edges"):
        graph.add_edge(3, 2, {})


def test_nodes_over_any_limit_are_refused_at_once():
    graph = named(keep=False)
    for name in range(MAX_NODES):
        graph.add_node(name, {})
    with pytest.raises(GraphDataError, match=f"{MAX_NODES + 1} nodes, but at most {MAX_NODES}"):
        graph.add_node("one more", {})


@pytest.mark.parametrize("keep", [False, True])
def test_attributes_are_counted_the_first_time_and_kept_the_second(keep):
    graph = named(keep, max_bytes=48)
    graph.count_attributes(1)
    graph.count_attributes(2)
    graph.add_node("a", {"size": 1})
    assert graph.attributes == ({0: {"size": 1}} if keep else None)
    if keep:
        graph.count_attributes(1)
    else:
        with pytest.raises(GraphDataError, match=r"g\.gml: more than 48 bytes"):
            graph.count_attributes(1)


@pytest.mark.parametrize("keep", [False, True])
def test_long_names_are_counted_the_first_time(keep):
    """The second time everything is known to be right, and half of the bytes may be left."""
    graph = named(keep, max_bytes=200)
    if keep:
        graph.add_node("a" * 200, {})
    else:
        with pytest.raises(GraphDataError, match=r"g\.gml: more than 200 bytes"):
            graph.add_node("a" * 200, {})


def test_a_feature_is_checked_where_it_is_declared():
    with pytest.raises(GraphDataError, match=r"g\.gml, node 'a': attribute 'x' holds NaN"):
        named().add_node("a", {"size": 1, "x": float("nan")})


def test_a_name_twice_and_a_weight_are_refused():
    graph = named()
    graph.add_node(7, {})
    with pytest.raises(GraphDataError, match=r"g\.gml: two nodes named 7"):
        graph.add_node(7, {})
    with pytest.raises(GraphDataError, match=r"g\.gml: non-binary weight 2 on edge 7 - 8"):
        graph.add_edge(7, 8, {"weight": 2})
