"""The denoiser conditioned on communities."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch

from graphscore import GraphGenerator
from graphscore.artifacts import read_document
from graphscore.errors import CheckpointError, GraphscoreWarning, OutputError, SettingsError
from graphscore.graphs import GraphBatch
from graphscore.metrics import find_blocks
from graphscore.models.communities import with_communities
from graphscore.models.diffusion.model import PAIRS_PER_CHUNK

SMALL = {"blocks": 1, "pair_width": 8, "node_width": 4, "product_width": 2, "communities": True}
SAMPLERS = [
    {"kind": "heun", "steps": 8},
    {"kind": "ancestral", "steps": 8},
    {"kind": "langevin", "steps_per_level": 20},
]


def block_graph(sizes, seed):
    """Dense inside communities and sparse between; their nodes in any order."""
    rng = np.random.default_rng(seed)
    number = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    p = np.where(number[:, None] == number, 0.9, 0.05)
    adj = np.triu(rng.random(p.shape) < p, k=1)
    return nx.from_numpy_array((adj | adj.T).astype(int))


@pytest.fixture(scope="module")
def graphs():
    return [block_graph(sizes, seed) for seed, sizes in enumerate([(8, 8), (10, 8), (8, 8, 9)])]


def make(*, network=None, steps=3, **settings):
    return GraphGenerator(
        network=SMALL if network is None else network,
        training={"steps": steps, "batch_size": 2, "log_every": 1},
        sampling=SAMPLERS[0],
        device="cpu",
        show_progress=False,
        **settings,
    )


@pytest.fixture(scope="module")
def fitted(graphs):
    return make().fit(graphs)


def edges(graphs):
    return [sorted(map(sorted, graph.edges)) for graph in graphs]


def test_communities_of_training_graphs_are_found(graphs):
    batch, known = with_communities(GraphBatch.from_networkx(graphs), graphs)
    assert known.counts == {(8, 8): 1, (9, 8, 8): 1, (10, 8): 1}
    for row, mask, graph in zip(batch.communities, batch.node_mask, graphs):
        assert row[mask].tolist() == find_blocks(graph).tolist()
        assert not row[~mask].any()


def test_samples_have_the_communities_they_were_asked_for(fitted):
    """The analytic posterior knows both densities, so that hardly any training is needed."""
    asked = [(12, 7), (6, 6, 6), (9, 9)]
    for sampling in SAMPLERS[:2]:
        for graph, sizes in zip(
            fitted.sample(3, communities=asked, seed=1, sampling=sampling), asked
        ):
            assert len(graph) == sum(sizes)
            found = np.bincount(find_blocks(graph))
            assert sorted(found.tolist()) == sorted(sizes)


def test_samples_have_communities_of_training_graphs(fitted):
    found = {
        tuple(sorted(np.bincount(find_blocks(graph)).tolist(), reverse=True))
        for graph in fitted.sample(12, seed=2)
    }
    assert found == {(8, 8), (9, 8, 8), (10, 8)}
    (scaled,) = fitted.sample(1, sizes=[32], seed=3)
    assert sorted(np.bincount(find_blocks(scaled)).tolist()) in ([10, 11, 11], [10, 10, 12])


@pytest.mark.parametrize("sampling", SAMPLERS, ids=lambda one: one["kind"])
def test_every_sampler_is_conditioned(fitted, sampling):
    """The same noise gives other graphs with other communities."""

    def sample(communities):
        return edges(fitted.sample(2, communities=communities, seed=4, sampling=sampling))

    assert sample([(8, 8)] * 2) == sample([[8, 8]] * 2)
    assert sample([(8, 8)] * 2) != sample([(10, 6)] * 2)


def test_a_saved_model_gives_the_same_graphs(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    assert read_document(tmp_path / "model").learned["communities"] == {
        "8+8": 1,
        "9+8+8": 1,
        "10+8": 1,
    }
    loaded = GraphGenerator.load(tmp_path / "model", device="cpu", show_progress=False)
    assert loaded.settings == fitted.settings
    assert edges(loaded.sample(4, seed=1)) == edges(fitted.sample(4, seed=1))
    assert loaded.network.likelihood == fitted.network.likelihood
    assert fitted.network.likelihood.edges.within is not None


def test_a_resumed_run_is_the_run_that_was_not_interrupted(graphs, tmp_path):
    whole = make(steps=4).fit(graphs)
    make(steps=4).fit(graphs, run=tmp_path / "run", stop_at=2)
    resumed = make(steps=4).fit(graphs, run=tmp_path / "run", resume=True)
    weights = whole.network.state_dict()
    assert all(torch.equal(t, weights[n]) for n, t in resumed.network.state_dict().items())


def test_other_models_know_nothing_of_communities(graphs, fitted, tmp_path):
    plain = make(network={**SMALL, "communities": False}).fit(graphs)
    plain.save(tmp_path / "model")
    assert "communities" not in read_document(tmp_path / "model").learned
    assert plain.communities is None
    with pytest.raises(SettingsError, match=r"not conditioned on communities.*--communities"):
        plain.sample(1, communities=[(8, 8)])
    with pytest.raises(SettingsError, match=r"conditioned on communities and the other is not"):
        fitted.guided_by(plain)


def test_a_guide_model_is_conditioned_too(graphs, fitted):
    weaker = make(network={**SMALL, "pair_width": 4}, steps=1).fit(graphs)
    guided = fitted.guided_by(weaker, weight=0.5)
    (graph,) = guided.sample(1, communities=[(9, 7)], seed=1)
    assert sorted(np.bincount(find_blocks(graph)).tolist()) == [7, 9]


def test_a_run_folder_that_is_taken_is_refused_before_the_search(graphs, tmp_path, monkeypatch):
    """And a run that cannot go on, too: looking for communities may take minutes."""
    make().fit(graphs, run=tmp_path / "run")

    def search(*_, **__):
        raise AssertionError("searched")

    monkeypatch.setattr("graphscore.models.diffusion.denoiser.with_communities", search)
    with pytest.raises(OutputError, match="already holds a run"):
        make().fit(graphs, run=tmp_path / "run")
    with pytest.raises(CheckpointError, match="other settings"):
        make(seed=3).fit(graphs, run=tmp_path / "run", resume=True)
    with pytest.raises(SettingsError, match="needs the folder"):
        make().fit(graphs, resume=True)


def test_graphs_of_all_chunks_have_their_own_communities(fitted, monkeypatch):
    monkeypatch.setitem(PAIRS_PER_CHUNK, "cpu", 700)
    asked = [(10, 6), (8, 8), (12, 9), (7, 7, 7), (14, 6), (9, 8, 7)]
    for graph, sizes in zip(fitted.sample(6, communities=asked, seed=5), asked):
        assert sorted(np.bincount(find_blocks(graph)).tolist()) == sorted(sizes)


def test_nodes_know_their_community(fitted):
    first, second = fitted.sample(2, communities=[(3, 2), (1, 2, 1)], seed=1)
    assert list(dict(first.nodes("community")).values()) == [0, 0, 0, 1, 1]
    assert list(dict(second.nodes("community")).values()) == [0, 1, 1, 2]


def test_communities_that_say_nothing_or_are_as_many_as_can_be_are_noticed():
    paths = [nx.path_graph(5)]
    with pytest.warns(GraphscoreWarning, match="no graph has more than one community"):
        with_communities(GraphBatch.from_networkx(paths), paths)
    cliques = [nx.disjoint_union_all([nx.complete_graph(9)] * 8)]
    with pytest.warns(GraphscoreWarning, match="8 communities, the most that are looked for: 1"):
        with_communities(GraphBatch.from_networkx(cliques), cliques)


@pytest.mark.filterwarnings("ignore:no graph has more than one community")
def test_without_two_communities_in_training_asking_for_two_changes_nothing():
    """Nothing is known of edges between communities, so they are as any others."""
    graphs = [nx.gnp_random_graph(12, 0.2, seed=seed) for seed in range(4)]
    generator = make().fit(graphs)
    assert list(generator.communities.counts) == [(12,)]
    graphs = generator.sample(20, communities=[(6, 6)] * 20, seed=1)
    between = [edge for graph in graphs for edge in graph.edges if (edge[0] < 6) != (edge[1] < 6)]
    assert 0.1 < len(between) / (20 * 36) < 0.35


def test_only_denoisers_are_conditioned_on_communities():
    with pytest.raises(SettingsError, match=r"unknown setting 'network.communities'"):
        make(network={"kind": "edp-gnn", "communities": True})


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ({"communities": True, "pair_widht": 8}, "pair_widht.*pair_width"),
        ({"communities": True, "kind": "denoizer"}, "denoizer"),
        ({"communities": 3}, "communities"),
        ({"communities": "perhaps"}, "communities"),
    ],
)
def test_mistakes_beside_communities_are_named(network, message):
    with pytest.raises(SettingsError, match=message):
        make(network=network)


def test_nodes_may_stand_anywhere_in_a_batch(graphs):
    batch = GraphBatch.from_networkx(graphs[:1]).padded(18)
    order = torch.randperm(18, generator=torch.Generator().manual_seed(0))
    scattered, graph = batch.permuted(order), graphs[0]
    places = [int(place) for place in order if place < len(graph)]
    listed = nx.Graph()
    listed.add_nodes_from(places)
    listed.add_edges_from(graph.edges)
    found, known = with_communities(scattered, [listed])
    expected, _ = with_communities(batch, [graph])
    assert known.counts == {(8, 8): 1}
    within = expected.condition.same_community()[0]
    exists = scattered.node_mask[0]
    numbers = found.communities[0, exists]
    same = numbers.unsqueeze(0) == numbers.unsqueeze(1)
    assert torch.equal(same, within[places][:, places])
    assert not found.communities[0, ~exists].any()
