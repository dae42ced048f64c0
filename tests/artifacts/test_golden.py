"""Pretrained models draw the same graphs on the CPU as when they were first published.

`golden/pretrained.json` holds graphs in graph6, those of models without attributes drawn before
checkpoints had version 2: "full" 8 graphs with each model's own settings, "short" 2 graphs with a
few steps.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import networkx as nx
import pytest

from graphscore import GraphGenerator
from graphscore.artifacts import list_pretrained

GOLDEN = json.loads((Path(__file__).parent / "golden" / "pretrained.json").read_text())


def draw(name, number, sampling=None):
    model = GraphGenerator.from_pretrained(name, device="cpu", show_progress=False)
    if sampling is None:
        return model.sample(number, seed=GOLDEN["seed"])
    langevin = model.settings.sampling.kind == "langevin"
    changes = sampling["langevin"] if langevin else sampling["others"]
    return model.sample(number, seed=GOLDEN["seed"], sampling=changes)


def test_every_pretrained_model_has_golden_graphs():
    assert list(GOLDEN["short"]) == list(GOLDEN["full"]) == list_pretrained()


@pytest.mark.parametrize("name", GOLDEN["short"])
def test_a_few_steps(name):
    """Equal up to a pair that another CPU's rounding decides otherwise.

    After few steps such a pair changes no other; weights, settings or random numbers that differ
    change many.
    """
    found = draw(name, 2, {"langevin": {"steps_per_level": 5}, "others": {"steps": 3}})
    expected = [nx.from_graph6_bytes(text.encode()) for text in GOLDEN["short"][name]]
    assert [len(graph) for graph in found] == [len(graph) for graph in expected]
    pairs = sum(len(graph) * (len(graph) - 1) // 2 for graph in expected)
    different = sum(
        len({frozenset(edge) for edge in one.edges} ^ {frozenset(edge) for edge in other.edges})
        for one, other in zip(found, expected)
    )
    assert different <= max(1, pairs // 200)


@pytest.mark.skipif("GRAPHSCORE_GOLDEN" not in os.environ, reason="minutes; GRAPHSCORE_GOLDEN=1")
@pytest.mark.parametrize("name", GOLDEN["full"])
def test_all_steps(name):
    """Exactly equal, on CPUs that round as the one that drew them did."""
    found = [nx.to_graph6_bytes(graph, header=False).decode().strip() for graph in draw(name, 8)]
    assert found == GOLDEN["full"][name]
