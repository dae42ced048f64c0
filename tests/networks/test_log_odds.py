"""Posterior log-odds of independent edges against Bayes' rule, and what networks make of them."""

from __future__ import annotations

import math

import networkx as nx
import pytest
import torch

from graphscore.errors import SettingsError
from graphscore.graphs import GraphBatch, node_mask_of_sizes, pair_mask
from graphscore.networks import EDPGNN, AsDenoiser, EdgeDensity, EDPGNNSettings
from graphscore.networks.log_odds import independent_log_odds
from graphscore.noise import symmetric_noise

SIGMA = torch.tensor([0.2, 0.7, 3.0], dtype=torch.float64)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def batch():
    mask = node_mask_of_sizes(torch.tensor([5, 3, 4]))
    noise = symmetric_noise(mask, generator=generator(), dtype=torch.float64)
    return GraphBatch((0.5 + noise) * pair_mask(mask), mask)


def edp_gnn():
    settings = EDPGNNSettings(channels=(2, 2))
    return EDPGNN(settings, (1.0, 0.1), generator=generator()).double()


def bayes(value, sigma, p):
    """P(edge | noisy value), from two Gaussian densities."""

    def density(mean):
        return math.exp(-((value - mean) ** 2) / (2 * sigma**2))

    return p * density(1) / (p * density(1) + (1 - p) * density(0))


@pytest.mark.parametrize("p", [0.01, 0.3, 0.9])
def test_the_closed_form_is_bayes_rule(batch, p):
    prior = torch.tensor(math.log(p / (1 - p)), dtype=torch.float64)
    result = independent_log_odds(batch.adj, SIGMA, prior).sigmoid()
    for graph, i, j in batch.pair_mask.nonzero().tolist():
        expected = bayes(batch.adj[graph, i, j].item(), SIGMA[graph].item(), p)
        assert result[graph, i, j].item() == pytest.approx(expected, rel=1e-12)


def test_any_network_is_a_correction_of_the_closed_form(batch):
    """Log-odds are the sum of both, or the correction alone; D and score follow from them."""
    network = edp_gnn()
    correction = network(batch.adj, batch.node_mask, SIGMA)
    closed = independent_log_odds(batch.adj, SIGMA, torch.tensor(0.0)) * batch.pair_mask
    for closed_form, expected in [(True, closed + correction), (False, correction)]:
        denoiser = AsDenoiser(network, 0.5, closed_form=closed_form).double()
        given = batch.adj, batch.node_mask, SIGMA
        torch.testing.assert_close(denoiser.log_odds(*given), expected)
        denoised = expected.sigmoid() * batch.pair_mask
        torch.testing.assert_close(denoiser.denoised(*given), denoised)
        score = (denoised - batch.adj) / SIGMA.view(3, 1, 1) ** 2
        torch.testing.assert_close(denoiser(*given), score)


def test_log_odds_and_probabilities_are_zero_off_the_pairs(batch):
    """Whatever stands there in the input, numbers or not."""
    off = ~batch.pair_mask
    adj = torch.where(off, torch.nan, batch.adj)
    denoiser = AsDenoiser(edp_gnn(), 0.3)
    for answer in (denoiser.log_odds, denoiser.denoised, denoiser):
        out = answer(adj, batch.node_mask, SIGMA)
        assert not out[off].any()
        assert out.isfinite().all()
        torch.testing.assert_close(out, answer(batch.adj, batch.node_mask, SIGMA))


def test_the_density_is_stored_with_the_weights():
    mask = torch.ones(1, 5, dtype=torch.bool)
    one, other = AsDenoiser(edp_gnn(), 0.3), AsDenoiser(edp_gnn(), 0.6)
    assert one.density(mask).item() == pytest.approx(0.3)
    one.load_state_dict(other.state_dict())
    assert one.density(mask).item() == pytest.approx(0.6)


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


def test_networks_know_the_density_of_each_size():
    mask = node_mask_of_sizes(torch.tensor([5, 1, 0]))
    network = AsDenoiser(edp_gnn(), EdgeDensity(1.0, -2.0))
    at = EdgeDensity(1.0, -2.0).at
    expected = torch.tensor([at(5), at(1), at(1)]).view(3, 1, 1)
    torch.testing.assert_close(network.density(mask), expected)


@pytest.mark.parametrize("density", [0.0, 1.0, -0.1, 1.5, float("nan")])
def test_a_density_that_decides_everything_is_refused(density):
    with pytest.raises(SettingsError, match="EdgeDensity"):
        AsDenoiser(edp_gnn(), density)
