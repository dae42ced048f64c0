"""`graphscore bench`: a record and tables, or a refusal before any work."""

from __future__ import annotations

import json

import pytest
import torch

from graphscore.bench import BenchPlan

TINY = BenchPlan(
    network={"channels": (2,), "message_steps": 1, "features": 4, "edge_width": 4},
    noise={"sigmas": (1.0, 0.1)},
    repeats=1,
    matrix_size=64,
    copy_bytes=2**16,
    training_graphs=2,
    training_nodes=6,
    training_calls=1,
    sampling_graphs=(3,),
    sampling_sizes=(4, 6),
    growth_nodes=(6,),
    growth_pairs=100,
    growth_repeats=1,
)


@pytest.fixture
def tiny(monkeypatch):
    """Replace the plan, which takes minutes; tells what was asked for."""
    asked = []

    def plan_for(device, **options):
        asked.append((device.type, options))
        return TINY

    monkeypatch.setattr("graphscore.bench.plan_for", plan_for)
    return asked


@pytest.fixture
def instant(monkeypatch, tiny):
    """No measuring at all."""
    monkeypatch.setattr("graphscore.bench.measure", lambda device, plan: {"on": device.type})
    return tiny


def test_tables_on_standard_output_and_a_record_in_the_file(place, call, tiny):
    outcome = call("bench", "--device", "cpu", "--quick", "--max-nodes", 50, "-o", "new/p.json")
    assert outcome.code == 0
    assert tiny == [("cpu", {"quick": True, "max_nodes": 50})]
    record = json.loads((place / "new/p.json").read_text())
    assert record["benchmark"] == "performance"
    assert record["provenance"]["device_type"] == "cpu"
    for words in ("measured peak", "plain ms", "1024 graphs", "Growth", "Where the time goes"):
        assert words in outcome.out
    assert "new/p.json" in outcome.out
    assert "measuring cpu" in outcome.err


def test_the_file_is_named_by_the_device_if_not_given(place, call, instant):
    outcome = call("bench", "--device", "cpu", "--json")
    assert outcome.code == 0
    assert json.loads(outcome.out) == {"on": "cpu"}
    assert json.loads((place / "runs/performance_cpu.json").read_text()) == {"on": "cpu"}


def test_all_devices_have_a_file_each(place, call, instant):
    outcome = call("bench", "--device", "all", "--json", "--out", "p.json")
    assert outcome.code == 0
    devices = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    assert list(json.loads(outcome.out)) == devices
    for device in devices:
        assert json.loads((place / f"p_{device}.json").read_text()) == {"on": device}
    assert not (place / "p.json").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["--device", "warp"], ["'warp'", "auto, cpu, cuda or all"], id="device"),
        pytest.param(["--device", "mps"], ["'mps'", "auto, cpu, cuda or all"], id="not measured"),
        pytest.param(["--device", "cuda:99"], ["'cuda:99'", "not available"], id="no such GPU"),
        pytest.param(["--max-nodes", "19"], ["--max-nodes 19", "20 or more"], id="too small"),
        pytest.param(["--max-nodes", "many"], ["--max-nodes", "many"], id="no number"),
        pytest.param(["--out", "p.txt"], ["p.txt", ".json"], id="suffix"),
        pytest.param(["--out", "folder.json"], ["folder.json", "a folder"], id="folder"),
        pytest.param(["--out", "graphs.g6/p.json"], ["cannot write", "graphs.g6"], id="in a file"),
        pytest.param(["--quik"], ["--quik", "--quick"], id="option"),
    ],
)
def test_wrong_use_is_refused_before_any_work(place, refused, instant, arguments, words):
    (place / "folder.json").mkdir()
    refused(["bench", *arguments], *words)
