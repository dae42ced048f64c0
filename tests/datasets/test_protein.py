"""Protein: the count where the source is at hand; what is said without it."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest

from graphscore.datasets import download, load_dataset, protein
from graphscore.errors import DatasetError


def test_published_count(source_folder: Path) -> None:
    if not (source_folder / "PROTEINS_full").is_dir():
        pytest.skip("no PROTEINS_full in the data folder")
    data = load_dataset("protein", data_dir=source_folder)
    assert len(data) == data.info.num_graphs == 269
    assert {len(graph) for graph in data.graphs} == set(range(20, 31))
    assert (len(data.train), len(data.val), len(data.test)) == (216, 32, 53)
    for graph in data.graphs:
        assert type(graph) is nx.Graph
        assert list(graph) == list(range(len(graph)))
        assert nx.number_of_selfloops(graph) == 0
        assert not any(attributes for _, attributes in graph.nodes(data=True))


def test_environment_variable_names_the_folder(
    source_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not (source_folder / "PROTEINS_full").is_dir():
        pytest.skip("no PROTEINS_full in the data folder")
    monkeypatch.setenv("GRAPHSCORE_DATA", str(source_folder))
    assert len(load_dataset("protein")) == 269


def test_missing_protein_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(*_args: object, **_options: object) -> None:
        raise OSError("Network is unreachable")

    monkeypatch.setattr(download, "fetch_bytes", offline)
    with pytest.raises(DatasetError) as caught:
        load_dataset("protein", data_dir=tmp_path)
    message = str(caught.value)
    for part in ("PROTEINS_full_A.txt", str(tmp_path), protein.ARCHIVE.url, "unreachable"):
        assert part in message


def test_wrong_checksum_of_a_protein_file(tmp_path: Path) -> None:
    folder = tmp_path / "PROTEINS_full"
    folder.mkdir()
    for name in protein.ARCHIVE.sha256:
        (folder / name).write_text("1, 2\n")
    with pytest.raises(DatasetError, match=r"PROTEINS_full_A\.txt is damaged"):
        load_dataset("protein", data_dir=tmp_path)
