"""Enzymes: selection, labels and order where the source is at hand; what is said without it."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import networkx as nx
import pytest

from graphscore.datasets import download, enzymes, load_dataset
from graphscore.errors import DatasetError


def test_published_selection(source_folder: Path) -> None:
    if not (source_folder / "ENZYMES").is_dir():
        pytest.skip("no ENZYMES in the data folder")
    data = load_dataset("enzymes", data_dir=source_folder)
    assert len(data) == data.info.num_graphs == 587
    assert (len(data.train), len(data.val), len(data.test)) == (470, 32, 117)
    sizes = [len(graph) for graph in data.graphs]
    assert (min(sizes), max(sizes)) == (10, 125)
    for graph in data.graphs:
        assert type(graph) is nx.Graph
        assert list(graph) == list(range(len(graph)))
        assert nx.number_of_selfloops(graph) == nx.number_of_isolates(graph) == 0
        assert all(list(attributes) == ["label"] for _, attributes in graph.nodes(data=True))
    labels = Counter(label for graph in data.graphs for _, label in graph.nodes(data="label"))
    assert sorted(labels) == [1, 2, 3]
    assert data.info.attributes == {"node_type": "label"}


def tu_folder(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A collection of a path of 10 nodes with one more node apart, and a path of 9 nodes."""
    folder = root / "ENZYMES"
    folder.mkdir()
    paths = [range(1, 11), range(12, 21)]
    edges = [(u, v) for path in paths for u, v in pairwise(path)]
    arcs = sorted([*edges, *((v, u) for u, v in edges)])
    members = {
        "ENZYMES_A.txt": "".join(f"{u}, {v}\n" for u, v in arcs),
        "ENZYMES_graph_indicator.txt": "1\n" * 11 + "2\n" * 9,
        "ENZYMES_node_labels.txt": "".join(f"{1 + k % 3}\n" for k in range(20)),
    }
    for name, text in members.items():
        (folder / name).write_text(text)
    digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in members.items()}
    monkeypatch.setattr(enzymes, "ARCHIVE", replace(enzymes.ARCHIVE, sha256=digests))
    return folder


def test_nodes_without_edges_are_dropped_before_counting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tu_folder(tmp_path, monkeypatch)
    # Of other files of the collection nothing is taken.
    (folder / "ENZYMES_node_attributes.txt").write_text("1.5, 2\n" * 20)
    (graph,) = load_dataset("enzymes", data_dir=tmp_path).graphs
    assert dict(graph.nodes(data=True)) == {k: {"label": 1 + k % 3} for k in range(10)}
    assert nx.utils.graphs_equal(nx.Graph(graph.edges), nx.path_graph(10))


def test_missing_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(*_args: object, **_options: object) -> None:
        raise OSError("Network is unreachable")

    monkeypatch.setattr(download, "fetch_bytes", offline)
    with pytest.raises(DatasetError) as caught:
        load_dataset("enzymes", data_dir=tmp_path)
    for part in ("ENZYMES_A.txt", str(tmp_path), enzymes.ARCHIVE.url, "unreachable"):
        assert part in str(caught.value)


def test_wrong_checksum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tu_folder(tmp_path, monkeypatch)
    (folder / "ENZYMES_node_labels.txt").write_text("1\n" * 20)
    with pytest.raises(DatasetError, match=r"ENZYMES_node_labels\.txt is damaged"):
        load_dataset("enzymes", data_dir=tmp_path)
