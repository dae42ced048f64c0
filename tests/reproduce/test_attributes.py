"""Weighted graphs at the scale of tests."""

from __future__ import annotations

import pytest

from reproduce.experiment import find_experiment
from reproduce.experiments.attributes import ROWS, ratios


def test_samples_and_fresh_graphs_are_compared_with_the_same_graphs(record):
    (row,) = record("attributes")["results"]
    for which in ("seed", "true"):
        for one in row[which]:
            assert [one[name]["sample_count"] for name in ("test", "fresh")] == [12, 12]
            assert [one[name]["reference_count"] for name in ("test", "fresh")] == [40, 12]
            assert one["test"]["edge_weights"] > 0
    assert row["training"][0]["fresh"]["sample_count"] == 128
    assert "parameters" in row["seed"][0]
    assert "parameters" not in row["true"][0]


def test_a_ratio_is_that_of_means():
    def one(value):
        return {"test": {**dict.fromkeys(ROWS, 1.0), "edge_weights": value}}

    row = {"seed": [one(2.0), one(4.0)], "true": [one(1.0), one(3.0)]}
    assert ratios(row, "test")["edge_weights"] == pytest.approx(1.5)
    assert ratios(row, "test")["degree"] == 1


def test_the_page_names_a_missed_target(record):
    made = record("attributes")
    text = find_experiment("attributes").markdown(made)
    assert "### weighted-community, against 40 test graphs" in text
    assert text.count("| target | ≤ 1.5 |  |  | ≤ 1.5 |") == 1
    found = ratios(made["results"][0], "test")
    missed = [name for name in ("degree", "edge_weights") if found[name] > 1.5]
    assert ("The target is missed" in text) == bool(missed)
