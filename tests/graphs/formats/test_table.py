"""Tables of edges: which columns are what, many graphs in one table, and what is refused."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphscore.errors import GraphDataError
from graphscore.graphs import Repairs, read_graphs, write_graphs
from graphscore.graphs.files import lost_attributes
from graphscore.graphs.formats.table import decode_table
from graphscore.graphs.limits import Limits, Reading
from graphscore.graphs.schema import Scale, Schema, Types

quick = settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def read(text, *asked):
    """Return sizes and edges of the graphs of a table."""
    reading = Reading(edge_attributes=asked)
    graphs = [c.graph for c in decode_table(text.encode(), "t.csv", reading)]
    return [(len(graph), list(graph.edges(data=True))) for graph in graphs], list(reading.ignored)


EDGE = ([(3, [(0, 1, {}), (0, 2, {})])], [])


@pytest.mark.parametrize(
    "text",
    [
        "source,target\n1,2\n1,3\n",
        "Target;Source\n2;1\n3;1\n",
        "FROM\tTo\n1\t2\n1\t3\n",
        "\ufeffu, v\r\n1, 2\r\n\r\n1, 3\r\n",
        '# made\n\n"src","dst"\n"1","2"\n"1","3"\n',
        "node_1,node_2\n10,20\n10,30\n20,10\n30,10\n",
        ",Source ID,Target ID\n0,1,2\n1,1,3\n",
        "source,target,Weight\n1,2,1\n1,3,1.0\n1,,\n",
        "1,2\n1,3\n",
        "1;2;1\n1;3;1\n",
        "source,target\n1,2\n1,3",
    ],
)
def test_columns_are_found_by_name_and_separator(text):
    """A first row of numbers is an edge; an index without name, as of pandas, is left out."""
    assert read(text) == EDGE


def test_other_columns_are_edge_attributes():
    """Numbers as numbers, texts as texts, truth values; an empty cell is no value."""
    text = 'source,target,n,r,b,t,z\n1,2,3,1,True,"a, ""b""",007\n2,3,,0.5,false,c,08\n'
    (found,), ignored = read(text, "n", "r", "b", "t")
    assert ignored == ["z"]
    first = {"n": 3, "r": 1.0, "b": True, "t": 'a, "b"'}
    assert repr(found[1]) == repr([(0, 1, first), (1, 2, {"r": 0.5, "b": False, "t": "c"})])
    assert read(text, "z")[0][0][1][0][2] == {"z": "007"}


def test_weights_are_kept_if_they_are_asked_for():
    for text in ("u,v,WEIGHT\n0,1,0.5\n1,0,0.5\n", "0,1,0.5\n1,0,0.5\n"):
        assert read(text, "weight") == ([(2, [(0, 1, {"weight": 0.5})])], [])
        with pytest.raises(GraphDataError, match=r"t.csv line [12]: non-binary weight 0.5 on edge"):
            read(text)


def test_one_table_of_many_graphs():
    """Rows of a graph may be anywhere; graphs are in numeric order; a node may stand alone."""
    text = "Graph_ID,u,v,k\n10,a,b,x\n9,b,c,y\n10,c,,\n9,c,a,z\n"
    found, _ = read(text, "k")
    nine, ten = (3, [(0, 2, {"k": "z"}), (1, 2, {"k": "y"})]), (3, [(0, 1, {"k": "x"})])
    assert found == [nine, ten]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,smiles\n1,CCO\n", "a column 'smiles', so this is a table of molecules.* .smi, one"),
        ("name,Canonical SMILES,y\nx,CCO,1\n", "column 'Canonical SMILES'"),
        ("ann,bob\nbob,cy\n", "line 1: the columns 'ann', 'bob' name no ends .* source and targ"),
        ("a\n1\n", "the columns 'a' name no ends of edges"),
        ("source,b\n1,2\n", "the columns 'source', 'b' name no ends"),
        ("source,target,a,a\n1,2,3,4\n", "two columns named 'a'"),
        ("source,target,Source\n1,2,3\n", "two columns named 'Source'"),
        ("1,2,a\n1,3,b\n", "line 1: 3 columns without names"),
        ("1,2,1,1\n", "line 1: 4 columns without names"),
        ("source,target\n1,2\n1,2,3\n", "line 3: 3 cells, but the first line has 2"),
        ("source,target\n1\n", "line 2: 1 cells"),
        ("source,target\n,2\n", "line 2: no node in the first column"),
        ("graph,source,target\n,1,2\n", "line 2: no graph is named"),
        ('source,target\n1,"2\n\n', "line 3: not a readable table"),
        (f'source,target\n1,"{"2" * 200_000}"\n', "line 2: not a readable table .field larger"),
        (f"source,target\n1,{'a' * 201}\n", "line 2: the name of a node has 201 characters"),
        (f"source,target,{'a' * 201}\n1,2,3\n", "line 1: more than 1000 columns, or a name"),
        (f"source,target{',a' * 1000}\n", "line 1: more than 1000 columns"),
        ("source,target\n1,2\n1,2\n", "t.csv: parallel edges between nodes '1' and '2'"),
        ("graph,u,v\ng,1,2\ng,2,1\ng,2,3\n", "t.csv, graph g: directed .*'2' -> '3'"),
        ("Source,Target,Type,Id\n1,2,Undirected,0\n2,3,Directed,1\n", "t.csv: directed"),
        ("source,target\n5,5\n", "1 self-loop, the first at node '5'"),
        ("source,target,weight\n1,2,one\n", "non-binary weight 'one'"),
        ("source,target\n\xff\n".encode("latin-1"), "0xff is not UTF-8"),
    ],
)
def test_what_is_refused(text, words):
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(GraphDataError, match=words):
        decode_table(data, "t.csv", Reading())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("u,v,k\n1,2,a\n2,1,b\n", "has other attributes in the other direction"),
        ("u,v,k\n1,2,0.5\n2,3,nan\n", "column 'k' holds NaN or infinity"),
        ("u,v,k\n1,2,1e999\n2,3,1\n", "column 'k' holds NaN or infinity"),
    ],
)
def test_attributes_that_are_refused(text, words):
    with pytest.raises(GraphDataError, match=words):
        list(decode_table(text.encode(), "t.csv", Reading(edge_attributes=["k"])))


def test_a_table_without_rows_has_no_graphs(tmp_path):
    (tmp_path / "g.csv").write_text("source,target\n")
    with pytest.raises(GraphDataError, match="no graphs"):
        read_graphs(tmp_path / "g.csv")


def test_repairs_of_a_table():
    reading = Reading(Limits(), Repairs(drop_self_loops=True, undirected=True), ["k"])
    text = b"u,v,k\n1,1,9\n1,2,3\n2,1,3\n2,3,4\n"
    (candidate,) = decode_table(text, "t.csv", reading)
    assert list(candidate.graph.edges(data="k")) == [(0, 1, 3), (1, 2, 4)]
    assert candidate.changes == ("made undirected", "self-loops dropped")


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"max_nodes": 3}, "t.csv: 4 nodes, but at most 3 .*--max-nodes 4"),
        ({"max_total_nodes": 3}, "more than 3 nodes in all graphs"),
        ({"max_total_edges": 2}, "more than 2 edges in all graphs"),
        ({"max_bytes": 47}, "more than 47 bytes"),
        ({"max_seconds": 1e-9}, "checking took more than"),
    ],
)
def test_limits_hold_for_tables(limits, words):
    text = b"u,v,k\n1,2,a\n2,3,b\n3,4,c\n"
    with pytest.raises(GraphDataError, match=words):
        decode_table(text, "t.csv", Reading(Limits(**limits), edge_attributes=["k"]))


def test_many_graphs_are_limited_together():
    text = b"graph,u,v\n" + b"".join(b"%d,1,2\n" % k for k in range(10))
    with pytest.raises(GraphDataError, match="graph 9: more than 19 nodes in all graphs"):
        decode_table(text, "t.csv", Reading(Limits(max_total_nodes=19)))
    assert len(list(decode_table(text, "t.csv", Reading(Limits(max_total_nodes=20))))) == 10


VALUES = {
    "whole": st.integers(-(2**80), 2**80),
    "real": st.floats(allow_nan=False, allow_infinity=False),
    "truth": st.booleans(),
    "text": st.sampled_from(["a", "b, c", 'd"e', "f\ng", "é;\t#", "{1}"]),
}


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
@given(data=st.data())
@quick
def test_what_is_written_is_read_again(tmp_path, suffix, data):
    """Also nodes without edges; some edges may have no value."""
    graphs = [nx.gnp_random_graph(data.draw(st.integers(1, 5)), 0.5, seed=k) for k in range(3)]
    for graph in graphs:
        for edge in graph.edges:
            for name, strategy in VALUES.items():
                if data.draw(st.booleans()):
                    graph.edges[edge][name] = data.draw(strategy)
    write_graphs(tmp_path / f"g{suffix}", graphs)
    found = read_graphs(tmp_path / f"g{suffix}", edge_attributes=list(VALUES))
    for before, after in zip(graphs, found, strict=True):
        assert list(after) == list(before)
        assert carried(after) == carried(before)


def carried(graph):
    return sorted((min(u, v), max(u, v), repr(sorted(d.items()))) for u, v, d in graph.edges.data())


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("k", ["1", "2"], "texts that look like others"),
        ("k", [" a", "b"], "texts that look like others"),
        ("k", ["", "b"], "texts that look like others"),
        ("k", [1, 2.5], "values of several kinds"),
        ("k", ["a", 1], "values of several kinds"),
        ("k", ["a\rb", "c"], "a character that it cannot"),
        ("k", ["a" * 200_000, "c"], "a text that is too long"),
        ("k", [10**5000, 1], "whole number of more than 10000 bits"),
        ("Source", [1, 2], "a name that such tables keep"),
        ("graph_id", [1, 2], "a name that such tables keep"),
        ("Weight", [1, 2], "a name that such tables keep"),
        ("", [1, 2], "no name of 1 to 200"),
        (" a", [1, 2], "no name of 1 to 200"),
    ],
)
def test_attributes_that_a_table_cannot_hold(tmp_path, name, values, words):
    graph = nx.path_graph(3)
    nx.set_edge_attributes(graph, dict(zip(graph.edges, values)), name)
    with pytest.raises(GraphDataError, match=words):
        write_graphs(tmp_path / "g.csv", [graph])
    assert not (tmp_path / "g.csv").exists()


def test_what_a_table_has_no_place_for_is_known_before():
    """Attributes of nodes, and texts that look like numbers."""
    schema = Schema(
        node_type=Types(name="element", values=("C", "N")),
        edge_type=Types(name="bond", values=("1", "2")),
        edge_weight=Scale(name="w"),
    )
    assert lost_attributes("new.csv", schema) == ["element", "bond"]
