"""GraphGenerator with a network that is told communities."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pytest
import torch

from graphscore import GraphGenerator
from graphscore.communities import with_communities
from graphscore.errors import SettingsError
from graphscore.graphs import GraphBatch
from graphscore.metrics import find_blocks
from graphscore.training.checkpoint import read_document

SMALL = {"blocks": 1, "pair_width": 8, "node_width": 4, "product_width": 2, "communities": True}
SAMPLERS = [
    {"sampler": "heun", "steps": 8},
    {"sampler": "renoising", "steps": 8},
    {"sampler": "langevin", "steps_per_level": 20},
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
    for row, mask, graph in zip(batch.node_feat, batch.node_mask, graphs):
        assert row[mask, 0].tolist() == find_blocks(graph).tolist()
        assert not row[~mask].any()


def test_samples_have_the_communities_they_were_asked_for(fitted):
    """The closed form knows both densities, so that hardly any training is needed."""
    wanted = [(12, 7), (6, 6, 6), (9, 9)]
    for sampling in SAMPLERS[:2]:
        for graph, sizes in zip(
            fitted.sample(3, communities=wanted, seed=1, sampling=sampling), wanted
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


@pytest.mark.parametrize("sampling", SAMPLERS, ids=lambda one: one["sampler"])
def test_every_sampler_is_told(fitted, sampling):
    """The same noise gives other graphs with other communities."""

    def sample(communities):
        return edges(fitted.sample(2, communities=communities, seed=4, sampling=sampling))

    assert sample([(8, 8)] * 2) == sample([[8, 8]] * 2)
    assert sample([(8, 8)] * 2) != sample([(10, 6)] * 2)


def test_a_saved_model_gives_the_same_graphs(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    assert read_document(tmp_path / "model")["communities"] == {"8+8": 1, "9+8+8": 1, "10+8": 1}
    loaded = GraphGenerator.load(tmp_path / "model", device="cpu", show_progress=False)
    assert loaded.settings == fitted.settings
    assert edges(loaded.sample(4, seed=1)) == edges(fitted.sample(4, seed=1))
    assert torch.equal(loaded.network.prior, fitted.network.prior)
    assert fitted.network.prior.shape == (2, 2)


def test_a_resumed_run_is_the_run_that_was_not_interrupted(graphs, tmp_path):
    whole = make(steps=4).fit(graphs)
    make(steps=4).fit(graphs, run=tmp_path / "run", stop_at=2)
    resumed = make(steps=4).fit(graphs, run=tmp_path / "run", resume=True)
    weights = whole.network.state_dict()
    assert all(torch.equal(t, weights[n]) for n, t in resumed.network.state_dict().items())


def test_other_models_know_nothing_of_communities(graphs, fitted, tmp_path):
    plain = make(network={**SMALL, "communities": False}).fit(graphs)
    assert "communities" not in json.loads(
        json.dumps(plain._trained().document(plain.settings, plain.device))
    )
    with pytest.raises(SettingsError, match=r"not told communities.*--communities"):
        plain.sample(1, communities=[(8, 8)])
    with pytest.raises(SettingsError, match=r"told communities and the other is not"):
        fitted.guided_by(plain)


def test_a_guide_is_told_too(graphs, fitted):
    weaker = make(network={**SMALL, "pair_width": 4}, steps=1).fit(graphs)
    guided = fitted.guided_by(weaker, weight=0.5)
    (graph,) = guided.sample(1, communities=[(9, 7)], seed=1)
    assert sorted(np.bincount(find_blocks(graph)).tolist()) == [7, 9]


@pytest.mark.parametrize(
    ("communities", "sizes", "message"),
    [
        ([(8, 8)], None, "those of 2 graphs"),
        ([(8, 8), ()], None, "at least 1"),
        ([(8, 8), (8, 0)], None, "at least 1"),
        ([(8, 8), (8, 1.5)], None, "whole numbers"),
        ([(8, 8), (8, 8)], [16, 16], "leave out sizes"),
    ],
)
def test_communities_that_make_no_sense(fitted, communities, sizes, message):
    with pytest.raises(SettingsError, match=message):
        fitted.sample(2, communities=communities, sizes=sizes)


def test_only_denoisers_are_told_communities(graphs):
    with pytest.raises(SettingsError, match="denoiser"):
        make(network={"kind": "edp-gnn", "communities": True})
