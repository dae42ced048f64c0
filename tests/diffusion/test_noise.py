"""Symmetric Gaussian noise (equation 2): its moments, its symmetry, its exact score."""

from __future__ import annotations

import pytest
import torch

from graphscore.graphs import node_mask_of_sizes, pair_mask
from graphscore.noise import perturb, perturbation_score, symmetric_noise


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def upper(adj):
    """One number per unordered pair, (B, pairs)."""
    rows, columns = torch.triu_indices(adj.shape[-1], adj.shape[-1], offset=1)
    return adj[:, rows, columns]


def test_symmetric_zero_diagonal_zero_padding():
    """One degree of freedom per existing pair, with any mask, and none elsewhere."""
    mask = torch.tensor([[True, False, True, True], [False] * 4, [True] * 4])
    noise = symmetric_noise(mask, generator=generator())
    assert torch.equal(noise, noise.mT)
    assert torch.equal(noise != 0, pair_mask(mask))


def test_moments_are_those_of_independent_standard_normals():
    """Mean 0, variance 1, fourth moment 3, no correlation between pairs; to 5 standard errors."""
    mask = torch.ones(40_000, 4, dtype=torch.bool)
    values = upper(symmetric_noise(mask, generator=generator(), dtype=torch.float64))
    count = values.numel()
    for power, moment, variance in [(1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)]:
        error = abs(float((values**power).mean()) - moment)
        assert error < 5 * (variance / count) ** 0.5
    covariance = values.mT @ values / len(values)
    off = covariance - torch.diag(covariance.diag())
    assert off.abs().max() < 5 * len(values) ** -0.5


def test_reproducible_and_only_from_the_generator():
    """The same seed gives the same noise; the global generator is not read or moved."""
    mask = torch.ones(2, 5, dtype=torch.bool)
    before = torch.get_rng_state()
    first = symmetric_noise(mask, generator=generator(3))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first, symmetric_noise(mask, generator=generator(3)))
    assert not torch.equal(first, symmetric_noise(mask, generator=generator(4)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_perturbation_scales_by_each_graphs_sigma(dtype):
    """A~ = A + sigma z with the sigma of each graph, and keeps the type of A."""
    mask = node_mask_of_sizes(torch.tensor([4, 3, 4]))
    clean = (pair_mask(mask) * 1).to(dtype)
    sigma = torch.tensor([0.1, 1.0, 3.0], dtype=dtype)
    noisy = perturb(clean, mask, sigma, generator=generator())
    noise = symmetric_noise(mask, generator=generator(), dtype=dtype)
    assert noisy.dtype == dtype
    torch.testing.assert_close(noisy, clean + sigma.view(3, 1, 1) * noise)
    assert torch.equal(noisy, noisy.mT)
    assert not noisy[~pair_mask(mask)].any()


def test_score_is_the_gradient_of_the_log_density():
    """perturbation_score is what autograd makes of equation 2, one variable per pair."""
    mask = node_mask_of_sizes(torch.tensor([5, 3]))
    clean = symmetric_noise(mask, generator=generator(1), dtype=torch.float64).sign().clamp_min(0)
    sigma = torch.tensor([0.3, 1.7], dtype=torch.float64)
    noisy = perturb(clean, mask, sigma, generator=generator(2))
    free = upper(noisy).requires_grad_()
    log_density = -((free - upper(clean)) ** 2 / (2 * sigma.unsqueeze(-1) ** 2)).sum()
    (gradient,) = torch.autograd.grad(log_density, free)
    score = perturbation_score(noisy, clean, sigma)
    torch.testing.assert_close(upper(score), gradient)
    assert torch.equal(score, score.mT)
    assert not score[~pair_mask(mask)].any()
