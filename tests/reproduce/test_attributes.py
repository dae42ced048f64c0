"""Weighted graphs at the scale of tests."""

from __future__ import annotations

import pytest

from reproduce.context import Context
from reproduce.experiment import find_experiment
from reproduce.experiments.attributes import ROWS, keys, missed, ratios, tables

NAME = "weighted-community"


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
        return {"test": {**dict.fromkeys(ROWS[NAME], 1.0), "edge_weights": value}}

    row = {"dataset": NAME, "seed": [one(2.0), one(4.0)], "true": [one(1.0), one(3.0)]}
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


def test_every_draw_of_a_set_has_its_own_training_graphs(full):
    assert keys(full) == [
        *(f"{NAME}_{kind}{k}" for kind in ("seed", "true", "training") for k in range(2)),
        *("enzymes_seed0", "enzymes_seed1", "enzymes_training0"),
    ]


@pytest.fixture
def full(tmp_path):
    return Context(tmp_path, seeds=2, device="cpu")


def test_a_set_without_true_generator_is_compared_with_test_graphs(full):
    def one(count, value):
        return {
            "test": {
                "sample_count": count,
                "reference_count": 117,
                **values,
                "average_of_all": value,
            }
        }

    values = dict.fromkeys(ROWS["enzymes"], 0.01)
    row = {
        "dataset": "enzymes",
        "targets": full.plan("attributes")["targets"]["enzymes"],
        "seed": [one(117, 0.03), one(117, 0.05)],
        "true": [],
        "training": [one(470, 0.02)],
    }
    (table,) = tables({"results": [row]})
    assert table.title == "enzymes, against 117 test graphs"
    assert [cells[0].split()[0] for cells in table.rows] == ["117", "470", "target", "published,"]
    assert table.rows[2][-1] == "≤ 0.032"
    assert missed(row) == ["average of all"]
