"""Table 2 at the scale of tests."""

from __future__ import annotations

import copy

import pytest

from graphscore.datasets import load_dataset
from graphscore.metrics import evaluate
from reproduce.experiment import find_experiment
from reproduce.experiments.table2 import NUMBERS
from reproduce.plans import load_plan

PLAN = load_plan("table2", "full")


@pytest.fixture
def results(record):
    return {result["dataset"]: result for result in record("table2")["results"]}


def test_every_set_has_samples_and_floors(results):
    assert list(results) == PLAN["datasets"]
    for result in results.values():
        assert [seed["seed"] for seed in result["per_seed"]] == [0, 1]
        for part in (
            result["few"],
            result["many"],
            result["floor"]["few"],
            result["erdos_renyi"]["few"],
        ):
            assert all(part[name]["mean"] >= 0 for name in NUMBERS)
            assert all(part[name]["low"] <= part[name]["high"] for name in NUMBERS)
        assert result["few"]["count"] == result["graphs"]["test"]
        assert result["many"]["count"] == 50
        # 50 samples make two sets of 20, or one of 40, for each of two seeds.
        assert result["few"]["sets"] == 2 * (50 // result["graphs"]["test"])


def test_the_spread_is_that_of_the_seeds(results):
    result = results["ego-small"]
    one, other = (seed["many"]["average"] for seed in result["per_seed"])
    assert result["many"]["average"]["mean"] == pytest.approx((one + other) / 2)
    assert result["many"]["average"]["std"] == pytest.approx(abs(one - other) / 2**0.5)


def test_settings_are_chosen_on_validation_graphs(results):
    for result in results.values():
        for seed in result["per_seed"]:
            averages = [trial["average"] for trial in seed["trials"]]
            assert len(averages) == 2
            assert seed["validation_average"] == min(averages)


def test_the_floor_is_the_training_set(results):
    data = load_dataset("ego-small")
    floor = results["ego-small"]["floor"]
    assert floor["train"]["average"] == pytest.approx(evaluate(data.train, data.test).average)
    assert floor["many"] is None
    assert floor["few"]["novelty"]["mean"] == 0
    assert floor["few_from"] == "the training set"
    assert results["community-small"]["floor"]["few"]["novelty"]["mean"] > 0.9


def test_the_null_row_is_that_of_random_graphs(results):
    """Their density is right and their triangles are not."""
    for result in results.values():
        null, floor = result["erdos_renyi"]["many"], result["floor"]["train"]
        assert null["sample_count"] == 50
        assert null["clustering"] > 3 * floor["clustering"]
        assert null["average"] > floor["average"]


def test_published_averages_are_those_of_the_columns():
    for rows in PLAN["published"].values():
        for models in rows.values():
            for degree, clustering, orbit, average in models.values():
                assert average == pytest.approx((degree + clustering + orbit) / 3, abs=1.1e-3)


def test_the_section_has_everything(record):
    text = find_experiment("table2").markdown(record("table2"))
    assert text.startswith("## Table 2: generation\n")
    for words in (
        *PLAN["datasets"],
        "EDP-GNN, published",
        "floor: the true generator",
        "Erdős–Rényi",
        "0.623",
        "unique",
    ):
        assert words in text
    assert text.count(", target ") == 4
    assert "python -m reproduce table2 --scale tiny --seeds 2" in text


def test_targets_are_reached_or_not(record):
    changed = copy.deepcopy(record("table2"))
    for result in changed["results"]:
        for which, target in PLAN["targets"].get(result["dataset"], {}).items():
            result[which]["average"]["mean"] = target
    assert find_experiment("table2").markdown(changed).count(": reached.") == 4
    changed["results"][0]["few"]["average"]["mean"] = 0.0741
    assert "target 0.074: not reached." in find_experiment("table2").markdown(changed)
