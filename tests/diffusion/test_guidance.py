"""Guidance: beyond the better network by the weight, within its noise levels, alone by weight 0."""

from __future__ import annotations

import pytest
import torch

from graphscore.errors import SettingsError
from graphscore.graphs import GraphBatch, node_mask_of_sizes, pair_mask
from graphscore.networks import (
    DenoiserSettings,
    EdgeDensity,
    GuidanceSettings,
    GuidedNetwork,
    LogOddsDenoiser,
)
from graphscore.noise import symmetric_noise

SIGMA = torch.tensor([0.2, 0.5, 1.5], dtype=torch.float64)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def denoiser(seed, density, blocks):
    settings = DenoiserSettings(blocks=blocks, pair_width=6, node_width=4, product_width=3)
    network = LogOddsDenoiser(settings, density, generator=generator(seed)).double()
    torch.nn.init.normal_(network.out.weight, generator=generator(seed))
    return network


@pytest.fixture
def batch():
    mask = node_mask_of_sizes(torch.tensor([5, 3, 4]))
    noise = symmetric_noise(mask, generator=generator(), dtype=torch.float64)
    return GraphBatch((0.5 + noise) * pair_mask(mask), mask)


@pytest.fixture
def better():
    return denoiser(1, EdgeDensity(-1.0, 0.3), blocks=2)


@pytest.fixture
def weaker():
    return denoiser(2, 0.4, blocks=1)


def log_odds(network, batch):
    return network.log_odds(batch.adj, batch.node_mask, SIGMA)


@pytest.mark.parametrize("weight", [0.0, 0.5, 3.0])
def test_differences_grow_by_the_weight(better, weaker, batch, weight):
    guided = GuidedNetwork(better, weaker, GuidanceSettings(weight=weight))
    own, other = log_odds(better, batch), log_odds(weaker, batch)
    assert (own - other).abs().max() > 0.1
    torch.testing.assert_close(log_odds(guided, batch), own + weight * (own - other))
    denoised = guided.denoised(batch.adj, batch.node_mask, SIGMA)
    expected = log_odds(guided, batch).sigmoid() * batch.pair_mask
    torch.testing.assert_close(denoised, expected)


def test_noise_levels_outside_are_left_to_the_better_network(better, weaker, batch):
    limits = GuidanceSettings(weight=2.0, sigma_min=0.3, sigma_max=1.0)
    found = log_odds(GuidedNetwork(better, weaker, limits), batch)
    own = log_odds(better, batch)
    assert torch.equal(found[[0, 2]], own[[0, 2]])
    assert (found[1] - own[1]).abs().max() > 0.1


def test_the_density_is_that_of_the_better_network(better, weaker, batch):
    guided = GuidedNetwork(better, weaker, GuidanceSettings())
    found = guided.density(batch.node_mask)
    assert torch.equal(found, better.density(batch.node_mask))
    assert "prior" not in guided.state_dict()


def test_another_weight_shares_the_networks(better, weaker):
    guided = GuidedNetwork(better, weaker, GuidanceSettings(weight=2.0, sigma_max=1.0))
    other = guided.with_weight(0.5)
    assert (other.network, other.guide) == (better, weaker)
    assert other.guidance == GuidanceSettings(weight=0.5, sigma_max=1.0)
    assert guided.with_weight(0) is better
    with pytest.raises(SettingsError, match=r"weight.*-1"):
        guided.with_weight(-1)


def test_blocks_of_both_are_compiled(better, weaker):
    guided = GuidedNetwork(better, weaker, GuidanceSettings())
    assert guided.blocks_to_compile == [*better.blocks, *weaker.blocks]


def test_levels_must_rise():
    with pytest.raises(SettingsError, match="sigma_min must be below sigma_max"):
        GuidanceSettings(sigma_min=1.0, sigma_max=0.5)
