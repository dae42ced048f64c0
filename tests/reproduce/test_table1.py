"""Table 1 at the scale of tests."""

from __future__ import annotations

import copy

from reproduce.algorithms.tasks import TASKS
from reproduce.experiment import find_experiment
from reproduce.plans import load_plan


def test_every_task_and_network_is_evaluated(record):
    results = record("table1")["results"]
    assert [(r["task"], r["network"]) for r in results] == [
        (t, n) for t in TASKS for n in ("edp-gnn", "gin")
    ]
    for result in results:
        assert len(result["per_seed"]) == 1
        for nodes in ("12", "24", "48"):
            assert 0 <= result["test"][nodes]["accuracy"]["mean"] <= 1


def test_the_section_has_the_published_accuracies(record):
    text = find_experiment("table1").markdown(record("table1"))
    assert text.startswith("## Table 1: learning graph algorithms\n")
    for words in ("0.92", "0.12", "48 nodes", *TASKS, "GIN"):
        assert words in text


def test_gin_differs_from_edp_gnn_only_in_its_messages():
    """Same depth, widths and node features, so that the comparison is one of architectures."""
    networks = load_plan("table1", "full")["networks"]
    assert networks["edp-gnn"]["settings"] == {}
    assert networks["gin"]["settings"].keys() == {"learnable_adjacency", "complement_channel"}


def test_published_accuracies_are_reached_or_not(record):
    changed = copy.deepcopy(record("table1"))
    for result in changed["results"]:
        result["test"]["12"]["accuracy"]["mean"] = result["published"]
    assert find_experiment("table1").markdown(changed).count(": reached.") == len(TASKS)
    changed["results"][0]["test"]["12"]["accuracy"]["mean"] = 0.0
    assert find_experiment("table1").markdown(changed).count("not reached") == 1
