"""The table of formats: their names, which suffixes they have, and which may be compressed."""

from __future__ import annotations

import networkx as nx
import pytest

from graphscore.errors import GraphDataError
from graphscore.graphs import read_graphs, write_graphs
from graphscore.graphs.formats import FORMATS

SUFFIXES = {
    "graph6": (".g6",),
    "sparse6": (".s6",),
    "json": (".json",),
    "jsonl": (".jsonl",),
    "npz": (".npz",),
    "graphml": (".graphml",),
    "gml": (".gml",),
    "edgelist": (".edges", ".edgelist", ".txt"),
    "smiles": (".smi", ".smiles"),
    "sdf": (".sdf", ".mol"),
    "tu": (),
}


def molecular(graphs):
    """Carbon atoms with single bonds, which every format holds."""
    for graph in graphs:
        nx.set_node_attributes(graph, "C", "element")
        nx.set_edge_attributes(graph, "single", "bond")
    return graphs


def test_the_names_and_suffixes_of_formats():
    """They are what users give."""
    assert {name: form.suffixes for name, form in FORMATS.items()} == SUFFIXES


@pytest.mark.parametrize("name", SUFFIXES)
def test_a_format_reads_what_it_wrote(tmp_path, name):
    """The name of the format is enough, without a suffix."""
    graphs = molecular([nx.path_graph(3), nx.complete_graph(4)])
    write_graphs(tmp_path / "set", graphs, format=name)
    back = read_graphs(tmp_path / "set", format=name)
    assert [sorted(graph.edges) for graph in back] == [sorted(graph.edges) for graph in graphs]


@pytest.mark.parametrize(
    "suffix", [suffix for suffixes in SUFFIXES.values() for suffix in suffixes]
)
def test_all_formats_but_npz_may_be_compressed(tmp_path, suffix):
    """It is compressed already."""
    path = tmp_path / f"g{suffix}.gz"
    if suffix == ".npz":
        with pytest.raises(GraphDataError, match="compressed already"):
            write_graphs(path, [nx.path_graph(3)])
    else:
        write_graphs(path, molecular([nx.path_graph(3)]))
        assert sorted(read_graphs(path)[0].edges) == [(0, 1), (1, 2)]
