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


def make(*, randomised=True, seed=0, density=None, **changes):
    shape = {"blocks": 2, "pair_width": 8, "node_width": 6, "product_width": 4}
    settings = DenoiserSettings(communities=True, **{**shape, **changes})
    usual = CommunityDensity(EdgeDensity.constant(APART), EdgeDensity.constant(TOGETHER))
    network = LogOddsDenoiser(settings, density or usual, generator=generator(seed)).double()
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


def test_the_network_looks_at_communities_where_densities_are_the_same():
    """At pairs, where communities of the same sizes differ, and at nodes, where sizes do."""
    mask = torch.ones(1, 4, dtype=torch.bool)
    adj = 0.5 + symmetric_noise(mask, generator=generator(1), dtype=torch.float64)

    def log_odds(network, numbers):
        feat = torch.tensor(numbers, dtype=torch.float64).view(1, 4, 1)
        return network.log_odds(adj, mask, SIGMA[1:2], feat)

    same = EdgeDensity.constant(0.3)
    network = make(closed_form=False, density=CommunityDensity(same, same))
    two, crossed, uneven = (
        log_odds(network, n) for n in ([0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 1])
    )
    assert (two - crossed).abs().max() > 1e-3
    assert (two - uneven).abs().max() > 1e-3
    # Blind to pairs, it is told of sizes alone.
    with torch.no_grad():
        network.pairs_in.weight[:, -1] = 0
    two, crossed, uneven = (
        log_odds(network, n) for n in ([0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 1])
    )
    torch.testing.assert_close(two, crossed)
    assert (two - uneven).abs().max() > 1e-3


def test_the_last_feature_is_the_community(given):
    """And the others are features as they are without communities."""
    adj, mask, sigma, feat = given
    network = make(node_feat_dim=2)
    features = torch.randn(3, 4, 2, generator=generator(2), dtype=torch.float64)
    expected = network.log_odds(adj, mask, sigma, torch.cat([features, feat], dim=2))
    renumbered = torch.cat([features, feat + 7], dim=2)
    torch.testing.assert_close(network.log_odds(adj, mask, sigma, renumbered), expected)
    density = network.density(mask, torch.cat([features, feat], dim=2))
    torch.testing.assert_close(density, network.density(mask, feat))
    other = torch.cat([features + 1, feat], dim=2)
    assert (network.log_odds(adj, mask, sigma, other) - expected).abs().max() > 1e-3


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


@pytest.mark.parametrize("numbers", [[0, 0, 0], [0, 1, 2]], ids=["one", "as many as nodes"])
def test_where_no_pair_tells_two_densities_apart_they_are_the_same(numbers):
    adj = torch.zeros(1, 3, 3)
    adj[0, 0, 1] = adj[0, 1, 0] = 1
    feat = torch.tensor(numbers).float().view(1, 3, 1)
    density = CommunityDensity.of(GraphBatch(adj, torch.ones(1, 3, dtype=torch.bool), feat))
    assert density.apart == density.together
    assert density.apart.at(3) == pytest.approx(1.5 / 4)


def test_communities_must_be_told(given):
    adj, mask, sigma, feat = given
    network = make()
    for wrong in (None, torch.cat([feat, feat], dim=2)):
        with pytest.raises(GraphDataError, match=r"made for 1\. The last .* community; give it"):
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
        wide_density = told.density(wide.node_mask)
        assert wide_density.shape == (3, 6, 6)
        torch.testing.assert_close(wide_density[:, :4, :4], told.density(mask))


def test_a_network_is_not_asked_about_fewer_nodes_than_it_was_told_of(given):
    told = ToldNetwork(make(), given[3])
    assert told.to("meta").node_feat.device.type == "meta"
    assert "node_feat" not in told.state_dict()
    mask = torch.ones(3, 2, dtype=torch.bool)
    with pytest.raises(GraphDataError, match="told of 4 nodes, but asked about 2"):
        ToldNetwork(make(), given[3]).denoised(torch.zeros(3, 2, 2).double(), mask, SIGMA)
