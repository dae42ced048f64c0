"""Crafted files, read for real: the quick ones of every format."""

from __future__ import annotations

import sys

import pytest

from campaigns import bombs
from campaigns.bomb_files import bombs as crafted
from campaigns.bomb_parts import Bomb
from graphscore.graphs import files

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork")

QUICK = {
    "graph6 2^36 nodes",
    "graph6 60 MB of NUL",
    "sparse6 ten lines of a million nodes",
    "sparse6 two nodes, 60 MB of edges",
    "gzip 2 GB of lines in 2 MB",
    "edgelist a million nodes declared",
    "edgelist 1.9 million edges, then a repeated one",
    "edgelist wide names, then four million edges",
    "edgelist four million loops",
    "graphml attribute of 40 MB",
    "graphml 20 million levels",
    "gml three million nodes",
    "gml wide names, then edges",
    "npz a graph of 17,000 nodes in 280 KB",
    "json 20 million objects in each other",
    "json a vector of 30 million numbers",
    "json wide names",
    "npz 10^12 graphs without nodes",
    "npz a text of 16 million characters",
    "npz a million weights, one of them not 1",
    "smiles a million carbons",
    "smiles complete graph of 40 atoms",
    "smiles hydrogens",
    "sdf complete graph of 44 atoms",
    "sdf a billion atoms declared",
    "tu 30 million nodes",
    "tu four million loops",
    "tu edge labels for nobody",
    "other named pipe",
    "other link to /dev/zero",
    "other link to its own folder",
}


def test_quick_files_of_every_format():
    every = crafted()
    assert len(every) >= 150
    chosen = [bomb for bomb in every if f"{bomb.form} {bomb.name}" in QUICK]
    assert len(chosen) == len(QUICK)
    outcome = bombs.attack(chosen)
    assert outcome.failures == []
    assert set(outcome.rows) == {bomb.form for bomb in every}
    assert sum(row["files"] for row in outcome.rows.values()) == outcome.tried == len(QUICK)
    assert outcome.rows["other"]["refused"] == 2


def plain(folder):
    (folder / "g.g6").write_bytes(b"Bw\n")
    return folder / "g.g6"


def test_what_counts_as_a_failure(monkeypatch):
    prepare = files.prepare_candidates

    def attack(change):
        monkeypatch.setattr(files, "prepare_candidates", change)
        return bombs.attack([Bomb("graph6", "plain", plain)]).failures

    def error(*_, **__):
        raise ValueError("foreign")

    def large(*_, **__):
        assert bytearray(b"x" * 300_000_000)
        raise files.GraphDataError("refused")

    def hang(*_, **__):
        while True:
            pass

    (found,) = attack(error)
    assert "graph6, plain: failed ValueError in test_bombs.py" in found
    assert "MB, but at most 200 are allowed (refused)" in attack(large)[0]
    monkeypatch.setattr(bombs, "READ_MB", -1)
    assert "MB, but at most -1 are allowed (graphs)" in attack(prepare)[0]
    monkeypatch.setattr(bombs, "HANG_SECONDS", 1)
    assert attack(hang) == ["graph6, plain: failed hung for 1 s"]
