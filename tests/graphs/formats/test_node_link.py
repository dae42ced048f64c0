"""Node-link JSON: what networkx and D3 write is read; what is no such JSON is refused by line."""

from __future__ import annotations

import json

import networkx as nx
import pytest

from graphscore.errors import GraphDataError
from graphscore.graphs import Repairs
from graphscore.graphs.formats.node_link import decode_json, encode_json, encode_lines
from graphscore.graphs.limits import Limits, Reading

TWO = '{{"nodes": [{{"id": 0}}, {{"id": 1}}], "edges": [{}]}}'


def decoded(text, asked=(), repairs=None, **limits):
    data = text if isinstance(text, bytes) else text.encode()
    return [c.graph for c in decode_json(data, "g.json", Reading(Limits(**limits), repairs, asked))]


def refused(text, asked=(), repairs=None, **limits):
    """Refusals come while the file is checked, before a graph is asked for."""
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(GraphDataError) as caught:
        decode_json(data, "g.json", Reading(Limits(**limits), repairs, asked))
    return str(caught.value)


def node(member):
    return '{"nodes": [{"id": 0, ' + member + '}], "edges": []}'


@pytest.mark.parametrize("edges", ["edges", "links"])
@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiGraph])
def test_what_networkx_writes_is_read(edges, kind):
    graph = kind([("a", "b", {"bond": "x"}), ("b", "c", {"bond": "y"})])
    graph.add_node((1, "z"), element="C")
    text = json.dumps(nx.node_link_data(graph, edges=edges), indent=2)
    reading = Reading(edge_attributes=["bond"])
    ((found,),) = [[c.graph for c in decode_json(text.encode(), "g", reading)]]
    assert list(found.edges(data=True)) == [(0, 1, {"bond": "x"}), (1, 2, {"bond": "y"})]
    assert found.nodes[3] == {"element": "C"}
    assert reading.ignored == {}


def test_networkx_reads_what_is_written():
    graph = nx.path_graph(3)
    graph.nodes[1].update(element="Ä", x=[0.5, 2])
    graph.edges[0, 1]["bond"] = True
    found = nx.node_link_graph(json.loads(encode_json([graph])), edges="edges")
    assert nx.utils.graphs_equal(found, graph)


def test_one_graph_is_an_object_several_a_list_and_lines_one_each():
    graphs = [nx.path_graph(3), nx.empty_graph(1)]
    assert type(json.loads(encode_json(graphs[:1]))) is dict
    assert len(json.loads(encode_json(graphs))) == 2
    lines = encode_lines(graphs).splitlines()
    assert [len(json.loads(line)["nodes"]) for line in lines] == [3, 1]
    for data in (encode_json(graphs), encode_lines(graphs), b"\xef\xbb\xbf" + b" ".join(lines)):
        found = list(decode_json(data, "g", Reading()))
        assert [len(c.graph) for c in found] == [3, 1]
        assert [c.where for c in found] == ["g, graph 1", "g, graph 2"]


def test_nodes_without_id_have_their_place_as_name():
    """As in files of D3 and old networkx."""
    (graph,) = decoded('{"nodes":[{"name":"a"},{},{"id":null}],"links":[{"source":0,"target":2}]}')
    assert list(graph.nodes(data=True)) == [(0, {"name": "a"}), (1, {}), (2, {})]
    assert list(graph.edges) == [(0, 2)]


def test_edges_may_come_before_nodes_and_names_may_be_lists_and_numbers():
    (graph,) = decoded(
        '{"edges":[{"target":[1,"b"],"source":0.5},{"source":"0.5","target":7}],'
        '"nodes":[{"id":7},{"id":[1, "b"]},{"id":0.5},{"id":"0.5"}], "x": {"y": [[], {"a":0}]}}'
    )
    assert sorted(map(sorted, graph.edges)) == [[0, 3], [1, 2]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"C"', "C"),
        (r'"\u00e4\n\ud83d\ude00"', "ä\n\U0001f600"),
        ('"\U0001f600"', "\U0001f600"),
        ("-0.0", -0.0),
        ("1e3", 1000.0),
        ("-12", -12),
        ("true", True),
        ("[1, 2.5, \"a\", false]", [1, 2.5, "a", False]),
        ("[]", []),
        ("null", None),
        ("[1, null]", None),
        ("[1, [2]]", None),
        ('{"deep": [{"er": {}}]}', None),
    ],
)  # fmt: skip
def test_values(text, value):
    """Numbers, truth values, texts and lists of these; what is nested is left out."""
    (graph,) = decoded(node(f'"a" : {text}, "b":1'))
    assert graph.nodes[0] == ({"b": 1} if value is None else {"a": value, "b": 1})
    assert repr(graph.nodes[0].get("a")) == repr(value)
    (graph,) = decoded(TWO.format(f'{{"source":0,"a":{text},"target":1}}'), asked=["a"])
    assert graph.edges[0, 1] == ({} if value is None else {"a": value})


def test_edges_keep_what_is_asked_for():
    text = TWO.format('{"source":0,"target":1,"key":0,"w":[0.5,2],"bond":{"a":1},"kind":"x"}')
    reading = Reading(edge_attributes=["w_1"])
    (found,) = decode_json(text.encode(), "g", reading)
    assert found.graph.edges[0, 1] == {"w_1": 2}
    assert list(reading.ignored) == ["bond", "kind"]
    assert "non-binary weight 2 on edge 0 - 1" in refused(
        TWO.format('{"source":0,"target":1,"weight":2}')
    )


WRONG = (
    [
        ("", "unexpected|the end|end where { or"),
        ("[]x", "unexpected b'x'"),
        ("[1]", "1 where { is expected"),
        ("{", "end where value or } is expected"),
        ("nope", "line 1: not valid node-link JSON (unexpected b'nope')"),
        ("[\n\n{]", "line 3: not valid node-link JSON (] where"),
        ('{"nodes": []}', "an object without lists 'nodes' and 'edges' (or 'links')"),
        ('{"nodes": [], "adjacency": []}', "an object without lists 'nodes' and 'edges'"),
        ('{"nodes": [], "nodes": [], "edges": []}', "two 'nodes' in one graph"),
        ('{"nodes": [], "links": [], "edges": []}', "two 'edges' in one graph"),
        ('{"nodes": {}, "edges": []}', "{ where [ is expected"),
        ('{"nodes": 5, "edges": []}', "'nodes' is no list"),
        ('{"nodes": [1], "edges": []}', "1 where { is expected"),
        ('{"nodes": [], "edges": []}', "no nodes"),
        ('{"nodes": [{}], "edges": [], "directed": 1}', "'directed' is neither true nor false"),
        ('{"nodes": [{}], "edges": [],}', "} where value is expected"),
        ('{"nodes": [{},], "edges": []}', "] where { is expected"),
        ('{"nodes": [{}] "edges": []}', "'edges' where , or } is expected"),
        ('{"nodes": [{"id" 1}], "edges": []}', "1 where : is expected"),
        ('{"nodes": [{1: 1}], "edges": []}', "1 where a name is expected"),
        ('{"nodes": [{"id": true}], "edges": []}', "True where the name of a node is expected"),
        ('{"nodes": [{"id": {}}], "edges": [{"source": 0}]}', "without 'source' or 'target'"),
        ('{"nodes": [{}, {"id": 0}], "edges": []}', "two nodes named 0"),
        ('{"nodes": [{}], "edges": [{"source": 0, "target": 1}]}', "edge of node 1, which is not"),
        (TWO.format('{"source":0,"target":1},{"source":1,"target":0}'), "parallel edges"),
        (node('"a": 1, "a": 2'), "two 'a' in one node"),
        (node('"a": NaN'), "NaN, which is no number of JSON"),
        (node('"a": [-Infinity]'), "-Infinity, which is no number of JSON"),
        (node('"a": 1e999'), "a number that is too large"),
        (node('"a": 01'), "1 where , or } is expected"),
        (node('"a": ' + "9" * 4301), "a number of more than 4300 digits"),
        (node('"a": 0.' + "9" * 4300), "a number of more than 4300 digits"),
        (node(r'"a": "\ud800"'), "half a character"),
        (node(r'"a": "\x41"'), "Invalid"),
        (node('"a": "\n"'), "unexpected"),
        (node(f'"{"a" * 201}": 1'), "a name of more than 200 characters"),
        (node(f'"a": "{"a" * (2**20 + 1)}"'), "a text of more than 1048576 characters"),
        ('{"a":' * 102, "more than 100 lists within each other"),
        (node(", ".join(f'"{k}": 1' for k in range(10_000))), "more than 10000 different names"),
        (b'{"nodes": [{"id": 0,\n "a": "\xff"}], "edges": []}', "line 2: byte 0xff is not UTF-8"),
        ("[" + '{"nodes": [{}], "edges": []}', "end where , or ] is expected"),
    ]
)  # fmt: skip


@pytest.mark.parametrize(("text", "words"), WRONG, ids=range(len(WRONG)))
def test_what_is_refused(text, words):
    found = refused(text)
    assert any(word in found for word in words.split("|"))
    assert found.startswith("g.json")


def test_what_is_just_within_the_bounds_is_read():
    (graph,) = decoded(node(f'"a": {"9" * 4300}, "{"b" * 200}": "{"c" * 2**20}"'))
    assert len(graph.nodes[0]["b" * 200]) == 2**20
    assert decoded('{"a":' + "[" * 99 + "]" * 99 + ', "nodes": [{}], "edges": []}')


def test_directed_graphs_are_refused_wherever_they_say_so():
    text = TWO.format('{"source":0,"target":1}')
    for directed in (text[:-1] + ', "directed": true}', '{"directed":true,' + text[1:]):
        assert "directed (asymmetric: edge 0 -> 1 has no reverse)" in refused(directed)
        assert decoded(directed, repairs=Repairs(undirected=True))[0].number_of_edges() == 1
    both = TWO.format('{"source":0,"target":1,"w":1},{"source":1,"target":0,"w":1}')
    both = '{"directed": true,' + both[1:]
    every = Repairs(undirected=True)
    assert decoded(both, ["w"], every)[0].edges[0, 1] == {"w": 1}
    with pytest.raises(GraphDataError, match="other attributes in the other direction"):
        decoded(both.replace('1,"w":1', '1,"w":2'), ["w"], every)


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ({"max_nodes": 2}, "graph 2: 3 nodes, but at most 2"),
        ({"max_total_nodes": 4}, "graph 2: more than 4 nodes"),
        ({"max_total_edges": 2}, "graph 2: more than 2 edges"),
        ({"max_bytes": 16 * 7 - 1}, "more than 111 bytes"),
    ],
)
def test_limits_are_told_where_they_are_passed(limit, words):
    """Of nodes every value counts, and every one of a list besides."""
    first, second = nx.path_graph(2), nx.path_graph(3)
    first.nodes[0].update(a=1, x=[1, 2, 3])
    first.edges[0, 1].update(w=1, v="not asked for")
    second.nodes[2]["a"] = "text"
    text = encode_lines([first, second])
    whole = {"max_nodes": 3, "max_total_nodes": 5, "max_total_edges": 3, "max_bytes": 16 * 7}
    assert len(decoded(text, asked=["w"], **whole)) == 2
    assert words in refused(text, asked=["w"], **{**whole, **limit})


@pytest.mark.parametrize(
    ("place", "name", "value", "words"),
    [
        ("node", "id", 1, "graph 1, node 0: attribute 'id' has a name that JSON keeps"),
        ("edge", "target", 1, "graph 1, edge 0 - 1: attribute 'target' has a name that JSON keeps"),
        ("node", "a" * 201, 1, "or of more than 200 characters"),
        ("node", "a", "a" * (2**20 + 1), "or a text of more than 1048576"),
        ("node", "a", ["a" * (2**20 + 1)], "or a text of more than 1048576"),
        ("node", "a", "\ud800", "half a pair of surrogates"),
        ("edge", "\ud800", 1, "half a pair of surrogates"),
        ("node", "a", float("nan"), "graph 1: cannot write JSON: Out of range float"),
        ("edge", "a", [float("-inf")], "graph 1: cannot write JSON: Out of range float"),
        ("node", "a", 10**4300, "cannot write JSON: Exceeds the limit"),
    ],
    ids=range(10),
)
def test_what_could_not_be_read_again_is_not_written(place, name, value, words):
    graph = nx.path_graph(2)
    (graph.nodes[0] if place == "node" else graph.edges[0, 1])[name] = value
    for encode in (encode_json, encode_lines):
        with pytest.raises(GraphDataError, match=words):
            encode([graph])


@pytest.mark.parametrize("values", ["0,", r'"\\n",', "[],", "{},"])
def test_the_time_is_looked_at_for_every_value(values):
    class Counting(Reading):
        ticks = 0

        def tick(self, where):
            self.ticks += 1
            super().tick(where)

    reading = Counting()
    members = "".join(f'"a{k}":{values}' for k in range(500))
    decode_json(node(members + '"b":[' + values * 500 + "0]").encode(), "g", reading)
    assert reading.ticks >= 1500
