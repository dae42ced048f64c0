"""Protein: the count where the source is at hand; lookup, download and damage without it."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import networkx as nx
import pytest

from graphscore.datasets import download, load_dataset, protein
from graphscore.datasets.download import Archive, data_folder, fetch
from graphscore.errors import DatasetError

MEMBERS = {"a.txt": b"1, 2\n", "b.txt": b"1\n1\n"}


def packed(tmp_path: Path, members: dict[str, bytes]) -> Archive:
    """An archive reachable without a network, whose digests are those of MEMBERS."""
    path = tmp_path / "set.zip"
    with zipfile.ZipFile(path, "w") as bundle:
        for name, content in members.items():
            bundle.writestr(name, content)
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in MEMBERS.items()}
    return Archive("set", path.as_uri(), digests)


def whole(tmp_path: Path) -> Archive:
    extra = {"../escape.txt": b"no", "set/unwanted.txt": b"no"}
    return packed(tmp_path, {**{f"set/{name}": text for name, text in MEMBERS.items()}, **extra})


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


def test_order_of_lookup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHSCORE_DATA", str(tmp_path / "variable"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert data_folder(tmp_path / "argument") == tmp_path / "argument"
    assert data_folder() == tmp_path / "variable"
    monkeypatch.delenv("GRAPHSCORE_DATA")
    assert data_folder() == tmp_path / "cache" / "graphscore"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert data_folder() == Path.home() / ".cache" / "graphscore"


def test_download_keeps_only_the_named_members(tmp_path: Path) -> None:
    root = tmp_path / "data"
    folder = fetch(whole(tmp_path), root)
    assert folder == root / "set"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == MEMBERS
    assert [path.name for path in root.iterdir()] == ["set"]
    assert not (tmp_path / "escape.txt").exists()


def test_present_files_need_no_network(tmp_path: Path) -> None:
    archive = whole(tmp_path)
    fetch(archive, tmp_path / "data")
    (tmp_path / "set.zip").unlink()
    fetch(archive, tmp_path / "data")


def test_a_half_filled_folder_is_completed(tmp_path: Path) -> None:
    archive = whole(tmp_path)
    folder = fetch(archive, tmp_path / "data")
    (folder / "b.txt").unlink()
    (folder / "mine.txt").write_text("kept")
    fetch(archive, tmp_path / "data")
    assert {path.name for path in folder.iterdir()} == {"a.txt", "b.txt", "mine.txt"}


def test_damaged_local_file(tmp_path: Path) -> None:
    archive = whole(tmp_path)
    folder = fetch(archive, tmp_path / "data")
    (folder / "a.txt").write_bytes(b"1, 3\n")
    with pytest.raises(DatasetError, match=r"a\.txt is damaged.*sha256.*expected.*Delete it"):
        fetch(archive, tmp_path / "data")
    assert (folder / "a.txt").read_bytes() == b"1, 3\n"


def test_damaged_download_leaves_nothing(tmp_path: Path) -> None:
    archive = packed(tmp_path, {"set/a.txt": MEMBERS["a.txt"], "set/b.txt": b"other"})
    with pytest.raises(DatasetError, match=r"b\.txt has sha256 .* nothing was kept"):
        fetch(archive, tmp_path / "data")
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("kind", ["absent", "not a zip", "lacks a member"])
def test_failed_download_says_what_to_put_where(tmp_path: Path, kind: str) -> None:
    archive = packed(tmp_path, {"set/a.txt": MEMBERS["a.txt"]})
    if kind == "absent":
        (tmp_path / "set.zip").unlink()
    elif kind == "not a zip":
        (tmp_path / "set.zip").write_bytes(b"<html>moved</html>")
    with pytest.raises(DatasetError) as caught:
        fetch(archive, tmp_path / "data")
    message = str(caught.value)
    for part in (str(tmp_path / "data" / "set"), "a.txt, b.txt", archive.url, "GRAPHSCORE_DATA"):
        assert part in message
    assert not (tmp_path / "data").exists()


def test_missing_protein_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(*_args: object, **_options: object) -> None:
        raise OSError("Network is unreachable")

    monkeypatch.setattr(download.urllib.request, "urlopen", offline)
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
