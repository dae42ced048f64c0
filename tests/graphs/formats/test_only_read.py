"""GEXF, Pajek, adjacency lists, Cytoscape's JSON and samples of DiGress: formats of others."""

from __future__ import annotations

import json

import networkx as nx
import pytest

from graphscore.errors import GraphDataError
from graphscore.graphs import Repairs, read_graphs
from graphscore.graphs.formats.adjacency_list import decode_adjacency_list
from graphscore.graphs.formats.digress import decode_digress
from graphscore.graphs.formats.gexf import decode_gexf
from graphscore.graphs.formats.node_link import decode_json
from graphscore.graphs.formats.pajek import decode_pajek
from graphscore.graphs.limits import Limits, Reading


def typed_graph():
    """A ring with attributes, and a node without edges."""
    graph = nx.cycle_graph(4)
    graph.add_node(4)
    nx.set_node_attributes(graph, {k: "CN"[k % 2] for k in graph}, "element")
    nx.set_node_attributes(graph, {k: k for k in graph}, "number")
    nx.set_edge_attributes(graph, "single", "bond")
    nx.set_edge_attributes(graph, 2.5, "weight")
    return graph


def samples(*graphs):
    """Return text as DiGress writes it."""
    text = ""
    for types, matrix in graphs:
        text += f"N={len(types)}\nX: \n" + "".join(f"{each} " for each in types) + "\nE: \n"
        text += "".join("".join(f"{each} " for each in row) + "\n" for row in matrix) + "\n"
    return text


SAMPLES = samples(([0, 3, 1], [[0, 2, 0], [2, 0, 1], [0, 1, 0]]), ([4], [[0]]))
CYTOSCAPE = json.dumps(nx.cytoscape_data(typed_graph()))
GEXF = "\n".join(nx.generate_gexf(typed_graph()))
PAJEK = "\n".join(nx.generate_pajek(nx.path_graph(["a", "b c", "3"])))
ADJACENCY = "\n".join(nx.generate_adjlist(typed_graph()))
RING = [(0, 1), (0, 3), (1, 2), (2, 3)]


def read(decode, text, *asked, repairs=None):
    reading = Reading(Limits(), repairs or Repairs(), asked)
    graphs = [c.graph for c in decode(text.encode(), "f", reading)]
    assert all(list(graph) == list(range(len(graph))) for graph in graphs)
    return graphs, list(reading.ignored)


@pytest.mark.parametrize(("decode", "text"), [(decode_gexf, GEXF), (decode_json, CYTOSCAPE)])
def test_attributes_that_networkx_wrote(decode, text):
    """Of nodes all, of edges those that are asked for."""
    (graph,), ignored = read(decode, text, "weight")
    assert ignored == ["bond"]
    assert list(graph.edges(data=True)) == [(*edge, {"weight": 2.5}) for edge in RING]
    for node, data in graph.nodes(data=True):
        assert (data["element"], data["number"]) == ("CN"[node % 2], node)
    (graph,), _ = read(decode, text, "weight", "bond")
    assert graph.edges[0, 1] == {"weight": 2.5, "bond": "single"}
    with pytest.raises(GraphDataError, match=r"f.*: non-binary weight 2.5"):
        read(decode, text)


def test_what_gephi_writes():
    """Labels, defaults, other name spaces, and edges that say that they are not directed."""
    text = """<?xml version="1.0"?>
    <gexf xmlns="http://gexf.net/1.3" xmlns:viz="http://gexf.net/1.3/viz" version="1.3">
    <graph defaultedgetype="directed" mode="static">
    <attributes class="node"><attribute id="a" title="age" type="integer"><default>7</default>
    </attribute><attribute id="b" title="ok" type="boolean"/></attributes>
    <attributes class="edge"><attribute id="a" title="kind of" type="string"/></attributes>
    <nodes><node id="x" label="Ann"><attvalues><attvalue for="b" value="true"/></attvalues>
    <viz:size value="3"/></node><node id="y" label="y"><attvalues>
    <attvalue for="a" value="9"/></attvalues></node></nodes>
    <edges><edge id="0" source="y" target="x" type="undirected" weight="1.0" label="knows">
    <attvalues><attvalue for="a" value="friend"/></attvalues></edge></edges></graph></gexf>"""
    (graph,), ignored = read(decode_gexf, text, "kind of")
    assert dict(graph.nodes(data=True)) == {
        0: {"age": 7, "ok": True, "label": "Ann"},
        1: {"age": 9},
    }
    assert list(graph.edges(data=True)) == [(0, 1, {"kind of": "friend"})]
    assert ignored == ["label"]


def gexf(nodes="", edges="", more=""):
    nodes, edges = f"<nodes>{nodes}</nodes>", f"<edges>{edges}</edges>"
    return f"<gexf><graph>{more}{nodes}{edges}</graph></gexf>"


KEY = '<attributes class="node"><attribute id="0" title="t"/></attributes>'
VALUE = '<attvalue for="0" value="1"/>'
NODE = '<node id="{}"><attvalues>{}</attvalues></node>'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('<!DOCTYPE a [<!ENTITY b "bbbb">]><gexf>&b;</gexf>', "f: a document type declaration"),
        ("<gexf><graph>", "f line 1: not well-formed XML"),
        ("<graphml/>", "not valid GEXF .<graphml> where <gexf> is expected"),
        ("<gexf/>", "f: 0 <graph> elements"),
        ("<gexf><graph/><graph/></gexf>", "f: 2 <graph> elements, but one .* all in one folder"),
        (gexf("<node/>"), "no 'id' in a <node>"),
        (gexf('<node id="1"/><node id="1"/>'), "f: two nodes named '1'"),
        (gexf('<node id="1"><nodes><node id="2"/></nodes></node>'), "groups are written"),
        (gexf('<node id="1"/>', '<edge source="1" target="2"/>'), "node '2', which is not decl"),
        (gexf('<node id="1"/>', '<edge source="1"/>'), "no 'target'"),
        (gexf(NODE.format(1, VALUE)), "no <attribute> '0' of nodes"),
        (
            gexf(NODE.format(1, VALUE * 2), more=KEY),
            "two values of 't' in one node, as of changing",
        ),
        (gexf(more=KEY * 2), "two attributes '0'"),
        ("<gexf>" + "<a>" * 200, "more than 100 elements within each other"),
        ("\n".join(nx.generate_gexf(nx.DiGraph([(0, 1)]))), "f: directed"),
    ],
)
def test_gexf_that_is_refused(text, words):
    with pytest.raises(GraphDataError, match=words):
        read(decode_gexf, text)


@pytest.mark.parametrize(
    ("text", "labels", "edges"),
    [
        (PAJEK, {0: "a", 1: "b c"}, [(0, 1), (1, 2)]),
        ("%c\n*Network n\n*vertices 3\n*arcs\n1 2\n2 1 1 c Blue\n", {}, [(0, 1)]),
        ("*Vertices 3 1\n*Edgeslist\n1 2 3\n", {}, [(0, 1), (0, 2)]),
        ('*Vertices 3\n2 "x" 0.1 0.2 0.5\n*Matrix\n0 1 0\n1 0 0\n0 0 0\n', {1: "x"}, [(0, 1)]),
        ('*Vertices 3\n*Edges :1 "r"\n3 2 c Red\n*Partition p\n*Vertices 3\n1\n', {}, [(1, 2)]),
    ],
)
def test_networks_of_pajek(text, labels, edges):
    (graph,), ignored = read(decode_pajek, text)
    assert nx.get_node_attributes(graph, "label") == labels
    assert (len(graph), list(graph.edges), ignored) == (3, edges, [])


def test_values_of_pajek_are_weights():
    text = "*Vertices 2\n*Arcs\n1 2 0.5\n2 1 0.5\n"
    assert list(read(decode_pajek, text, "weight")[0][0].edges.data()) == [(0, 1, {"weight": 0.5})]
    with pytest.raises(GraphDataError, match=r"f: non-binary weight 0.5"):
        read(decode_pajek, text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 2\n", "f line 1: not valid Pajek .'1' where '.Vertices n' is expected"),
        ("%\n", "f: no line '.Vertices n'"),
        ("*Edges\n1 2\n", "before '.Vertices n'"),
        ("*edges\n", "'.edges' before '.Vertices n'"),
        ("*Vertices\n", "without a number"),
        ("*Vertices 2\n*Vertices 2\n", "or twice"),
        ("*Vertices two\n", "'two' where a whole number"),
        ("*Vertices 2\n3\n", "line 2: not valid Pajek .node 3, but there are the nodes 1 to 2"),
        ("*Vertices 2\n1 a\n1 b\n", "line 3: not valid Pajek .node 1 twice"),
        ("*Vertices 2\n*Edges\n1\n", "one number where two nodes"),
        ("*Vertices 2\n*Edges\n0 1\n", "node 0, but"),
        ("*Vertices 2\n*Edges\n1 2 ?\n", "line 3: not valid Pajek .could not convert"),
        ("*Vertices 2\n*Links\n", "unknown section '.links'"),
        ("*Network a\n*Vertices 2\n*Network b\n", "several networks; save each"),
        ("*Vertices 2\n*Arcs\n1 2\n", "f: directed"),
        ("*Vertices 0\n", "f: no nodes"),
        ("*Vertices 999999\n", "f: 999999 nodes, but at most"),
    ],
)
def test_pajek_that_is_refused(text, words):
    with pytest.raises(GraphDataError, match=words):
        read(decode_pajek, text)


@pytest.mark.parametrize("text", [ADJACENCY, "0: 1, 3\n1: 0 2\n2: 1 3\n3: 2 0\n4:\n"])
def test_adjacency_lists(text):
    """Edges are listed once, or all in both directions."""
    (graph,), _ = read(decode_adjacency_list, text)
    assert (len(graph), list(graph.edges)) == (5, RING)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a b\nb a\nb c\n", "f: directed .*'b' -> 'c'"),
        ("a b b\n", "f: parallel edges between nodes 'a' and 'b'"),
        ("a a\n", "f: 1 self-loop, the first at node 'a'"),
        ("a " + "b" * 201, "f line 1: the name of a node has 201"),
    ],
)
def test_adjacency_lists_that_are_refused(text, words):
    with pytest.raises(GraphDataError, match=words):
        read(decode_adjacency_list, text)


def test_a_session_of_cytoscape():
    """Ends of edges may be numbers where names are texts; positions are left out."""
    text = """{"format_version": "1.0", "data": {"name": "n", "nodes": []}, "elements": {
    "edges": [{"data": {"id": "9", "source": 61, "target": "62", "interaction": "pp"}}],
    "nodes": [{"data": {"id": "61", "SUID": 61}, "position": {"x": 1}, "selected": false},
              {"position": {"x": 2}, "data": {"id": 62, "name": "B"}}]}}"""
    (graph,), _ = read(decode_json, text, "interaction")
    assert dict(graph.nodes(data=True)) == {0: {"SUID": 61}, 1: {"name": "B"}}
    assert list(graph.edges.data()) == [(0, 1, {"interaction": "pp"})]
    two, _ = read(decode_json, '{"elements": {"nodes": [{"data": {}}, {"data": {}}]}}' * 2)
    assert [len(graph) for graph in two] == [2, 2]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"elements": []}', "f line 1: not valid node-link JSON"),
        ('{"elements": 1}', "'elements' of Cytoscape"),
        ('{"elements": {"nodes": 1}}', "'nodes' where lists"),
        ('{"elements": {"groups": []}}', "'groups' where lists 'nodes' and 'edges'"),
        ('{"elements": {"nodes": [], "nodes": []}}', "'nodes' where lists"),
        ('{"elements": {"nodes": [{}]}}', "a node without 'data'"),
        ('{"elements": {"nodes": [{"data": 1}]}}', "'data' is no object"),
        ('{"elements": {"nodes": [{"data": {}, "data": {}}]}}', "or there are two"),
        ('{"elements": {"edges": [{"data": {"source": 1}}]}}', "an edge without 'source' or"),
        ('{"elements": {}, "nodes": []}', "two 'nodes'"),
        ('{"nodes": [], "elements": {}}', "both lists of node-link JSON and"),
        ('{"elements": {"nodes": []}}', "f, graph 1: no nodes"),
    ],
)
def test_cytoscape_that_is_refused(text, words):
    with pytest.raises(GraphDataError, match=words):
        read(decode_json, text)


def test_samples_of_digress(tmp_path):
    """Their name ends in .txt; types of edges are kept if they are asked for."""
    (tmp_path / "generated_samples1.txt").write_text(SAMPLES)
    path = tmp_path / "generated_samples1.txt"
    found = read_graphs(path, edge_attributes=["type"])
    assert [list(graph.nodes(data="type")) for graph in found] == [
        [(0, 0), (1, 3), (2, 1)],
        [(0, 4)],
    ]
    assert list(found[0].edges(data="type")) == [(0, 1, 2), (1, 2, 1)]
    assert read_graphs(path).ignored == ["type"]
    path.rename(tmp_path / "samples")
    assert [len(graph) for graph in read_graphs(tmp_path / "samples", format="digress")] == [3, 1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0 1\n", "f line 1: '0 1', but 'N=' and the number of nodes is expected"),
        ("N=2\n0 1\n", "f line 2: '0 1', but 'X:' is expected, as in samples of DiGress"),
        ("N=2\nX:\n0\n", "line 3: '0', but a line of as many whole numbers as there are nodes .2"),
        ("N=1\nX:\na\n", "line 3: 'a', but a line"),
        ("N=1\nX:\n0.5\n", "line 3: '0.5', but a line"),
        ("N=1\nX:\n0\nE:\n", "line 1: the file ends within this graph, but a line"),
        ("N=1\nX:\n0\n", "line 1: the file ends within this graph, but 'E:'"),
        ("N=9\nX:\n0 0 0 0 0 0 0 0 0\nE:\n", "f, graph 1: the matrix has less than 9 rows"),
        ("N=0\nX:\nE:\n", "f, graph 1: no nodes"),
        ("N=9999999\n", "f, graph 1: 9999999 nodes, but at most"),
        (samples(([0, 0], [[0, 1], [0, 0]])), "f, graph 1: directed"),
        (samples(([0], [[1]])), "f, graph 1: 1 self-loop"),
    ],
)
def test_samples_that_are_refused(text, words):
    with pytest.raises(GraphDataError, match=words):
        read(decode_digress, text)


ALL = {
    decode_gexf: GEXF.replace(' weight="2.5"', ""),
    decode_pajek: PAJEK,
    decode_adjacency_list: ADJACENCY,
    decode_json: CYTOSCAPE.replace('"weight": 2.5', '"w": 1'),
    decode_digress: SAMPLES,
}


@pytest.mark.parametrize("decode", ALL)
@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"max_nodes": 2}, "f.*: [35] nodes, but at most 2 .*--max-nodes [35]"),
        ({"max_total_nodes": 2}, "f.*: more than 2 nodes in all graphs"),
        ({"max_total_edges": 1}, "f.*: more than 1 edges in all graphs"),
        ({"max_seconds": 1e-9}, "f.*: checking took more than"),
    ],
)
def test_limits_hold(decode, limits, words):
    assert decode(ALL[decode].encode(), "f", Reading())
    with pytest.raises(GraphDataError, match=words):
        decode(ALL[decode].encode(), "f", Reading(Limits(**limits)))


@pytest.mark.parametrize("decode", [decode_gexf, decode_json, decode_digress])
def test_attributes_count_as_bytes(decode):
    number = {decode_gexf: 10, decode_json: 20, decode_digress: 4}[decode]
    decode(ALL[decode].encode(), "f", Reading(Limits(max_bytes=16 * number)))
    with pytest.raises(GraphDataError, match=f"more than {16 * number - 1} bytes"):
        decode(ALL[decode].encode(), "f", Reading(Limits(max_bytes=16 * number - 1)))
