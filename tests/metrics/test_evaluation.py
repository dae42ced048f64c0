"""The whole evaluation: golden values, invariances, isolated nodes, errors."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphscore.errors import GraphDataError
from graphscore.metrics import EvaluationResult, evaluate

MEASURES = ("degree", "clustering", "orbit")


@st.composite
def graph_lists(draw):
    graphs = []
    for _ in range(draw(st.integers(1, 4))):
        size = draw(st.integers(0, 8))
        density, seed = draw(st.floats(0, 1)), draw(st.integers(0, 1000))
        graphs.append(nx.gnp_random_graph(size, density, seed=seed))
    return graphs


def measures(result: EvaluationResult) -> list[float]:
    return [getattr(result, name) for name in MEASURES]


@pytest.mark.parametrize("drop_isolated", [True, False])
@pytest.mark.parametrize("pair", ["a vs b", "b vs c", "a vs c", "a vs a"])
def test_golden_values(golden, pair, drop_isolated):
    """The golden graphs have no isolated nodes, so both settings must give the same numbers."""
    expected = json.loads((golden / "expected.json").read_text())[pair]
    one, other = (nx.read_graph6(golden / f"{name}.g6") for name in pair.split(" vs "))
    result = evaluate(one, other, drop_isolated=drop_isolated)
    for name in MEASURES:
        assert getattr(result, name) == pytest.approx(expected[name], rel=0, abs=1e-9)
    assert result.average == pytest.approx(np.mean(list(expected.values())), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(graph_lists(), graph_lists(), st.integers(0, 1000), st.booleans())
def test_names_and_order_of_nodes_and_graphs_do_not_matter(samples, reference, seed, drop):
    rng = np.random.default_rng(seed)
    renamed = [
        nx.relabel_nodes(graph, dict(enumerate(rng.permutation(len(graph)).tolist())))
        for graph in samples
    ]
    shuffled = [renamed[index] for index in rng.permutation(len(renamed))]
    one = evaluate(samples, reference, training=reference, drop_isolated=drop)
    other = evaluate(shuffled, reference, training=reference, drop_isolated=drop)
    assert measures(other) == pytest.approx(measures(one), abs=1e-12)
    assert (other.uniqueness, other.novelty) == (one.uniqueness, one.novelty)
    assert other.empty_samples == one.empty_samples


@settings(max_examples=40, deadline=None)
@given(graph_lists(), graph_lists())
def test_zero_against_itself_and_symmetric(one, other):
    assert measures(evaluate(one, one)) == [0.0, 0.0, 0.0]
    forth, back = evaluate(one, other), evaluate(other, one)
    assert measures(forth) == pytest.approx(measures(back), abs=1e-12)
    assert all(np.isfinite(measures(forth)))


def test_isolated_nodes_are_dropped_on_request():
    padded = nx.path_graph(4)
    padded.add_nodes_from([4, 5])
    dropped = evaluate([padded], [nx.path_graph(4)])
    assert measures(dropped) == [0.0, 0.0, 0.0]
    assert dropped.drop_isolated
    kept = evaluate([padded], [nx.path_graph(4)], drop_isolated=False)
    assert kept.degree > 0
    assert kept.orbit > 0
    assert not kept.drop_isolated
    assert padded.number_of_nodes() == 6  # the caller's graph is untouched


def test_graphs_without_edges_stay_in_the_metric_and_are_counted():
    samples = [nx.empty_graph(5), nx.empty_graph(0), nx.path_graph(3)]
    result = evaluate(samples, [nx.empty_graph(1)])
    assert (result.empty_samples, result.empty_references) == (2, 1)
    assert measures(result) == measures(
        evaluate([nx.empty_graph(1), nx.empty_graph(1), nx.path_graph(3)], [nx.empty_graph(2)])
    )
    # Kept nodes leave only the graph that has none.
    assert evaluate(samples, samples, drop_isolated=False).empty_samples == 1
    assert measures(evaluate([nx.empty_graph(4)], [nx.empty_graph(1)])) == [0.0, 0.0, 0.0]


def test_uniqueness_and_novelty_see_the_graphs_that_are_compared():
    padded = nx.path_graph(3)
    padded.add_node(3)
    pair = [padded, nx.path_graph(3)]
    dropped = evaluate(pair, pair, training=[nx.path_graph(3)])
    assert (dropped.uniqueness, dropped.novelty, dropped.training_count) == (0.5, 0.0, 1)
    kept = evaluate(pair, pair, training=[nx.path_graph(3)], drop_isolated=False)
    assert (kept.uniqueness, kept.novelty) == (1.0, 0.5)
    assert evaluate(pair, pair).novelty is None


def test_result_carries_its_provenance():
    result = evaluate([nx.path_graph(3)] * 2, [nx.cycle_graph(3)], training=[nx.path_graph(3)])
    stored = json.loads(json.dumps(result.to_dict()))
    assert stored["average"] == pytest.approx(np.mean([stored[name] for name in MEASURES]))
    assert (stored["sample_count"], stored["reference_count"]) == (2, 1)
    assert "gaussian-emd" in stored["kernel"]
    assert "biased" in stored["estimator"]
    assert stored["seconds"] > 0
    assert "2 against 1; unique 50.0%, novel 0.0%" in str(result)
    with pytest.raises(AttributeError):
        result.degree = 0.0


def test_the_global_random_state_is_untouched(random_graphs):
    graphs = random_graphs(5, 3, 8)
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    evaluate(graphs, graphs, training=graphs)
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


@pytest.mark.parametrize("name", ["samples", "reference", "training"])
def test_empty_lists_and_bad_graphs_name_the_argument(name):
    path = [nx.path_graph(2)]
    good = {"samples": path, "reference": path, "training": path}
    with pytest.raises(GraphDataError, match=f"^{name} holds no graph.*at least one"):
        evaluate(**{**good, name: []})
    with pytest.raises(GraphDataError, match=f"^{name}, graph 0: .*undirected"):
        evaluate(**{**good, name: [nx.DiGraph([(0, 1)])]})
