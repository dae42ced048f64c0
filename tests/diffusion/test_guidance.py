"""Guidance: beyond the better network by the weight, within its noise levels, alone by weight 0."""

from __future__ import annotations

import pytest
import torch

from graphscore.diffusion import (
    BernoulliEdges,
    EdgeDensity,
    GraphLikelihood,
    GuidanceSettings,
    GuidedPosterior,
    Posterior,
    perturb,
)
from graphscore.errors import SettingsError
from graphscore.graphs import GraphState, node_mask_of_sizes, pair_mask
from graphscore.networks import Denoiser, DenoiserSettings

SIGMA = torch.tensor([0.2, 0.5, 1.5], dtype=torch.float64)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def denoiser(seed, density, blocks):
    settings = DenoiserSettings(blocks=blocks, pair_width=6, node_width=4, product_width=3)
    likelihood = GraphLikelihood(BernoulliEdges(density))
    network = Denoiser(settings, likelihood, generator=generator(seed)).double()
    torch.nn.init.normal_(network.out.weight, generator=generator(seed))
    return Posterior(network, likelihood)


@pytest.fixture
def noisy():
    mask = node_mask_of_sizes(torch.tensor([5, 3, 4]))
    clean = GraphState(0.5 * pair_mask(mask).double(), mask)
    return perturb(clean, torch.ones(3).double(), generator=generator())


@pytest.fixture
def better():
    return denoiser(1, EdgeDensity(-1.0, 0.3), blocks=2)


@pytest.fixture
def weaker():
    return denoiser(2, EdgeDensity.constant(0.4), blocks=1)


def logits(network, noisy):
    return network.logits(noisy, SIGMA).edges


@pytest.mark.parametrize("weight", [0.0, 0.5, 3.0])
def test_differences_grow_by_the_weight(better, weaker, noisy, weight):
    guided = GuidedPosterior(better, weaker, GuidanceSettings(weight=weight))
    own, other = logits(better, noisy), logits(weaker, noisy)
    assert (own - other).abs().max() > 0.1
    torch.testing.assert_close(logits(guided, noisy), own + weight * (own - other))
    expected = logits(guided, noisy).sigmoid() * noisy.pair_mask
    torch.testing.assert_close(guided.denoise(noisy, SIGMA).edges, expected)
    score = (expected - noisy.edges) / SIGMA.view(3, 1, 1) ** 2
    torch.testing.assert_close(guided(noisy, SIGMA).edges, score)


def test_noise_levels_outside_are_left_to_the_better_network(better, weaker, noisy):
    limits = GuidanceSettings(weight=2.0, sigma_min=0.3, sigma_max=1.0)
    found = logits(GuidedPosterior(better, weaker, limits), noisy)
    own = logits(better, noisy)
    assert torch.equal(found[[0, 2]], own[[0, 2]])
    assert (found[1] - own[1]).abs().max() > 0.1


def test_the_likelihood_is_that_of_the_better_network(better, weaker):
    assert GuidedPosterior(better, weaker, GuidanceSettings()).likelihood == better.likelihood


def test_blocks_of_both_are_compiled(better, weaker):
    guided = GuidedPosterior(better, weaker, GuidanceSettings())
    assert guided.blocks_to_compile == [*better.network.blocks, *weaker.network.blocks]


@pytest.mark.parametrize("sigma_max", [0.5, 1.0])
def test_levels_must_rise(sigma_max):
    with pytest.raises(SettingsError, match="sigma_min must be below sigma_max"):
        GuidanceSettings(sigma_min=1.0, sigma_max=sigma_max)


def test_weights_are_one_if_not_given_and_a_million_at_most():
    assert GuidanceSettings.model_validate({}) == GuidanceSettings(weight=1.0)
    assert [GuidanceSettings(weight=weight).weight for weight in (0, 1e6)] == [0, 1e6]
    for weight in (-0.1, 1e6 + 1):
        with pytest.raises(SettingsError, match="weight"):
            GuidanceSettings(weight=weight)


def test_both_limits_belong_to_the_guided_noise_levels(better, weaker, noisy):
    limits = GuidanceSettings(weight=2.0, sigma_min=0.2, sigma_max=1.5)
    found = logits(GuidedPosterior(better, weaker, limits), noisy)
    everywhere = logits(GuidedPosterior(better, weaker, GuidanceSettings(weight=2.0)), noisy)
    assert torch.equal(found, everywhere)
