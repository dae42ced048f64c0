"""Settings become networks and objectives."""

from __future__ import annotations

import networkx as nx
import pytest
import torch

from graphscore.diffusion import Denoising, Posterior, ScoreMatching
from graphscore.graphs import NO_CONDITION, GraphBatch, GraphState
from graphscore.models import MODELS, resolve_settings
from graphscore.networks import EDPGNN, Denoiser

EDP = {"kind": "edp-gnn", "channels": (2,), "message_steps": 1, "features": 4, "edge_width": 4}
CASES = {
    "edp-gnn": ({"model": "edp-gnn", "network": EDP}, EDPGNN, ScoreMatching),
    "edp-gnn that denoises": ({"network": EDP}, EDPGNN, Denoising),
    "denoiser": ({"network": {"blocks": 1, "pair_width": 8}}, Denoiser, Denoising),
}


def model_of(given, graphs):
    data = GraphBatch.from_networkx(graphs)
    settings = resolve_settings(given, nodes=data.max_nodes, on_cpu=True)
    return MODELS[settings.model].model.from_graphs(settings, graphs, data)


@pytest.mark.parametrize("name", CASES)
def test_networks_and_objectives_fit_together(name, graphs):
    given, network_type, objective_type = CASES[name]
    model, data = model_of(given, graphs)
    network, objective = model.network, model.objective
    inner = network.network if isinstance(network, Posterior) else network
    assert type(inner) is network_type
    assert isinstance(network, Posterior) == (objective_type is Denoising)
    assert type(objective) is objective_type
    items = objective.perturb(data, generator=torch.Generator().manual_seed(0))
    assert len(items.sigma) == len(graphs) * objective.noise_copies
    losses = objective.per_graph_loss(network, items)
    metrics = objective.metrics(items, losses.detach())
    assert len(metrics) == 2 + objective.sigma_bins
    assert metrics[0] == pytest.approx(losses.mean().item(), rel=1e-5)
    losses.mean().backward()
    assert any(p.grad is not None and p.grad.abs().max() > 0 for p in network.parameters())


def test_the_prior_density_is_that_of_the_training_graphs():
    """One graph of 7 nodes and 6 of 21 edges; half an edge and half a missing one are added."""
    model, data = model_of({"network": {"blocks": 1, "pair_width": 8}}, [nx.path_graph(7)])
    prior = model.likelihood.prior_of(data.node_mask, NO_CONDITION).mean.edges
    assert prior[data.pair_mask].unique().item() == pytest.approx(6.5 / 22)


def test_an_edp_gnn_that_denoises_knows_the_whole_range(graphs):
    """Outside of its levels its gains would not change any more."""
    model, _ = model_of({"network": EDP, "noise": {"sigma_max": 3.0}}, graphs)
    inner = model.network.network
    with torch.no_grad():
        for parameter in inner.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=torch.Generator()))
    noisy = GraphState(torch.zeros(2, 4, 4), torch.ones(2, 4, dtype=torch.bool))
    one, other = inner(noisy, torch.tensor([3.0, 2.9]), NO_CONDITION).edges
    assert not torch.equal(one, other)
