"""Figures of graphs: every graph can be drawn, and only known file types are written."""

from __future__ import annotations

import random

import networkx as nx
import numpy as np
import pytest

from graphscore.errors import OutputError
from graphscore.plots import check_picture, draw_comparison
from graphscore.plots.communities import communities
from graphscore.plots.layouts import layout

GRAPHS = {
    "empty": nx.empty_graph(0),
    "one node": nx.empty_graph(1),
    "no edges": nx.empty_graph(5),
    "one edge": nx.path_graph(2),
    "disconnected": nx.disjoint_union(nx.cycle_graph(4), nx.path_graph(3)),
    "odd labels": nx.relabel_nodes(nx.path_graph(3), {0: "a", 1: (1, 2), 2: None.__class__}),
    "complete": nx.complete_graph(8),
    "larger": nx.connected_caveman_graph(6, 6),
}
MAGIC = {"png": b"\x89PNG\r\n", "pdf": b"%PDF-", "svg": b"<?xml"}


@pytest.mark.parametrize("kind", MAGIC)
def test_files_have_the_type_of_their_suffix(tmp_path, kind):
    """Also with suffixes in upper case, in folders that do not exist, and over existing files."""
    path = tmp_path / f"new/picture.{kind}"
    draw_comparison({"one": [nx.path_graph(3)]}, path, rows=1, columns=1)
    first = path.read_bytes()
    assert first.startswith(MAGIC[kind])
    assert len(first) > 1000
    upper_case = path.with_suffix(f".{kind.upper()}")
    draw_comparison({"one": [nx.path_graph(3)]}, upper_case, rows=1, columns=1)
    draw_comparison({"one": [nx.cycle_graph(3)]}, path, rows=1, columns=1)
    assert upper_case.read_bytes().startswith(MAGIC[kind])
    assert path.read_bytes() != first
    assert len(list(path.parent.iterdir())) == 2


def test_every_graph_can_be_drawn(tmp_path):
    """Groups of different length, and one without graphs, side by side."""
    groups = {"all": list(GRAPHS.values()), "few": [nx.path_graph(2)], "none": []}
    draw_comparison(groups, str(tmp_path / "all.png"), rows=2, columns=4)
    assert (tmp_path / "all.png").read_bytes().startswith(MAGIC["png"])


def test_edges_are_visible(tmp_path):
    pixels = []
    for graph in (nx.empty_graph(2), nx.path_graph(2)):
        draw_comparison({"": [graph]}, tmp_path / "p.png", rows=1, columns=1)
        pixels.append((tmp_path / "p.png").read_bytes())
    assert pixels[0] != pixels[1]


@pytest.mark.parametrize("name", GRAPHS)
def test_layouts_place_every_node(name):
    """Finite, and no two nodes on one spot."""
    graph = GRAPHS[name]
    where = layout(graph)
    assert list(where) == list(graph)
    points = np.array([where[node] for node in graph]).reshape(-1, 2)
    assert np.isfinite(points).all()
    assert len(np.unique(points.round(6), axis=0)) == len(graph)


@pytest.mark.parametrize("name", GRAPHS)
def test_every_node_has_a_community(name):
    graph = GRAPHS[name]
    numbers = communities(graph)
    assert set(numbers) == set(graph)
    assert set(numbers.values()) == set(range(len(set(numbers.values()))))


def test_communities_follow_the_structure():
    two = nx.disjoint_union(nx.complete_graph(5), nx.complete_graph(4))
    assert [communities(two)[node] for node in two] == [0] * 5 + [1] * 4


@pytest.mark.parametrize("name", ["x.jpg", "x", "x.png.gz", ".png"])
def test_unknown_suffixes_are_refused_before_anything_is_written(tmp_path, name):
    path = tmp_path / "new" / name
    with pytest.raises(OutputError, match=r"Use one of: \.png, \.pdf, \.svg"):
        check_picture(path)
    with pytest.raises(OutputError, match="cannot write a picture"):
        draw_comparison({"one": [nx.path_graph(3)]}, path)
    assert list(tmp_path.iterdir()) == []


def test_a_figure_that_cannot_be_written_is_an_output_error(tmp_path):
    (tmp_path / "x.png").mkdir()
    with pytest.raises(OutputError, match=r"x\.png: (cannot write|a folder)"):
        draw_comparison({"one": [nx.path_graph(3)]}, tmp_path / "x.png", rows=1, columns=1)


def test_drawing_does_not_change_graphs_or_the_global_random_state(tmp_path):
    graph = nx.path_graph(4)
    states = (random.getstate(), np.random.get_state()[1].tolist())  # noqa: NPY002
    draw_comparison({"one": [graph]}, tmp_path / "x.png", rows=1, columns=1)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == states  # noqa: NPY002
    assert nx.utils.graphs_equal(graph, nx.path_graph(4))


def test_communities_of_node_attributes():
    """Numbered by first appearance; found by modularity if a node has no attribute."""
    graph = nx.path_graph(4)
    nx.set_node_attributes(graph, {0: "b", 1: "a", 2: "b", 3: "a"}, "community")
    assert communities(graph) == {0: 0, 1: 1, 2: 0, 3: 1}
    del graph.nodes[3]["community"]
    assert communities(graph)[0] == communities(graph)[1]
