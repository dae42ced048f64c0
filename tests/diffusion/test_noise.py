"""Symmetric Gaussian noise (equation 2): its moments, its symmetry, its exact score."""

from __future__ import annotations

import pytest
import torch

from graphscore.diffusion.noise import (
    mean_of_score,
    noise_like,
    perturb,
    score_of_mean,
    symmetric_noise,
)
from graphscore.graphs import GraphState, node_mask_of_sizes, pair_mask


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


def test_noise_of_a_pair_is_the_draw_above_the_diagonal():
    """So that a seed keeps giving the same graphs."""
    noise = symmetric_noise(torch.ones(2, 5, dtype=torch.bool), generator=generator(3))
    assert torch.equal(upper(noise), upper(torch.randn(2, 5, 5, generator=generator(3))))


def state_of(mask, dtype=torch.float64, channels=0, features=0):
    """Entries that are all 1 where they exist."""
    pairs = pair_mask(mask).to(dtype)
    edges = pairs.unsqueeze(3).repeat(1, 1, 1, channels) if channels else pairs
    nodes = mask.to(dtype).unsqueeze(2).repeat(1, 1, features) if features else None
    return GraphState(edges, mask, nodes)


@pytest.mark.parametrize("channels", [0, 3])
@pytest.mark.parametrize("features", [0, 2])
def test_noise_of_every_entry_is_independent_and_masked(channels, features):
    """Edges of several channels are symmetric in each; nodes have a draw per feature."""
    mask = node_mask_of_sizes(torch.tensor([4, 3]).repeat(4000))
    noise = noise_like(state_of(mask, channels=channels, features=features), generator=generator())
    edges = noise.edges if channels else noise.edges.unsqueeze(3)
    assert edges.shape == (8000, 4, 4, channels or 1)
    assert torch.equal(edges, edges.transpose(1, 2))
    assert torch.equal(edges != 0, pair_mask(mask).unsqueeze(3).expand_as(edges))
    values = [*(upper(edges[::2, :, :, c]) for c in range(edges.shape[3]))]
    if features:
        assert torch.equal(noise.nodes != 0, mask.unsqueeze(2).expand(8000, 4, features))
        values.append(noise.nodes[::2].flatten(1))
    else:
        assert noise.nodes is None
    values = torch.cat(values, dim=1)
    covariance = values.mT @ values / len(values)
    error = covariance - torch.eye(values.shape[1], dtype=torch.float64)
    assert error.abs().max() < 5 * (2 / len(values)) ** 0.5


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_perturbation_scales_by_each_graphs_sigma(dtype):
    """A~ = A + sigma z with the sigma of each graph, and keeps the type of A."""
    clean = state_of(node_mask_of_sizes(torch.tensor([4, 3, 4])), dtype, features=2)
    sigma = torch.tensor([0.1, 1.0, 3.0], dtype=dtype)
    noisy = perturb(clean, sigma, generator=generator())
    noise = noise_like(clean, generator=generator())
    assert noisy.edges.dtype == noisy.nodes.dtype == dtype
    torch.testing.assert_close(noisy.edges, clean.edges + sigma.view(3, 1, 1) * noise.edges)
    torch.testing.assert_close(noisy.nodes, clean.nodes + sigma.view(3, 1, 1) * noise.nodes)
    assert torch.equal(noisy.edges, noisy.edges.mT)
    assert not noisy.edges[~clean.pair_mask].any()
    assert not noisy.nodes[~clean.node_mask].any()


def test_score_is_the_gradient_of_the_log_density():
    """Of clean entries it is what autograd makes of equation 2, one variable per pair."""
    mask = node_mask_of_sizes(torch.tensor([5, 3]))
    clean = state_of(mask, features=2)
    sigma = torch.tensor([0.3, 1.7], dtype=torch.float64)
    noisy = perturb(clean, sigma, generator=generator(2))
    pairs, nodes = upper(noisy.edges).requires_grad_(), noisy.nodes.clone().requires_grad_()
    squares = (pairs - upper(clean.edges)).square().sum(1)
    squares = squares + (nodes - clean.nodes).square().sum((1, 2))
    gradients = torch.autograd.grad(-(squares / (2 * sigma**2)).sum(), (pairs, nodes))
    score = score_of_mean(clean, noisy, sigma)
    torch.testing.assert_close(upper(score.edges), gradients[0])
    torch.testing.assert_close(score.nodes, gradients[1])
    assert torch.equal(score.edges, score.edges.mT)
    assert not score.edges[~pair_mask(mask)].any()
    back = mean_of_score(score, noisy, sigma)
    torch.testing.assert_close(back.edges, clean.edges)
    torch.testing.assert_close(back.nodes, clean.nodes)
