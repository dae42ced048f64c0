"""TU folders: how their files fit together, and what each of them may hold."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from graphscore.errors import GraphDataError
from graphscore.graphs import Repairs, read_graphs
from graphscore.graphs.formats import tu
from graphscore.graphs.formats.tu import decode_tu, encode_tu
from graphscore.graphs.limits import Limits, Reading

TOY = {"A": "1, 2\n2, 1\n3, 5\n5, 3\n", "graph_indicator": "1\n1\n2\n2\n2\n"}


def files(**changes):
    """Return the contents of the files of a folder; two graphs of 2 and 3 nodes by default."""
    return {f"T_{part}.txt": text.encode() for part, text in {**TOY, **changes}.items()}


def decoded(reading=None, **changes):
    return list(decode_tu(files(**changes), "toy", reading or Reading()))


def refused(**changes):
    with pytest.raises(GraphDataError) as caught:
        decoded(**changes)
    return str(caught.value)


def edges(candidates):
    return [sorted(candidate.graph.edges) for candidate in candidates]


def test_graphs_have_their_nodes_and_edges_in_order():
    found = decoded()
    assert [candidate.where for candidate in found] == ["toy graph 1", "toy graph 2"]
    assert [list(candidate.graph) for candidate in found] == [[0, 1], [0, 1, 2]]
    assert edges(found) == [[(0, 1)], [(0, 2)]]
    assert all(candidate.clean and candidate.changes == () for candidate in found)


@pytest.mark.parametrize("block", [2**16, 1, 4])
@pytest.mark.parametrize(
    ("indicator", "arcs", "expected"),
    [
        ("1\n2\n3\n", "", [[], [], []]),
        ("3\n2\n1\n", "1, 1\n", [[], [], [(0, 0)]]),
        ("2\n1\n2\n1\n3\n2\n", "6, 3\n4, 2\n3, 6\n1, 6\n2, 4\n6, 1\n", None),
    ],
)
def test_nodes_and_arcs_may_come_in_any_order(indicator, arcs, expected, block, monkeypatch):
    monkeypatch.setattr(tu, "_BLOCK", block)
    reading = Reading(repairs=Repairs(drop_self_loops=True))
    found = decoded(reading, graph_indicator=indicator, A=arcs)
    if expected is None:
        assert [len(candidate.graph) for candidate in found] == [2, 3, 1]
        assert edges(found) == [[(0, 1)], [(0, 2), (1, 2)], []]
    else:
        assert [len(candidate.graph) for candidate in found] == [1, 1, 1]
        assert [c.changes for c in found] == [("self-loops dropped",) * len(e) for e in expected]


def test_files_without_nodes_have_no_graphs():
    assert decoded(A="", graph_indicator="") == []
    assert decoded(A="\n", graph_indicator="\n", node_labels="") == []


@pytest.mark.parametrize(
    ("indicator", "words"),
    [
        ("0\n0\n1\n1\n1\n", "toy: T_graph_indicator.txt numbers graphs 0 to 1 over 5 nodes"),
        ("-1\n-1\n-1\n-1\n-1\n", "numbers graphs -1 to 0 over 5 nodes"),
        ("1\n1\n2\n2\n6\n", "numbers graphs 1 to 6 over 5 nodes"),
        ("1\n1\n5\n5\n5\n", "toy graph 2: no nodes"),
        ("2\n2\n2\n2\n2\n", "toy graph 1: no nodes"),
    ],
)
def test_graphs_are_numbered_without_gaps(indicator, words):
    assert words in refused(graph_indicator=indicator)


@pytest.mark.parametrize(
    ("arcs", "words"),
    [
        ("1, 2\n2, 1\n2, 3\n", "joins node 2 of graph 1 to node 3 of graph 2, but"),
        ("1, 2\n2, 1\n5, 1\n1, 3\n", "joins node 5 of graph 2 to node 1 of graph 1, but"),
    ],
)
def test_an_arc_between_graphs_is_named(arcs, words):
    assert f"toy: T_A.txt {words}" in refused(A=arcs)


@pytest.mark.parametrize("arc", ["0, 1", "1, 0", "6, 1", "1, 6", "-1, 1", "1, -1"])
def test_both_ends_of_an_arc_are_nodes(arc):
    words = f"toy: T_A.txt line 2: edge {arc}, but T_graph_indicator.txt lists the nodes 1 to 5"
    assert words in refused(A=f"3, 5\n{arc}\n")


def test_the_first_and_the_last_node_may_have_arcs():
    assert edges(decoded(graph_indicator="1\n" * 5, A="1, 5\n5, 1\n")) == [[(0, 4)]]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"graph_indicator": "1\n1, 1\n"}, "T_graph_indicator.txt line 2: 2 numbers, but 1 of"),
        ({"A": "1, 2\n2\n"}, "T_A.txt line 2: 1 numbers, but 2 of"),
        ({"A": "1, 2\n2, 1, 1\n"}, "T_A.txt line 2: 3 numbers, but 2 of"),
        ({"A": "1, 2\n2, 1.0\n"}, "T_A.txt line 2: '2, 1.0', but numbers separated by commas"),
        ({"A": "1, 2\n" + "x" * 50}, f"T_A.txt line 2: {'x' * 40!r}, but numbers"),
        ({"node_labels": "0\n0.5\n0\n0\n0\n"}, "T_node_labels.txt line 2: '0.5', but numbers"),
        ({"node_attributes": "0\nx\n0\n0\n0\n"}, "T_node_attributes.txt line 2: 'x', but"),
        ({"node_attributes": "0\n1, inf\n0\n0\n0\n"}, "T_node_attributes.txt line 2: attribute"),
        ({"node_labels": "0\n" * 4}, "T_node_labels.txt has 4 lines, but"),
        ({"node_labels": "0\n" * 6}, "T_node_labels.txt has 6 lines, but"),
        ({"node_attributes": "0\n" * 6}, "T_graph_indicator.txt lists 5 nodes"),
    ],
)
def test_lines_that_do_not_fit_are_named(change, words):
    assert words in refused(**change)


@pytest.mark.parametrize("part", ["A", "graph_indicator"])
def test_lines_may_be_blank_at_the_end_only(part):
    lines = TOY[part]
    assert edges(decoded(**{part: lines + "\n \t\n\n"})) == [[(0, 1)], [(0, 2)]]
    first, rest = lines.split("\n", 1)
    assert f"T_{part}.txt line 2: '', but numbers" in refused(**{part: f"{first}\n\n \n{rest}"})
    assert f"T_{part}.txt line 1: '', but numbers" in refused(**{part: f" \n{lines}"})


@pytest.mark.parametrize("sign", ["", "-"])
def test_whole_numbers_are_below_two_to_62(sign):
    largest = f"{sign}{2**62 - 1}"
    (candidate,) = decoded(A="", graph_indicator="1\n", node_labels=largest)
    assert candidate.graph.nodes[0]["label"] == int(largest)
    words = refused(A="", graph_indicator="1\n", node_labels=f"{sign}{2**62}\n")
    assert f"T_node_labels.txt line 1: '{sign}{2**62}', but numbers" in words


def test_whole_numbers_have_39_characters_at_most():
    assert edges(decoded(A=f"{'1':0>39}, 2\n2, 1\n")) == [[(0, 1)], []]
    assert "T_A.txt line 1: '0000" in refused(A=f"{'1':0>40}, 2\n2, 1\n")


def test_labels_are_numbers_or_lists_and_attributes_vectors():
    """The last line may have no end, and lines may end as on Windows."""
    found = decoded(
        node_labels="10\n-11, 12\n13\n14\n15, 16,17",
        node_attributes="0.5\r\n1, 2\r\n3\r\n4\r\n5e1, 66",
    )
    assert [list(c.graph.nodes(data="label")) for c in found] == [
        [(0, 10), (1, [-11, 12])],
        [(0, 13), (1, 14), (2, [15, 16, 17])],
    ]
    assert [list(c.graph.nodes(data="x")) for c in found] == [
        [(0, [0.5]), (1, [1.0, 2.0])],
        [(0, [3.0]), (1, [4.0]), (2, [50.0, 66.0])],
    ]
    assert all(
        isinstance(label, int) for _, label in found[1].graph.nodes(data="label") if label == 13
    )


@pytest.mark.parametrize("ending", ["node_labels", "node_attributes"])
def test_labels_and_attributes_are_optional(ending):
    (first, _) = decoded(**{ending: "7\n" * 5})
    assert first.graph.nodes[0] == ({"label": 7} if ending == "node_labels" else {"x": [7.0]})


def test_there_is_one_data_set():
    both = files() | {"U_A.txt": b"", "U_graph_indicator.txt": b""}
    for contents, found in (
        (both, "T_A.txt, T_graph_indicator.txt, U_A.txt, U_graph_indicator.txt"),
        ({"T_A.txt": b"", "U_graph_indicator.txt": b""}, "T_A.txt, U_graph_indicator.txt"),
        ({"T_graph_indicator.txt": b""}, "T_graph_indicator.txt"),
        ({}, "neither"),
    ):
        with pytest.raises(GraphDataError, match=f"toy: a TU folder holds one .*, found {found}. "):
            decode_tu(contents, "toy", Reading())


def test_the_time_is_looked_at_for_every_graph():
    class Counting(Reading):
        ticks = 0

        def tick(self, where):
            self.ticks += 1
            super().tick(where)

    reading = Counting()
    decoded(reading, A="", graph_indicator="".join(f"{k}\n" for k in range(1, 101)))
    assert reading.ticks >= 100


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ({"max_nodes": 2}, "toy graph 2: 3 nodes, but at most 2"),
        (
            {"max_total_nodes": 4},
            "T_graph_indicator.txt: more than 4 nodes in all graphs up to this one",
        ),
        ({"max_total_edges": 1}, "toy graph 2: more than 1 edges in all graphs up to this one"),
        ({"max_bytes": 16 * 15 - 1}, "T_node_attributes.txt: more than 239 bytes"),
    ],
)
def test_limits_are_told_where_they_are_passed(limit, words):
    parts = {"node_labels": "1\n" * 5, "node_attributes": "1, 2\n" * 5, "A": "1, 2\n3, 5\n"}
    whole = Limits(max_nodes=3, max_total_nodes=5, max_total_edges=2, max_bytes=16 * 15)
    both = Repairs(undirected=True)
    assert len(decoded(Reading(whole, both), **parts)) == 2
    with pytest.raises(GraphDataError, match=words):
        decode_tu(files(**parts), "toy", Reading(Limits(**limit), both))


def test_what_is_written():
    first, second, third = nx.path_graph(2), nx.empty_graph(1), nx.path_graph(2)
    nodes = [graph.nodes[k] for graph in (first, second, third) for k in graph]
    for k, data in enumerate(nodes):
        data.update(label=np.int8(k) if k % 2 else k, x=[k / 2, 1])
    nodes[2]["x"] = 3
    nodes[3]["x"] = np.array([[1.0], [2.0]])
    assert encode_tu("P", [first, second, third]) == {
        "P_A.txt": b"1, 2\n2, 1\n4, 5\n5, 4\n",
        "P_graph_indicator.txt": b"1\n1\n2\n3\n3\n",
        "P_node_labels.txt": b"0\n1\n2\n3\n4\n",
        "P_node_attributes.txt": b"0.0, 1.0\n0.5, 1.0\n3.0\n1.0, 2.0\n2.0, 1.0\n",
    }


def test_numbers_of_two_digits_stay_together_on_their_line():
    graph = nx.empty_graph(1)
    graph.nodes[0]["label"] = 34
    written = encode_tu("P", [graph] * 12)
    assert written["P_graph_indicator.txt"].split() == [b"%d" % k for k in range(1, 13)]
    assert written["P_node_labels.txt"] == b"34\n" * 12


def test_labels_and_features_that_some_nodes_have_not_are_not_written():
    graph = nx.path_graph(3)
    for k, label in enumerate((1, 2, "three")):
        graph.nodes[k]["label"] = label
    graph.nodes[0]["x"] = [1.0]
    assert encode_tu("P", [graph]) == {
        "P_A.txt": b"1, 2\n2, 1\n2, 3\n3, 2\n",
        "P_graph_indicator.txt": b"1\n1\n1\n",
    }
    assert set(encode_tu("P", [nx.empty_graph(1)])) == {"P_A.txt", "P_graph_indicator.txt"}


@pytest.mark.parametrize("feature", ["text", None, {"a": 1}, [[1], [1, 2]], 10**400])
def test_a_feature_that_is_no_vector_is_not_written(feature):
    graph = nx.path_graph(2)
    graph.nodes[1]["x"] = feature
    with pytest.raises(GraphDataError, match="graph 2, node 1: attribute 'x' is no vector"):
        encode_tu("P", [nx.path_graph(1), graph])


EDGES = {"edge_labels": "7\n7\n8\n8\n", "edge_attributes": "0.5, 1\n0.5, 1\n2, 3\n2, 3\n"}


def carried(candidates):
    return [list(candidate.graph.edges(data=True)) for candidate in candidates]


def test_edges_have_labels_and_numbers_if_they_are_asked_for():
    asked = Reading(edge_attributes=["label", "edge_attr"])
    assert carried(decoded(asked, **EDGES)) == [
        [(0, 1, {"label": 7, "edge_attr": [0.5, 1.0]})],
        [(0, 2, {"label": 8, "edge_attr": [2.0, 3.0]})],
    ]
    second = Reading(edge_attributes=["edge_attr_1"])
    found = carried(decoded(second, **EDGES))
    assert found == [[(0, 1, {"edge_attr_1": 1.0})], [(0, 2, {"edge_attr_1": 3.0})]]
    single = carried(decoded(asked, edge_labels="1,2\n" * 4, edge_attributes="5\n" * 4))
    assert single[0] == [(0, 1, {"label": [1, 2], "edge_attr": 5.0})]
    assert carried(decoded(**EDGES)) == [[(0, 1, {})], [(0, 2, {})]]


def test_values_of_edges_stay_with_them_in_any_order():
    """Of arcs, and with repairs that drop some of them."""
    every = Reading(edge_attributes="edge_attr", repairs=Repairs(True, True))
    found = decoded(
        every,
        graph_indicator="2\n1\n2\n1\n2\n",
        A="5, 1\n4, 4\n2, 4\n3, 5\n1, 5\n",
        edge_attributes="51\n44\n24\n35\n51\n",
    )
    assert carried(found) == [
        [(0, 1, {"edge_attr": 24.0})],
        [(0, 2, {"edge_attr": 51.0}), (1, 2, {"edge_attr": 35.0})],
    ]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"edge_labels": "7\n7\n8\n9\n"}, "toy graph 2: the edge between nodes 0 and 2 has other"),
        ({"edge_attributes": "1\n2\n3\n3\n"}, "toy graph 1: the edge between nodes 0 and 1 has"),
        ({"edge_labels": "7\n7\n8\n"}, "T_edge_labels.txt has 3 lines, but T_A.txt has 4 edges"),
        ({"edge_labels": "7\n" * 5}, "T_edge_labels.txt has 5 lines, but T_A.txt has 4 edges"),
        ({"edge_labels": "7.0\n" * 4}, "T_edge_labels.txt line 1: '7.0', but numbers"),
        ({"edge_attributes": "1\n1, 2\n1\n1\n"}, "T_edge_attributes.txt line 2: 2 numbers, but 1"),
        ({"edge_attributes": "1\nnan\n1\n1\n"}, "T_edge_attributes.txt line 2: attribute 'edge_at"),
    ],
)
def test_lines_of_edges_that_do_not_fit_are_named_before_a_graph_is_built(change, words):
    reading = Reading(edge_attributes=["label", "edge_attr"])
    with pytest.raises(GraphDataError) as caught:
        decode_tu(files(**change), "toy", reading)
    assert words in str(caught.value)
    assert len(decoded(**change)) == 2  # what is not asked for is not looked at


def test_files_of_edges_count_and_are_opened_only_if_they_are_asked_for(tmp_path, write_tu):
    write_tu(tmp_path, edge_labels="7\n" * 4, edge_attributes="1,2\n" * 4)
    size = sum(path.stat().st_size + 1024 for path in tmp_path.iterdir()) + 16 * 15
    unasked = size - 8 - 16
    assert read_graphs(tmp_path, max_bytes=unasked).ignored == ["label", "edge_attr"]
    with pytest.raises(GraphDataError, match=f"more than {unasked - 1} bytes"):
        read_graphs(tmp_path, max_bytes=unasked - 1)
    asked = ["label", "edge_attr_0"]
    whole = size + 16 * 12
    assert read_graphs(tmp_path, max_bytes=whole, edge_attributes=asked).ignored == []
    with pytest.raises(GraphDataError, match=f"more than {whole - 1} bytes"):
        read_graphs(tmp_path, max_bytes=whole - 1, edge_attributes=asked)


def test_what_edges_carry_is_written_in_both_directions():
    graph = nx.path_graph(3)
    nx.set_edge_attributes(graph, {(0, 1): 1, (1, 2): np.int64(2)}, "label")
    nx.set_edge_attributes(graph, {(0, 1): 0.5, (1, 2): 3}, "edge_attr")
    nx.set_node_attributes(graph, {0: [1, 2], 1: [3, 4], 2: [5, 6]}, "label")
    written = encode_tu("P", [graph])
    assert written["P_A.txt"] == b"1, 2\n2, 1\n2, 3\n3, 2\n"
    assert written["P_edge_labels.txt"] == b"1\n1\n2\n2\n"
    assert written["P_edge_attributes.txt"] == b"0.5\n0.5\n3.0\n3.0\n"
    assert written["P_node_labels.txt"] == b"1, 2\n3, 4\n5, 6\n"
    del graph.edges[0, 1]["label"]
    assert "P_edge_labels.txt" not in encode_tu("P", [graph])
    graph.edges[0, 1]["edge_attr"] = "text"
    with pytest.raises(
        GraphDataError, match="graph 1, edge 0 - 1: attribute 'edge_attr' is no vec"
    ):
        encode_tu("P", [graph])
