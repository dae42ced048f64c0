"""Networks that are told communities: exact at the start, blind to their numbers, told once."""

from __future__ import annotations

import itertools

import pytest
import torch

from graphscore.errors import GraphDataError
from graphscore.graphs import GraphBatch, node_mask_of_sizes, pair_mask
from graphscore.networks import (
    CommunityDensity,
    DenoiserSettings,
    EdgeDensity,
    GuidanceSettings,
    GuidedNetwork,
    LogOddsDenoiser,
    ToldNetwork,
)
from graphscore.networks.communities import same_community
from graphscore.noise import symmetric_noise

SIGMA = torch.tensor([0.3, 0.8, 2.0], dtype=torch.float64)
APART, TOGETHER = 0.1, 0.7
NUMBERS = torch.tensor([[0, 0, 1, 1], [2, 1, 2, 0], [3, 3, 3, 3]], dtype=torch.float64)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def make(*, randomised=True, seed=0, **changes):
    shape = {"blocks": 2, "pair_width": 8, "node_width": 6, "product_width": 4}
    settings = DenoiserSettings(communities=True, **{**shape, **changes})
    density = CommunityDensity(EdgeDensity.constant(APART), EdgeDensity.constant(TOGETHER))
    network = LogOddsDenoiser(settings, density, generator=generator(seed)).double()
    if randomised:
        torch.nn.init.normal_(network.out.weight, generator=generator(seed))
    return network


@pytest.fixture
def given():
    mask = torch.ones(3, 4, dtype=torch.bool)
    noise = symmetric_noise(mask, generator=generator(1), dtype=torch.float64)
    return 0.5 * pair_mask(mask) + noise, mask, SIGMA, NUMBERS.unsqueeze(2)


def test_at_the_start_it_is_bayes_rule_for_edges_that_depend_on_communities(given):
    """D by brute force over all graphs on 4 nodes, inside and between communities."""
    adj, mask, sigma, feat = given
    rows, columns = torch.triu_indices(4, 4, offset=1)
    graphs = torch.tensor(list(itertools.product([0.0, 1.0], repeat=6))).double()
    result = make(randomised=False).denoised(adj, mask, sigma, feat)
    for graph in range(3):
        together = NUMBERS[graph, rows] == NUMBERS[graph, columns]
        p = torch.where(together, TOGETHER, APART).double()
        prior = torch.where(graphs == 1, p, 1 - p).prod(1)
        distance = (adj[graph, rows, columns] - graphs).square().sum(1)
        weight = prior * torch.exp((distance.min() - distance) / (2 * sigma[graph] ** 2))
        expected = weight @ graphs / weight.sum()
        found = result[graph, rows, columns]
        torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-12)


def test_numbers_of_communities_do_not_matter(given):
    """Other numbers for the same communities change nothing; other communities do."""
    network, (adj, mask, sigma, feat) = make(), given
    expected = network.log_odds(adj, mask, sigma, feat)
    renumbered = torch.tensor([7.0, -2.0, 0.5, 11.0]).double()[NUMBERS.long()].unsqueeze(2)
    torch.testing.assert_close(network.log_odds(adj, mask, sigma, renumbered), expected)
    other = feat.flip(1).clone()
    other[0, 0] = 5
    assert (network.log_odds(adj, mask, sigma, other) - expected).abs().max() > 0.1


def test_the_network_looks_at_communities_beyond_the_closed_form(given):
    adj, mask, sigma, feat = given
    network = make(closed_form=False)
    found = [network.log_odds(adj, mask, sigma, f) for f in (feat, torch.zeros_like(feat))]
    assert (found[0] - found[1])[:2].abs().max() > 1e-3


def test_densities_are_those_inside_and_between():
    """Two triangles with one edge between them: 6 of 6 pairs, and 1 of 9."""
    adj = torch.zeros(1, 7, 7)
    for i, j in [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)]:
        adj[0, i, j] = adj[0, j, i] = 1
    numbers = torch.tensor([[0.0, 0, 0, 1, 1, 1, 0]]).unsqueeze(2)
    batch = GraphBatch(adj, node_mask_of_sizes(torch.tensor([6]), 7), numbers)
    density = CommunityDensity.of(batch)
    assert density.together.at(6) == pytest.approx(6.5 / 7)
    assert density.apart.at(6) == pytest.approx(1.5 / 10)


def test_one_community_alone_leaves_the_other_density_open():
    adj = torch.ones(1, 3, 3) - torch.eye(3)
    batch = GraphBatch(adj, torch.ones(1, 3, dtype=torch.bool), torch.zeros(1, 3, 1))
    assert CommunityDensity.of(batch).apart.at(3) == 0.5


def test_communities_must_be_told(given):
    adj, mask, sigma, feat = given
    network = make()
    for wrong in (None, torch.cat([feat, feat], dim=2)):
        with pytest.raises(GraphDataError, match=r"made for 1 with the community"):
            network(adj, mask, sigma, wrong)
    with pytest.raises(GraphDataError, match="community of every node"):
        network.density(mask)
    with pytest.raises(GraphDataError, match="community of every node"):
        same_community(None)


def test_a_network_that_was_told_needs_no_features(given):
    """Also in guidance, and padded to more nodes than it was told of."""
    adj, mask, sigma, feat = given
    network = make()
    guided = GuidedNetwork(network, make(blocks=1, seed=3), GuidanceSettings())
    for one in (network, guided):
        told = ToldNetwork(one, feat)
        assert told.settings == one.settings
        assert told.blocks_to_compile == one.blocks_to_compile
        expected = one.denoised(adj, mask, sigma, feat)
        torch.testing.assert_close(told.denoised(adj, mask, sigma), expected)
        torch.testing.assert_close(told(adj, mask, sigma), one(adj, mask, sigma, feat))
        torch.testing.assert_close(told.density(mask), one.density(mask, feat))
        wide = GraphBatch(adj, mask).padded(6)
        found = told.denoised(wide.adj, wide.node_mask, sigma)
        torch.testing.assert_close(found[:, :4, :4], expected)
        assert not found[:, 4:].any()
