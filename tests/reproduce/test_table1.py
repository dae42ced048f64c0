"""Table 1 at the size of a test."""

from __future__ import annotations

from graphscore.algorithms import NETWORKS, TASKS
from graphscore.experiments import find_experiment


def test_every_task_and_network_is_judged(record):
    results = record("algorithms")["results"]
    assert [(r["task"], r["network"]) for r in results] == [(t, n) for t in TASKS for n in NETWORKS]
    for result in results:
        assert len(result["per_seed"]) == 1
        for nodes in ("12", "24", "48"):
            assert 0 <= result["test"][nodes]["accuracy"]["mean"] <= 1


def test_the_section_has_the_published_accuracies(record):
    text = find_experiment("algorithms").markdown(record("algorithms"))
    assert text.startswith("## Learning graph algorithms (Table 1)\n")
    for words in ("0.92", "0.12", "48 nodes", *TASKS, "GIN"):
        assert words in text
