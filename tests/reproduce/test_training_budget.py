"""The training budget at the scale of tests."""

from __future__ import annotations

from reproduce.experiment import find_experiment
from reproduce.experiments.training_budget import changed
from reproduce.plans import load_plan

PLAN = load_plan("training-budget", "tiny")


def test_every_choice_is_evaluated_on_both_sets(record):
    results = record("training-budget")["results"]
    assert [result["dataset"] for result in results] == PLAN["datasets"]
    for result in results:
        by_name = {cell["choice"]: cell["per_seed"][0] for cell in result["choices"]}
        assert list(by_name) == list(PLAN["choices"])
        assert by_name["long"]["steps"] == 4 * by_name["default"]["steps"]
        assert by_name["long-wide"]["parameters"] > by_name["long"]["parameters"]
        assert all(cell["average"] > 0 for cell in by_name.values())


def test_a_choice_changes_what_it_says_and_nothing_else():
    default, slow = changed(PLAN, "default"), changed(PLAN, "long-slow")
    assert slow["network"] == default["network"]
    assert slow["training"] == default["training"] | {
        "learning_rate": PLAN["choices"]["long-slow"]["learning_rate"],
        "steps": 4 * default["training"]["steps"],
    }


def test_the_section_names_the_graphs_of_the_evaluation(record):
    text = find_experiment("training-budget").markdown(record("training-budget"))
    assert "32 validation graphs" in text
    assert "test graphs are not used" in text
    assert all(f"| {choice} |" in text for choice in PLAN["choices"])
