"""Sample figures at the scale of tests."""

from __future__ import annotations

from reproduce.experiment import find_experiment
from reproduce.plans import load_plan

SETS = load_plan("figure3", "tiny")["datasets"]


def test_sets_without_files_are_left_out_and_named(record):
    results = {result["dataset"]: result for result in record("figure3")["results"]}
    assert tuple(results) == tuple(SETS)
    assert "GRAPHSCORE_DATA" in results["protein"]["skipped"]
    assert all("skipped" not in results[name] for name in SETS if name != "protein")
    text = find_experiment("figure3").markdown(record("figure3"))
    assert "Protein was left out" in text
    assert "figure3_protein.png" not in text


def test_lobsters_are_counted(record):
    lobster = next(r for r in record("figure3")["results"] if r["dataset"] == "lobster")
    assert lobster["training_valid"] == 1
    assert 0 <= lobster["valid"] <= lobster["trees"] <= 1


def test_a_trajectory_goes_from_noise_to_the_last_level(record):
    trajectory = record("figure3")["results"][0]["trajectory"]
    assert trajectory["stages"][0] == "noise"
    assert trajectory["stages"][-1] == "σ = 0.1"
    for one in trajectory["graphs"]:
        assert len(one["states"]) == len(trajectory["stages"])
        assert all(len(state) == one["nodes"] * (one["nodes"] - 1) / 2 for state in one["states"])
        # A folded normal.
        assert min(one["states"][0]) >= 0
