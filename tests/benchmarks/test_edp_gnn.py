"""The record of EDP-GNN is complete; how large the times are is not tested."""

from __future__ import annotations

import json
import math

import pytest
import torch

from benchmarks.plan import plan_for
from benchmarks.steps import measure_schedule

SIDES = ("plain", "accelerated")


def numbers(value):
    """All numbers of a nested record."""
    if isinstance(value, dict):
        return [number for part in value.values() for number in numbers(part)]
    if isinstance(value, list):
        return [number for part in value for number in numbers(part)]
    return [value] if isinstance(value, int | float) else []


def test_the_record_has_every_part_and_is_json(record):
    assert record["benchmark"] == "performance"
    parts = {"provenance", "plan", "seconds", "parameters", "memory"}
    parts |= {"ceilings", "training", "sampling", "growth", "profile"}
    assert parts <= record.keys()
    assert {"commit", "torch", "device", "threads", "date"} <= record["provenance"].keys()
    assert json.loads(json.dumps(record)) == record
    assert all(math.isfinite(number) and number >= 0 for number in numbers(record["training"]))
    assert all(math.isfinite(number) for number in numbers(record))


def test_ceilings_are_positive(record):
    assert record["ceilings"]["matrix"]["float32"]["flops_per_second"] > 0
    assert record["ceilings"]["copy"]["bytes_per_second"] > 0


def test_both_paths_stand_side_by_side(record, plan):
    """Training and every batch of sampling have path, time, memory and shares on both sides."""
    rows = record["sampling"]["batches"]
    assert [row["graphs"] for row in rows] == list(plan.sampling_graphs)
    for part in (record["training"], *rows):
        assert part["work_per_step"]["flops"] > 0
        for side in SIDES:
            assert isinstance(part[side]["path"], str)
            assert part[side]["step_seconds"] > 0
            assert part[side]["peak_memory_bytes"] > 0
            assert part[side]["share_of_matrix_ceiling"] > 0
    assert record["training"]["plain"]["path"] == "plain"
    assert record["training"]["workload"] == {"graphs": 2, "levels": 2, "nodes": 6}


def test_a_schedule_that_was_not_run_is_marked_as_extrapolated(record, plan):
    """Seconds are steps times the measured step, for the number of graphs that is asked for."""
    schedule, row = record["sampling"]["schedule"], record["sampling"]["batches"][-1]
    assert (schedule["graphs"], schedule["steps_per_level"]) == (1024, 1000)
    assert schedule["plain"]["extrapolated"] is True
    batches = 1024 / row["graphs"]
    expected = batches * (row["plain"]["fixed_seconds"] + 2000 * row["plain"]["step_seconds"])
    assert schedule["plain"]["seconds"] == pytest.approx(expected)


def test_a_schedule_that_was_run_is_measured(record, plan, monkeypatch):
    """Where there is an accelerated path, it is run whole, as often as the plan says."""
    calls = []
    monkeypatch.setattr(
        "benchmarks.steps.make_chain",
        lambda *arguments, **options: ("fused", calls.append),
    )
    row = record["sampling"]["batches"][-1]
    row = {**row, "accelerated": {**row["accelerated"], "path": "fused"}}
    whole = plan.replaced(schedule_runs=2)
    schedule = measure_schedule(whole, torch.device("cpu"), row)
    assert calls == [plan.accelerated_lengths[0], 1000, 1000]
    assert schedule["accelerated"]["path"] == "fused"
    assert schedule["accelerated"]["extrapolated"] is False
    assert len(schedule["accelerated"]["runs_seconds"]) == 2
    assert schedule["plain"]["extrapolated"] is True


def test_the_plan_of_a_gpu_runs_the_whole_schedule():
    assert plan_for(torch.device("cuda")).schedule_runs > 0
    assert plan_for(torch.device("cpu")).schedule_runs == 0
