"""Bernoulli edges: their density from training graphs, their prior by size and community."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from graphscore.diffusion import BernoulliEdges, EdgeDensity, GraphLikelihood, Prior, noise_like
from graphscore.errors import GraphDataError, SettingsError
from graphscore.graphs import NO_CONDITION, Condition, GraphBatch, node_mask_of_sizes, pair_mask


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_the_density_counts_pairs_of_existing_nodes():
    """Padding and diagonal count for nothing; half an edge more, half a missing one more."""
    mask = node_mask_of_sizes(torch.tensor([4, 4, 1]))
    adj = torch.zeros(3, 4, 4)
    adj[0, 0, 1] = adj[0, 1, 0] = adj[1, 0, 1] = adj[1, 1, 0] = 1
    assert EdgeDensity.of(GraphBatch(adj, mask)).at(4) == pytest.approx(2.5 / 13)
    full = GraphBatch(pair_mask(mask).float(), mask)
    assert EdgeDensity.of(full).at(4) == pytest.approx(12.5 / 13)
    assert EdgeDensity.of(full[[2]]).at(1) == 0.5


def test_the_density_follows_the_size():
    """Trees have n - 1 edges, so a density of 2 / n; all edges together are met exactly."""
    trees = [nx.path_graph(nodes) for nodes in (20, 30, 40, 60)]
    density = EdgeDensity.of(GraphBatch.from_networkx(10 * trees))
    for tree in trees:
        assert density.at(len(tree)) == pytest.approx(2 / len(tree), rel=0.02)
    expected = sum(density.at(n) * n * (n - 1) / 2 for n in (20, 30, 40, 60))
    assert expected == pytest.approx(146, rel=1e-3)


def test_a_few_graphs_of_nearly_the_same_size_say_little_about_others():
    graphs = [nx.gnp_random_graph(18 + i % 3, 0.3, seed=i) for i in range(8)]
    density = EdgeDensity.of(GraphBatch.from_networkx(graphs))
    assert abs(density.slope) < 1
    two = [nx.gnp_random_graph(19, 0.3, seed=1), nx.gnp_random_graph(20, 0.2, seed=2)]
    density = EdgeDensity.of(GraphBatch.from_networkx(two))
    assert 0.15 < density.at(40) < density.at(10) < 0.4


def test_sizes_that_decide_everything_leave_a_finite_density():
    graphs = [nx.complete_graph(3), nx.empty_graph(6)]
    density = EdgeDensity.of(GraphBatch.from_networkx(graphs))
    assert 0 < density.at(6) < density.at(3) < 1


@pytest.mark.parametrize(
    ("level", "density"),
    [(-700.0, math.exp(-700)), (-1.0, 1 / (1 + math.e)), (0.0, 0.5), (2.0, 1 / (1 + math.exp(-2)))],
)
def test_the_density_at_a_level_is_its_logistic_function(level, density):
    """Also of levels so low that nearly nothing is left."""
    assert EdgeDensity(level).at(7) == pytest.approx(density, rel=1e-12)
    assert EdgeDensity(1e4).at(7) == 1


@pytest.mark.parametrize("density", [0.0, 1.0, -0.1, 1.5, float("nan")])
def test_a_density_that_decides_everything_is_refused(density):
    with pytest.raises(SettingsError, match="EdgeDensity"):
        EdgeDensity.constant(density)


def test_the_prior_of_edges_is_the_density_of_the_training_graphs():
    """The expected number of edges is that of the training graphs, of every size together."""
    trees = [nx.path_graph(nodes) for nodes in (20, 30, 40, 60)]
    batch = GraphBatch.from_networkx(10 * trees, dtype=torch.float64)
    likelihood = GraphLikelihood(BernoulliEdges.of(batch))
    mean = likelihood.prior_of(batch.node_mask, NO_CONDITION, torch.float64).mean
    assert mean.edges.dtype == torch.float64
    assert mean.edges.sum().item() == pytest.approx(batch.adj.sum().item(), rel=1e-3)


def test_the_prior_is_that_of_each_size():
    mask = node_mask_of_sizes(torch.tensor([5, 1, 0]))
    density = EdgeDensity(1.0, -2.0)
    prior = BernoulliEdges(density).prior(mask, NO_CONDITION, torch.float32)
    expected = torch.tensor([density.at(5), density.at(1), density.at(1)]).view(3, 1, 1)
    torch.testing.assert_close(prior.sigmoid(), expected)


def test_densities_are_those_within_and_between_communities():
    """Two triangles with one edge between them: 6 of 6 pairs, and 1 of 9."""
    adj = torch.zeros(1, 7, 7)
    for i, j in [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)]:
        adj[0, i, j] = adj[0, j, i] = 1
    mask = node_mask_of_sizes(torch.tensor([6]), 7)
    numbers = torch.tensor([[0, 0, 0, 1, 1, 1, 0]])
    likelihood = BernoulliEdges.of(GraphBatch(adj, mask, communities=numbers))
    assert likelihood.within.at(6) == pytest.approx(6.5 / 7)
    assert likelihood.density.at(6) == pytest.approx(1.5 / 10)
    prior = likelihood.prior(mask, Condition(communities=numbers), torch.float32).sigmoid()
    assert prior[0, 0, 2].item() == pytest.approx(6.5 / 7)
    assert prior[0, 0, 3].item() == pytest.approx(1.5 / 10)
    with pytest.raises(GraphDataError, match="community of every node"):
        likelihood.prior(mask, NO_CONDITION, torch.float32)


@pytest.mark.parametrize("numbers", [[0, 0, 0], [0, 1, 2]], ids=["one", "as many as nodes"])
def test_both_densities_are_the_same_where_one_of_them_has_no_pairs(numbers):
    adj = torch.zeros(1, 3, 3)
    adj[0, 0, 1] = adj[0, 1, 0] = 1
    mask = torch.ones(1, 3, dtype=torch.bool)
    likelihood = BernoulliEdges.of(GraphBatch(adj, mask, communities=torch.tensor([numbers])))
    assert likelihood.density == likelihood.within
    assert likelihood.density.at(3) == pytest.approx(1.5 / 4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "gaussian"}, "unknown kind of likelihood 'gaussian'"),
        ({"more": 1, "less": 2}, "unknown in a likelihood: 'less'"),
        ({"density": {"level": 10_001, "slope": 0}}, "level"),
        ({"density": {"level": -10_001, "slope": 0}}, "level"),
        ({"density": {"level": 0, "slope": 10_001}}, "slope"),
        ({"within": {"level": 0}}, "slope"),
    ],
    ids=str,
)
def test_values_that_are_no_likelihood_are_refused(changes, message):
    values = BernoulliEdges(EdgeDensity(10_000.0, -10_000.0)).to_dict()
    assert BernoulliEdges.from_dict(values).to_dict() == values
    with pytest.raises((SettingsError, ValueError), match=message):
        BernoulliEdges.from_dict({**values, **changes})


def test_prior_samples_are_the_mean_under_noise():
    """The noise of sigma on the probability of each pair, on existing pairs only."""
    mask = node_mask_of_sizes(torch.tensor([5, 3]))
    condition = Condition(communities=torch.tensor([[0, 0, 1, 1, 2]] * 2))
    densities = EdgeDensity.constant(0.2), EdgeDensity.constant(0.7)
    likelihood = GraphLikelihood(BernoulliEdges(*densities))
    prior = likelihood.prior_of(mask, condition, torch.float64)
    assert isinstance(prior, Prior)
    start = prior.sample(4.0, generator=generator())
    noise = noise_like(prior.mean, generator=generator()).edges
    within = condition.same_community()
    mean = torch.where(within, 0.7, 0.2).double()
    torch.testing.assert_close(start.edges, (mean + 4 * noise) * pair_mask(mask))
    assert torch.equal(start.edges, start.edges.mT)


def test_edges_are_drawn_once_per_pair():
    """Symmetric, binary, only where there are pairs, with the probability asked for."""
    mask = pair_mask(node_mask_of_sizes(torch.tensor([6, 4]).repeat(3000)))
    likelihood = BernoulliEdges(EdgeDensity.constant(0.5))
    sigma = torch.ones(6000)
    drawn = likelihood.draw(torch.full((6000, 6, 6), 0.2), sigma, mask, generator=generator())
    assert torch.equal(drawn, drawn.mT)
    assert not drawn[~mask].any()
    values = drawn[mask]
    assert set(values.unique().tolist()) == {0.0, 1.0}
    assert abs(values.mean() - 0.2) < 5 * (0.16 / (len(values) / 2)) ** 0.5
    # The posterior mean of a score network may lie outside; then edges are certain.
    for value, edge in ((1.3, True), (-0.2, False)):
        drawn = likelihood.draw(torch.full((6000, 6, 6), value), sigma, mask, generator=generator())
        assert torch.equal(drawn == 1, mask & edge)


def test_decoding_is_the_strict_threshold_on_existing_pairs():
    """Equation 4: above the threshold, not at it; never on the diagonal or on padding."""
    values = torch.tensor([0.5, 0.5000001, 0.4999999, -2.0, 7.0, 1.0])
    adj = torch.full((1, 5, 5), 9.0)
    rows, columns = torch.triu_indices(4, 4, offset=1)
    adj[0, rows, columns] = adj[0, columns, rows] = values
    node_mask = torch.tensor([[True, True, True, True, False]])
    mask = pair_mask(node_mask)
    decode = BernoulliEdges(EdgeDensity.constant(0.5)).decode
    result = decode(adj, mask, 0.5)
    assert result[0, rows, columns].tolist() == [0, 1, 0, 0, 1, 1]
    assert torch.equal(result, result.mT)
    assert not result[~mask].any()
    assert decode(adj, mask, 0.9)[0, rows, columns].tolist() == [0, 0, 0, 0, 1, 1]
    assert [len(graph) for graph in GraphBatch(result, node_mask).to_networkx()] == [4]


@pytest.mark.parametrize("density", [0.1, 0.5])
@pytest.mark.parametrize("sigma", [0.2, 1.0, 5.0])
def test_the_first_feature_is_standardised(density, sigma):
    """Over edges of the density and their noise it has mean 0 and variance 1."""
    likelihood = BernoulliEdges(EdgeDensity.constant(density))
    mask = pair_mask(torch.ones(1, 3, dtype=torch.bool))
    noisy = torch.zeros(1, 3, 3, dtype=torch.float64)
    noisy[0, 0, 1] = 1.0
    prior = torch.full((1, 1, 1), density, dtype=torch.float64).logit()
    levels = torch.tensor([sigma], dtype=torch.float64)
    value = likelihood.features(noisy, levels, prior, mask).channels[0]
    edge, none = value[0, 0, 1].item(), value[0, 0, 2].item()
    assert density * edge + (1 - density) * none == pytest.approx(0, abs=1e-12)
    of_noise = (sigma * (edge - none)) ** 2
    assert density * edge**2 + (1 - density) * none**2 + of_noise == pytest.approx(1)
    assert value[0].diagonal().tolist() == [0, 0, 0]


def test_the_other_features_are_the_bounded_logit_and_the_probability():
    """The logit of an entry's own noisy value, 8 at most and then divided by 4."""
    likelihood = BernoulliEdges(EdgeDensity.constant(0.5))
    noisy = torch.tensor([[[0.0, 0.7, 9.0], [0.7, 0.0, -9.0], [9.0, -9.0, 0.0]]])
    mask = pair_mask(torch.ones(1, 3, dtype=torch.bool))
    features = likelihood.features(noisy, torch.tensor([0.5]), torch.zeros(1, 1, 1), mask)
    logit = 0.2 / 0.25
    _, bounded, probability = features.channels
    assert bounded[0, 0].tolist() == pytest.approx([0, logit / 4, 2])
    assert bounded[0, 1].tolist() == pytest.approx([logit / 4, 0, -2])
    assert probability[0, 0, 1].item() == pytest.approx(torch.tensor(logit).sigmoid().item())
    assert probability[0, 0, 0].item() == 0
    assert torch.equal(features.connection, probability)


@pytest.mark.parametrize(
    "graphs",
    [
        [nx.complete_graph(3), nx.empty_graph(6)],
        [
            nx.path_graph(2),
            nx.path_graph(5),
            nx.cycle_graph(9),
            nx.complete_graph(4),
            nx.empty_graph(1),
        ],
    ],
)
def test_the_density_is_the_penalised_maximum_likelihood(graphs):
    """Level and slope at the minimum of a cost that is written out and searched without slopes."""
    pairs = np.array([len(graph) * (len(graph) - 1) / 2 for graph in graphs])
    edges = np.array([graph.number_of_edges() for graph in graphs])[pairs > 0]
    log_sizes = np.log([len(graph) for graph in graphs])[pairs > 0]
    pairs = pairs[pairs > 0]
    total = pairs.sum()
    share = (total * edges / pairs + 0.5) / (total + 1)

    def cost(values):
        p = 1 / (1 + np.exp(-(values[0] + values[1] * log_sizes)))
        return -pairs @ (share * np.log(p) + (1 - share) * np.log(1 - p)) + values[1] ** 2 / 2

    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 10_000}
    level, slope = minimize(cost, [0.0, 0.0], method="Nelder-Mead", options=options).x
    density = EdgeDensity.of(GraphBatch.from_networkx(graphs))
    assert density.level == pytest.approx(level, abs=1e-4)
    assert density.slope == pytest.approx(slope, abs=1e-4)
    # Exactly at the minimum, where the slopes of the cost are zero.
    error = pairs * ([density.at(np.exp(size)) for size in log_sizes] - share)
    assert error.sum() == pytest.approx(0, abs=1e-7)
    assert error @ log_sizes + density.slope == pytest.approx(0, abs=1e-7)
