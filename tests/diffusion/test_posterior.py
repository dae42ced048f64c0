"""Posterior: any network is a residual of the analytic posterior; mean and score follow."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from graphscore.diffusion import BernoulliEdges, EdgeDensity, GraphLikelihood, Posterior, perturb
from graphscore.diffusion.noise import mean_of_score
from graphscore.graphs import Condition, GraphState, node_mask_of_sizes, pair_mask
from graphscore.networks import EDPGNN, Denoiser, DenoiserSettings, EDPGNNSettings

SIGMA = torch.tensor([0.2, 0.7, 3.0], dtype=torch.float64)
LIKELIHOOD = GraphLikelihood(BernoulliEdges(EdgeDensity.constant(0.3)))


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def noisy():
    mask = node_mask_of_sizes(torch.tensor([5, 3, 4]))
    clean = GraphState(0.5 * pair_mask(mask).double(), mask)
    return perturb(clean, torch.ones(3).double(), generator=generator())


def edp_gnn():
    settings = EDPGNNSettings(channels=(2, 2))
    return EDPGNN(settings, (1.0, 0.1), generator=generator()).double()


@pytest.mark.parametrize("analytic_skip", [True, False])
def test_any_network_is_a_residual_of_the_analytic_posterior(noisy, analytic_skip):
    """Logits are the sum of both, or the residual alone; mean and score follow from them."""
    network = edp_gnn()
    posterior = Posterior(network, LIKELIHOOD, analytic_skip=analytic_skip)
    expected, pairs = network(noisy, SIGMA).edges, noisy.pair_mask
    if analytic_skip:
        square = SIGMA.view(3, 1, 1) ** 2
        analytic = torch.tensor(0.3 / 0.7).log() + (2 * noisy.edges - 1) / (2 * square)
        expected = expected + analytic * pairs
    torch.testing.assert_close(posterior.logits(noisy, SIGMA).edges, expected)
    mean = expected.sigmoid() * pairs
    torch.testing.assert_close(posterior.denoise(noisy, SIGMA).edges, mean)
    score = posterior(noisy, SIGMA)
    torch.testing.assert_close(score.edges, (mean - noisy.edges) / SIGMA.view(3, 1, 1) ** 2)
    torch.testing.assert_close(mean_of_score(score, noisy, SIGMA).edges, mean)


@pytest.mark.parametrize("kind", ["edp-gnn", "denoiser"])
def test_logits_and_means_are_zero_off_the_pairs(noisy, kind):
    """Whatever stands there in the input, numbers or not."""
    settings = DenoiserSettings(blocks=1, pair_width=4)
    denoiser = Denoiser(settings, LIKELIHOOD, generator=generator()).double()
    posterior = Posterior(edp_gnn() if kind == "edp-gnn" else denoiser, LIKELIHOOD)
    off = ~noisy.pair_mask
    spoiled = replace(noisy, edges=torch.where(off, torch.nan, noisy.edges))
    for answer in (posterior.logits, posterior.denoise, posterior):
        out = answer(spoiled, SIGMA).edges
        assert not out[off].any()
        assert out.isfinite().all()
        torch.testing.assert_close(out, answer(noisy, SIGMA).edges)


def test_the_condition_reaches_network_and_prior(noisy):
    condition = Condition(communities=torch.tensor([[0, 0, 1, 1, 1]] * 3))
    seen = []

    def network(state, sigma, given):
        seen.append((given, sigma))
        return state * 0.0

    likelihood = BernoulliEdges(EdgeDensity.constant(0.1), EdgeDensity.constant(0.8))
    posterior = Posterior(network, GraphLikelihood(likelihood))
    mean = posterior.denoise(noisy, 1e6 * SIGMA, condition).edges
    expected = torch.where(condition.same_community(), 0.8, 0.1) * noisy.pair_mask
    torch.testing.assert_close(mean, expected.double(), rtol=1e-6, atol=1e-6)
    assert seen[0][0] is condition


def test_activation_checkpointing_is_that_of_the_network():
    inner = edp_gnn()
    posterior = Posterior(inner, LIKELIHOOD)
    assert not posterior.checkpoint_activations
    posterior.checkpoint_activations = True
    assert inner.checkpoint_activations
    unable = Posterior(lambda state, sigma, condition: state, LIKELIHOOD)
    assert unable.checkpoint_activations
    assert unable.blocks_to_compile == []


def test_only_the_networks_weights_are_stored():
    assert {name.split(".")[0] for name in Posterior(edp_gnn(), LIKELIHOOD).state_dict()} == {
        "network"
    }
