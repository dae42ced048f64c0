"""Molecules: what is computed where, and what the page says of a record."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reproduce.context import Context
from reproduce.experiment import find_experiment
from reproduce.experiments.molecules import drawn_file, set_plan


@pytest.fixture
def context(tmp_path):
    return Context(tmp_path, scale="tiny", seeds=2, device="cpu", show_progress=False)


def test_molecules_are_drawn_before_they_are_judged(context):
    keys = find_experiment("molecules").keys(context)
    for judged in ("qm9_seed0", "qm9_seed1", "qm9_curve3"):
        drawn = judged.replace("_", "_drawn-")
        assert keys.index(drawn) < keys.index(judged)


def test_a_small_scale_trains_to_its_end(context):
    plan = set_plan(context, "qm9")
    assert (plan["stop"], plan["earlier"]) == (plan["training"]["steps"], [])
    assert plan["noise"]["sigma_min"] == 0.1


def test_all_parts_at_the_scale_of_tests(context):
    """From training molecules to the record, where the data are at hand."""
    pytest.importorskip("fcd_torch")
    if not Path(os.environ.get("GRAPHSCORE_DATA", ""), "molecules", "qm9.smi.gz").exists():
        pytest.skip("no molecules in the data folder")
    experiment = find_experiment("molecules")
    record = experiment.run(context)
    (row,) = record["results"]
    assert [point["sample_count"] for point in row["per_seed"]] == [6, 6]
    assert row["by_network_calls"][0]["calls"] == 3
    assert row["known"]["valid"]["share"] == 1
    assert drawn_file(context, "qm9", "seed0").exists()
    assert "| qm9 | samples | 6 + 6 |" in experiment.markdown(record)


def share(value):
    return {"share": value, "low": value, "high": value, "count": 1, "out_of": 1}


def point(calls, fcd):
    shares = {name: share(0.5) for name in ("valid_as_is", "connected", "unique", "novel")}
    took = {"calls": calls, "training_seconds": 90.0, "sampling_seconds": 3.0, "number": 100}
    judged = {"valid": share(0.98), "fcd": fcd, "nspdk": 0.0002, "sample_count": 100}
    return {**shares, **took, **judged, "parameters": 12345, "step": 7, "protocol": "as published"}


@pytest.fixture
def record():
    row = {
        "dataset": "qm9",
        "targets": {"valid": 0.99, "fcd": 0.1, "nspdk": 0.0005},
        "published": "others .2",
        "minutes": 20,
        "per_seed": [point(255, 0.05), point(255, 0.07)],
        "known": point(255, 0.04),
        "by_network_calls": [point(15, 0.3), point(255, 0.1)],
        "by_training": [],
    }
    made = dict.fromkeys(("device", "torch", "commit", "date", "processor"), "some")
    common = {"experiment": "molecules", "scale": "full", "seeds": [0, 1], "provenance": made}
    return {**common, "results": [row]}


def test_the_page_names_what_is_missed(record):
    text = find_experiment("molecules").markdown(record)
    assert "**qm9 misses its target in validity.** Its training took 2 of the 20 minutes" in text
    assert "0.060 ± 0.014" in text
    assert "| qm9 | 12,345 | 7 | 90 s | 255 | 300 to 300 s |" in text
    assert "FCD against network calls" in text
    assert "training time" not in text


def test_a_target_that_is_reached_is_not_named(record):
    record["results"][0]["targets"]["valid"] = 0.97
    assert "misses" not in find_experiment("molecules").markdown(record)


def test_pictures_of_what_is_there(record, tmp_path):
    (file,) = find_experiment("molecules").pictures(record, tmp_path)
    assert file.name == "molecules_calls.png"
    assert file.stat().st_size > 1000
