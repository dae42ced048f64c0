"""V.U.N. against the published loop over all pairs, and the interval against scipy."""

from __future__ import annotations

import json
import time
from functools import partial

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from graphscore.datasets import load_dataset, sample_planar
from graphscore.errors import GraphDataError, SettingsError
from graphscore.metrics import is_planar, is_tree, validity_of, vun, wilson_interval


@st.composite
def graph_lists(draw):
    """Graphs of so few nodes that many are the same."""
    count = draw(st.integers(1, 8))
    seeds = draw(st.lists(st.integers(0, 500), min_size=count, max_size=count))
    return [nx.gnp_random_graph(2 + seed % 4, 0.5, seed=seed) for seed in seeds]


def by_loops(samples, training, valid):
    """Valid, unique, novel, all three: one sample after the other, each against all before."""
    unique, novel, good = 0, 0, 0
    for place, graph in enumerate(samples):
        first = not any(nx.is_isomorphic(graph, old) for old in samples[:place])
        new = not any(nx.is_isomorphic(graph, old) for old in training)
        unique, novel = unique + first, novel + new
        good += first and new and valid(graph)
    count = len(samples)
    return sum(map(valid, samples)) / count, unique / count, novel / count, good / count


@settings(max_examples=60, deadline=None)
@given(graph_lists(), graph_lists(), st.integers(0, 100))
def test_shares_equal_those_of_loops(shuffled, samples, training, seed):
    result = vun(samples, training, is_tree)
    expected = by_loops(samples, training, nx.is_tree)
    assert (result.valid, result.unique, result.novel, result.vun) == expected
    rng = np.random.default_rng(seed)
    renamed = [shuffled(graph, rng) for graph in samples]
    again = vun([renamed[index] for index in rng.permutation(len(renamed))], training, is_tree)
    assert (again.valid, again.unique, again.novel, again.vun) == expected


def test_fresh_and_copied_planar_graphs(shuffled):
    data = load_dataset("planar")
    fresh = vun(sample_planar(20), data.train, is_planar)
    assert (fresh.valid, fresh.unique, fresh.novel, fresh.vun) == (1.0, 1.0, 1.0, 1.0)
    rng = np.random.default_rng(0)
    copies = [shuffled(graph, rng) for graph in data.train[:10]]
    copied = vun(copies + copies, data.train, is_planar)
    assert (copied.valid, copied.unique, copied.novel, copied.vun) == (1.0, 0.5, 0.0, 0.0)


def test_result_carries_its_provenance():
    start = time.perf_counter()
    result = vun([nx.path_graph(3)] * 2, [nx.path_graph(2)], is_tree)
    passed = time.perf_counter() - start
    stored = json.loads(json.dumps(result.to_dict()))
    assert (stored["sample_count"], stored["training_count"]) == (2, 1)
    assert stored["validity"] == "is_tree"
    assert (stored["vun_low"], stored["vun_high"]) == wilson_interval(1, 2)
    assert 0 < stored["seconds"] <= passed
    assert "all three 50.0% [9.5%, 90.5%] (2 samples)" in str(result)
    assert "partial" in vun([nx.path_graph(3)], [nx.path_graph(2)], partial(is_tree)).validity


def test_only_validity_checks_give_reasons():
    samples = [nx.cycle_graph(3), nx.empty_graph(2), nx.path_graph(3), nx.cycle_graph(4)]
    checked = vun(samples, [nx.path_graph(2)], validity_of("tree"))
    assert list(checked.invalid_reasons.items()) == [("with a cycle", 2), ("not connected", 1)]
    assert checked.validity == "is_tree"
    plain = vun(samples, [nx.path_graph(2)], is_tree)
    assert plain.invalid_reasons == {}
    assert (plain.valid, plain.vun) == (checked.valid, checked.vun) == (0.25, 0.25)


@given(st.integers(1, 400), st.data())
def test_interval_equals_scipy(trials, data):
    successes = data.draw(st.integers(0, trials))
    expected = binomtest(successes, trials).proportion_ci(0.95, method="wilson")
    low, high = wilson_interval(successes, trials)
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert 0 <= low <= successes / trials <= high <= 1


def test_bad_input_names_what_is_wrong():
    path = [nx.path_graph(2)]
    with pytest.raises(GraphDataError, match=r"samples holds no graph.*at least one"):
        vun([], path, is_tree)
    with pytest.raises(GraphDataError, match=r"training holds no graph.*at least one"):
        vun(path, [], is_tree)
    with pytest.raises(GraphDataError, match="undirected"):
        vun([nx.DiGraph([(0, 1)])], path, is_tree)
    with pytest.raises(SettingsError, match=r"valid is None.*uniqueness and novelty"):
        vun(path, path, validity_of("ego-small"))
    for successes, trials in ((0, 0), (-1, 3), (4, 3)):
        with pytest.raises(SettingsError, match="successes in"):
            wilson_interval(successes, trials)
