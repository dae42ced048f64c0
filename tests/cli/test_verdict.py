"""`graphscore train` with graphs held out: what is said, the JSON, and the next command."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import pytest

from graphscore.cli.train import _say_next
from graphscore.graphs import write_graphs
from graphscore.verdict import Verdict

OPTIONS = ("--config", "tiny.toml", "--steps", 4)


@pytest.fixture
def many(place):
    """sixty.g6 in the current folder."""
    graphs = [nx.gnp_random_graph(6, 0.5, seed=i) for i in range(60)]
    write_graphs(place / "sixty.g6", graphs)
    return place / "sixty.g6"


def test_a_tenth_is_held_out_and_the_training_judged(many, call):
    trained = call("train", "sixty.g6", "--out", "new", *OPTIONS, "--json")
    record = json.loads(trained.out)
    assert record["graphs"] == 54
    assert "6 more are held out" in trained.err
    assert f"verdict: {record['verdict']['text']}" in trained.err
    assert record["history"][-1]["held_out"] > 0
    assert "training.png" in record["files"]
    assert "next: graphscore " in trained.err
    resumed = call("train", "sixty.g6", "--out", "new", "--resume", "--steps", 5, "--json")
    assert json.loads(resumed.out)["graphs"] == 54


def test_nothing_is_held_out_on_request(many, call):
    trained = call("train", "sixty.g6", "--out", "new", *OPTIONS, "--no-holdout", "--json")
    record = json.loads(trained.out)
    assert (record["graphs"], record["verdict"]) == (60, None)
    assert "held out" not in trained.err


def test_validation_graphs_take_the_place_of_held_out_ones(many, call):
    trained = call(
        "train", "sixty.g6", "--out", "new", *OPTIONS, "--validation", "graphs.g6", "--json"
    )
    record = json.loads(trained.out)
    assert (trained.code, record["graphs"]) == (0, 60)
    assert record["history"][-1]["held_out"] > 0
    assert "also measured on 4 validation graphs" in trained.err


@pytest.mark.parametrize(
    ("kind", "steps", "command"),
    [
        ("good", None, "graphscore sample 'my run' -n 64 -o samples.g6 --picture samples.png"),
        ("still improving", 80, "graphscore train a.g6 --out 'my run' --resume --steps 80"),
        ("memorising", 20, "graphscore train a.g6 --out 'my run-shorter' --steps 20"),
    ],
)
def test_the_next_command_follows_from_the_verdict(capsys, kind, steps, command):
    _say_next(Verdict(kind, kind, steps), "graphscore train a.g6 --out", Path("my run"))
    assert capsys.readouterr().err == f"next: {command}\n"


def test_large_graphs_are_no_reason_to_refuse(place, call):
    write_graphs(place / "large.g6", [nx.path_graph(201)])
    stopped = call("train", "large.g6", "--out", "new", *OPTIONS, "--max-seconds", 0)
    assert stopped.code == 0
