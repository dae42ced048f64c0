"""Evaluation: a fixed test set, the same on every call, with honest intervals."""

from __future__ import annotations

import pytest
import torch

from graphscore.errors import SettingsError
from reproduce.algorithms.evaluation import TEST_SEED, evaluate
from reproduce.algorithms.tasks import TASKS, find_task


def perfect(problems):
    return problems.answer


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("nodes", [12, 24, 48])
def test_the_true_answers_are_all_right(name, nodes):
    """Also for sizes that need several chunks."""
    result = evaluate(perfect, find_task(name), nodes=nodes, graphs=150)
    assert result["accuracy"]["value"] == 1
    assert result["accuracy"]["graphs"] == 150
    assert result["accuracy"]["low"] > 0.97
    assert result["accuracy"]["high"] == 1


@pytest.mark.usefixtures("_global_state_untouched")
@pytest.mark.parametrize("name", TASKS)
def test_the_test_set_is_fixed(name, monkeypatch):
    """Same graphs again, others with another seed; every graph is drawn once, in chunks."""
    monkeypatch.setattr("reproduce.algorithms.evaluation._PAIRS_AT_ONCE", 40 * 144)

    def seen(seed):
        collected = []

        def predict(problems):
            collected.append(problems.adj)
            return problems.answer

        evaluate(predict, find_task(name), graphs=100, seed=seed)
        assert [len(part) for part in collected] == [40, 40, 20]
        return torch.cat(collected)

    one, two, other = seen(TEST_SEED), seen(TEST_SEED), seen(1)
    assert torch.equal(one, two)
    assert not torch.equal(one, other)
    assert len(one.flatten(1).unique(dim=0)) == 100


def test_shares_are_counted_over_the_graphs_they_apply_to():
    """Only marked pairs that are no neighbours count for accuracy_apart."""
    result = evaluate(lambda p: p.edges & False, find_task("shortest-path"), graphs=1000)
    assert result["accuracy"]["value"] == 0
    assert result["accuracy"]["low"] == 0
    assert 600 < result["accuracy_apart"]["graphs"] < 770
    assert 0.8 < result["edge_accuracy"]["value"] < 1
    assert "low" not in result["edge_accuracy"]
    assert "low" not in result["best_possible"]


def test_a_figure_that_never_applies_has_no_value():
    result = evaluate(perfect, find_task("shortest-path"), probability=0.0, graphs=5)
    assert result["edge_accuracy"] == {"value": None, "graphs": 0}


@pytest.mark.parametrize("empty", [{"graphs": 0}, {"nodes": 0}])
def test_an_empty_test_set_is_refused(empty):
    with pytest.raises(SettingsError, match="give at least 1"):
        evaluate(perfect, find_task("shortest-path"), **empty)
