"""GML: what is read, what is left out, and what is refused, at which line."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest

from graphscore.errors import GraphDataError
from graphscore.graphs import Repairs
from graphscore.graphs.formats.gml import decode_gml, encode_gml
from graphscore.graphs.formats.markup import NamedGraph
from graphscore.graphs.limits import Reading

NODE = "node [ id 0 ]"
EDGE = "node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 {} ]"
PLAIN = EDGE.format("")


def decoded(text):
    (candidate,) = decode_gml(text.encode(), "g", Reading())
    return candidate.graph


def attributes(text):
    """Return the attributes of the only node of a graph."""
    graph = decoded(f"graph [ node [ id 0 {text} ] ]")
    assert list(graph) == [0]
    return graph.nodes[0]


REFUSED = [
    (f"graph [ {NODE} ] ?", "unexpected b'?'"),
    (f"graph [ {NODE} ] ]", "unexpected ']'"),
    (f"] graph [ {NODE} ]", "unexpected ']'"),
    (f"[ graph [ {NODE} ] ]", "unexpected '['"),
    (f"graph [ 5 {NODE} ]", "unexpected '5'"),
    (f"graph [ {NODE} name ]", "unexpected ']'"),
    (f"graph [ {NODE} ] name", "the file ends within a list"),
    (f"graph [ {NODE}", "the file ends within a list"),
    ("name 1", "no graph, but one graph per file is expected"),
    *[
        (f"graph [ {NODE} ] graph [ node [ id {k} ] ]", "a second graph, but one graph per file is")
        for k in (0, 1)  # the nodes of both may have the same names
    ],
    ("graph [ node [ label 0 ] ]", "a node without 'id'"),
    (f"graph [ {NODE} edge [ target 0 ] ]", "a edge without 'source'"),
    (f"graph [ {NODE} edge [ source 0 ] ]", "a edge without 'target'"),
    ("graph [ node [ id 0 id 0 ] ]", "two 'id' in one node"),
    ("graph [ node [ id 0 label 1 label 2 ] ]", "two 'label' in one node"),
    (f"graph [ {EDGE.format('weight 5 weight 1')} ]", "two 'weight' in one edge"),
    (f"graph [ {EDGE.format('directed 0 directed 0')} ]", "two 'directed' in one edge"),
    (f"graph [ directed 0 directed 1 {NODE} ]", "two 'directed' in one graph"),
    (f"graph [ {NODE} size 1e ]", "unexpected b'1e"),
    (f"graph [ {NODE} size 1x ]", "unexpected b'1x"),
    (f"graph [ {NODE} size 1.0.0 ]", "unexpected b'1.0.0"),
    (f"graph [ {NODE} -size 1 ]", "unexpected b'-size"),
    (f"graph [ {EDGE.format('source 0')} ]", "two 'source' in one edge"),
    (f"graph [ {EDGE.format('target 1')} ]", "two 'target' in one edge"),
    ("graph [ node [ id 0 colour red ] ]", "unexpected 'red' after colour"),
]


@pytest.mark.parametrize(("text", "reason"), REFUSED)
def test_what_is_no_graph_is_refused(text, reason):
    """The error says what was found, before a graph is built."""
    with pytest.raises(GraphDataError) as caught:
        decode_gml(text.encode(), "g", Reading())
    assert str(caught.value).startswith(f"g line 1: not valid GML ({reason}")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\ngraph [\nnode [ id 0\n? ] ]", "g line 4: not valid GML (unexpected b'? ] ]')"),
        (b"? graph [ ]", "g line 1: not valid GML (unexpected b'? graph [ ]')"),
        (b"\ngraph [\nnode [ id 0 ]\n", "g line 4: not valid GML (the file ends within a list"),
        (b'\ngraph [ node [ id 0 name "\na\n\xff" ] ]', "g line 4: byte 0xff is not UTF-8 text"),
        (b'graph [ node [ id 0 name "\xe9" ] ]', "g line 1: byte 0xe9 is not UTF-8 text"),
    ],
)
def test_the_line_of_an_error(data, message):
    """Lines are counted from 1, also within a text of several lines."""
    with pytest.raises(GraphDataError) as caught:
        decode_gml(data, "g", Reading())
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    "text",
    [
        f"directed 1 graph [ {PLAIN} ]",
        f"graph [ directed 0 multigraph 1 {PLAIN} ]",
        f"graph [ name [ id 5 directed 1 ] {PLAIN} ]",
        f"graph [ {PLAIN} a [ directed 1 ] ] directed 1",
        f"graph [ {PLAIN} ] other [ id 7 node [ id 5 ] edge [ ] ]",
        f"graph [ {EDGE.format('graphics [ directed 1 ]')} ]",
        "graph [ node [ graphics [ id 5 node [ id 6 ] ] id 0 ] "
        "node [ id 1 directed 1 ] edge [ source 0 target 1 ] ]",
        f"\ufeff# graph [ a comment\ngraph [ {PLAIN} # ] ]\n]",
        f"a [ graph [ node [ id 5 ] ] ] graph [ {PLAIN} ]",
    ],
)
def test_lists_and_keys_elsewhere_are_left_out(text):
    """Only `directed`, `node` and `edge` of the graph count."""
    graph = decoded(text)
    assert list(graph.nodes) == [0, 1]
    assert set(graph.nodes[0]) == set()
    assert list(graph.edges) == [(0, 1)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("size -7", {"size": -7}),
        ("size +7", {"size": 7}),
        ("size .5", {"size": 0.5}),
        ("size 5.", {"size": 5.0}),
        ("size -1.5E3", {"size": -1500.0}),
        ("size INF", {"size": math.inf}),
        ("size -INF", {"size": -math.inf}),
        ('size ""', {"size": ""}),
        ('size "7"', {"size": "7"}),
        ('size "&#228;&#xe4;&auml;&amp;amp;"', {"size": "äää&amp;"}),
        ('size "&lt &copy=2 &none;"', {"size": "&lt &copy=2 &none;"}),
        ('size "&#x110000; &#; &#-1; &"', {"size": "&#x110000; &#; &#-1; &"}),
        ('size "&#128;&#1;&#11;&#0;&#xD800;"', {"size": "\x80\x01\x0b\0\ud800"}),
        ('size " &#32;a\n"', {"size": "  a\n"}),
        ("weight 1 weight 2 source 3 source 4", {"weight": [1, 2], "source": [3, 4]}),
        ("x 5 x 1.0 x true", {"x": [5, 1.0, True]}),
        ("size 1 size 2 size 3", {"size": [1, 2, 3]}),
        ('size "_networkx_list_start" size 1', {"size": [1]}),
        ("x 1.0 x 2.0", {"x": [1.0, 2.0]}),
        ("size 1e-05", {"size": 1e-05}),
        ("size -3E2", {"size": -300.0}),
        ("label red", {"label": "red"}),
        ('label "0"', {}),
        ('label "00"', {"label": "00"}),
        ("label 0", {"label": 0}),
        ("directed 1", {"directed": 1}),
        ("graphics [ w 5 x NAN ] size 3", {"size": 3}),
        ("source 4 target 5 weight 6", {"source": 4, "target": 5, "weight": 6}),
    ],
)
def test_attributes_of_nodes(text, expected):
    """Numbers, texts and names are kept with their types, lists are not."""
    found = attributes(text)
    assert found == expected
    assert [type(v) for v in found.values()] == [type(v) for v in expected.values()]


def test_a_value_that_is_no_number_is_nan():
    """GML writes it without quotes."""
    assert math.isnan(attributes("size NAN")["size"])


def test_nothing_is_carried_to_the_next_element():
    """Neither attributes nor the weight."""
    graph = decoded(
        "graph [ node [ id 0 weight 2 size 7 ] node [ id 1 ] node [ id 2 colour 5 ] "
        "edge [ source 0 target 1 weight 1 ] edge [ source 1 target 2 size 3 ] ]"
    )
    assert dict(graph.nodes(data=True)) == {0: {"weight": 2, "size": 7}, 1: {}, 2: {"colour": 5}}
    assert list(graph.edges(data=True)) == [(0, 1, {}), (1, 2, {})]


@pytest.mark.parametrize("names", [("a", "b"), ('"a"', '"b"'), ("-1", "7"), ("1.5", "2")])
def test_names_may_be_words_texts_and_numbers(names):
    """Nodes are numbered in the order of their lists, edges may come first."""
    tail, head = names
    edge = f"edge [ source {tail} target {head} ]"
    graph = decoded(f"graph [ {edge} node [ id c ] node [ id {head} ] node [ id {tail} ] ]")
    assert list(graph.edges) == [(1, 2)]


def test_names_that_only_look_like_references_are_two():
    graph = decoded('graph [ node [ id "A&lt" ] node [ id "A<" ] ]')
    assert len(graph) == 2


def test_names_and_numbers_may_be_those_of_programs():
    """Names that GML does not allow, infinity and NaN in any writing, names of nodes as words."""
    found = attributes("Strongly-ConnectedID 1 _pos 2 a -Infinity b Inf c +inf graphics [ y -Inf ]")
    assert found == {"Strongly-ConnectedID": 1, "_pos": 2, "a": -np.inf, "b": np.inf, "c": np.inf}
    assert math.isnan(attributes("a NaN")["a"])
    assert attributes("a true b False") == {"a": True, "b": False}
    text = 'graph [ node [ id user-1 ] node [ id b ] edge [ source user-1 target b weight "1" ] ]'
    (candidate,) = decode_gml(text.encode(), "g", Reading())
    assert list(candidate.graph.edges) == [(0, 1)]


def test_an_edge_says_whether_it_is_directed():
    text = "graph [ {} node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 {} ] ]"
    for of_graph, of_edge in (("", "directed 1"), ("directed 1", "")):
        with pytest.raises(GraphDataError, match="directed"):
            decode_gml(text.format(of_graph, of_edge).encode(), "g", Reading())
    data = text.format("directed true", "directed false").encode()
    assert len(list(decode_gml(data, "g", Reading()))) == 1


@pytest.mark.parametrize("text", ["directed 1 {} {}", "{} directed 1 {}", "{} {} directed 1"])
@pytest.mark.parametrize("both", [False, True])
def test_a_graph_may_say_anywhere_that_it_is_directed(text, both):
    """GML has no order of keys; both directions of an edge are no parallel edges then."""
    edges = "edge [ source 1 target 0 ]" + " edge [ source 0 target 1 ]" * both
    data = f"graph [ {text.format('node [ id 0 ] node [ id 1 ]', edges)} ]".encode()
    with pytest.raises(GraphDataError, match="directed"):
        decode_gml(data, "g", Reading())
    (candidate,) = decode_gml(data, "g", Reading(repairs=Repairs(undirected=True)))
    assert list(candidate.graph.edges) == [(0, 1)]


def test_what_only_comes_again_is_not_kept_while_a_file_is_checked(monkeypatch):
    """Values of keys that a list or the edges of a graph do not need, and features."""
    kept = []
    monkeypatch.setattr(NamedGraph, "add_node", lambda _, name, values: kept.append((name, values)))
    monkeypatch.setattr(NamedGraph, "add_edge", lambda _, *values: kept.append(values))
    monkeypatch.setattr(NamedGraph, "count", lambda _: None)
    text = "graph [ node [ id 0 {} ] edge [ source 0 target 0 {} ] ]"
    many = 'x "a" x 1 x 2.5 source 4 weight 2 directed 1 a 1 ' * 3
    decode_gml(text.format(many, 'id "a" label "b" x NAN ' * 3).encode(), "g", Reading())
    assert kept == [(0, {}), (0, 0, {}, None)]


@pytest.mark.parametrize("value", ["NAN", "+INF", "1 x -INF x 2", '"a" x NAN'])
def test_one_value_of_a_feature_makes_it_wrong(value):
    with pytest.raises(GraphDataError, match=r"g, node 7: attribute 'x' holds NaN or infinity"):
        decode_gml(f"graph [ node [ x {value} id 7 ] ]".encode(), "g", Reading())


TEXTS = [*map(chr, range(256)), "\u20ac", "\ud800", "\U0001f600", " a ", "\n\r\t", "&copy", "&lt=1"]


def test_texts_that_are_written_are_read_again():
    """Controls, halves of characters and references as well."""
    graph = nx.empty_graph(1)
    graph.nodes[0].update({f"a{k}": text for k, text in enumerate([*TEXTS, "&#65;", "&amp;amp;"])})
    (candidate,) = decode_gml(encode_gml(graph), "g", Reading())
    assert candidate.graph.nodes[0] == graph.nodes[0]


def test_what_could_not_be_read_again_is_not_written():
    """Names of attributes have 200 characters, texts 1048576."""
    graph = nx.path_graph(2)
    graph.nodes[1]["n" * 200] = "é" * 2**20
    (candidate,) = decode_gml(encode_gml(graph), "g", Reading())
    assert candidate.graph.nodes[1] == graph.nodes[1]
    for name, value in (("n" * 201, 1), ("note", "é" * (2**20 + 1))):
        graph = nx.path_graph(2)
        graph.nodes[1][name] = value
        with pytest.raises(GraphDataError, match=r"node 1: the name or text of .* in GML\. Shor"):
            encode_gml(graph)


def test_numpy_numbers_are_written_as_numbers():
    graph = nx.path_graph(1)
    graph.nodes[0].update(a=np.int64(7), b=np.float32(0.5), c=np.bool_(True), d=2**31, e=-(2**31))
    (candidate,) = decode_gml(encode_gml(graph), "g", Reading())
    assert candidate.graph.nodes[0] == {"a": 7, "b": 0.5, "c": 1, "d": "2147483648", "e": -(2**31)}


def test_lists_that_networkx_writes_are_read():
    graph = nx.path_graph(2)
    graph.nodes[0]["x"] = [1.0, 2.0]
    graph.nodes[1]["x"] = [3.0]
    graph.nodes[1].update(weight=[1, 2], source=["a", "b"])
    graph.edges[0, 1].update(id=["a", "b"], name=[1, 2])
    found = decoded("\n".join(nx.generate_gml(graph)))
    assert [data["x"] for _, data in found.nodes(data=True)] == [[1.0, 2.0], [3.0]]
    assert found.nodes[1]["weight"] == [1, 2]
    assert found.nodes[1]["source"] == ["a", "b"]
