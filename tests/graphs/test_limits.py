"""Limits of reading: sizes are known before graphs are built, and nothing but files is read."""

from __future__ import annotations

import copy
import gzip
import io
import os
import socket
import subprocess
import sys
import zipfile
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
import torch

from graphscore.errors import GraphDataError, SettingsError
from graphscore.graphs import Repairs, contents, limits, prepare_graphs, read_graphs, write_graphs
from graphscore.graphs.limits import BYTES_PER_FILE, BYTES_PER_VALUE, Limits, Reading
from graphscore.graphs.simple import SimpleEdges
from graphscore.regular import open_regular

NAMES = [
    ("g.g6", None),
    ("g.g6.gz", None),
    ("g.s6", None),
    ("g.json", None),
    ("g.jsonl.gz", None),
    ("g.npz", None),
    ("folder", "graphml"),
    ("folder", "gml"),
    ("folder", "edgelist"),
    ("folder", "tu"),
]
GRAPHS = [nx.path_graph(9), nx.cycle_graph(10), nx.complete_graph(6)]  # 25 nodes, 33 edges


def refused(path, pattern, **limits):
    with pytest.raises(GraphDataError, match=pattern):
        read_graphs(path, **limits)


@pytest.mark.parametrize(("name", "form"), NAMES)
def test_all_graphs_are_counted_before_one_is_built(tmp_path, monkeypatch, name, form):
    write_graphs(tmp_path / name, GRAPHS, format=form)
    path = tmp_path / name
    assert len(read_graphs(path, max_nodes=10, max_total_nodes=25, max_total_edges=33)) == 3

    def build(*_):
        raise AssertionError("a graph was built")

    monkeypatch.setattr(SimpleEdges, "graph", build)
    refused(path, r"10 nodes, but at most 9 .*--max-nodes 10 .*max_nodes=10", max_nodes=9)
    refused(path, r"more than 24 nodes.*--max-total-nodes.*max_total_nodes=", max_total_nodes=24)
    refused(path, r"more than 32 edges.*--max-total-edges.*max_total_edges=", max_total_edges=32)
    refused(path, r"more than 4 bytes.*--max-bytes.*max_bytes=", max_bytes=4)
    words = r"checking .* a third .* 1e-09 seconds.*--max-read-seconds.*max_seconds="
    refused(path, words, max_seconds=1e-9)


@pytest.mark.parametrize("name", ["g.g6", "g.s6", "g.npz"])
def test_a_defect_of_the_last_graph_is_found_before_one_is_built(tmp_path, monkeypatch, name):
    write_graphs(tmp_path / name, GRAPHS)
    if name == "g.npz":
        np.savez(tmp_path / name, adj=np.triu(np.ones((3, 4, 4)), 1))
    else:
        with open(tmp_path / name, "ab") as handle:
            handle.write(b":A?\n")  # a self-loop

    def build(*_):
        raise AssertionError("a graph was built")

    monkeypatch.setattr(SimpleEdges, "graph", build)
    refused(tmp_path / name, "self-loop|directed")


def test_decompressed_bytes_count(tmp_path):
    (tmp_path / "g.g6.gz").write_bytes(gzip.compress(b"Bw\n" * 1000))
    assert len(read_graphs(tmp_path / "g.g6.gz", max_bytes=3000)) == 1000
    refused(tmp_path / "g.g6.gz", "more than 2999 bytes", max_bytes=2999)
    np.savez_compressed(tmp_path / "g.npz", adj=np.zeros((1, 100, 100), np.uint8))
    assert len(read_graphs(tmp_path / "g.npz", max_bytes=10_000)) == 1
    refused(tmp_path / "g.npz", "more than 9999 bytes", max_bytes=9_999)


def test_files_of_a_folder_count_together(tmp_path):
    for k in range(5):
        (tmp_path / f"{k}.edges").write_bytes(b"# nodes: 7\n")
    size = 5 * (BYTES_PER_FILE + 11)
    assert len(read_graphs(tmp_path, max_total_nodes=35, max_bytes=size)) == 5
    refused(tmp_path, "more than 34 nodes", max_total_nodes=34)
    refused(tmp_path, "bytes", max_bytes=size - 1)


def test_gzip_members_and_what_follows_them(tmp_path):
    member, path = gzip.compress(b"Bw\n"), tmp_path / "g.g6.gz"
    empty = gzip.compress(b"")
    for data in (member * 3, empty + member * 3, member + empty + member * 2 + bytes(99_999)):
        path.write_bytes(data)
        assert len(read_graphs(path)) == 3
    for data in (member + b"x", member + member[:-1], bytes(9) + member, b""):
        path.write_bytes(data)
        refused(path, "not a complete gzip file")


def test_a_larger_graph_may_be_reduced(tmp_path):
    write_graphs(tmp_path / "g.g6", [nx.disjoint_union(nx.path_graph(3), nx.empty_graph(9))])
    whole = Repairs(largest_component=True)
    assert [len(g) for g in read_graphs(tmp_path / "g.g6", repairs=whole, max_nodes=3)] == [3]
    refused(tmp_path / "g.g6", "3 nodes, but at most 2", repairs=whole, max_nodes=2)
    refused(tmp_path / "g.g6", "12 nodes, but at most 3", max_nodes=3)


OPTIONS = {
    "max_nodes": "--max-nodes",
    "max_total_nodes": "--max-total-nodes",
    "max_total_edges": "--max-total-edges",
    "max_bytes": "--max-bytes",
    "max_seconds": "--max-read-seconds",
}


@pytest.mark.parametrize("name", OPTIONS)
def test_limits_are_positive(tmp_path, name):
    write_graphs(tmp_path / "g.g6", GRAPHS)
    for value in (0, -1, float("nan"), True, "9", *([] if name == "max_nodes" else [None])):
        with pytest.raises(SettingsError, match=rf"^{OPTIONS[name]} .* more than 0 \({name}=") as e:
            read_graphs(tmp_path / "g.g6", **{name: value})
        assert repr(value) in str(e.value)
    assert getattr(Limits(**{name: 0.5}), name) == 0.5
    assert getattr(Limits(**{name: np.int64(3)}), name) == 3


@pytest.mark.parametrize(
    ("count", "most", "words"),
    [
        (lambda reading, n: reading.add_graph("g", n, 0), 100_000, "g: 100001 nodes, but"),
        (lambda reading, n: reading.check_nodes("g", n), 100_000, "g: 100001 nodes, but"),
        (lambda reading, n: reading.check_total_nodes("g", n), 1_000_000, "than 1000000 nodes"),
        (lambda reading, n: reading.add_graph("g", 1, n), 2_000_000, "than 2000000 edges"),
        (lambda reading, n: reading.add_bytes("g", n), 67_108_864, "than 67108864 bytes"),
    ],
)
def test_what_a_call_may_take_unless_more_is_asked_for(count, most, words):
    """The numbers are those of the documentation."""
    count(Reading(), most)
    with pytest.raises(GraphDataError, match=words):
        count(Reading(), most + 1)


def test_everything_is_counted_together():
    """What is left after two of a kind is what the third may take."""
    few = Limits(max_nodes=5, max_total_nodes=10, max_total_edges=20, max_bytes=30)
    reading = Reading(few)
    for nodes, edges, number in ((4, 7, 11), (4, 7, 11)):
        reading.add_graph("g", nodes, edges)
        reading.add_bytes("g", number)
    for nodes, edges, words in ((3, 6, "10 nodes in all"), (2, 7, "20 edges in all")):
        with pytest.raises(GraphDataError, match=words):
            Reading.add_graph(copy.copy(reading), "g", nodes, edges)
    with pytest.raises(GraphDataError, match="6 nodes, but at most 5"):
        reading.check_nodes("g", 6)
    reading.add_graph("g", 2, 6)
    reading.add_bytes("g", 8)
    for check in (reading.check_nodes, reading.check_total_nodes, reading.check_edges):
        check("g", 0)
        with pytest.raises(GraphDataError, match="in all graphs up to this one"):
            check("g", 1)
    with pytest.raises(GraphDataError, match="more than 30 bytes"):
        reading.add_bytes("g", 1)


def test_nodes_that_are_still_counted_are_refused_beyond_any_limit():
    """Up to there, the message can name the whole number later."""
    reading = Reading(Limits(max_nodes=5))
    reading.check_growing("g", 100_000)
    with pytest.raises(GraphDataError, match="100001 nodes, but at most 5"):
        reading.check_growing("g", 100_001)
    Reading(Limits(max_nodes=200_000)).check_growing("g", 100_001)


@pytest.mark.parametrize(("given", "seconds"), [(Limits(), 60), (Limits(max_seconds=6.0), 6)])
def test_checking_has_a_third_of_the_time_and_building_the_rest(monkeypatch, given, seconds):
    """The time counts from the beginning, and building may take what checking left."""
    clock = SimpleNamespace(now=500.0)
    monkeypatch.setattr(limits, "time", SimpleNamespace(monotonic=lambda: clock.now))
    reading = Reading(given)
    clock.now = 500 + seconds / 3
    reading.tick("g")
    clock.now += 0.01
    with pytest.raises(GraphDataError, match=f"g: checking .* third of the {seconds} sec"):
        reading.tick("g")
    clock.now = 500 + seconds
    graphs = reading.timed("abc", "folder")
    assert next(graphs) == "a"
    clock.now += 0.01
    with pytest.raises(
        GraphDataError, match=f"^folder: reading took more than the {seconds} seconds"
    ):
        next(graphs)


def test_the_message_says_whether_checking_or_reading_took_too_long():
    reading = Reading(Limits(max_seconds=1e-9))
    with pytest.raises(GraphDataError, match="checking took more than a third of the 1e"):
        reading.tick("g")
    with pytest.raises(GraphDataError, match="reading took more than the 1e-09 seconds"):
        list(reading.timed([1], "g"))


def test_only_attributes_of_nodes_count(tmp_path):
    graph, path = nx.path_graph(100), tmp_path / "g.graphml"
    nx.set_edge_attributes(graph, "a", "colour")
    nx.write_graphml(graph, path)
    assert len(read_graphs(path, max_bytes=path.stat().st_size)) == 1
    nx.set_node_attributes(graph, "a", "colour")
    nx.write_graphml(graph, path)
    size = path.stat().st_size + 100 * BYTES_PER_VALUE
    assert len(read_graphs(path, max_bytes=size)) == 1
    refused(path, "bytes", max_bytes=size - 1)


@pytest.mark.parametrize("name", ["g.edges", "g.graphml", "g.gml"])
def test_long_names_count_what_they_take(tmp_path, name):
    """A wide character takes four bytes for every character of its text."""
    path, graph = tmp_path / name, nx.Graph([("a" * 40, "b" * 40), ("b" * 40, "\U0001f600" * 20)])
    if name == "g.edges":
        path.write_text("".join(f"{u} {v}\n" for u, v in graph.edges()), encoding="utf-8")
    elif name == "g.graphml":
        nx.write_graphml(graph, path)
    else:
        lines = [f'node [ id "{node}" ]' for node in graph]
        lines += [f'edge [ source "{u}" target "{v}" ]' for u, v in graph.edges()]
        path.write_text(f"graph [ {' '.join(lines)} ]", encoding="utf-8")
    size = path.stat().st_size + sys.getsizeof("\U0001f600" * 20)
    size += 3 * BYTES_PER_VALUE * (name == "g.gml")  # "id" is an attribute there
    assert len(read_graphs(path, max_bytes=size)) == 1
    refused(path, "bytes", max_bytes=size - 1)


@pytest.mark.parametrize("data", [b"Bw\n", b"Bw\n" * 3], ids=["shorter", "longer"])
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch, data):
    path = tmp_path / "g.g6"
    path.write_bytes(b"Bw\n" * 2)

    def fstat(descriptor):
        before = os.fstat(descriptor)
        path.write_bytes(data)
        return before

    monkeypatch.setattr(contents, "os", SimpleNamespace(fstat=fstat))
    refused(path, "changes while it is read")


def test_files_are_read_to_their_end(tmp_path):
    # One read of the operating system may give less than is asked for; a buffered one asks again.
    path = tmp_path / "g.g6"
    path.write_bytes(b"Bw\n")
    with open_regular(path) as stream:
        assert isinstance(stream, io.BufferedReader)


def test_memory_that_is_not_there_is_an_error_of_the_file(tmp_path, monkeypatch):
    write_graphs(tmp_path / "g.g6", GRAPHS)

    def build(*_):
        raise MemoryError

    monkeypatch.setattr(SimpleEdges, "graph", build)
    refused(tmp_path / "g.g6", "not enough memory")


def test_text_of_markup_is_bounded(tmp_path):
    (tmp_path / "g.graphml").write_bytes(b'<graphml a="' + b"x" * 2**22 + b'"/>')
    refused(tmp_path / "g.graphml", "a tag or a comment of more than 2097152 bytes")
    (tmp_path / "g.graphml").write_bytes(b"<a>" * 200)
    refused(tmp_path / "g.graphml", "within each other")
    (tmp_path / "g.gml").write_bytes(b"graph [ " + b"a [ " * 200)
    refused(tmp_path / "g.gml", "within each other")
    (tmp_path / "g.edges").write_bytes(b"9" * 300 + b" 1")
    refused(tmp_path / "g.edges", "line 1: the name of a node has 300 characters")
    (tmp_path / "g.edges").write_bytes(b"1 2\n" + b"1 " * 2**20)
    refused(tmp_path / "g.edges", "line 2: longer than")


def test_lines_that_are_cut_into_blocks_keep_their_numbers(tmp_path):
    lines = [f"{k} {k + 1} # {'é' * (k % 50)}" for k in range(5000)]
    (tmp_path / "g.edges").write_text("\n".join(lines), encoding="utf-8")
    (graph,) = read_graphs(tmp_path / "g.edges")
    assert graph.number_of_edges() == 5000
    (tmp_path / "g.edges").write_text("\n".join([*lines, "1 2 3"]), encoding="utf-8")
    refused(tmp_path / "g.edges", "line 5001: non-binary weight 3")


def test_npz_headers_and_directories_that_lie(tmp_path):
    path = tmp_path / "g.npz"
    np.savez_compressed(path, adj=np.zeros((1, 9, 9), np.uint8))
    data = path.read_bytes()
    path.write_bytes(data + b"PK\x01\x02" * 101)
    refused(path, "more than 100 arrays")
    np.savez(path, adj=np.zeros((1, 2, 2), np.uint8))
    for true, lie in ((b"(1, 2, 2)", b"(1, 9, 9)"), (b"(1, 2, 2)", b"(1, 1, 1)")):
        np.savez(path, adj=np.zeros((1, 2, 2), np.uint8))
        path.write_bytes(path.read_bytes().replace(true, lie))
        refused(path, "not a readable")
    np.save(tmp_path / "adj.npy", np.zeros((1, 2, 2), np.uint8))
    for rest, words in ((b"more", "not a readable"), (b"", None)):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("adj.npy", (tmp_path / "adj.npy").read_bytes() + rest)
        if words:
            refused(path, words)
        else:
            assert len(read_graphs(path)) == 1


NAN = float("nan")


@pytest.mark.parametrize(
    "value",
    [
        *(NAN, float("inf"), [0.0, NAN], np.array([NAN])),
        *(torch.tensor([0.0, NAN], dtype=kind) for kind in (torch.float32, torch.bfloat16)),
        torch.tensor([NAN], requires_grad=True),
    ],
)
def test_features_are_finite_and_other_attributes_are_free(value):
    graph = nx.path_graph(2)
    graph.nodes[1]["note"] = value
    assert "note" in prepare_graphs([graph])[0].nodes[1]
    for free in ("text", "nan", "inf", None):
        graph.nodes[1]["x"] = free
        assert prepare_graphs([graph])[0].nodes[1]["x"] == free
    graph.nodes[1]["x"] = value
    with pytest.raises(GraphDataError, match=r"graph 1, node 1: attribute 'x' holds NaN or inf"):
        prepare_graphs([graph])


def test_features_of_files_are_finite(tmp_path, write_tu):
    np.savez(tmp_path / "g.npz", adj=np.zeros((1, 1, 1)), node_feat=np.full((1, 1, 2), NAN))
    refused(tmp_path / "g.npz", "graph 1: attribute 'x' holds NaN")
    (tmp_path / "g.gml").write_text("graph [ node [ id 5 x NAN ] ]")
    refused(tmp_path / "g.gml", "node 5: attribute 'x' holds NaN")
    graph = nx.Graph()
    graph.add_node("a", x=NAN)
    nx.write_graphml(graph, tmp_path / "g.graphml")
    refused(tmp_path / "g.graphml", "node 'a': attribute 'x' holds NaN")
    write_tu(tmp_path, node_attributes="1\n1\nnan\n1\n1\n")
    refused(tmp_path, "TOY_node_attributes.txt line 3: attribute 'x' holds NaN")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
@pytest.mark.parametrize("name", ["g.g6", "g.g6.gz", "g.npz", "g.gml"])
def test_pipes_sockets_and_devices_are_refused_at_once(tmp_path, name, monkeypatch):
    path = tmp_path / name
    os.mkfifo(path)
    # In a process of its own, because it would wait for ever.
    code = "import sys; from graphscore.graphs import read_graphs; read_graphs(sys.argv[1])"
    for place in (path, tmp_path) if name == "g.gml" else (path,):
        ended = subprocess.run(
            [sys.executable, "-c", code, place], capture_output=True, text=True, timeout=120
        )
        assert "a named pipe, but a regular file is expected" in ended.stderr
    path.unlink()
    path.symlink_to("/dev/zero")
    refused(path, "a device, but a regular file")
    path.unlink()
    monkeypatch.chdir(tmp_path)  # the address of a socket must be short
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(name)
    refused(path, "a socket, but a regular file")


def test_a_link_to_nothing_in_a_folder_is_named(tmp_path):
    (tmp_path / "a.gml").write_text("graph [ node [ id 0 ] ]")
    (tmp_path / "b.gml").symlink_to(tmp_path / "missing")
    refused(tmp_path, r"b\.gml: cannot read")


def test_holes_are_not_read(tmp_path):
    with open(tmp_path / "g.g6", "wb") as handle:
        handle.truncate(2**32)
    refused(tmp_path / "g.g6", "more than 67108864 bytes")
