"""Every file format: round trips, errors with file and line, atomic writes."""

from __future__ import annotations

import errno
import gzip
import os
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from graphscore.errors import GraphDataError, OutputError
from graphscore.graphs import GraphBatch, Repairs, prepare_graphs, read_graphs, write_graphs
from graphscore.graphs.formats import FORMATS

NAMES = [
    ("many.g6", None),
    ("many.g6.gz", None),
    ("many.s6", None),
    ("many.s6.gz", None),
    ("MANY.G6", None),
    ("many.json", None),
    ("many.json.gz", None),
    ("many.jsonl", None),
    ("many.npz", None),
    ("many.csv", None),
    ("many.csv.gz", None),
    ("many.tsv", None),
    ("odd.name", "graph6"),
    ("folder.graphml", None),
    ("folder.graphml.gz", None),
    ("folder", "graphml"),
    ("folder", "gml"),
    ("folder.gml.gz", None),
    ("folder", "edgelist"),
    ("folder.edges", None),
    ("folder.txt.gz", None),
    ("TOY", "tu"),
]


def edge_sets(graphs):
    return [(list(g), {frozenset(edge) for edge in g.edges}) for g in graphs]


def test_every_format_has_a_round_trip():
    by_suffix = {suffix: name for name, form in FORMATS.items() for suffix in form.suffixes}
    assert len(by_suffix) == sum(len(form.suffixes) for form in FORMATS.values())
    tested = {
        form or by_suffix[Path(name.lower().removesuffix(".gz")).suffix] for name, form in NAMES
    }
    molecules = {"smiles", "sdf"}  # tests/graphs/formats/test_molecular.py
    only_read = {n for n, form in FORMATS.items() if getattr(form, "encode", None) is None}
    assert tested == set(FORMATS) - molecules - only_read


@pytest.mark.parametrize(("name", "form"), NAMES)
def test_round_trip(tmp_path, assorted, name, form):
    write_graphs(tmp_path / name, assorted, format=form)
    back = read_graphs(tmp_path / name, format=form)
    assert edge_sets(back) == edge_sets(assorted)
    assert back.repaired == {}
    assert not [p for p in tmp_path.iterdir() if p.name != name]


@pytest.mark.parametrize("form", ["graphml", "gml", "edgelist", "tu"])
def test_the_format_of_a_folder_is_recognised(tmp_path, assorted, form):
    write_graphs(tmp_path / "set", assorted, format=form)
    (tmp_path / "set" / "notes.md").write_text("ignored")
    assert edge_sets(read_graphs(str(tmp_path / "set"))) == edge_sets(assorted)


@pytest.mark.parametrize("suffix", ["graphml", "gml", "edges", "edgelist", "txt", "gml.gz"])
def test_one_graph_one_file(tmp_path, suffix):
    write_graphs(tmp_path / f"one.{suffix}", [nx.star_graph(4)])
    assert (tmp_path / f"one.{suffix}").is_file()
    assert nx.is_isomorphic(read_graphs(tmp_path / f"one.{suffix}")[0], nx.star_graph(4))


def test_the_same_graphs_give_the_same_bytes(tmp_path, assorted):
    for name in ("a.g6.gz", "b.g6.gz", "a.npz", "b.npz"):
        write_graphs(tmp_path / name, assorted)
    assert (tmp_path / "a.g6.gz").read_bytes() == (tmp_path / "b.g6.gz").read_bytes()
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_features_and_labels_are_kept_where_the_format_has_them(tmp_path):
    graph = nx.path_graph(3)
    for node in graph:
        graph.nodes[node].update(x=[node / 3, -1e-9], label=node + 4, colour=f"<é&{node}>")
    for name, form in (("f.npz", None), ("TOY", "tu")):
        write_graphs(tmp_path / name, [graph], format=form)
        (back,) = read_graphs(tmp_path / name)
        assert [back.nodes[k]["x"] for k in back] == [graph.nodes[k]["x"] for k in graph]
    assert [label for _, label in back.nodes(data="label")] == [4, 5, 6]
    for name in ("f.graphml", "f.gml"):
        write_graphs(tmp_path / name, [graph])
        (back,) = read_graphs(tmp_path / name)
        assert [c for _, c in back.nodes(data="colour")] == ["<é&0>", "<é&1>", "<é&2>"]
        assert "x" not in back.nodes[0]


def test_writes_whatever_can_be_prepared(tmp_path):
    batch = GraphBatch.from_networkx([nx.path_graph(2), nx.path_graph(3)])
    write_graphs(tmp_path / "b.g6", batch)
    assert (tmp_path / "b.g6").read_bytes() == b"A_\nBg\n"
    write_graphs(tmp_path / "c.g6", [np.array([[0, 1], [1, 0]])])
    assert (tmp_path / "c.g6").read_bytes() == b"A_\n"
    for bad in ([], [nx.DiGraph([(0, 1)])]):
        with pytest.raises(GraphDataError):
            write_graphs(tmp_path / "d.g6", bad)
    assert not (tmp_path / "d.g6").exists()


def test_folders_are_read_in_natural_order(tmp_path):
    for number in (10, 9, 1, 100):
        (tmp_path / f"g{number}.edges").write_text(f"# nodes: {number}\n")
    assert [len(g) for g in read_graphs(tmp_path)] == [1, 9, 10, 100]


def test_file_names_are_padded(tmp_path):
    write_graphs(tmp_path / "set", [nx.path_graph(2)] * 11, format="gml")
    assert sorted(os.listdir(tmp_path / "set"))[::10] == ["01.gml", "11.gml"]


EDGE_LISTS = {
    "0 1\n1 2\n": (3, [(0, 1), (1, 2)]),
    "0,1\r\n1, 2\r\n": (3, [(0, 1), (1, 2)]),
    "\ufeff# a comment\n\n0\t1\t1\n1 2 1.0 # end\n": (3, [(0, 1), (1, 2)]),
    "0 1 {}\n": (2, [(0, 1)]),
    "10 2\n2 3\n": (3, [(0, 1), (0, 2)]),
    "b a\na c\n": (3, [(0, 1), (1, 2)]),
    "# nodes: 5\n3 1\n": (5, [(1, 3)]),
    "0 1\n7\n": (3, [(0, 1)]),
    "0 1\n1 0\n1 2\n2 1\n": (3, [(0, 1), (1, 2)]),
    "# nodes: 2": (2, []),
    "5": (1, []),
}


@pytest.mark.parametrize("text", EDGE_LISTS)
def test_edge_list_dialects(tmp_path, text):
    (tmp_path / "g.edges").write_bytes(text.encode())
    (graph,) = read_graphs(tmp_path / "g.edges")
    assert (len(graph), sorted(tuple(sorted(e)) for e in graph.edges)) == EDGE_LISTS[text]
    assert list(graph) == list(range(len(graph)))


@pytest.mark.parametrize("suffix", ["graphml", "gml"])
def test_attributes_have_the_types_that_networkx_reads(tmp_path, suffix):
    graph = nx.path_graph(4)
    for node, value in enumerate([3, -0.5, "a & b", ""]):
        graph.nodes[node][f"key{node}"] = value
    if suffix == "graphml":
        graph.nodes[0]["flag"] = True
    graph.edges[0, 1]["weight"] = 1.0
    path = tmp_path / f"g.{suffix}"
    getattr(nx, f"write_{suffix}")(graph, path)
    (back,) = read_graphs(path)
    found = [
        {key: value for key, value in data.items() if key != "label"}
        for _, data in back.nodes(data=True)
    ]
    assert found == [data for _, data in graph.nodes(data=True)]
    assert [type(v) for d in found for v in d.values()] == [
        type(v) for _, d in graph.nodes(data=True) for v in d.values()
    ]


def test_foreign_gml_and_graphml(tmp_path):
    (tmp_path / "g.gml").write_text(
        'graph [ directed 0 node [ id 7 label "Zoë" ] node [ id 3 ] edge [ source 3 target 7 ] ]'
    )
    (graph,) = read_graphs(tmp_path / "g.gml")
    assert list(graph.edges) == [(0, 1)]
    assert graph.nodes[0] == {"label": "Zoë"}
    (tmp_path / "g.graphml").write_text(
        '<graphml><graph edgedefault="undirected"><node id="b"/><node id="a"/>'
        '<edge source="a" target="b"/></graph></graphml>'
    )
    assert list(read_graphs(tmp_path / "g.graphml")[0].edges) == [(0, 1)]


PATH = np.array([[[0, 1, 0], [1, 0, 0], [0, 0, 0]]])


def test_stacks_without_mask_with_sizes_and_with_mask(tmp_path):
    mask = np.array([[1, 1, 0]])
    for extra, nodes in (({}, 3), ({"sizes": np.array([2])}, 2), ({"node_mask": mask}, 2)):
        np.savez(tmp_path / "s.npz", adj=PATH, **extra)
        (graph,) = read_graphs(tmp_path / "s.npz")
        assert (len(graph), list(graph.edges)) == (nodes, [(0, 1)])
    np.save(tmp_path / "plain.npy", PATH)
    with pytest.raises(GraphDataError, match="not a readable"):
        read_graphs(tmp_path / "plain.npy", format="npz")


def test_tu_folder(tmp_path, write_tu):
    write_tu(tmp_path)
    first, second = read_graphs(tmp_path)
    assert (len(first), list(first.edges), len(second), list(second.edges)) == (
        2,
        [(0, 1)],
        3,
        [(0, 1)],
    )
    assert second.nodes[2] == {"label": 2, "x": [2.0, 1.0]}


def test_the_files_of_a_tu_folder_may_be_compressed(tmp_path, write_tu):
    """All or some of them; not both ways at once."""
    write_tu(tmp_path)
    expected = read_graphs(tmp_path)
    for path in [*tmp_path.iterdir()][:-1]:
        (tmp_path / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    for format in (None, "tu"):
        found = read_graphs(tmp_path, format=format)
        assert [dict(g.nodes(data=True)) for g in found] == [
            dict(g.nodes(data=True)) for g in expected
        ]
        assert [list(g.edges) for g in found] == [list(g.edges) for g in expected]
    write_tu(tmp_path)
    with pytest.raises(GraphDataError, match=r"both TOY_.*\.txt and TOY_.*\.txt\.gz. Remove one"):
        read_graphs(tmp_path)


def test_tu_nodes_may_come_in_any_order(tmp_path, write_tu):
    write_tu(tmp_path, A="1, 3\n3, 1\n", graph_indicator="2\n1\n2\n1\n1\n")
    first, second = read_graphs(tmp_path)
    assert (len(first), list(first.edges), len(second), list(second.edges)) == (3, [], 2, [(0, 1)])
    assert [label for _, label in first.nodes(data="label")] == [1, 1, 2]


def test_repairs_reach_every_format(tmp_path, write_tu):
    loop = nx.to_sparse6_bytes(nx.Graph([(0, 0), (0, 1)]))
    (tmp_path / "g.s6").write_bytes(loop + b":An\n")
    result = read_graphs(tmp_path / "g.s6", repairs=Repairs(drop_self_loops=True))
    assert [list(g.edges) for g in result] == [[(0, 1)], [(0, 1)]]
    assert result.repaired == {"self-loops dropped": 1}
    (tmp_path / "tu").mkdir()
    write_tu(tmp_path / "tu", A="1, 2\n")
    result = read_graphs(tmp_path / "tu", repairs=Repairs(undirected=True, largest_component=True))
    assert [len(g) for g in result] == [2, 1]
    assert result.repaired == {"made undirected": 1, "reduced to largest component": 1}
    (tmp_path / "d.edges").write_text("0 1\n1 0\n1 2\n")
    (graph,) = read_graphs(tmp_path / "d.edges", repairs=Repairs(undirected=True))
    assert sorted(graph.edges) == [(0, 1), (1, 2)]
    nx.write_graphml(nx.DiGraph([(0, 1)]), tmp_path / "d.graphml")
    assert read_graphs(tmp_path / "d.graphml", repairs=Repairs(undirected=True)).repaired == {
        "made undirected": 1
    }


def test_max_nodes_names_the_line(tmp_path):
    write_graphs(tmp_path / "g.g6", [nx.path_graph(5), nx.path_graph(41)])
    with pytest.raises(GraphDataError, match=r"g.g6 line 2: 41 nodes.*at most 20.*--max-nodes 41"):
        read_graphs(tmp_path / "g.g6", max_nodes=20)
    write_graphs(tmp_path / "set", [nx.path_graph(41)], format="edgelist")
    with pytest.raises(GraphDataError, match=r"set/1.edges line 1: 41 nodes"):
        read_graphs(tmp_path / "set", max_nodes=20)


def test_paths_and_formats_that_cannot_be_read(tmp_path):
    def refused(pattern, path, **options):
        with pytest.raises(GraphDataError, match=pattern):
            read_graphs(path, **options)

    (tmp_path / "g.foo").write_bytes(b"Bw\n")
    (tmp_path / "g.npz.gz").write_bytes(b"")
    refused("no such file", tmp_path / "missing.g6")
    refused(r"does not follow.*\.g6.*\.graphml.*--format", tmp_path / "g.foo")
    refused("unknown format 'graph7'.*graph6", tmp_path / "g.foo", format="graph7")
    refused("tu format is a folder", tmp_path / "g.foo", format="tu")
    refused("compressed already", tmp_path / "g.npz.gz")
    refused("no graph files", tmp_path)
    refused("no gml files", tmp_path, format="gml")
    refused("no graph6 files", tmp_path, format="graph6")
    (tmp_path / "a.gml").touch()
    (tmp_path / "a.graphml").touch()
    refused(r"several formats \(gml, graphml\)", tmp_path)
    refused("a.gml: the file is empty", tmp_path, format="gml")
    assert len(read_graphs(tmp_path / "g.foo", format="graph6")) == 1


def test_targets_that_cannot_be_written(tmp_path):
    graphs = [nx.path_graph(2), nx.path_graph(3)]

    def refused(pattern, path, **options):
        with pytest.raises((GraphDataError, OutputError), match=pattern):
            write_graphs(path, graphs, **options)

    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.md").write_text("keep")
    (tmp_path / "file.gml").write_text("keep")
    (tmp_path / "empty").mkdir()
    (tmp_path / "dir.g6").mkdir()
    refused("does not follow from the name", tmp_path / "out")
    refused("unknown format", tmp_path / "out", format="x")
    refused("not empty", tmp_path / "full", format="gml")
    refused("not empty", tmp_path / "full", format="tu")
    refused("a file of that name", tmp_path / "file.gml")
    refused("a folder of that name", tmp_path / "dir.g6")
    refused(r"file\.gml is a file and not a folder", tmp_path / "file.gml" / "below.g6")
    assert (tmp_path / "full" / "mine.md").read_text() == "keep"
    assert os.listdir(tmp_path / "full") == ["mine.md"]
    write_graphs(tmp_path / "empty", graphs, format="gml")
    write_graphs(tmp_path / "new" / "deep" / "g.g6", graphs)
    assert len(read_graphs(tmp_path / "empty")) == len(read_graphs(tmp_path / "new/deep/g.g6")) == 2


@pytest.mark.parametrize("call", ["replace", "fsync"])
@pytest.mark.parametrize(("name", "form"), [("g.g6", None), ("set", "gml")])
def test_a_failing_write_changes_nothing(tmp_path, monkeypatch, name, form, call):
    write_graphs(tmp_path / "g.g6", [nx.path_graph(2)])
    before = (tmp_path / "g.g6").read_bytes()

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, call, full)
    with pytest.raises(OutputError, match=r"cannot write.*No space left.*Nothing was changed"):
        write_graphs(tmp_path / name, [nx.path_graph(5)], format=form)
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["g.g6"]
    assert (tmp_path / "g.g6").read_bytes() == before


def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    for name, form in (("g.g6", None), ("set", "tu")):
        with pytest.raises(KeyboardInterrupt):
            write_graphs(tmp_path / name, [nx.path_graph(5)], format=form)
    assert os.listdir(tmp_path) == []


def test_links_are_written_through(tmp_path):
    (tmp_path / "link.g6").symlink_to(tmp_path / "real.g6")
    write_graphs(tmp_path / "link.g6", [nx.path_graph(2)])
    assert (tmp_path / "link.g6").is_symlink()
    assert (tmp_path / "real.g6").read_bytes() == b"A_\n"


def test_attributes_that_a_format_cannot_store(tmp_path):
    graph = nx.path_graph(2)
    graph.nodes[0]["note"] = "bell \x07"
    with pytest.raises(GraphDataError, match="GraphML cannot"):
        write_graphs(tmp_path / "g.graphml", [graph])
    graph.nodes[0]["bad name"] = 1
    with pytest.raises(GraphDataError, match="cannot write GML"):
        write_graphs(tmp_path / "g.gml", [graph])
    graph.nodes[0]["x"] = [1.0]
    with pytest.raises(GraphDataError, match="node 1: no attribute 'x'"):
        write_graphs(tmp_path / "g.npz", [graph])
    graph.nodes[0]["x"] = "text"
    with pytest.raises(GraphDataError, match="no vector"):
        write_graphs(tmp_path / "set", [graph], format="tu")
    assert os.listdir(tmp_path) == []


def test_round_trip_of_a_thousand_graphs(tmp_path):
    batch = [nx.gnp_random_graph(8, 0.4, seed=k) for k in range(20)] * 50
    write_graphs(tmp_path / "g.g6", batch)
    assert edge_sets(read_graphs(tmp_path / "g.g6")) == edge_sets(prepare_graphs(batch))
