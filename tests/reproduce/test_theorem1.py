"""Theorem 1 as an experiment: it sees a network that depends on the order, and ours does not."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pytest
import torch

from graphscore.graphs import GraphBatch, GraphState
from graphscore.networks import EDPGNN, EDPGNNSettings
from reproduce.context import Context
from reproduce.experiments.theorem1 import (
    EXPERIMENT,
    densities,
    equivariance,
    relabellings,
    spreads,
)


class Ordered(torch.nn.Module):
    """A score that depends on the order of the nodes."""

    def forward(self, noisy, sigma):
        place = torch.arange(noisy.max_nodes, dtype=noisy.edges.dtype)
        factor = place.unsqueeze(0) + place.unsqueeze(1) - 1
        return GraphState(noisy.edges * factor, noisy.node_mask)


@pytest.fixture
def batch():
    graphs = [nx.path_graph(5), nx.star_graph(3), nx.barbell_graph(3, 0)]
    return GraphBatch.from_networkx(graphs, dtype=torch.float64)


@pytest.fixture
def weighted(batch):
    """The same graphs with weights of either sign."""
    source = torch.Generator().manual_seed(3)
    drawn = torch.randn(batch.adj.shape, generator=source, dtype=torch.float64).triu(1)
    return GraphBatch(batch.adj * (drawn + drawn.mT), batch.node_mask)


@pytest.fixture
def ours():
    source = torch.Generator().manual_seed(0)
    settings = EDPGNNSettings(channels=(2, 2), message_steps=2, features=4, edge_width=4)
    return EDPGNN(settings, (1.0, 0.1), generator=source).double().eval()


def test_relabellings_keep_the_nodes(batch):
    orders = relabellings(batch, 3, seed=0)
    assert len({tuple(order.flatten().tolist()) for order in orders}) == 3
    for order in orders:
        moved = batch.permuted(order)
        assert torch.equal(moved.node_mask, batch.node_mask)
        assert torch.equal(order.sort(1).values, torch.arange(6).expand(3, 6))
        for before, after in zip(batch.to_networkx(), moved.to_networkx()):
            assert nx.is_isomorphic(before, after)


@pytest.mark.parametrize("weights", [False, True])
def test_an_order_dependent_network_is_seen(batch, weighted, ours, weights):
    batch = weighted if weights else batch
    orders = relabellings(batch, 4, seed=0)
    seen = equivariance(Ordered(), batch, 0.5, orders, seed=0)
    assert seen["error"] > 0.1
    right = equivariance(ours, batch, 0.5, orders, seed=0)
    assert right["error"] < 1e-12
    assert right["not_permuted_back"] > 0.1
    assert spreads(densities(Ordered(), batch, 0.5, orders, points=2))["ratio"] > 0.1
    assert spreads(densities(ours, batch, 0.5, orders, points=4))["ratio"] < 1e-10


def test_spreads():
    values = np.array([[0.0, 4.0], [0.5, 4.0], [0.0, 3.0]])
    assert spreads(values) == {"relabelling": 1.0, "graphs": 2.0, "ratio": 0.5}


def test_the_experiment_runs_and_goes_on(tmp_path):
    context = Context(tmp_path / "work", scale="tiny", seeds=1, device="cpu", show_progress=False)
    record = json.loads(json.dumps(EXPERIMENT.run(context)))
    (row,) = record["results"]
    assert row["dataset"] == "community-small"
    for kind, bound in (("float64", 1e-12), ("float32", 1e-3)):
        assert len(row[kind]["score"]) == len(row[kind]["density"]) == len(row["sigmas"]) == 6
        assert all(value["error"] < bound for value in row[kind]["score"])
        assert all(value["ratio"] < bound for value in row[kind]["density"])
        assert all(value["graphs"] > 0.1 for value in row[kind]["density"])
    # Rounding is seen, so these are two computations and not one compared with itself.
    assert max(value["error"] for value in row["float32"]["score"]) > 1e-9

    (table,) = EXPERIMENT.tables(record)
    assert len(table.rows) == 6
    assert table.markdown() in EXPERIMENT.markdown(record)
    (file,) = EXPERIMENT.pictures(record, tmp_path / "pictures")
    assert file.read_bytes().startswith(b"\x89PNG")
    assert f"images/{file.name}" in EXPERIMENT.markdown(record)
    assert json.loads(json.dumps(EXPERIMENT.run(context))) == record
