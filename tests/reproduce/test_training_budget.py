"""The choice of a training, at the size of a test."""

from __future__ import annotations

from graphscore.experiments import find_experiment
from graphscore.experiments.training import CHOICES, SETS, _changed


def test_every_choice_is_judged_on_both_sets(record):
    results = record("training")["results"]
    assert tuple(result["dataset"] for result in results) == SETS
    for result in results:
        by_name = {cell["choice"]: cell["per_seed"][0] for cell in result["choices"]}
        assert list(by_name) == list(CHOICES)
        assert by_name["long"]["steps"] == 4 * by_name["usual"]["steps"]
        assert by_name["long-wide"]["parameters"] > by_name["long"]["parameters"]
        assert all(cell["average"] > 0 for cell in by_name.values())


def test_a_choice_changes_what_it_says_and_nothing_else(context):
    here = context()
    usual, slow = _changed(here, "usual"), _changed(here, "long-slow")
    assert slow["network"] == usual["network"]
    assert slow["training"] == usual["training"] | {
        "learning_rate": CHOICES["long-slow"]["learning_rate"],
        "steps": 4 * usual["training"]["steps"],
    }


def test_the_section_names_the_graphs_it_judges_on(record):
    text = find_experiment("training").markdown(record("training"))
    assert "32 validation graphs" in text
    assert "no test graph" in text
    assert all(f"| {choice} |" in text for choice in CHOICES)
