"""QM9, ZINC250k and MOSES: published parts, and files that are absent, damaged or kept."""

from __future__ import annotations

import gzip
import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from graphscore.datasets import load_dataset, molecules
from graphscore.datasets.molecules import Lines, Molecules, load
from graphscore.errors import DatasetError
from graphscore.graphs import PackedGraphs

SMILES = ["CO", "C=C", "C#N", "CC(=O)O", "[NH4+]", "C[N+](C)(C)C", "c1ccccc1"]
TEST = [1, 4]
PARTS = {
    "qm9": (13_082, 133_885, {"C", "N", "O", "F"}),
    "zinc250k": (24_887, 249_455, {"Br", "Cl", "I", "P", "S"}),
}


def digest(values: list[str]) -> str:
    return hashlib.sha256("\n".join(values).encode()).hexdigest()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, and no network."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(molecules, "NUM_VALIDATION", 2)
    return tmp_path / "cache" / "graphscore" / "molecules"


@pytest.fixture
def small(tmp_path: Path, cache: Path) -> Molecules:
    """A set of seven molecules, two of them for testing, whose files are in the data folder."""
    pytest.importorskip("rdkit")
    folder = tmp_path / "data" / "molecules"
    folder.mkdir(parents=True)
    (folder / "small.smi.gz").write_bytes(gzip.compress("\n".join(SMILES).encode()))
    (folder / "rows.json").write_text(json.dumps(TEST))
    address = "https://example.invalid/"
    return Molecules(
        replace(molecules.QM9.info, name="small", num_graphs=len(SMILES)),
        (Lines("small.smi.gz", f"{address}small", digest(SMILES)),),
        Lines("rows.json", f"{address}rows", digest(list(map(str, TEST)))),
    )


def contents(graphs: PackedGraphs) -> list[object]:
    return [(list(g.nodes(data=True)), list(g.edges(data=True))) for g in graphs]


def test_parts_are_apart_and_are_all(small: Molecules, tmp_path: Path) -> None:
    data = load(small, tmp_path / "data")
    assert data.parts is not None
    assert data.parts["test"].tolist() == TEST
    assert sorted(np.concatenate(list(data.parts.values())).tolist()) == list(range(len(SMILES)))
    assert len(data.val) == 2
    assert contents(data.test)[0] == (
        [(0, {"element": "C"}), (1, {"element": "C"})],
        [(0, 1, {"bond": "double"})],
    )
    again = load(small, tmp_path / "data")
    assert contents(again.val) == contents(data.val)


@pytest.mark.parametrize("damage", ["cut", "empty", "flipped", "text", "other", "folder"])
def test_a_damaged_kept_file_is_made_anew(
    small: Molecules,
    tmp_path: Path,
    cache: Path,
    damage: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    first = contents(load(small, tmp_path / "data").graphs)
    assert "reading 7 molecules" in capsys.readouterr().err
    assert contents(load(small, tmp_path / "data").graphs) == first
    assert capsys.readouterr().err == ""  # the kept file was read
    (kept,) = cache.glob("small-*.npz")
    whole = kept.read_bytes()
    if damage == "folder":
        kept.unlink()
        kept.mkdir()
    elif damage == "other":
        np.savez(kept, nodes=np.array([1]))
    else:
        middle = len(whole) // 3
        flipped = bytes(byte ^ 255 for byte in whole[middle : middle + 8])
        kept.write_bytes(
            {
                "cut": whole[:middle],
                "empty": b"",
                "flipped": whole[:middle] + flipped + whole[middle + 8 :],
                "text": b"no archive",
            }[damage]
        )
    assert contents(load(small, tmp_path / "data").graphs) == first
    assert "reading 7 molecules" in capsys.readouterr().err
    if damage != "folder":
        assert contents(load(small, tmp_path / "data").graphs) == first
        assert capsys.readouterr().err == ""


def test_every_flipped_byte_is_made_anew_or_read_alike(
    small: Molecules, tmp_path: Path, cache: Path
) -> None:
    first = contents(load(small, tmp_path / "data").graphs)
    (kept,) = cache.glob("small-*.npz")
    whole = kept.read_bytes()
    for place in range(0, len(whole), 7):
        kept.write_bytes(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
        assert contents(load(small, tmp_path / "data").graphs) == first, place


def test_what_is_kept_is_not_written_into_the_data_folder(
    small: Molecules, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHSCORE_DATA", str(tmp_path / "data"))
    load(small)
    names = {path.name for path in (tmp_path / "data" / "molecules").iterdir()}
    assert names == {"small.smi.gz", "rows.json"}
    assert len(list(cache.iterdir())) == 1


@pytest.mark.parametrize("name", ["small.smi.gz", "rows.json"])
def test_wrong_checksum(small: Molecules, tmp_path: Path, name: str) -> None:
    path = tmp_path / "data" / "molecules" / name
    path.write_text("[1, 5]" if name == "rows.json" else "CO\n")
    with pytest.raises(DatasetError, match=f"{name} is damaged or of another version"):
        load(small, tmp_path / "data")


@pytest.mark.parametrize("name", ["moses", *PARTS])
def test_missing_offline(
    name: str, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def offline(*_args: object, **_options: object) -> None:
        raise OSError("Network is unreachable")

    monkeypatch.setattr(molecules, "fetch_bytes", offline)
    with pytest.raises(DatasetError) as caught:
        load_dataset(name, data_dir=tmp_path)
    for part in ("is absent", str(tmp_path), "https://", "unreachable"):
        assert part in str(caught.value)


def test_a_download_is_verified(
    small: Molecules, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {"small": "\n".join(SMILES).encode(), "rows": json.dumps(TEST).encode()}

    def fetched(url: str, most: int) -> bytes:
        assert most == molecules.MAX_BYTES
        return answers[url.rpartition("/")[2]]

    monkeypatch.setattr(molecules, "fetch_bytes", fetched)
    empty = tmp_path / "empty"
    assert len(load(small, empty).graphs) == len(SMILES)
    kept = gzip.decompress((empty / "molecules" / "small.smi.gz").read_bytes())
    assert kept.decode().split("\n") == SMILES
    (empty / "molecules" / "rows.json").unlink()
    answers["rows"] = b"[1, 2]"
    with pytest.raises(DatasetError, match=r"https://example\.invalid/rows is damaged"):
        load(small, empty)
    assert not (empty / "molecules" / "rows.json").exists()


@pytest.mark.parametrize("name", PARTS)
def test_published_parts(name: str, source_folder: Path) -> None:
    kept = molecules.cache_folder() / "molecules"
    files = source_folder / "molecules" / f"{name}.smi.gz"
    if not (files.exists() and list(kept.glob(f"{name}-*.npz"))):
        pytest.skip(f"{name} has not been read on this machine; the first time takes minutes")
    data = load_dataset(name, data_dir=source_folder)
    assert isinstance(data.graphs, PackedGraphs)
    tests, count, elements = PARTS[name]
    assert len(data) == data.info.num_graphs == count
    assert (len(data.test), len(data.val)) == (tests, 5000)
    assert len(data.train) == count - tests - 5000
    assert isinstance(data.train, PackedGraphs)
    assert (data.graphs.nodes.min(), data.graphs.nodes.max()) == (
        data.info.min_nodes,
        data.info.max_nodes,
    )
    assert elements <= set(data.graphs.node_types["element"].used())
    assert data.graphs.edge_types["bond"].used() == ["double", "single", "triple"]
    assert data.info.attributes == {"node_type": "element", "edge_type": "bond"}
