"""What follows from the name of a file or folder: its format, its files, and what is refused."""

from __future__ import annotations

import gzip
import os
from types import SimpleNamespace

import networkx as nx
import pytest

from graphscore.errors import GraphDataError, OutputError
from graphscore.graphs import contents, read_graphs, write_graphs
from graphscore.graphs.files import check_target

ONE, TWO = [nx.path_graph(3)], [nx.path_graph(3), nx.path_graph(4)]
NODE = "graph [ node [ id 0 ] ]"


@pytest.mark.parametrize(
    ("name", "form", "graphs", "files"),
    [
        ("set", "gml", ONE, ["1.gml"]),
        ("set", "edgelist", TWO, ["1.edges", "2.edges"]),
        ("set.gml", None, ONE, None),
        ("set.gml", None, TWO, ["1.gml", "2.gml"]),
        ("set.GML", None, TWO, ["1.GML", "2.GML"]),
        ("set.edgelist", None, TWO, ["1.edgelist", "2.edgelist"]),
        ("set.txt.gz", None, TWO, ["1.txt.gz", "2.txt.gz"]),
        ("set.gml", "graphml", ONE, ["1.graphml"]),
        ("set.gml", "gml", ONE, None),
        ("set.g6", "sparse6", TWO, None),
        ("set.g6", "edgelist", TWO, ["1.edges", "2.edges"]),
    ],
)
def test_the_suffix_says_what_is_written(tmp_path, name, form, graphs, files):
    """A suffix of another format than the one asked for is part of a folder's name."""
    write_graphs(tmp_path / name, graphs, format=form)
    found = sorted(os.listdir(tmp_path / name)) if (tmp_path / name).is_dir() else None
    assert found == files
    assert [len(g) for g in read_graphs(tmp_path / name, format=form)] == [len(g) for g in graphs]


def test_compressed_files_hold_no_time(tmp_path):
    """Bytes 4 to 7 of a gzip file are the time it was made, 0 for none."""
    write_graphs(tmp_path / "g.g6.gz", ONE)
    data = (tmp_path / "g.g6.gz").read_bytes()
    assert data[4:8] == bytes(4)
    assert gzip.decompress(data) == b"Bg\n"


@pytest.mark.parametrize("name", [".g6", ".gml.gz", "g6", "g6.g", "a.g6.zip"])
def test_a_name_without_a_known_suffix_has_no_format(tmp_path, name):
    """A suffix alone is a hidden file's name; the message lists what would do."""
    (tmp_path / name).write_bytes(b"Bg\n")
    with pytest.raises(GraphDataError, match="does not follow from the name") as caught:
        read_graphs(tmp_path / name)
    assert (
        "Known suffixes are .g6, .s6, .json, .jsonl, .cyjs, .npz, .npy, .mtx, .csv, .tsv, "
        ".graphml, .gml, .edges, .edgelist, .txt, .adjlist, .gexf, .net, .paj, .smi, .smiles, "
        ".sdf, .mol (also with .gz, except .npz), and folders of files in matrixmarket, graphml, "
        "gml, edgelist, adjlist, gexf, pajek format or in tu format. "
    ) in str(caught.value)


@pytest.mark.parametrize("suffix", ["gml", "graphml"])
def test_folders_in_a_folder_are_no_files_of_it(tmp_path, suffix):
    """Even if their names end as those of files."""
    write_graphs(tmp_path / f"1.{suffix}", ONE)
    (tmp_path / f"2.{suffix}").mkdir()
    (tmp_path / "3.gml").mkdir()
    assert len(read_graphs(tmp_path)) == 1


def test_only_the_files_of_a_tu_folder_are_read(tmp_path, write_tu):
    """What else is there may be a folder, or larger than the limit."""
    write_tu(tmp_path)
    size = sum(1024 + path.stat().st_size for path in tmp_path.iterdir()) + 15 * 16
    (tmp_path / "TOY_more").mkdir()
    (tmp_path / "README.txt").write_text("what they mean")
    assert len(read_graphs(tmp_path, max_bytes=size + 2 * 1024)) == 2


def test_the_format_that_is_asked_for_is_read(tmp_path, write_tu):
    """Without one, files of a TU folder come before others."""
    write_tu(tmp_path)
    (tmp_path / "1.gml").write_text(NODE)
    (tmp_path / "2.GML").write_text(NODE)
    (tmp_path / "3.graphml").write_text(NODE)
    assert [len(graph) for graph in read_graphs(tmp_path, format="gml")] == [1, 1]
    assert [len(graph) for graph in read_graphs(tmp_path)] == [2, 3]
    for path in tmp_path.glob("TOY_*"):
        path.unlink()
    with pytest.raises(GraphDataError, match=r"several formats \(gml, graphml\)"):
        read_graphs(tmp_path)
    (tmp_path / "3.graphml").unlink()
    assert [len(graph) for graph in read_graphs(tmp_path)] == [1, 1]
    for form in ("npz", "edgelist"):
        with pytest.raises(GraphDataError, match=f"no {form} files in this folder. Known suff"):
            read_graphs(tmp_path, format=form)


def test_what_to_do_instead_is_said(tmp_path):
    """Of archives, other formats, folders of folders, and files of several endings."""
    for name, words in (
        ("g.zip", "Unpack the archive first"),
        ("g.dot", r"write_graphs\('graphs.json'"),
    ):
        (tmp_path / name).write_bytes(b"1")
        with pytest.raises(GraphDataError, match=words):
            read_graphs(tmp_path / name)
    (tmp_path / "raw").mkdir()
    write_graphs(tmp_path / "g.g6", ONE)
    with pytest.raises(GraphDataError, match=r"It holds g\.g6, raw: give one of them"):
        read_graphs(tmp_path)
    for name in ("1.edges", "README.txt"):
        (tmp_path / "raw" / name).write_text("made by\n")
    with pytest.raises(
        GraphDataError, match=r"files ending in \.edges and in \.txt, which may not"
    ):
        read_graphs(tmp_path / "raw")
    assert len(read_graphs(tmp_path / "raw", format="edgelist")) == 2
    (tmp_path / "raw" / "1.edges").unlink()
    assert len(read_graphs(tmp_path / "raw")) == 1


def test_suffixes_of_one_format_are_read_together(tmp_path):
    for name in ("1.edges", "2.edgelist", "3.EDGES.gz"):
        write_graphs(tmp_path / name, ONE)
    assert len(read_graphs(tmp_path)) == 3


@pytest.mark.parametrize("read", [read_graphs, lambda path: read_graphs(path, format="gml")])
def test_an_empty_path_is_no_folder(tmp_path, monkeypatch, read):
    """It would be the current one."""
    write_graphs(tmp_path / "1.gml", ONE)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(GraphDataError, match=r"^the path is empty\. Give"):
        read("")
    assert len(read(".")) == 1


@pytest.mark.parametrize("space", [b"", b" ", b"\n\t\r \x0b\x0c" * 20_000])
def test_a_file_of_spaces_is_empty(tmp_path, space):
    """However many there are; a graph may follow them."""
    (tmp_path / "g.edges").write_bytes(space)
    with pytest.raises(GraphDataError, match=r"g\.edges: the file is empty, no graphs in it"):
        read_graphs(tmp_path / "g.edges")
    (tmp_path / "g.edges").write_bytes(space + b"0 1")
    assert len(read_graphs(tmp_path / "g.edges")) == 1


def test_targets_are_refused_before_long_work(tmp_path):
    """As many graphs as will be written decide whether it will be a file or a folder."""
    (tmp_path / "file.gml").write_text(NODE)
    (tmp_path / "full.gml").mkdir()
    (tmp_path / "full.gml" / "1.gml").write_text(NODE)
    (tmp_path / "empty.gml").mkdir()
    for name, number in (("file.gml", 1), ("empty.gml", 2), ("new.gml", 1), ("new.gml", 2)):
        check_target(tmp_path / name, number)
    for name, number, words in (
        ("file.gml", 2, "a file of that name exists"),
        ("full.gml", 2, "the folder exists and is not empty"),
        ("full.gml", 1, "a folder of that name exists, but a file is to be written"),
        ("empty.gml", 1, "a folder of that name exists, but a file is to be written"),
        ("file.gml/new.gml", 1, r"file\.gml is a file and not a folder"),
    ):
        with pytest.raises(OutputError, match=words):
            check_target(tmp_path / name, number)
    with pytest.raises(GraphDataError, match=r"unknown format 'GML'\. Use one of graph6, sparse6"):
        check_target(tmp_path / "new.gml", 1, format="GML")


def test_the_path_comes_before_the_graphs(tmp_path):
    """The other order is what other libraries have."""
    with pytest.raises(GraphDataError, match=r"got list as the path\. The path comes first"):
        write_graphs(ONE, tmp_path / "g.g6")
    for path in (tmp_path / "g.g6", str(tmp_path / "g.g6")):
        write_graphs(path, ONE)


def test_a_file_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    """An error of the system that names no file is one of the path that was given."""
    write_graphs(tmp_path / "g.g6", ONE)

    def fail(*_):
        raise OSError("the disk is gone")

    monkeypatch.setattr(contents, "os", SimpleNamespace(fstat=fail))
    with pytest.raises(GraphDataError, match=r"g\.g6: cannot read \(the disk is gone\)"):
        read_graphs(tmp_path / "g.g6")
