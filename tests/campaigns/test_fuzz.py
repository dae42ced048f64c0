"""The campaign `fuzz`: every reader is run for real, and a reader that fails is noticed."""

from __future__ import annotations

import faulthandler
import json
import os
import random
import subprocess
import sys
import threading

import networkx as nx
import pytest

from campaigns import fuzz, fuzz_worker
from campaigns.__main__ import main
from campaigns.fuzz_targets import Target, Unsound, attempt, check_graphs, targets
from campaigns.outcome import ROOT
from graphscore.errors import GraphDataError
from graphscore.graphs.formats import FORMATS


def test_every_format_is_a_target_and_what_it_starts_from_can_be_read(tmp_path):
    assert set(FORMATS) <= set(targets())
    for name, target in targets().items():
        folder = tmp_path / name
        folder.mkdir()
        assert any(attempt(target, seed, folder) == "read" for seed in target.seeds()), name


def test_all_readers_hold_for_a_moment(tmp_path):
    record = tmp_path / "record.json"
    arguments = ["--seconds", "2", "--kept", str(tmp_path / "kept"), "--json", str(record)]
    code = main(["fuzz", "--random", *arguments])
    outcome = json.loads(record.read_text())
    assert outcome["failures"] == []
    assert code == 0
    assert list(outcome["rows"]) == list(targets())
    assert all(row["executions"] >= 1 for row in outcome["rows"].values())
    assert not (tmp_path / "kept").exists()


def test_coverage_guides(tmp_path):
    pytest.importorskip("atheris")
    record = tmp_path / "record.json"
    arguments = ["--seconds", "3", "--kept", str(tmp_path / "kept"), "--json", str(record)]
    assert main(["fuzz", "--target", "edgelist", *arguments]) == 0
    row = json.loads(record.read_text())["rows"]["edgelist"]
    assert row["executions"] > len(targets()["edgelist"].seeds())
    assert row["features"] > 20


def broken(error):
    def read(data, folder):
        if data.startswith(b"bad"):
            raise error

    return Target(read, lambda: [b"fine"])


def test_one_input_of_every_kind_of_failure_is_kept_and_can_be_repeated(tmp_path, monkeypatch):
    target = broken(KeyError("x"))
    watch = fuzz_worker.Watch("card", target, tmp_path / "found", tmp_path)
    endings = [watch(data) for data in (b"fine", b"bad 1", b"bad 2")]
    assert endings[0] == "read"
    assert endings[1] == endings[2]
    (path,) = fuzz.keep(tmp_path / "found", tmp_path / "kept")
    assert path.read_bytes() == b"bad 1"
    text = path.with_name(path.name + ".txt").read_text()
    assert "KeyError: 'x'" in text
    assert f"python -m campaigns fuzz --repeat {path}" in text
    assert fuzz.in_words(path).startswith("card: KeyError at ")
    monkeypatch.setattr(fuzz, "targets", lambda: {"card": target})
    with pytest.raises(KeyError):
        fuzz.repeat(path)


def test_errors_of_graphscore_are_answers_and_slow_inputs_are_not(tmp_path, monkeypatch):
    watch = fuzz_worker.Watch("x", broken(GraphDataError("no.")), tmp_path / "found", tmp_path)
    assert watch(b"bad") == "GraphDataError: no."
    assert not watch.known
    monkeypatch.setattr(fuzz_worker, "SLOW_SECONDS", -1.0)
    watch(b"fine")
    assert watch.known == {"slow"}


@pytest.mark.parametrize(
    "graphs",
    [[], [nx.DiGraph([(0, 1)])], [nx.Graph([(1, 2)])], [nx.Graph([(0, 0)])], [nx.Graph()]],
    ids=["none", "directed", "numbered from 1", "self-loop", "without nodes"],
)
def test_graphs_that_break_the_promise_are_noticed(graphs):
    with pytest.raises(Unsound):
        check_graphs(graphs)


def test_mutations_are_bounded_and_the_same_every_time():
    def some(seed):
        rng = random.Random(seed)
        return [fuzz_worker.mutated(b"0 1\n" * 1500, b"x", (b"w",), rng) for _ in range(50)]

    assert some(1) == some(1) != some(2)
    assert max(map(len, some(1))) <= fuzz_worker.MAX_BYTES


def test_a_worker_that_dies_or_hangs_is_a_failure(tmp_path, monkeypatch):
    def killed(*arguments, **options):
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / fuzz_worker.INPUT).write_bytes(b"hangs")
        raise subprocess.TimeoutExpired("worker", 1)

    monkeypatch.setattr(subprocess, "run", killed)
    assert fuzz.work(["log"], 1, tmp_path, guided=False) == []
    (path,) = fuzz.keep(tmp_path / fuzz_worker.FOUND, tmp_path / "kept")
    assert path.read_bytes() == b"hangs"
    assert "timed out" in fuzz.in_words(path)


def test_an_input_that_was_not_kept_is_refused(tmp_path):
    command = [sys.executable, "-m", "campaigns", "fuzz", "--repeat", str(tmp_path / "none-1")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1
    assert "not a kept input" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("way", ["hangs", "dies"])
def test_a_reader_that_takes_its_process_with_it_is_a_failure(tmp_path, monkeypatch, way):
    pytest.importorskip("atheris")
    monkeypatch.setattr(fuzz_worker, "GRACE_SECONDS", 3.0)

    def read(data, folder):
        if way == "dies":
            faulthandler.disable()
            os.abort()
        threading.Event().wait()

    watch = fuzz_worker.Watch("log", Target(read, lambda: [b"x"]), tmp_path / "found", tmp_path)
    fuzz_worker.guided(watch, 1, tmp_path)
    (path,) = fuzz.keep(tmp_path / "found", tmp_path / "kept")
    assert fuzz.in_words(path).startswith("log: died: ")
