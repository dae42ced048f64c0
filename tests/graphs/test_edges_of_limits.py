"""Files just within a limit and just over it, and refusals that come before the rest is read."""

from __future__ import annotations

import gzip
import io
import zipfile
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
import torch

from graphscore.errors import GraphDataError
from graphscore.graphs import Repairs, prepare_graphs, read_graphs
from graphscore.graphs.contents import contents
from graphscore.graphs.formats import FORMATS
from graphscore.graphs.limits import MAX_NODES, Limits, Reading

LINE = 2**20
LATE = "checking took more than a third of the"
XML = '<graphml>{}<graph edgedefault="{}">{}</graph></graphml>'


def refused(path, pattern, **options):
    with pytest.raises(GraphDataError, match=pattern):
        read_graphs(path, **options)


def refused_in(form, data, pattern, **limits):
    """Check that a file is refused while it is checked, before its graph is asked for."""
    with pytest.raises(GraphDataError, match=pattern):
        FORMATS[form].decode(data, "g", Reading(Limits(**limits)))


def markup(form, edges, kind="undirected"):
    """Return a file of nodes 0 to 9 with these edges; weights are the third of three."""
    if form == "gml":
        nodes = "".join(f"node [ id {k} ] " for k in range(10))
        lines = "".join(
            f"edge [ source {u} target {v} {f'weight {w[0]}' if w else ''} ] " for u, v, *w in edges
        )
        return f"graph [ directed {int(kind == 'directed')} {nodes}{lines}]".encode()
    nodes = "".join(f'<node id="{k}"/>' for k in range(10))
    lines = "".join(
        f'<edge source="{u}" target="{v}">'
        + (f'<data key="w">{w[0]}</data>' if w else "")
        + "</edge>"
        for u, v, *w in edges
    )
    key = '<key id="w" for="edge" attr.name="weight" attr.type="double"/>'
    return XML.format(key, kind, nodes + lines).encode()


def test_an_edge_list_over_the_limit_is_not_read_further(tmp_path):
    path = tmp_path / "g.edges"
    path.write_text("0 1\n1 0\n1 2\n2 1\n")
    assert read_graphs(path, max_total_edges=2)[0].number_of_edges() == 2
    path.write_text("0 1\n1 2\n2 3\n3 4\n4 5\n")
    assert read_graphs(path, max_total_edges=5)[0].number_of_edges() == 5
    refused(path, "more than 4 edges", max_total_edges=4)
    path.write_text("0 1\n1 2\n2 3\n3 4\nwhat is this\n")
    refused(path, "more than 1 edges", max_total_edges=1)
    refused(path, "line 5: 'this' where a weight", max_total_edges=2)


def test_a_tu_folder_over_the_limit_is_not_read_further(tmp_path, write_tu):
    write_tu(tmp_path, A="1, 2\n2, 1\n3, 4\n4, 3\n")
    assert len(read_graphs(tmp_path, max_total_edges=2)) == 2
    refused(tmp_path, "more than 1 edges", max_total_edges=1)
    write_tu(tmp_path, A="1, 2\n2, 1\n3, 4\n4, 3\nwhat\n")
    refused(tmp_path, "more than 1 edges", max_total_edges=1)
    refused(tmp_path, "line 5: 'what'", max_total_edges=2)
    write_tu(tmp_path, graph_indicator="1\n1\n2\n2\n2\nwhat\n")
    refused(tmp_path, "more than 4 nodes", max_total_nodes=4)
    refused(tmp_path, "line 6: 'what'", max_total_nodes=5)


@pytest.mark.parametrize("form", ["gml", "graphml"])
def test_markup_over_the_limit_is_not_read_further(form):
    data = markup(form, [(0, 1), (1, 2), (2, 3), (3, 4)])[:-1]  # its end is missing
    refused_in(form, data, "more than 1 edges", max_total_edges=1)
    refused_in(form, data, "not well-formed|not valid", max_total_edges=2)


@pytest.mark.parametrize("form", ["gml", "graphml", "edgelist"])
def test_a_name_too_many_for_any_limit_ends_reading(form):
    number = MAX_NODES + 1
    begin, node, end = {
        "gml": ("graph [ ", "node [ id %d ] ", "]"),
        "graphml": ("<graphml><graph>", '<node id="%d"/>', "</graph></graphml>"),
        "edgelist": ("", "%d\n", ""),
    }[form]
    body = "".join(node % k for k in range(number))
    refused_in(form, (begin + body + "<<< [").encode(), f"{number} nodes, but at most {MAX_NODES}")
    whole = (begin + body.removesuffix(node % (number - 1)) + end).encode()
    FORMATS[form].decode(whole, "g", Reading())


@pytest.mark.parametrize("form", ["gml", "graphml"])
def test_weights_of_markup(tmp_path, form):
    path = tmp_path / f"g.{form}"
    path.write_bytes(markup(form, [(0, 1, 1), (1, 2, 1.0)]))
    assert list(read_graphs(path)[0].edges) == [(0, 1), (1, 2)]
    for weight, words in ((2, "non-binary weight 2"), (0.0, "non-binary weight 0")):
        path.write_bytes(markup(form, [(0, 1, 1), (3, 4, weight)]))
        refused(path, rf"{words}.* on edge '?3'? - '?4'?")
    path.write_bytes(markup(form, [(0, 1, "NAN" if form == "gml" else "nan")]))
    refused(path, "NaN weight")


@pytest.mark.parametrize("form", ["gml", "graphml"])
def test_a_graph_that_says_it_is_directed_is_directed(tmp_path, form):
    path = tmp_path / f"g.{form}"
    path.write_bytes(markup(form, [(0, 1), (1, 0)], "directed"))
    refused(path, "directed, but an undirected graph")
    graphs = read_graphs(path, repairs=Repairs(undirected=True))
    assert list(graphs[0].edges) == [(0, 1)]
    assert graphs.repaired == {"made undirected": 1}
    path.write_bytes(markup(form, [(0, 1), (1, 0)]))
    refused(path, "parallel edges")


@pytest.mark.parametrize("form", ["gml", "graphml"])
def test_attributes_count_16_bytes_each_before_the_graph_is_built(tmp_path, form):
    graph = nx.path_graph(100)
    for name in ("colour", "size"):
        nx.set_node_attributes(graph, "a", name)
    data = FORMATS[form].encode(graph)
    # Every node of GML has a label and an id besides.
    number = 200 if form == "graphml" else 400
    FORMATS[form].decode(data, "g", Reading(Limits(max_bytes=16 * number)))
    refused_in(form, data, "bytes", max_bytes=16 * number - 1)


def test_features_of_stacks_and_tu_folders_count_16_bytes_each(tmp_path, write_tu):
    arrays = {"adj": np.zeros((1, 50, 50), "i1"), "node_feat": np.ones((1, 50, 3), "f4")}
    np.savez_compressed(tmp_path / "g.npz", **arrays)
    size = 2500 + 150 * (4 + 16)
    assert len(read_graphs(tmp_path / "g.npz", max_bytes=size)) == 1
    refused(tmp_path / "g.npz", f"more than {size - 1} bytes", max_bytes=size - 1)
    folder = tmp_path / "tu"
    folder.mkdir()
    write_tu(folder)
    size = sum(1024 + path.stat().st_size for path in folder.iterdir()) + 15 * 16
    assert len(read_graphs(folder, max_bytes=size)) == 2
    refused(folder, f"more than {size - 1} bytes", max_bytes=size - 1)


def test_numbers_and_texts_of_gml_are_bounded(tmp_path):
    path = tmp_path / "g.gml"
    for pattern, longest, words in (
        ("-{}", 40, "a whole number of more than 40 digits"),
        ("0.{}", LINE - 2, f"a value of {LINE + 1} characters"),
        ('"{}"', LINE, f"a text of more than {LINE} characters"),
        ('"&#50;{}"', LINE - 1, f"a text of more than {LINE} characters"),
    ):
        path.write_text(f"graph [ node [ id 0 size {pattern.format('1' * longest)} ] ]")
        assert "size" in read_graphs(path)[0].nodes[0]
        path.write_text(f"graph [ node [ id 0 size {pattern.format('1' * (longest + 1))} ] ]")
        refused(path, words)


def test_characters_of_a_text_of_gml_count_and_not_their_bytes():
    """As many as a text may have, each written with the most bytes."""
    for text in ("&#x0001f600;" * LINE, "\U0001f600" * LINE):
        data = f'graph [ node [ id 0 a "{text}" ] ]'.encode()
        FORMATS["gml"].decode(data, "g", Reading())
        refused_in("gml", data.replace(b' "', b' "b'), f"a text of more than {LINE} characters")


def test_names_of_gml_may_be_long_words():
    """A key has 200 characters as well."""
    name = "a" * 200
    data = f"graph [ node [ id {name} {name} 7 ] ]".encode()
    (candidate,) = FORMATS["gml"].decode(data, "g", Reading())
    assert candidate.graph.nodes[0] == {name: 7}
    refused_in("gml", data.replace(b"a 7", b"ab 7"), "a key of more than 200 characters")
    wide = "\u4e00" * 201
    refused_in("gml", f"graph [ node [ id 0 b{wide} 7 ] ]".encode(), "a key of more than 200")
    unknown = b"graph [ node [ id 0 a " + b"b" * LINE + b" ] ]"
    refused_in("gml", unknown, rf"unexpected '{'b' * 40}' after a\)")


def test_lists_of_gml_may_be_100_deep(tmp_path):
    path = tmp_path / "g.gml"
    for depth, opened in ((100, 99), (101, 100)):
        path.write_text("graph [ node [ id 0 ] " + "a [ " * opened + "] " * opened + "]")
        if depth == 100:
            assert len(read_graphs(path)[0]) == 1
        else:
            refused(path, "more than 100 lists within each other")


def test_elements_of_graphml_may_be_100_deep(tmp_path):
    path = tmp_path / "g.graphml"
    path.write_text(XML.format("", "undirected", '<node id="0"/>' + "<a>" * 98 + "</a>" * 98))
    assert len(read_graphs(path)[0]) == 1
    path.write_text(XML.format("", "undirected", '<node id="0"/>' + "<a>" * 99 + "</a>" * 99))
    refused(path, "more than 100 elements within each other")


def test_a_number_of_graphml_has_4300_digits_at_most(tmp_path):
    path = tmp_path / "g.graphml"
    key = '<key id="k" for="node" attr.name="size" attr.type="long"/>'
    node = '<node id="0"><data key="k">{}</data></node>'
    path.write_text(XML.format(key, "undirected", node.format("7" * 4300)))
    assert read_graphs(path)[0].nodes[0]["size"] == int("7" * 4300)
    path.write_text(XML.format(key, "undirected", node.format("7" * 4301)))
    assert read_graphs(path)[0].nodes[0]["size"] == "7" * 4301  # text


def test_graphml_has_10000_keys_at_most(tmp_path):
    path = tmp_path / "g.graphml"
    keys = [f'<key id="{k}" attr.name="a{k}"/>' for k in range(10_001)]
    path.write_text(XML.format("".join(keys[:-1]), "undirected", '<node id="0"/>'))
    assert len(read_graphs(path)[0]) == 1
    path.write_text(XML.format("".join(keys), "undirected", '<node id="0"/>'))
    refused(path, "more than 10000 keys")


def test_graphml_has_10000_names_at_most(tmp_path):
    path = tmp_path / "g.graphml"
    names = [f"<a{k}/>" for k in range(10_001)]

    def write(number):
        path.write_text(XML.format("".join(names[:number]), "undirected", '<node id="0"/>'))

    # graphml, graph, edgedefault, node and id are names, too.
    write(9_995)
    assert len(read_graphs(path)[0]) == 1
    write(9_996)
    refused(path, "more than 10000 different names")


@pytest.mark.parametrize(("length", "fits"), [(9_999, True), (10_000, True), (10_001, False)])
@pytest.mark.parametrize("version", [1, 2])
def test_the_header_of_an_array_has_10000_characters_at_most(tmp_path, length, fits, version):
    text = b"{'descr': '|u1', 'fortran_order': False, 'shape': (1, 2, 2), }"
    header = text.ljust(length - 1) + b"\n"
    magic = b"\x93NUMPY" + bytes([version, 0]) + length.to_bytes(2 * version, "little")
    with zipfile.ZipFile(tmp_path / "g.npz", "w") as archive:
        archive.writestr("adj.npy", magic + header + bytes([0, 1, 1, 0]))
    if fits:
        assert list(read_graphs(tmp_path / "g.npz")[0].edges) == [(0, 1)]
    else:
        refused(tmp_path / "g.npz", "not a readable .npz file")


def test_an_archive_has_100_arrays_at_most(tmp_path):
    others = {f"a{k}": np.zeros(1) for k in range(100)}
    np.savez(tmp_path / "g.npz", adj=np.zeros((1, 2, 2)), **others)
    refused(tmp_path / "g.npz", "more than 100 arrays")
    del others["a99"]
    np.savez(tmp_path / "g.npz", adj=np.zeros((1, 2, 2)), **others)
    assert len(read_graphs(tmp_path / "g.npz")) == 1


def test_a_stack_with_a_size_of_0_has_an_empty_graph(tmp_path):
    adj = np.zeros((2, 3, 3), np.uint8)
    np.savez(tmp_path / "g.npz", adj=adj, sizes=np.array([3, 0]))
    refused(tmp_path / "g.npz", "graph 2: no nodes")
    np.savez(tmp_path / "g.npz", adj=adj, sizes=np.array([3, 1]))
    assert [len(graph) for graph in read_graphs(tmp_path / "g.npz")] == [3, 1]


def test_lines_have_1048576_characters_at_most(tmp_path):
    path, long, short = tmp_path / "g.edges", b"#" * LINE, b"#\n" * 2**17
    for before, number in ((b"", 1), (b"0 1\n", 2), (short, 2**17 + 1)):
        path.write_bytes(before + long + b"\n1 2\n" + short)
        assert read_graphs(path)[0].number_of_edges() == 1 + before.startswith(b"0")
        path.write_bytes(before + long + b"#\n1 2\n" + short)
        refused(path, f"line {number}: longer than {LINE} characters")


@pytest.mark.parametrize("form", ["gml", "graphml", "edgelist"])
def test_names_of_nodes_have_200_characters_at_most(form):
    text = {
        "gml": 'graph [ node [ id "%s" ] ]',
        "graphml": XML.format("", "undirected", '<node id="%s"/>'),
        "edgelist": "%s\n",
    }[form]
    assert len(next(FORMATS[form].decode((text % ("a" * 200)).encode(), "g", Reading())).graph) == 1
    refused_in(form, (text % ("a" * 201)).encode(), "name of a node has 201 characters")


class Counting(Reading):
    """Counts how often the time was looked at."""

    ticks = 0

    def tick(self, where):
        self.ticks += 1
        super().tick(where)


@pytest.mark.parametrize("form", ["graph6", "npz", "graphml", "gml", "edgelist"])
def test_the_time_is_looked_at_all_through_a_file(form):
    stack = io.BytesIO()
    np.savez(stack, adj=np.zeros((9, 700, 700), np.uint8))
    data = {
        "graph6": b"Bw\n" * 10,
        "npz": stack.getvalue(),
        "graphml": XML.format("", "undirected", '<node id="0"/>' + "<a/>" * 20).encode(),
        "gml": b"graph [ node [ id 0 ] " + b"a 1 " * 20_000 + b"]",
        "edgelist": b"0 1\n" + b"#\n" * 2**19,
    }[form]
    reading = Counting()
    FORMATS[form].decode(data, "g", reading)
    assert reading.ticks >= 10
    refused_in(form, data, LATE, max_seconds=1e-9)


def test_the_time_of_decompressing_and_of_an_array_is_looked_at(tmp_path):
    path = tmp_path / "g.g6.gz"
    path.write_bytes(gzip.compress(b"\n" * 2**20))
    reading = Counting()
    assert len(contents(path, "g", reading)) == 2**20
    assert reading.ticks >= 2**20 / 2**14
    with pytest.raises(GraphDataError, match=LATE):
        contents(path, "g", Reading(Limits(max_seconds=1e-9)))
    stack, reading = io.BytesIO(), Counting()
    np.savez(stack, adj=np.zeros((1, 3500, 3500), np.uint8))
    FORMATS["npz"].decode(stack.getvalue(), "g", reading)
    assert reading.ticks >= 12


def test_the_files_of_a_folder_are_in_natural_order(tmp_path):
    # The names are made in another order than they are read in.
    names = ["01x", "1", "2", "10", "-1", "a1", "a1b", "a2", "a10", "b1"]
    for size, name in reversed(list(enumerate(names, start=1))):
        (tmp_path / f"{name}.edges").write_text(f"# nodes: {size}\n")
    assert [names[len(graph) - 1] for graph in read_graphs(tmp_path)] == names


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 9, 16, 17, 32, 33, 62, 63])
def test_sparse6_of_sizes_about_the_powers_of_two(tmp_path, size):
    path = tmp_path / "g.s6"
    for graph in (nx.empty_graph(size), nx.path_graph(size), nx.complete_graph(size)):
        path.write_bytes(nx.to_sparse6_bytes(graph))
        (read,) = read_graphs(path)
        assert len(read) == size
        assert nx.utils.edges_equal(read.edges, graph.edges)
    graph = nx.path_graph(size)
    graph.add_edge(0, 0)
    path.write_bytes(nx.to_sparse6_bytes(graph))
    refused(path, "1 self-loop, the first at node 0")
    (read,) = read_graphs(path, repairs=Repairs(drop_self_loops=True))
    assert sorted(read.edges) == [(k, k + 1) for k in range(size - 1)]


@pytest.mark.parametrize("wrong", [-1, 3])
@pytest.mark.parametrize("end", [0, 1])
def test_every_end_of_every_edge_is_in_range(wrong, end):
    arcs = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    assert len(prepare_graphs([SimpleNamespace(num_nodes=3, edge_index=arcs)])[0].edges) == 2
    arcs[end, 2] = wrong
    tail, head = arcs[:, 2].tolist()
    with pytest.raises(GraphDataError, match=f"between nodes {tail} and {head}, but .* 3 nodes"):
        prepare_graphs([SimpleNamespace(num_nodes=3, edge_index=arcs)])


@pytest.mark.parametrize("kind", [nx.MultiGraph, nx.MultiDiGraph])
def test_parallel_edges_after_a_self_loop_are_found(kind):
    repairs = Repairs(drop_self_loops=True, undirected=True)
    with pytest.raises(GraphDataError, match="parallel edges between nodes 0 and 1"):
        prepare_graphs([kind([(0, 0), (0, 1), (0, 1)])], repairs=repairs)
    graphs = prepare_graphs([kind([(0, 0), (0, 0), (0, 1)])], repairs=repairs)
    assert list(graphs[0].edges) == [(0, 1)]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_every_short_line_of_sparse6_is_read_as_networkx_reads_it(size):
    for character in range(63, 127):
        line = bytes([ord(":"), size + 63, character])
        ends = [tuple(sorted(edge[:2])) for edge in nx.from_sparse6_bytes(line).edges]
        edges = [(u, v) for u, v in ends if u != v]
        reading = Reading(repairs=Repairs(drop_self_loops=True))
        if len(set(edges)) < len(edges):
            refused_in("sparse6", line, "parallel edges")
            continue
        (read,) = FORMATS["sparse6"].decode(line, "g", reading)
        assert sorted(read.graph.edges) == sorted(edges)
        assert bool(read.changes) == (len(edges) < len(ends))


def test_edges_over_the_limit_are_refused_before_they_are_checked(tmp_path):
    np.savez(tmp_path / "g.npz", adj=np.ones((1, 4, 4)))
    refused(tmp_path / "g.npz", "more than 5 edges", max_total_edges=5)
    refused(tmp_path / "g.npz", "4 self-loops", max_total_edges=6)
    (tmp_path / "g.s6").write_bytes(nx.to_sparse6_bytes(nx.MultiGraph([(0, 1)] * 50)))
    refused(tmp_path / "g.s6", "more than 40 edges", max_total_edges=40)
    refused(tmp_path / "g.s6", "parallel edges", max_total_edges=50)


def test_a_last_line_without_an_end_is_bounded(tmp_path):
    (tmp_path / "g.edges").write_bytes(b"#" * (LINE + 2))
    refused(tmp_path / "g.edges", "line 1: longer than")
