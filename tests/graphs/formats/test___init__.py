"""The table of formats: their names, which suffixes they have, and which may be compressed."""

from __future__ import annotations

import networkx as nx
import pytest

from graphscore.errors import GraphDataError
from graphscore.graphs import read_graphs, write_graphs
from graphscore.graphs.files import check_target
from graphscore.graphs.formats import FORMATS

SUFFIXES = {
    "graph6": (".g6",),
    "sparse6": (".s6",),
    "json": (".json",),
    "jsonl": (".jsonl",),
    "cytoscape": (".cyjs",),
    "npz": (".npz",),
    "npy": (".npy",),
    "matrixmarket": (".mtx",),
    "csv": (".csv",),
    "tsv": (".tsv",),
    "graphml": (".graphml",),
    "gml": (".gml",),
    "edgelist": (".edges", ".edgelist", ".txt"),
    "adjlist": (".adjlist",),
    "gexf": (".gexf",),
    "pajek": (".net", ".paj"),
    "digress": (),
    "smiles": (".smi", ".smiles"),
    "sdf": (".sdf", ".mol"),
    "tu": (),
}
ONLY_READ = {"cytoscape", "npy", "matrixmarket", "adjlist", "gexf", "pajek", "digress"}
WRITTEN = [name for name in SUFFIXES if name not in ONLY_READ]


def molecular(graphs):
    """Carbon atoms with single bonds, which every format holds."""
    for graph in graphs:
        nx.set_node_attributes(graph, "C", "element")
        nx.set_edge_attributes(graph, "single", "bond")
    return graphs


def test_the_names_and_suffixes_of_formats():
    """They are what users give."""
    assert {name: form.suffixes for name, form in FORMATS.items()} == SUFFIXES


@pytest.mark.parametrize("name", WRITTEN)
def test_a_format_reads_what_it_wrote(tmp_path, name):
    """The name of the format is enough, without a suffix."""
    graphs = molecular([nx.path_graph(3), nx.complete_graph(4)])
    write_graphs(tmp_path / "set", graphs, format=name)
    back = read_graphs(tmp_path / "set", format=name)
    assert [sorted(graph.edges) for graph in back] == [sorted(graph.edges) for graph in graphs]


@pytest.mark.parametrize("suffix", [suffix for name in WRITTEN for suffix in SUFFIXES[name]])
def test_all_formats_but_npz_may_be_compressed(tmp_path, suffix):
    """It is compressed already."""
    path = tmp_path / f"g{suffix}.gz"
    if suffix == ".npz":
        with pytest.raises(GraphDataError, match="compressed already"):
            write_graphs(path, [nx.path_graph(3)])
    else:
        write_graphs(path, molecular([nx.path_graph(3)]))
        assert sorted(read_graphs(path)[0].edges) == [(0, 1), (1, 2)]


@pytest.mark.parametrize("name", sorted(ONLY_READ))
def test_a_format_that_is_only_read_is_refused_before_anything_is_written(tmp_path, name):
    """Also by the check before long work."""
    for attempt in (
        lambda path: write_graphs(path, [nx.path_graph(3)] * 2, format=name),
        lambda path: check_target(path, 2, format=name),
    ):
        with pytest.raises(GraphDataError, match=r"only read. Write another one, such as .json"):
            attempt(tmp_path / "new")
    assert not list(tmp_path.iterdir())
