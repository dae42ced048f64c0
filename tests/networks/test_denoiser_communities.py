"""Denoisers conditioned on communities: exact at the start, blind to the communities' numbers."""

from __future__ import annotations

import itertools

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
from graphscore.errors import GraphDataError
from graphscore.graphs import Condition, GraphState, pair_mask
from graphscore.networks import Denoiser, DenoiserSettings

SIGMA = torch.tensor([0.3, 0.8, 2.0], dtype=torch.float64)
BETWEEN, WITHIN = EdgeDensity.constant(0.1), EdgeDensity.constant(0.7)
NUMBERS = torch.tensor([[0, 0, 1, 1], [2, 1, 2, 0], [3, 3, 3, 3]])
GIVEN = Condition(communities=NUMBERS)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def make(*, randomised=True, seed=0, densities=(BETWEEN, WITHIN), analytic_skip=True, **changes):
    shape = {"blocks": 2, "pair_width": 8, "node_width": 6, "product_width": 4}
    settings = DenoiserSettings(communities=True, **{**shape, **changes})
    likelihood = GraphLikelihood(BernoulliEdges(*densities))
    network = Denoiser(settings, likelihood, generator=generator(seed)).double()
    if randomised:
        torch.nn.init.normal_(network.out.weight, generator=generator(seed))
    return Posterior(network, likelihood, analytic_skip=analytic_skip)


def noisy_graphs(count):
    mask = torch.ones(count, 4, dtype=torch.bool)
    clean = GraphState(0.5 * pair_mask(mask).double(), mask)
    return perturb(clean, torch.ones(count).double(), generator=generator(1))


@pytest.fixture
def noisy():
    return noisy_graphs(3)


def test_at_the_start_it_is_bayes_rule_for_edges_that_depend_on_communities(noisy):
    """D by brute force over all graphs on 4 nodes, within and between communities."""
    rows, columns = torch.triu_indices(4, 4, offset=1)
    graphs = torch.tensor(list(itertools.product([0.0, 1.0], repeat=6))).double()
    result = make(randomised=False).denoise(noisy, SIGMA, GIVEN).edges
    for graph in range(3):
        within = NUMBERS[graph, rows] == NUMBERS[graph, columns]
        p = torch.where(within, 0.7, 0.1).double()
        prior = torch.where(graphs == 1, p, 1 - p).prod(1)
        distance = (noisy.edges[graph, rows, columns] - graphs).square().sum(1)
        weight = prior * torch.exp((distance.min() - distance) / (2 * SIGMA[graph] ** 2))
        expected = weight @ graphs / weight.sum()
        found = result[graph, rows, columns]
        torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-12)


def test_numbers_of_communities_do_not_matter(noisy):
    """Other numbers for the same communities change nothing; other communities do."""
    network = make()
    expected = network.logits(noisy, SIGMA, GIVEN).edges
    renumbered = Condition(communities=torch.tensor([7, -2, 5, 11])[NUMBERS])
    torch.testing.assert_close(network.logits(noisy, SIGMA, renumbered).edges, expected)
    other = NUMBERS.flip(1).clone()
    other[0, 0] = 5
    changed = network.logits(noisy, SIGMA, Condition(communities=other)).edges
    assert (changed - expected).abs().max() > 0.1


def test_the_network_looks_at_communities_where_densities_are_the_same():
    """At pairs, where communities of the same sizes differ, and at nodes, where sizes do."""
    noisy, same = noisy_graphs(1), EdgeDensity.constant(0.3)
    network = make(analytic_skip=False, densities=(same, same))

    def logits():
        return [
            network.logits(noisy, SIGMA[1:2], Condition(communities=torch.tensor([numbers]))).edges
            for numbers in ([0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 1])
        ]

    two, crossed, uneven = logits()
    assert (two - crossed).abs().max() > 1e-3
    assert (two - uneven).abs().max() > 1e-3
    # Without the feature of pairs, only the sizes of communities are seen.
    with torch.no_grad():
        network.network.pairs_in.weight[:, -1] = 0
    two, crossed, uneven = logits()
    torch.testing.assert_close(two, crossed)
    assert (two - uneven).abs().max() > 1e-3


def test_communities_and_node_features_are_separate(noisy):
    network = make(node_feat_dim=2)
    features = torch.randn(3, 4, 2, generator=generator(2), dtype=torch.float64)
    expected = network.logits(noisy, SIGMA, Condition(features, NUMBERS)).edges
    renumbered = Condition(features, NUMBERS + 7)
    torch.testing.assert_close(network.logits(noisy, SIGMA, renumbered).edges, expected)
    other = network.logits(noisy, SIGMA, Condition(features + 1, NUMBERS)).edges
    assert (other - expected).abs().max() > 1e-3


def test_communities_must_be_given(noisy):
    features = torch.zeros(3, 4, 1, dtype=torch.float64)
    with pytest.raises(GraphDataError, match="community of every node"):
        make()(noisy, SIGMA)
    with pytest.raises(GraphDataError, match=r"got 1 node features.*made for 0"):
        make()(noisy, SIGMA, Condition(features, NUMBERS))


def test_a_wider_state_needs_a_wider_condition(noisy):
    """Padded to more nodes, networks answer the same, also in guidance."""
    network = make()
    guided = GuidedPosterior(network, make(blocks=1, seed=3), GuidanceSettings())
    for one in (network, guided):
        expected = one.denoise(noisy, SIGMA, GIVEN).edges
        found = one.denoise(noisy.extended(2), SIGMA, GIVEN.extended(2)).edges
        torch.testing.assert_close(found[:, :4, :4], expected)
        assert not found[:, 4:].any()
