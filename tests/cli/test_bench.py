"""`graphscore bench`: an estimate as a table or JSON, or a refusal before any work."""

from __future__ import annotations

import json
from functools import partial

import networkx as nx
import pytest

from graphscore import estimate as module
from graphscore.graphs import write_graphs


@pytest.fixture
def short(monkeypatch):
    """Measure for a fraction of a second."""
    monkeypatch.setattr(module, "estimate", partial(module.estimate, seconds=0.1))


def test_a_table_on_standard_output_and_progress_on_standard_error(place, call, short, tree):
    before = tree(place)
    outcome = call("bench", "graphs.g6", "--device", "cpu", "-n", 2)
    assert outcome.code == 0
    for words in ("denoiser", "4 to 6 nodes", "training step", "sampling 2 graphs", "3000 steps"):
        assert words in outcome.out
    assert "measuring training" in outcome.err
    assert "measuring sampling" in outcome.err
    assert tree(place) == before


def test_json_for_another_model_and_a_dataset(place, call, short):
    outcome = call("bench", "community-small", "--model", "edp-gnn", "-n", 1, "--json")
    record = json.loads(outcome.out)
    assert (record["model"], record["graphs"], record["nodes"]) == ("edp-gnn", 80, [12, 20])
    assert set(record["training"]) == {"mean", "low", "high"}


def test_attributes_are_named_as_of_train(place, call, short, refused):
    write_graphs(place / "weighted.json", [nx.Graph([(0, 1, {"weight": 2})])])
    refused(["bench", "weighted.json"], "non-binary weight 2", "--edge-weight")
    for options in (["--edge-weight", "weight"], ["--ignore-weights"], ["--weight-threshold", 1]):
        assert call("bench", "weighted.json", "-n", 1, *options).code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param([], ["graphs", "requires"], id="no graphs"),
        pytest.param(["absent"], ["'absent'", "neither a file"], id="no such dataset"),
        pytest.param(["absent.g6"], ["absent.g6"], id="no such file"),
        pytest.param(["graphs.g6", "--device", "warp"], ["'warp'", "auto, cpu"], id="device"),
        pytest.param(["graphs.g6", "--model", "gim"], ["'gim'", "edp-gnn"], id="model"),
        pytest.param(
            ["graphs.g6", "--model", "erdos-renyi"], ["not trained by gradient"], id="no steps"
        ),
        pytest.param(["graphs.g6", "-n", "0"], ["number 0", "at least 1"], id="no samples"),
        pytest.param(["graphs.g6", "-n", "many"], ["-n", "many"], id="no number"),
        pytest.param(["graphs.g6", "--max-nodes", "5"], ["6 nodes", "at most 5"], id="too large"),
        pytest.param(["graphs.g6", "--quick"], ["--quick"], id="option"),
    ],
)
def test_wrong_use_is_refused_before_any_work(refused, arguments, words):
    assert "measuring" not in refused(["bench", *arguments], *words)
