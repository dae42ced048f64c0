"""Every sampler against its published formula, written out step by step with the same noise."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
import torch

from graphscore.diffusion import SigmaLevels, SigmaRange
from graphscore.diffusion.noise import noise_like, symmetric_noise
from graphscore.diffusion.samplers import (
    AncestralSettings,
    HeunSettings,
    LangevinSettings,
    ancestral,
    annealed_langevin,
    heun,
)
from graphscore.graphs import node_mask_of_sizes

MASK = node_mask_of_sizes(torch.tensor([4, 3]))
RANGE = SigmaRange(sigma_min=0.2, sigma_max=3.0)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def denoise(noisy, sigma):
    """Bounded, and different for every entry and noise level."""
    return noisy.map(
        lambda x, mask: torch.sigmoid(x / sigma.view(-1, 1, 1).square() - 0.3) * mask, noisy.masks
    )


def draw(source):
    return symmetric_noise(MASK, generator=source, dtype=torch.float64)


def levels(count, rho):
    low, high = 0.2 ** (1 / rho), 3.0 ** (1 / rho)
    return [(high + i * (low - high) / (count - 1)) ** rho for i in range(count)]


def mean_at(x, sigma):
    return torch.sigmoid(x / sigma**2 - 0.3) * (x != 0)


@pytest.fixture
def prior(prior_of):
    return prior_of(MASK, 0.3)


def test_langevin_is_algorithm_1(prior):
    """A <- A + alpha/2 s(A) + epsilon_s sqrt(alpha) z, from |z|."""
    sigmas, epsilon, scale = (1.0, 0.5, 0.25), 0.03, 0.8
    result = annealed_langevin(
        lambda noisy, sigma: denoise(noisy, sigma) - noisy,
        prior,
        SigmaLevels(sigmas=sigmas),
        LangevinSettings(step_size=epsilon, noise_scale=scale, steps_per_level=3),
        generator=generator(),
    )
    source = generator()
    x = draw(source).abs()
    for sigma in sigmas:
        alpha = epsilon * (sigma / sigmas[-1]) ** 2
        for _ in range(3):
            x = x + alpha / 2 * (mean_at(x, sigma) - x) + scale * alpha**0.5 * draw(source)
    torch.testing.assert_close(result.state.edges, x)


@pytest.mark.parametrize("churn", [0.0, 0.5, 100.0])
@pytest.mark.parametrize("rho", [1.0, 7.0])
def test_heun_is_algorithm_2_of_karras_et_al(prior, churn, rho):
    """Noise up to sigma^, a step of the second order, and D at the end."""
    settings = HeunSettings(steps=5, churn=churn, rho=rho)
    result = heun(denoise, prior, RANGE, settings, generator=generator())
    source = generator()
    sigmas = levels(5, rho)
    x = prior.mean.edges + 3.0 * draw(source)
    for sigma, lower in pairwise(sigmas):
        above = min(sigma * (1 + min(churn / 5, 2**0.5 - 1)), 3.0)
        if above > sigma:
            x = x + (above**2 - sigma**2) ** 0.5 * draw(source)
        slope = (x - mean_at(x, above)) / above
        euler = x + (lower - above) * slope
        x = x + (lower - above) * (slope + (euler - mean_at(euler, lower)) / lower) / 2
    torch.testing.assert_close(result.state.edges, mean_at(x, 0.2))


@pytest.mark.parametrize("noise", ["independent", "posterior"])
def test_ancestral_steps_are_those_of_their_formulas(prior, noise):
    """A drawn from D, then sigma' z around it, or around what is kept of the state before."""
    settings = AncestralSettings(steps=4, noise=noise)
    result = ancestral(denoise, prior, RANGE, settings, generator=generator())
    source = generator()
    sigmas = levels(4, 7.0)
    x = prior.mean.edges + 3.0 * draw(source)
    for sigma, lower in pairwise(sigmas):
        uniform = torch.rand(x.shape, generator=source, dtype=torch.float64)
        clean = (uniform < mean_at(x, sigma)).double().triu(1)
        clean = clean + clean.mT
        share = (lower / sigma) ** 2 if noise == "posterior" else 0.0
        x = clean + share * (x - clean) + lower * math.sqrt(1 - share) * draw(source)
    torch.testing.assert_close(result.state.edges, mean_at(x, 0.2))


def test_sampling_starts_from_the_mean_graph_under_the_largest_noise(prior):
    start = prior.sample(2.0, generator=generator(3))
    expected = prior.mean + noise_like(prior.mean, generator=generator(3)) * 2.0
    torch.testing.assert_close(start.edges, expected.edges)
    pairs = start.pair_mask
    torch.testing.assert_close(prior.mean.edges[pairs], torch.full((18,), 0.3).double())
