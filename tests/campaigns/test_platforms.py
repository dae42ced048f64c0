"""Campaigns on systems that lack something of Linux: they do without it, or say why they stop."""

from __future__ import annotations

import argparse
import subprocess
import sys

import networkx as nx
import pytest

from campaigns import bombs, kills, mutants, strangers
from campaigns.bomb_parts import Bomb
from graphscore.graphs import write_graphs


def test_they_can_be_imported_on_windows():
    """In a process of its own, which has none of its modules."""
    code = "import sys; sys.modules['resource'] = None; import campaigns.__main__"
    code += ", campaigns.mutant_worker"
    command = [sys.executable, "-c", code]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("campaign", [bombs, kills, mutants, strangers])
def test_without_fork_they_say_so(campaign, monkeypatch):
    parser = argparse.ArgumentParser()
    campaign.add_options(parser)
    monkeypatch.delattr("os.fork", raising=False)
    with pytest.raises(SystemExit, match="needs fork, so it does not run on Windows"):
        campaign.run(parser.parse_args([]))


def test_files_are_read_where_memory_cannot_be_limited(tmp_path, monkeypatch):
    """As on macOS, which refuses limits of the address space."""
    resource = pytest.importorskip("resource")

    def refuse(*arguments):
        raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr(resource, "setrlimit", refuse)
    monkeypatch.setattr(sys, "platform", "darwin")
    write_graphs(tmp_path / "g.g6", [nx.path_graph(3)])
    assert bombs.read(Bomb("graph6", "plain", lambda _: tmp_path / "g.g6"))["message"] == "1 graphs"
