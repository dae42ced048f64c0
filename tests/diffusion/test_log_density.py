"""The implicit log-density (Theorem 1) as a line integral of the score."""

from __future__ import annotations

import pytest
import torch

from graphscore.diffusion import log_density_difference, symmetric_noise
from graphscore.graphs import GraphBatch, GraphState, node_mask_of_sizes, pair_mask
from graphscore.networks import EDPGNN, EDPGNNSettings


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def batch():
    mask = node_mask_of_sizes(torch.tensor([6, 3, 5]))
    adj = 0.5 + symmetric_noise(mask, generator=generator(), dtype=torch.float64)
    return GraphBatch(adj * pair_mask(mask), mask)


@pytest.mark.parametrize("points", [1, 8, 32])
@pytest.mark.parametrize("mean", [0.0, 0.8])
def test_exact_on_gaussian_targets(batch, mean, points):
    """log N(a; mu, v) - log N(0; mu, v) summed over pairs i < j, with the sigma of each graph."""
    sigma = torch.tensor([0.1, 0.7, 1.5], dtype=torch.float64)
    variance = 0.3 + sigma**2

    def score(noisy, sigma):
        variance = 0.3 + sigma.view(-1, 1, 1) ** 2
        return noisy.map(lambda edges, mask: (mean - edges) / variance * mask, noisy.masks)

    pairs = batch.pair_mask.triu()
    expected = ((mean**2 - (batch.adj - mean) ** 2) * pairs).sum((1, 2)) / (2 * variance)
    result = log_density_difference(score, batch.state, sigma, points=points)
    torch.testing.assert_close(result, expected, rtol=1e-12, atol=1e-12)


def test_exact_up_to_the_promised_degree(batch):
    """With n points scores that are polynomials of degree 2n - 1 are integrated exactly."""

    def score(noisy, sigma):
        return noisy.map(lambda entries: entries**5)

    expected = (batch.adj**6 / 6).sum((1, 2)) / 2
    args = score, batch.state, torch.ones(3)
    result = log_density_difference(*args, points=3)
    torch.testing.assert_close(result, expected, rtol=1e-12, atol=1e-12)
    too_few = log_density_difference(*args, points=2)
    assert ((too_few - expected).abs() > 1e-6).all()


@pytest.mark.parametrize("settings", [EDPGNNSettings(), EDPGNNSettings.released()])
def test_invariant_under_permutation(batch, settings):
    """An equivariant network defines a permutation-invariant density; it also ignores padding."""
    source = generator(1)
    network = EDPGNN(settings, (1.0, 0.1), generator=source).double().eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=source))
    sigma = torch.tensor([0.1, 1.0, 0.4], dtype=torch.float64)

    def density(graphs):
        return log_density_difference(network, graphs.state, sigma, points=8)

    expected = density(batch)
    assert expected.isfinite().all()
    assert expected.std() > 1e-3
    for graphs in (batch, batch.padded(9)):
        order = torch.stack([torch.randperm(graphs.max_nodes, generator=source) for _ in range(3)])
        result = density(graphs.permuted(order))
        torch.testing.assert_close(result, expected, rtol=1e-9, atol=1e-9)


def test_no_edges_no_difference(batch):
    """The density at zero is the reference."""
    zeros = batch.state * 0.0
    result = log_density_difference(
        lambda noisy, sigma: noisy.map(lambda entries: entries - 3), zeros, torch.ones(3)
    )
    assert result.tolist() == [0, 0, 0]


def test_entries_of_nodes_count_once_each_and_channels_of_edges_by_pair():
    """A standard Gaussian: -1/2 of the sum of squares over pairs i < j, channels and nodes."""
    mask = node_mask_of_sizes(torch.tensor([4, 2]))
    channels = [symmetric_noise(mask, generator=generator(c), dtype=torch.float64) for c in (1, 2)]
    nodes = torch.randn(2, 4, 3, generator=generator(3), dtype=torch.float64) * mask.unsqueeze(2)
    state = GraphState(torch.stack(channels, dim=3), mask, nodes)
    result = log_density_difference(lambda noisy, sigma: noisy * -1.0, state, torch.ones(2))
    pairs = sum(channel.triu().square().sum((1, 2)) for channel in channels)
    torch.testing.assert_close(result, -(pairs + nodes.square().sum((1, 2))) / 2)


def test_exact_on_weighted_graphs(batch):
    """Every pair is 0, or an edge with a weight of N(1, 0.3^2) or N(-0.5, 0.2^2), and noisy."""
    parts = torch.tensor([(0.6, 0.0, 0.0), (0.3, 1.0, 0.3), (0.1, -0.5, 0.2)]).double()
    shares, means, deviations = parts.T
    sigma = torch.tensor([0.3, 0.5, 1.0], dtype=torch.float64)

    def log_density(edges, sigma):
        spread = (deviations**2 + sigma.view(-1, 1, 1, 1) ** 2).sqrt()
        each = torch.distributions.Normal(means, spread).log_prob(edges.unsqueeze(3))
        return (each + shares.log()).logsumexp(3)

    def score(noisy, sigma):
        with torch.enable_grad():
            edges = noisy.edges.clone().requires_grad_()
            (slope,) = torch.autograd.grad(log_density(edges, sigma).sum(), edges)
        return GraphState(slope * noisy.pair_mask, noisy.node_mask)

    pairs = batch.pair_mask.triu()
    zeros = torch.zeros_like(batch.adj)
    change = log_density(batch.adj, sigma) - log_density(zeros, sigma)
    result = log_density_difference(score, batch.state, sigma, points=64)
    torch.testing.assert_close(result, (change * pairs).sum((1, 2)), rtol=1e-6, atol=1e-6)


def test_points_are_network_calls_32_if_not_given(batch):
    calls = []

    def score(state, sigma):
        calls.append(sigma)
        return state * -1.0

    log_density_difference(score, batch.state, torch.ones(3).double())
    assert len(calls) == 32
    log_density_difference(score, batch.state, torch.ones(3).double(), points=5)
    assert len(calls) == 37
