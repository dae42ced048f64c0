"""Table 2 at the size of a test."""

from __future__ import annotations

import copy

import pytest

from graphscore.datasets import load_dataset
from graphscore.experiments import find_experiment
from graphscore.experiments.generation import NUMBERS, PUBLISHED, SETS, TARGETS, verdicts
from graphscore.metrics import evaluate


@pytest.fixture
def results(record):
    return {result["dataset"]: result for result in record("generation")["results"]}


def test_every_set_has_samples_and_floors(results):
    assert tuple(results) == SETS
    for result in results.values():
        assert [seed["seed"] for seed in result["per_seed"]] == [0, 1]
        for part in (result["few"], result["many"], result["floor"]["few"]):
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


def test_published_averages_are_those_of_the_columns():
    for rows in PUBLISHED.values():
        for models in rows.values():
            for degree, clustering, orbit, average in models.values():
                assert average == pytest.approx((degree + clustering + orbit) / 3, abs=1.1e-3)


def test_the_section_tells_everything(record):
    text = find_experiment("generation").markdown(record("generation"))
    assert text.startswith("## Generation (Table 2)\n")
    for words in (*SETS, "EDP-GNN, published", "floor: the true generator", "0.623", "unique"):
        assert words in text
    assert text.count("to reach") == 4
    assert "graphscore reproduce generation --scale tiny --seeds 2" in text


def test_targets_are_reached_or_not(record):
    changed = copy.deepcopy(record("generation"))
    for result in changed["results"]:
        for which, target in TARGETS.get(result["dataset"], {}).items():
            result[which]["average"]["mean"] = target
    assert all(line.endswith(": reached.") for line in verdicts(changed))
    changed["results"][0]["few"]["average"]["mean"] = 0.0741
    assert verdicts(changed)[0].endswith(": not reached.")
