"""GraphGenerator: what it promises from graphs to new graphs."""

from __future__ import annotations

import copy
import random
import warnings

import networkx as nx
import numpy as np
import pytest
import torch

from graphscore import GraphBatch, GraphGenerator
from graphscore.diffusion import SigmaLevels
from graphscore.diffusion.samplers import LangevinSettings
from graphscore.errors import (
    GraphDataError,
    GraphscoreError,
    GraphscoreWarning,
    SamplingError,
    SettingsError,
)
from graphscore.models.diffusion.model import PAIRS_PER_CHUNK
from graphscore.networks import EDPGNNSettings
from graphscore.training import TrainingSettings

from .tiny_generator import GRAPHS, NETWORK, make, structure


@pytest.fixture(scope="module")
def graphs():
    return GRAPHS


@pytest.fixture
def fitted(graphs):
    return make().fit(graphs)


# ------------------------------------------------------------------ results


def test_samples_are_simple_graphs_of_training_sizes(fitted):
    """Nodes 0..n-1, no self-loops, as many nodes as some training graph; drawn by frequency."""
    samples = fitted.sample(60)
    sizes = [len(graph) for graph in samples]
    assert set(sizes) == {4, 5, 6}
    assert sizes.count(4) > 60 * 0.3
    for graph in samples:
        assert type(graph) is nx.Graph
        assert list(graph) == list(range(len(graph)))
        assert nx.number_of_selfloops(graph) == 0


def test_sizes_can_be_asked_for_one_by_one(fitted, monkeypatch):
    """In the order asked for, also across internal chunks, and beyond the training sizes."""
    monkeypatch.setitem(PAIRS_PER_CHUNK, "cpu", 50)
    sizes = [1 + 5 * k % 9 for k in range(30)]
    assert [len(graph) for graph in fitted.sample(len(sizes), sizes=sizes)] == sizes


def test_sizes_outside_those_of_training_get_a_warning_at_the_caller(fitted):
    with pytest.warns(GraphscoreWarning, match=r"2 of 2 .* 7 nodes, .* had 4 to 6 nodes") as told:
        assert [len(graph) for graph in fitted.sample(2, sizes=7)] == [7, 7]
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert {len(graph) for graph in fitted.sample(30, sizes=range(4, 7))} == {4, 5, 6}


def test_only_connected_graphs_with_the_sizes_that_were_asked_for(fitted):
    """Those of the first draw that are connected stay in their places."""
    first = fitted.sample(40, seed=1)
    assert first.drawn == 40
    found = fitted.sample(40, seed=1, connected=True)
    assert found.drawn > 40
    assert all(map(nx.is_connected, found))
    assert [len(graph) for graph in found] == [len(graph) for graph in first]
    for graph, one, other in zip(first, structure(first), structure(found)):
        assert (one == other) is nx.is_connected(graph)
    again = fitted.sample(40, seed=1, connected=True)
    assert (structure(again), again.drawn) == (structure(found), found.drawn)


def test_each_further_draw_has_noise_of_its_own():
    """Otherwise a graph that is not connected the second time never is."""
    sparse = GraphGenerator("erdos-renyi", show_progress=False).fit([nx.path_graph(5)])
    found = [sparse.sample(1, seed=seed, connected=True) for seed in range(12)]
    assert max(sample.drawn for sample in found) > 2


def test_connected_graphs_that_hardly_exist_are_given_up():
    empty = GraphGenerator("erdos-renyi", show_progress=False).fit([nx.empty_graph(9)] * 9)
    words = r"^300 graphs were drawn for 3 .* 3 of these .* of 9 nodes\. Leave out --connected"
    with pytest.raises(SamplingError, match=words):
        empty.sample(3, connected=True)


@pytest.mark.parametrize(
    ("number", "sizes"),
    [(0, None), (-1, None), (2, 0), (2, [3, 0]), (1, [])],
)
def test_impossible_requests_are_refused(fitted, number, sizes):
    with pytest.raises(SettingsError, match=r"at least 1|ask for 1 to"):
        fitted.sample(number, sizes=sizes)


def test_a_refused_request_does_not_shift_the_sequence(graphs):
    """The sequence of samples depends on the seed and the samples made, not on mistakes."""
    first, second = make().fit(graphs), make().fit(graphs)
    with pytest.raises(SettingsError):
        first.sample(2, sizes=[3, 0])
    assert structure(first.sample(4)) == structure(second.sample(4))


def test_the_same_seed_gives_the_same_graphs(fitted):
    assert structure(fitted.sample(6, seed=3)) == structure(fitted.sample(6, seed=3))
    assert structure(fitted.sample(6, seed=3)) != structure(fitted.sample(6, seed=4))


def test_calls_without_a_seed_differ_but_two_generators_agree(graphs):
    first, second = make().fit(graphs), make().fit(graphs)
    one, two = structure(first.sample(6)), structure(first.sample(6))
    assert one != two
    assert [structure(second.sample(6)), structure(second.sample(6))] == [one, two]


def test_the_seed_decides_the_model(graphs):
    same, other = make(seed=1).fit(graphs), make(seed=2).fit(graphs)
    weights, others = same.network.state_dict(), other.network.state_dict()
    assert any(not torch.equal(weights[name], others[name]) for name in weights)


def test_evaluation_counts_and_novelty(fitted, graphs):
    """As many samples as references unless asked; novelty against the graphs of this fit."""
    result = fitted.evaluate(graphs, seed=1)
    assert (result.sample_count, result.reference_count) == (4, 4)
    assert result.training_count == 4
    assert result.novelty is not None
    assert 0 <= result.novelty <= 1
    assert fitted.evaluate(graphs, number=7).sample_count == 7
    again = fitted.evaluate(graphs, seed=1)
    assert again.distances == result.distances


def test_evaluating_no_samples_is_refused(fitted, graphs):
    with pytest.raises(SettingsError, match="ask for 1 to"):
        fitted.evaluate(graphs, number=0)


# ------------------------------------------------------------------ inputs


def test_every_kind_of_graph_trains_the_same_model(graphs):
    """Odd labels, matrices, tensors and a batch: only structure and order count."""
    labels = ["a", (1, 2), 3.5, frozenset("x"), None.__class__, "z"]
    odd = [nx.relabel_nodes(graph, dict(enumerate(labels))) for graph in graphs]
    matrices = [nx.to_numpy_array(graph) for graph in graphs]
    mixed = [odd[0], matrices[1], torch.tensor(matrices[2]), matrices[3].astype(bool)]
    expected = structure(make().fit(graphs).sample(3))
    for given in (odd, matrices, mixed, GraphBatch.from_networkx(graphs), iter(graphs)):
        assert structure(make().fit(given).sample(3)) == expected


def test_training_graphs_are_left_as_they_were():
    """Also later changes to them do not reach the generator."""
    graph = nx.relabel_nodes(nx.path_graph(4), str)
    graph.nodes["0"]["colour"] = "red"
    before = copy.deepcopy(graph)
    generator = make().fit([graph])
    generator.sample(2)
    assert dict(graph.nodes(data=True)) == dict(before.nodes(data=True))
    assert list(graph.edges(data=True)) == list(before.edges(data=True))
    graph.add_edges_from([(0, 1), (1, 2)])
    assert generator.evaluate([nx.path_graph(4)]).training_count == 1
    assert generator.sizes.counts == {4: 1}


@pytest.mark.parametrize(
    "given",
    [
        [nx.empty_graph(1)] * 3,
        [nx.empty_graph(1), nx.empty_graph(3), nx.path_graph(2)],
        [nx.disjoint_union(nx.path_graph(3), nx.empty_graph(2))],
    ],
    ids=["one node", "with one node", "isolated"],
)
@pytest.mark.parametrize("network", [NETWORK, EDPGNNSettings.released(**NETWORK)])
def test_single_and_isolated_nodes_survive(given, network):
    """A node without edges is a node."""
    generator = GraphGenerator(
        "edp-gnn",
        network=network,
        training={"steps": 2, "batch_size": 2},
        sampling={"steps_per_level": 1},
        show_progress=False,
    )
    samples = generator.fit(given).sample(12)
    assert {len(graph) for graph in samples} == {len(graph) for graph in given}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "no graphs"),
        (nx.DiGraph([(0, 1)]), "graph 1: directed"),
        ([nx.DiGraph([(0, 1)])], "graph 1: directed"),
        ([nx.path_graph(2), nx.Graph([(0, 0)])], "graph 2: 1 self-loop"),
        (["a path"], "cannot read a str"),
    ],
)
def test_wrong_graphs_are_refused(given, words):
    with pytest.raises(GraphDataError, match=words):
        make().fit(given)


# ------------------------------------------------------------------ settings


def test_settings_may_be_objects_or_dictionaries():
    objects = GraphGenerator(
        "edp-gnn",
        seed=4,
        noise=SigmaLevels(sigmas=(1, 0.1)),
        network=EDPGNNSettings(**NETWORK),
        training=TrainingSettings(steps=3),
        sampling=LangevinSettings(steps_per_level=2),
    )
    dictionaries = GraphGenerator(
        "edp-gnn",
        seed=4,
        noise={"sigmas": [1, 0.1]},
        network=NETWORK,
        training={"steps": 3},
        sampling={"steps_per_level": 2},
    )
    assert objects.settings == dictionaries.settings
    again = GraphGenerator.from_settings(objects.settings)
    assert again.settings == objects.settings


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"training": {"stps": 3}}, "'training.stps'; did you mean 'steps'"),
        ({"network": {"blcks": 2}}, "'network.blcks'; did you mean 'blocks'"),
        ({"model": "edp-gnn", "network": {"chanels": [2]}}, "'network.chanels'; did you mean"),
        ({"netwrk": {}}, "unknown setting 'netwrk'; did you mean 'network'"),
        ({"training": {"steps": 0}}, "'training.steps' = 0"),
        ({"seed": -1}, "'seed' = -1"),
        ({"device": "warp"}, "device 'warp' is not available"),
    ],
)
def test_wrong_settings_are_refused_where_they_are_given(given, words):
    """The message names section and key and suggests the nearest known one."""
    with pytest.raises(SettingsError, match=words):
        GraphGenerator(**given)


def test_node_features_are_refused(graphs):
    network = {**NETWORK, "node_feat_dim": 2}
    generator = GraphGenerator("edp-gnn", network=network, show_progress=False)
    with pytest.raises(SettingsError, match="node_feat_dim is 2"):
        generator.fit(graphs)


@pytest.mark.parametrize(
    "use",
    [
        lambda generator, folder: generator.sample(2),
        lambda generator, folder: generator.sample(2, sizes=[3, 3]),
        lambda generator, folder: generator.evaluate([nx.path_graph(3)]),
        lambda generator, folder: generator.select_sampling([nx.path_graph(3)]),
        lambda generator, folder: generator.save(folder / "model"),
        lambda generator, folder: generator.network,
        lambda generator, folder: generator.sizes,
    ],
    ids=["sample", "sizes", "evaluate", "select", "save", "network", "size distribution"],
)
def test_an_untrained_generator_says_so(use, tmp_path):
    with pytest.raises(GraphscoreError, match="call fit or load first"):
        use(make(), tmp_path)
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------ choosing the sampler


def test_selection_keeps_the_best_and_touches_nothing_else(graphs):
    """Divergent candidates lose; weights, other settings and the sequence of samples stay."""
    chosen, plain = make().fit(graphs), make().fit(graphs)
    weights = copy.deepcopy(chosen.network.state_dict())
    before = chosen.settings
    candidates = [
        LangevinSettings(step_size=1e30, steps_per_level=3),
        LangevinSettings(step_size=1e-4, steps_per_level=2),
        LangevinSettings(step_size=1e-3, noise_scale=0.5, steps_per_level=2),
    ]
    selection = chosen.select_sampling(graphs, number=5, candidates=candidates)
    assert [settings for settings, _ in selection.trials] == candidates
    assert selection.trials[0][1] == float("inf")
    assert selection.best == min(selection.trials, key=lambda trial: trial[1])[0]
    assert chosen.settings == before.replaced(sampling=selection.best)
    assert all(torch.equal(weights[n], t) for n, t in chosen.network.state_dict().items())
    assert structure(chosen.sample(4)) == structure(plain.sample(4, sampling=selection.best))


def test_a_step_size_too_large_is_explained(fitted):
    with pytest.raises(GraphscoreError, match=r"step size .* too large"):
        fitted.sample(2, sampling=LangevinSettings(step_size=1e30, steps_per_level=5))


# ------------------------------------------------------------------ randomness


def test_global_random_state_is_untouched(graphs, tmp_path):
    """Neither read, so that results do not depend on it, nor advanced."""
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002  (the global state is what is tested)
    torch.manual_seed(1)
    states = (random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state())  # noqa: NPY002
    generator = make().fit(graphs, run=tmp_path / "run")
    samples = structure(generator.sample(3))
    generator.evaluate(graphs)
    after = (random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state())  # noqa: NPY002
    assert states[:2] == after[:2]
    assert torch.equal(states[2], after[2])
    torch.manual_seed(2)
    assert structure(make().fit(graphs).sample(3)) == samples
