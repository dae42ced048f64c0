"""Settings become networks and objectives."""

from __future__ import annotations

import pytest
import torch

from graphscore.assembly import make_network, make_objective
from graphscore.config import RunSettings
from graphscore.networks import EDPGNN, AsDenoiser, LogOddsDenoiser
from graphscore.training import Denoising, ScoreMatching

SMALL = {"channels": (2,), "message_steps": 1, "features": 4, "edge_width": 4}
CASES = {
    "edp-gnn": ({"network": SMALL}, EDPGNN, ScoreMatching),
    "edp-gnn in log-odds": ({"network": SMALL, "denoising": {}}, AsDenoiser, Denoising),
    "denoiser": (
        {"network": {"kind": "denoiser", "blocks": 1, "pair_width": 8}},
        LogOddsDenoiser,
        Denoising,
    ),
}


def network_of(settings, density=0.3, seed=0):
    return make_network(settings, density=density, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("name", CASES)
def test_networks_and_objectives_fit_together(name):
    given, network_type, objective_type = CASES[name]
    settings = RunSettings(**given)
    network, objective = network_of(settings), make_objective(settings)
    assert type(network) is network_type
    assert type(objective) is objective_type
    from graphscore.graphs import GraphBatch

    batch = GraphBatch(torch.zeros(8, 5, 5), torch.ones(8, 5, dtype=torch.bool))
    perturbed = objective.perturb(batch, generator=torch.Generator().manual_seed(0))
    assert len(perturbed) == 8 * objective.copies
    costs = perturbed.costs(network, slice(None))
    numbers = perturbed.numbers(costs.detach())
    assert len(numbers) == 2 + objective.parts
    assert numbers[0] == pytest.approx(costs.mean().item(), rel=1e-5)
    costs.mean().backward()
    assert any(p.grad is not None and p.grad.abs().max() > 0 for p in network.parameters())


def test_the_density_is_that_of_the_data():
    settings = RunSettings(network={"kind": "denoiser", "blocks": 1, "pair_width": 8})
    mask = torch.ones(1, 7, dtype=torch.bool)
    assert network_of(settings, density=0.2).density(mask).item() == pytest.approx(0.2)


def test_an_edp_gnn_in_log_odds_knows_the_whole_range():
    """Outside of its levels its gains would not change any more."""
    settings = RunSettings(network=SMALL, denoising={"sigma_range": {"sigma_max": 3.0}})
    adj, mask = torch.zeros(2, 4, 4), torch.ones(2, 4, dtype=torch.bool)
    inner = network_of(settings).network
    with torch.no_grad():
        for parameter in inner.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=torch.Generator()))
    one, other = inner(adj, mask, torch.tensor([3.0, 2.9]))
    assert not torch.equal(one, other)
