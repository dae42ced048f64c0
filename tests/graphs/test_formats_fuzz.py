"""Random graphs go there and back; random bytes give graphs or GraphDataError, nothing else."""

from __future__ import annotations

import gzip

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphscore.errors import GraphDataError
from graphscore.graphs import Repairs, read_graphs, write_graphs
from graphscore.graphs.formats import graph6
from graphscore.graphs.limits import MAX_NODES, Limits, Reading

quick = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@st.composite
def simple_graphs(draw, max_nodes=12):
    size = draw(st.integers(1, max_nodes))
    pairs = [(u, v) for v in range(size) for u in range(v)]
    graph = nx.empty_graph(size)
    graph.add_edges_from(pair for pair in pairs if draw(st.booleans()))
    return graph


def edge_sets(graphs):
    return [(list(g), {frozenset(edge) for edge in g.edges}) for g in graphs]


@pytest.mark.parametrize("name", ["g.g6", "g.s6", "g.json", "g.jsonl", "g.npz", "g.csv", "g.g6.gz"])
@given(graphs=st.lists(simple_graphs(), min_size=1, max_size=4))
@quick
def test_round_trip_of_many(tmp_path, name, graphs):
    write_graphs(tmp_path / name, graphs)
    assert edge_sets(read_graphs(tmp_path / name)) == edge_sets(graphs)


@pytest.mark.parametrize("name", ["g.graphml", "g.gml", "g.edges"])
@given(graph=simple_graphs())
@quick
def test_round_trip_of_one(tmp_path, name, graph):
    write_graphs(tmp_path / name, [graph])
    assert edge_sets(read_graphs(tmp_path / name)) == edge_sets([graph])


@given(graphs=st.lists(simple_graphs(), min_size=1, max_size=4))
@settings(quick, max_examples=15)
def test_round_trip_of_tu(tmp_path_factory, graphs):
    folder = tmp_path_factory.mktemp("tu") / "TOY"
    write_graphs(folder, graphs, format="tu")
    assert edge_sets(read_graphs(folder)) == edge_sets(graphs)


@given(graph=simple_graphs(max_nodes=20))
@quick
def test_graph6_agrees_with_networkx(graph):
    line = nx.to_graph6_bytes(graph, header=False)
    assert graph6.encode_graph6([graph]) == line
    (candidate,) = graph6.decode_lines(line, "g.g6", Reading())
    assert nx.utils.graphs_equal(candidate.graph, nx.from_graph6_bytes(line.strip()))


@pytest.mark.parametrize("size", [61, 62, 63, 64, 500])
def test_graph6_agrees_with_networkx_on_large_graphs(size):
    graph = nx.gnp_random_graph(size, 0.2, seed=size)
    line = nx.to_graph6_bytes(graph, header=True)
    assert b">>graph6<<" + graph6.encode_graph6([graph]) == line
    (candidate,) = graph6.decode_lines(line, "g.g6", Reading())
    assert nx.utils.graphs_equal(candidate.graph, graph)


@pytest.mark.parametrize("size", [258_047, 258_048])
def test_size_prefixes_of_huge_graphs(size):
    prefix = graph6._encode_size(size)
    assert len(prefix) == (4 if size <= 258_047 else 8)
    line = b":" + prefix + b"\n"
    assert line == nx.to_sparse6_bytes(nx.empty_graph(size), header=False)
    assert graph6._read_size(prefix, 0, "g")[0] == size


def test_positions_of_pairs_are_exact_up_to_the_largest_graph():
    column = np.r_[1:2000, MAX_NODES - 2000 : MAX_NODES]
    start = column * (column - 1) // 2
    for offset in (np.zeros_like(column), column // 2, column - 1):
        rows, columns = graph6._pairs_at(start + offset)
        assert np.array_equal(rows, offset)
        assert np.array_equal(columns, column)


@given(body=st.binary(max_size=30).map(lambda data: bytes(63 + b % 64 for b in data)))
@settings(quick, max_examples=300)
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 9, 40])
def test_sparse6_agrees_with_networkx(size, body):
    line = b":" + bytes([63 + size]) + body
    expected = nx.from_sparse6_bytes(line)
    simple = nx.Graph(expected)
    simple.remove_edges_from(list(nx.selfloop_edges(simple)))
    parallel = expected.is_multigraph() and any(
        expected.number_of_edges(u, v) > 1 for u, v in expected.edges() if u != v
    )
    reading = Reading(Limits(), Repairs(drop_self_loops=True))
    if parallel:
        with pytest.raises(GraphDataError, match="parallel edges"):
            graph6.decode_lines(line, "g.s6", reading)
    else:
        (candidate,) = graph6.decode_lines(line, "g.s6", reading)
        assert edge_sets([candidate.graph]) == edge_sets([simple])


def test_padding_bits_are_ignored_as_networkx_does():
    (candidate,) = graph6.decode_lines(b"B~", "g.g6", Reading())
    assert nx.utils.graphs_equal(candidate.graph, nx.from_graph6_bytes(b"B~"))


def test_lines_of_both_kinds_mix():
    lines = b">>graph6<<Bw\n\n:An\r\n  A_\n>>sparse6<<:An"
    found = [
        (c.where, c.graph.number_of_edges()) for c in graph6.decode_lines(lines, "m.g6", Reading())
    ]
    assert found == [("m.g6 line 1", 3), ("m.g6 line 3", 1), ("m.g6 line 4", 1), ("m.g6 line 5", 1)]


EXAMPLE = nx.gnp_random_graph(7, 0.5, seed=3)
ALPHABETS = {
    "g.g6": b"?@ABw~:;&>\n \xff",
    "g.s6": b":?@ABn~_\n",
    "g.edges": b"0123 ,#nodes:.-e{}\n\xc3",
    "g.gml": b'graph []node id edge source target label "01\n.&;',
    "g.graphml": b'<graphml></graph>node id="0" edge source target!&;\n',
    "g.json": b'[]{}:,"nodesedgeslinksidsourcetarget01.-e truefalsenull\\u\n',
    "g.csv": b'source,target\n01;"\t.graph#-',
    "g.npz": b"PK\x01\x02\x03\x04\x00",
    "TOY_A.txt": b"0123,. -\n",
}


def must_give_graphs_or_refuse(path):
    for repairs in (Repairs(), Repairs(True, True, True)):
        try:
            graphs = read_graphs(path, repairs=repairs)
        except GraphDataError:
            continue
        assert graphs
        assert all(type(g) is nx.Graph and list(g) == list(range(len(g))) for g in graphs)
        assert all(nx.number_of_selfloops(g) == 0 for g in graphs)


def place(folder, name, data):
    """Put the bytes where they are read as format `name` and return the path to read."""
    (folder / name).write_bytes(data)
    if name.startswith("TOY"):
        (folder / "TOY_graph_indicator.txt").write_text("1\n1\n2\n2\n2\n")
        return folder
    return folder / name


@pytest.mark.parametrize("name", ALPHABETS)
@given(data=st.data())
@quick
def test_arbitrary_bytes(tmp_path, name, data):
    letters = st.sampled_from([bytes([b]) for b in ALPHABETS[name]])
    content = data.draw(st.binary(max_size=60) | st.lists(letters, max_size=60).map(b"".join))
    must_give_graphs_or_refuse(place(tmp_path, name, content))


def damaged(draw, data):
    """Cut out, overwrite or insert a few bytes."""
    start = draw(st.integers(0, len(data)))
    stop = draw(st.integers(start, min(len(data), start + 20)) | st.just(len(data)))
    return data[:start] + draw(st.binary(max_size=4)) + data[stop:]


@pytest.mark.parametrize("name", [*ALPHABETS, "g.g6.gz", "TOY_graph_indicator.txt"])
@given(data=st.data())
@quick
def test_damaged_files(tmp_path, name, data):
    if name.startswith("TOY"):
        files = {"TOY_A.txt": b"1, 2\n2, 1\n", "TOY_graph_indicator.txt": b"1\n1\n2\n"}
        files[name] = damaged(data.draw, files[name])
        for member, content in files.items():
            (tmp_path / member).write_bytes(content)
        must_give_graphs_or_refuse(tmp_path)
        return
    write_graphs(tmp_path / name, [EXAMPLE])
    (tmp_path / name).write_bytes(damaged(data.draw, (tmp_path / name).read_bytes()))
    must_give_graphs_or_refuse(tmp_path / name)


@given(data=st.data())
@quick
def test_damage_below_the_compression(tmp_path, data):
    content = damaged(data.draw, nx.to_graph6_bytes(EXAMPLE))
    (tmp_path / "g.g6.gz").write_bytes(gzip.compress(content))
    must_give_graphs_or_refuse(tmp_path / "g.g6.gz")
