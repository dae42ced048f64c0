"""The published planar, tree and SBM sets: drawn again, read from files, damaged."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

from graphscore.datasets import Dataset, load_dataset, spectre
from graphscore.errors import DatasetError
from graphscore.graphs import write_graphs
from graphscore.graphs.formats.graph6 import encode_graph6

SETS = {"planar": spectre.PLANAR, "tree": spectre.TREE, "sbm": spectre.SBM}
PARTS = ("train", "val", "test")


@cache
def drawn(family: str) -> Dataset:
    """A set drawn again, because the folder does not exist; no test changes it."""
    return load_dataset(f"{family}-spectre", data_dir="/nowhere")


def failing():
    raise AssertionError("drawn, although the files are there")


@pytest.mark.parametrize("family", SETS)
def test_published_files_and_recipe_are_the_same_graphs(family, source_folder):
    if not (source_folder / "spectre").is_dir():
        pytest.skip("no spectre in the data folder")
    for part in ("train", "val"):
        published = (source_folder / "spectre" / f"{family}_{part}.g6").read_bytes()
        assert encode_graph6(drawn(family).split(part)) == published


def test_files_in_the_data_folder_are_read(tmp_path):
    (tmp_path / "spectre").mkdir()
    for part in PARTS:
        write_graphs(tmp_path / "spectre" / f"tree_{part}.g6", drawn("tree").split(part))
    read = spectre.load(replace(spectre.TREE, draw=failing), tmp_path)
    assert encode_graph6(read) == encode_graph6(drawn("tree").graphs)


def test_only_what_is_absent_is_drawn(tmp_path):
    path = tmp_path / "spectre" / "tree_val.g6"
    path.parent.mkdir()
    write_graphs(path, drawn("tree").val)
    data = load_dataset("tree-spectre", data_dir=tmp_path)
    assert encode_graph6(data.graphs) == encode_graph6(drawn("tree").graphs)
    assert [file.name for file in path.parent.iterdir()] == ["tree_val.g6"]


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "spectre" / "tree_val.g6"
    path.parent.mkdir()
    path.write_bytes(b"Bw\n")
    with pytest.raises(DatasetError, match=r"tree_val\.g6 is damaged.*expected 41543e23.*Delete"):
        load_dataset("tree-spectre", data_dir=tmp_path)


def test_graphs_that_come_out_differently_are_refused(tmp_path):
    def other():
        return {part: [nx.path_graph(3)] for part in ("train", "val", "test")}

    with pytest.raises(DatasetError) as caught:
        spectre.load(replace(spectre.SBM, draw=other), tmp_path)
    path = Path(tmp_path, "spectre", "sbm_test.g6")
    for part in (str(path), "sbm-spectre", "776bb42f", spectre.URL, "GRAPHSCORE_DATA"):
        assert part in str(caught.value)


@pytest.mark.parametrize("family", SETS)
def test_parts_do_not_overlap(family):
    assert len(set(encode_graph6(drawn(family).graphs).splitlines())) == 200


def test_published_properties():
    assert all(nx.is_tree(graph) for graph in drawn("tree").graphs)
    assert all(nx.check_planarity(graph)[0] for graph in drawn("planar").test)
    sizes = [len(graph) for graph in drawn("sbm").graphs]
    assert (min(sizes), max(sizes)) == (44, 187)
    # Unlike `sbm`, the published set was not restricted to connected graphs.
    connected = [sum(map(nx.is_connected, drawn("sbm").split(part))) for part in PARTS]
    assert connected == [127, 30, 39]
