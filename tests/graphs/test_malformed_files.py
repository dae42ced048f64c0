"""Damaged and inconsistent files of every format: errors name the file, the line and the defect."""

from __future__ import annotations

import gzip

import networkx as nx
import numpy as np
import pytest

from graphscore.errors import GraphDataError
from graphscore.graphs import read_graphs


def refused(path, words):
    with pytest.raises(GraphDataError) as caught:
        read_graphs(path)
    for word in words:
        assert word in str(caught.value)


XML = '<?xml version="1.0"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">{}</graphml>'
GRAPH = '<graph edgedefault="undirected"><node id="0"/>{}</graph>'
BOMB = '<!DOCTYPE a [<!ENTITY b "bbbb">]><graphml>&b;</graphml>'

MALFORMED = [
    ("g.g6", b"", ["g.g6", "empty"]),
    ("g.g6", b"\n \n", ["g.g6", "empty"]),
    ("g.g6", b">>graph6<<\n", ["g.g6", "no graphs"]),
    ("g.g6", b"Bw\n\nD\n", ["g.g6 line 3", "5 nodes need 2 characters", "truncated"]),
    ("g.g6", b"Bww\n", ["g.g6 line 1", "too long"]),
    ("g.g6", b"Bw\n~?\n", ["g.g6 line 2", "truncated"]),
    ("g.g6", b"Bw\nB\xff\n", ["g.g6 line 2", r"b'\xff' at position 2", "'?' to '~'"]),
    ("g.g6", b"Bw\n?\n", ["g.g6 line 2", "no nodes"]),
    ("g.g6", b"&AO\n", ["g.g6 line 1", "digraph6"]),
    ("g.g6", b"~~~~~~~~\n", ["g.g6 line 1", "68719476735 nodes, but at most 100000"]),
    ("g.s6", b":~~~~~~~~\n", ["g.s6 line 1", "68719476735 nodes, but at most 100000"]),
    ("g.s6", b":\n", ["g.s6 line 1", "truncated"]),
    ("g.s6", b";A\n", ["g.s6 line 1", "incremental"]),
    ("g.s6", nx.to_sparse6_bytes(nx.Graph([(0, 0), (0, 1)])), ["self-loop", "--drop-self-loops"]),
    ("g.s6", nx.to_sparse6_bytes(nx.MultiGraph([(0, 1), (0, 1)])), ["line 1", "parallel"]),
    ("g.g6.gz", b"Bw\n", ["g.g6.gz", "gzip"]),
    ("g.g6.gz", gzip.compress(b"Bw\n" * 9, mtime=0)[:-9], ["g.g6.gz", "gzip"]),
    ("g.edges", b"0 1\n1 2 3 4\n", ["g.edges line 2", "4 columns"]),
    ("g.edges", b"0 1 x\n", ["g.edges line 1", "'x' where a weight"]),
    ("g.edges", b"0 1 0.5\n", ["g.edges line 1", "non-binary weight 0.5"]),
    ("g.edges", b"0 1 nan\n", ["g.edges line 1", "NaN"]),
    ("g.edges", b"0 1\n2 3\n0 1\n", ["g.edges line 3", "parallel", "line 1"]),
    ("g.edges", b"10 20\n9 10\n10 20\n", ["line 3: parallel edge, '10' - '20'", "line 1"]),
    ("g.edges", b"a b\nb a\nb c\n", ["g.edges: directed", "'b' -> 'c'", "--undirected"]),
    ("g.edges", b"10 9\n9 10\n10 8\n", ["g.edges: directed", "'10' -> '8'"]),
    ("g.edges", b"a b\nb b\n", ["g.edges: 1 self-loop", "node 'b'", "--drop-self-loops"]),
    ("g.edges", b"# nodes: 3\n2 1\n2 2\n", ["g.edges: 1 self-loop", "node 2,"]),
    ("g.edges", b"# nodes: 2\n0 1\n1 2\n", ["g.edges line 3", "node 2", "nodes: 2"]),
    (
        "g.edges",
        b"# nodes: 99999999999\n",
        ["g.edges line 1", "99999999999 nodes, but"],
    ),
    ("g.edges", b"0 1\n\xff 2\n", ["g.edges line 2", "0xff", "UTF-8"]),
    ("g.edges", b"# nothing\n", ["g.edges", "no nodes"]),
    ("g.graphml", b"<graphml>\n<graph", ["g.graphml line 2", "XML"]),
    ("g.graphml", b"no xml", ["g.graphml line 1", "XML"]),
    ("g.graphml", BOMB.encode(), ["g.graphml", "DOCTYPE"]),
    ("g.graphml", BOMB.encode("utf-16"), ["g.graphml", "DOCTYPE"]),
    ("g.graphml", XML.format("").encode(), ["g.graphml", "0 <graph> elements"]),
    ("g.graphml", XML.format(GRAPH.format("") * 2).encode(), ["2 <graph> elements", "folder"]),
    (
        "g.graphml",
        XML.format(GRAPH.format('<edge source="0" target="9"/>')).encode(),
        ["g.graphml", "node '9', which is not declared"],
    ),
    ("g.graphml", XML.format(GRAPH.format("<hyperedge/>")).encode(), ["not valid GraphML"]),
    (
        "g.graphml",
        "\n".join(nx.generate_graphml(nx.DiGraph([(0, 1)]))).encode(),
        ["g.graphml: directed", "--undirected", "Repairs(undirected=True)"],
    ),
    ("g.gml", b"graph [ node [ id 0 ]", ["g.gml", "not valid GML"]),
    ("g.gml", b"graph [ edge [ source 0 target 1 ] ]", ["g.gml", "not valid GML"]),
    ("g.gml", b"graph [" * 5000, ["g.gml", "not valid GML"]),
    ("g.gml", "\n".join(nx.generate_gml(nx.DiGraph([(0, 1)]))).encode(), ["directed"]),
    ("g.npz", b"PK\x03\x04 not really", ["g.npz", "not a readable .npz"]),
]


@pytest.mark.parametrize(("name", "data", "words"), MALFORMED)
def test_malformed_files(tmp_path, name, data, words):
    (tmp_path / name).write_bytes(data)
    refused(tmp_path / name, words)


PATH = np.array([[[0, 1, 0], [1, 0, 0], [0, 0, 0]]])


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"graphs": PATH}, ["found the arrays graphs", "adj (B,N,N)"]),
        ({}, ["(none)"]),
        ({"adj": PATH, "sizes": np.array([2]), "node_mask": np.ones((1, 3))}, ["found the arrays"]),
        ({"adj": PATH[0]}, ["adj of type int64 and shape (3, 3)"]),
        ({"adj": PATH.astype(str)}, ["adj of type <U"]),
        ({"adj": PATH.astype(object)}, ["Python objects"]),
        ({"adj": PATH, "sizes": np.array([4])}, ["0 to 3 nodes"]),
        ({"adj": PATH, "sizes": np.array([-1])}, ["0 to 3 nodes"]),
        ({"adj": PATH, "sizes": np.array([2.0])}, ["integers of shape (1,)"]),
        ({"adj": PATH, "sizes": np.array([1])}, ["graph 1: an edge at a node"]),
        ({"adj": PATH, "node_mask": np.ones((1, 2), bool)}, ["node_mask of type bool"]),
        ({"adj": PATH, "node_mask": np.full((1, 3), 2)}, ["node_mask of type int64"]),
        ({"adj": PATH, "node_feat": np.ones((1, 2, 2))}, ["node_feat", "(1, 2, 2)"]),
        ({"adj": PATH * 0.5}, ["s.npz, graph 1: non-binary weight 0.5"]),
        ({"adj": PATH * np.nan}, ["NaN"]),
        ({"adj": np.triu(PATH[0])[None]}, ["asymmetric", "--undirected"]),
        ({"adj": PATH[:0]}, ["no graphs"]),
    ],
)
def test_refused_stacks(tmp_path, arrays, words):
    np.savez(tmp_path / "s.npz", **arrays)
    refused(tmp_path / "s.npz", words)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"A": "1, 2\n"}, ["graph 1: directed", "0 -> 1", "--undirected"]),
        ({"A": "1, 2\n2, 1\n1, 2\n2, 1\n"}, ["graph 1: parallel edges"]),
        ({"A": "1, 1\n"}, ["graph 1: 1 self-loop"]),
        ({"A": "1, 2\n2, one\n"}, ["TOY_A.txt line 2", "'2, one'"]),
        ({"A": "1, 2\n2\n"}, ["TOY_A.txt line 2", "1 numbers, but 2"]),
        ({"A": "1, 9\n9, 1\n"}, ["TOY_A.txt line 1", "nodes 1 to 5"]),
        ({"A": "1, 3\n3, 1\n"}, ["node 1 of graph 1 to node 3 of graph 2"]),
        ({"A": f"1, {10**30}\n"}, ["TOY_A.txt line 1"]),
        ({"graph_indicator": "1\n1\n3\n3\n3\n"}, ["graph 2: no nodes"]),
        ({"graph_indicator": "0\n0\n1\n1\n1\n"}, ["numbers graphs 0 to 1"]),
        ({"graph_indicator": "1\n1\n99\n99\n99\n"}, ["numbers graphs 1 to 99"]),
        ({"graph_indicator": "", "A": ""}, ["TOY_node_labels.txt has 5 lines", "0 nodes"]),
        ({"node_labels": "0\n"}, ["TOY_node_labels.txt has 1 lines", "5 nodes"]),
        ({"node_attributes": "0\n" * 6}, ["TOY_node_attributes.txt has 6 lines"]),
        ({"graph_indicator": None}, ["TOY_A.txt", "_graph_indicator.txt", "missing"]),
        ({"A": None}, ["TOY_graph_indicator.txt", "missing"]),
    ],
)
def test_inconsistent_tu_folders(tmp_path, write_tu, changes, words):
    write_tu(tmp_path, **changes)
    refused(tmp_path, words)
