"""Edge lists: names and declared nodes, and which lines an error names."""

from __future__ import annotations

import pytest

from graphscore.errors import GraphDataError
from graphscore.graphs import Repairs
from graphscore.graphs.formats.edge_list import decode_edge_list
from graphscore.graphs.limits import Limits, Reading


@pytest.mark.parametrize(
    ("text", "size", "edges"),
    [
        ("5 -3\n-3 0\n", 3, [(0, 1), (0, 2)]),
        ("10 9\n9 0\n", 3, [(0, 1), (1, 2)]),
        ("b 2\n2 10\n", 3, [(0, 1), (1, 2)]),
        ("1 x\nx 0\n", 3, [(0, 1), (1, 2)]),
        ("0 1 1e0\n0 2 {}\n", 3, [(0, 1), (0, 2)]),
        ("0 1\n2\n1 0\n", 3, [(0, 1)]),
        ("# nodes: 3\n2 0\n", 3, [(0, 2)]),
        (f"# nodes: {'0' * 30}3\r\n2 0\r\n\r\n", 3, [(0, 2)]),
        ("2 0\n#nodes:4 \n", 4, [(0, 2)]),
        ("# Nodes: 4\n2 0\n", 4, [(0, 2)]),
        ("# Nodes: 4 Edges: 1\n2 0\n", 2, [(0, 1)]),
        ("0 1 {'color': '#ff0000'}\n1 2 {'a': 2} # a note {b\n", 3, [(0, 1), (1, 2)]),
        ("0 1 # a note {'weight': 3}\n", 2, [(0, 1)]),
        (" # nodes: 1 and more\n1 2\n", 2, [(0, 1)]),
        ("% sym unweighted\n% 2 3 3\n1 2\n2 3\n", 3, [(0, 1), (1, 2)]),
        ("// made\n1 2 # here\n", 2, [(0, 1)]),
        ("0 1 {'weight': 1, 'kind': 'a, b'}\n1 2 {}\n", 3, [(0, 1), (1, 2)]),
        ("0,1,{'weight': 1.0}\n1\t2\t{\"kind\": 2}\n", 3, [(0, 1), (1, 2)]),
        (
            "0 1 {'a': \"it's 'weight': 5\", 'b': 'weight'}\n1 2 {'a': '\\'weight\\': 5'}\n",
            3,
            [(0, 1), (1, 2)],
        ),
        ("main() init()\ninit() f(x)\n", 3, [(0, 1), (1, 2)]),
        ("[Na+] [Cl-]\n[Cl-] {a}b(c)\n", 3, [(0, 1), (1, 2)]),
        ("sp|P1|A a-b\na-b c:d\n", 3, [(0, 1), (1, 2)]),
        ("a b\nb 1\n", 3, [(0, 1), (1, 2)]),
        ("a b\na 2\n", 3, [(0, 1), (0, 2)]),
        ("a b\nc 1\n", 4, [(0, 1), (2, 3)]),
        ("a b\n", 2, [(0, 1)]),
        ("0-1\na\n", 2, []),
        ("a\nb\n1 2\n", 4, [(2, 3)]),
        ("1\n2\n", 2, []),
    ],
)
def test_the_nodes_of_an_edge_list(text, size, edges):
    """Integers are in numeric order, other names in order of appearance, declared ones in place."""
    (candidate,) = decode_edge_list(text.encode(), "g", Reading())
    assert list(candidate.graph) == list(range(size))
    assert sorted(tuple(sorted(edge)) for edge in candidate.graph.edges) == edges
    assert candidate.clean


@pytest.mark.parametrize("name", ["3", "4", "-1", "-0", "01", "+1", "1.0", "a", "9" * 19])
def test_a_node_that_is_not_declared(name):
    """Declared nodes are the numbers below n, written as numbers usually are."""
    with pytest.raises(GraphDataError, match=r"g line 3: node .*, but .# nodes: 3. declares") as e:
        decode_edge_list(f"# nodes: 3\n0 1\n2 {name}\n".encode(), "g", Reading())
    assert f"node {name}, but" in str(e.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 1\n0 2\n3 1\n0 1\n", "g line 4: parallel edge, '0' - '1' was listed in line 1 already"),
        ("9 8\n0 1\n0 1\n0 1\n", "g line 3: parallel edge, '0' - '1' was listed in line 2 already"),
        ("# nodes: 2\n0 1\n0 1\n", "g line 3: parallel edge, 0 - 1 was listed in line 2 already"),
        ("0 1\n1 2 1 1\n", "g line 2: 4 columns. A line holds one node, or two nodes"),
        ("0 1 {} 1\n", "g line 1: 4 columns"),
        ("0 1\n1 2 {'a': 1, 'weight': 2}\n", "g line 2: non-binary weight 2"),
        ("0 1 {\"weight\" : 2, 'b': 1}\n", "g line 1: non-binary weight 2"),
        ("0 1 {'a': 'b', 'weight': 1, 'weight': 2}\n", "g line 1: 4 columns"),
        ("0 1 {a: it's, 'weight': 2}\n", "g line 1: 6 columns"),
        ("0 1 {'a': '\\'}\n", "g line 1: 4 columns"),
        ("0 1 {'a': {'weight': 2}}\n", "g line 1: 5 columns"),
        ("{0: 1}\n", "g line 1: '{0:' where a node is expected"),
        ("0 1)\n", "g line 1: '1)' where a node is expected"),
        ("0 1]\n", "g line 1: '1]' where a node is expected"),
        ("0 1}\n", "g line 1: '1}' where a node is expected"),
        ("0 1\n1 2 {'weight': nan}\n", "g line 2: NaN weight"),
        ("0 1\n1 2 {'weight': None}\n", "g line 2: 'None' where a weight is expected"),
        ("source,target\n0,1\n1,2\n", "g line 1: 'source' and 'target' look like the names of"),
        ("# made\nfrom to\n7 8\n", "g line 2: 'from' and 'to' look like the names of columns"),
        ("0;1\n1;2\n", "g line 1: '0;1' where an edge is expected. Separate the two nodes"),
        ("0-1\n", "g line 1: '0-1' where an edge is expected. Separate"),
        ("0 1\n1; 2\n", "g line 2: '1;' where a node is expected. Separate the two nodes"),
        ("(0, 1)\n", "g line 1: '(0' where a node is expected. Separate the two nodes"),
        ("[0,1]\n", "g line 1: '[0' where a node is expected"),
        ("*Vertices 3\n*Edges\n1 2\n", "g line 1: '*Vertices 3', as in the format Pajek, but"),
        ("%%MatrixMarket matrix\n3 3 1\n1 2\n", "g line 1: '%%MatrixMarket matrix', as in the"),
        ("0 1 2\n", "g line 1: non-binary weight 2.0 on edge '0' - '1', but only weight 1"),
        ("0 1 0\n", "g line 1: non-binary weight 0.0 on edge '0' - '1', but only weight 1"),
        ("0 1 NaN\n", "g line 1: NaN weight on edge '0' - '1', but only weight 1"),
        ("0 1 one\n", "g line 1: 'one' where a weight is expected"),
        ("# nodes: 0\n", "g: no nodes"),
        (f"# nodes: {'0' * 30}9{'9' * 30}\n0 1\n", "g line 1: 9999999999999999999 nodes, but at"),
        ("0 1\n0\r2\n", "g line 2: a carriage return within a line. End lines"),
        ("# first\r0 1\n1 2\n", "g line 1: a carriage return within a line"),
        (f"0 1\n# nodes: {10**9}\n", "g line 2: 1000000000 nodes, but at most"),
        ("# nodes: 0\n0 1\n# nodes: 5\n", "g line 3: a second '# nodes:' comment; the first decla"),
    ],
)
def test_what_is_refused(text, message):
    """The error names the line, or both lines."""
    with pytest.raises(GraphDataError) as caught:
        decode_edge_list(text.encode(), "g", Reading())
    assert str(caught.value).startswith(message)


def test_loops_of_an_edge_list_are_dropped_on_request():
    """They may be listed several times, and the graph says what was done."""
    reading = Reading(Limits(max_total_edges=2), Repairs(drop_self_loops=True))
    (candidate,) = decode_edge_list(b"1 1\n1 1\n1 2\n2 3\n", "g", reading)
    assert list(candidate.graph.edges) == [(0, 1), (1, 2)]
    assert candidate.changes == ("self-loops dropped",)
    assert reading.edges_left == 0


CARRIED = "0 1 {'weight': 2, 'bond': 'a # {'}\n1 2 {'bond': \"b\", 'weight': 0.5, 'more': [1]}\n"


@pytest.mark.parametrize(
    ("text", "asked", "edges"),
    [
        (
            CARRIED,
            ["weight", "bond"],
            [{"weight": 2, "bond": "a # {"}, {"weight": 0.5, "bond": "b"}],
        ),
        (CARRIED, ["weight", "more"], [{"weight": 2}, {"weight": 0.5}]),
        ("0 1 0.5\n1,2,2\n", ["weight"], [{"weight": 0.5}, {"weight": 2.0}]),
        ("0 1 3 # three\n1 2\n1 0 3\n2 1\n", ["weight"], [{"weight": 3.0}, {}]),
        ("0 1 1\n1 2 {'bond': True}\n", ["bond"], [{}, {"bond": True}]),
        ("2 1 {'bond': 'b'}\n# x\n1 0 {'bond': 'a'}\n", ["bond"], [{"bond": "a"}, {"bond": "b"}]),
    ],
)
def test_attributes_that_are_asked_for(text, asked, edges):
    """Those that networkx writes behind edges, and weights in a third column."""
    reading = Reading(edge_attributes=asked)
    (candidate,) = decode_edge_list(text.encode(), "g", reading)
    found = {(u, v): data for u, v, data in candidate.graph.edges(data=True)}
    assert found == dict(zip([(0, 1), (1, 2)], edges))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0 1 x\n", "g line 1: 'x' where a weight is expected"),
        ("0 1 2 3\n", "g line 1: 4 columns"),
        ("0 1\n1 2 {'a': b}\n", "g line 2: attributes that are not read"),
        ("0 1 {'a'}\n", "g line 1: attributes that are not read"),
        ("0 1 {1: 2}\n", "g line 1: attributes that are not read"),
        (f"0 1 {{'a': {'[' * 5000}}}\n", "g line 1: attributes that are not read"),
        (f"0 1 {{'a': '{'b' * 10_000}'}}\n", "of at most 10000 characters"),
        ("0 1 1\n1 0 2\n", "has other attributes in the other direction"),
    ],
)
def test_attributes_that_are_refused(text, words):
    reading = Reading(edge_attributes=["weight", "a"])
    with pytest.raises(GraphDataError, match=words):
        list(decode_edge_list(text.encode(), "g", reading))


def test_attributes_of_an_edge_list_count_as_bytes():
    for limit in (32, 31):
        reading = Reading(Limits(max_bytes=limit), edge_attributes=["weight"])
        if limit == 32:
            decode_edge_list(b"0 1 2\n1 2 3\n", "g", reading)
        else:
            with pytest.raises(GraphDataError, match="more than 31 bytes"):
                decode_edge_list(b"0 1 2\n1 2 3\n", "g", reading)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "id,smiles\n1,CCO\n2,CC\n",
            "g line 1: a column 'smiles', so this is a table of molecules",
        ),
        ("SMILES\nCCO\nCC\n", "g line 1: a column 'SMILES'"),
        ("From To\na b\nb c\n", "'From' and 'To' look like the names of columns.* in .csv or .tsv"),
        ("*Vertices 2\n", r"in the format Pajek, .* end in \.net"),
        ("%%MatrixMarket matrix\n", r"in the format Matrix Market, .* end in \.mtx"),
    ],
)
def test_tables_and_other_formats_are_named(text, words):
    """Columns of molecules are no nodes, and names of columns no edge."""
    with pytest.raises(GraphDataError, match=words):
        decode_edge_list(text.encode(), "g", Reading())
