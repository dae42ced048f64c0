"""Cross-entropy under noise, at distributions whose posterior is known by enumeration."""

from __future__ import annotations

import itertools

import pytest
import torch

from graphscore.errors import SettingsError
from graphscore.graphs import GraphBatch, node_mask_of_sizes, pair_mask
from graphscore.networks import (
    EDPGNN,
    AsDenoiser,
    DenoiserSettings,
    EDPGNNSettings,
    LogOddsDenoiser,
)
from graphscore.networks.log_odds import independent_log_odds
from graphscore.noise import SigmaRange, symmetric_noise
from graphscore.training import DenoisingSettings, denoising_loss
from graphscore.training.cross_entropy import add_noise

ROWS, COLUMNS = torch.triu_indices(3, 3, offset=1)
GRAPHS = torch.tensor(list(itertools.product([0.0, 1.0], repeat=3)), dtype=torch.float64)
COUNTS = torch.tensor([3.0, 4.0, 1.0, 12.0], dtype=torch.float64)[GRAPHS.sum(1).long()]
"""How often each graph on 3 nodes occurs among 30: edges depend on each other."""
SETTINGS = DenoisingSettings(sigma_range=SigmaRange(sigma_min=0.3, sigma_max=2.0))


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def three_node_graphs(copies):
    pairs = GRAPHS.repeat_interleave(COUNTS.long(), dim=0).repeat(copies, 1)
    adj = torch.zeros(len(pairs), 3, 3, dtype=torch.float64)
    adj[:, ROWS, COLUMNS] = pairs
    return GraphBatch(adj + adj.mT, torch.ones(len(pairs), 3, dtype=torch.bool))


class Exact:
    """The posterior of a graph on 3 nodes by Bayes' rule, with its log-odds changed on request."""

    def __init__(self, change=lambda log_odds: log_odds):
        self.change = change

    def log_odds(self, adj, node_mask, sigma, node_feat=None):
        nearness = adj[:, ROWS, COLUMNS] @ GRAPHS.mT - GRAPHS.sum(1) / 2
        posterior = (COUNTS.log() + nearness / sigma.view(-1, 1) ** 2).softmax(1)
        result = torch.zeros_like(adj)
        result[:, ROWS, COLUMNS] = (posterior @ GRAPHS).logit(eps=1e-12)
        return self.change(result + result.mT) * pair_mask(node_mask)

    def __call__(self, adj, node_mask, sigma, node_feat=None):
        denoised = self.log_odds(adj, node_mask, sigma).sigmoid() * pair_mask(node_mask)
        return (denoised - adj) / sigma.view(-1, 1, 1) ** 2


def loss(network, batch, kind="cross-entropy", seed=0):
    settings = SETTINGS.replaced(loss=kind)
    return denoising_loss(network, batch, settings, generator=generator(seed))


@pytest.mark.parametrize("kind", ["cross-entropy", "squared"])
@pytest.mark.parametrize(
    "change",
    [
        lambda x: 0.8 * x,
        lambda x: 1.25 * x,
        lambda x: x + 0.3,
        lambda x: x - 0.3,
        lambda x: x + torch.sin(3 * x) / 2,
        lambda x: x.mean((1, 2), keepdim=True).expand_as(x),
    ],
    ids=["smaller", "larger", "up", "down", "wavy", "mean"],
)
def test_any_change_of_the_posterior_is_worse(kind, change):
    """On the same graphs and noise, at every part of the range."""
    batch = three_node_graphs(200)
    best, changed = loss(Exact(), batch, kind), loss(Exact(change), batch, kind)
    assert (changed.per_part > best.per_part).all()
    assert changed.total > best.total


def test_at_the_posterior_the_loss_is_its_entropy():
    """E[-A log D - (1 - A) log(1 - D)] = E[H(D)] if D is the probability of A; to 5 std errors."""
    batch = three_node_graphs(400)
    noisy = add_noise(batch, SETTINGS, generator=generator())
    losses = noisy.costs(Exact(), slice(None))
    log_odds = Exact().log_odds(noisy.adj_noisy, batch.node_mask, noisy.sigma)
    entropy = torch.distributions.Bernoulli(logits=log_odds[:, ROWS, COLUMNS]).entropy().mean(1)
    difference = losses - entropy
    assert abs(difference.mean()) < 5 * difference.std() / len(difference) ** 0.5
    assert difference.std() > 0.1


def test_squared_error_of_the_posterior_mean():
    """(1 / sigma^2 + 4) / 2 of the mean squared error per pair, from the score alone."""
    batch = three_node_graphs(2)
    settings = SETTINGS.replaced(loss="squared")
    noisy = add_noise(batch, settings, generator=generator())

    def mean_everywhere(adj, node_mask, sigma, node_feat):
        return (0.6 * pair_mask(node_mask) - adj) / sigma.view(-1, 1, 1) ** 2

    errors = (0.6 - batch.adj[:, ROWS, COLUMNS]).square().mean(1)
    expected = (1 / noisy.sigma**2 + 4) / 2 * errors
    torch.testing.assert_close(noisy.costs(mean_everywhere, slice(None)), expected)


def test_every_graph_counts_the_same_and_padding_nothing():
    """The mean over pairs of each graph, then over graphs; graphs without pairs lose nothing."""
    mask = node_mask_of_sizes(torch.tensor([1, 3, 8, 5]))
    batch = GraphBatch(pair_mask(mask).double(), mask)

    class Constant:
        def log_odds(self, adj, node_mask, sigma, node_feat):
            return torch.full_like(adj, 0.4)

    values = denoising_loss(Constant(), batch, SETTINGS, generator=generator())
    one = torch.log1p(torch.exp(torch.tensor(-0.4, dtype=torch.float64)))
    expected = torch.stack([torch.zeros_like(one), one, one, one])
    torch.testing.assert_close(values.per_graph, expected)
    torch.testing.assert_close(values.total, 0.75 * one)


def test_loss_by_part_of_the_range():
    """Means over the graphs in each quarter of log sigma, smallest first; none is no number."""
    batch = three_node_graphs(1)
    noisy = add_noise(batch, SETTINGS, generator=generator())
    ends = torch.logspace(
        *torch.tensor([0.3, 2.0]).log10().tolist(), 5, dtype=torch.float64
    ).tolist()
    losses = torch.arange(30.0, dtype=torch.float64)
    values = noisy.loss(losses)
    for part, (low, high) in enumerate(itertools.pairwise(ends)):
        inside = (noisy.sigma >= low) & (noisy.sigma < high)
        assert 6 <= inside.sum() <= 9
        torch.testing.assert_close(values.per_part[part], losses[inside].mean())
    two = add_noise(batch[:2], SETTINGS, generator=generator()).loss(losses[:2])
    assert two.per_part.isnan().sum() == 2


def test_pieces_have_the_loss_of_the_whole():
    """Computed in parts, trimmed to what they need, with the noise of the whole batch."""
    mask = node_mask_of_sizes(torch.tensor([3, 4, 6]))
    adj = (symmetric_noise(mask, generator=generator(), dtype=torch.float64) > 0.5).double()
    feat = torch.randn(3, 6, 2, generator=generator(), dtype=torch.float64) * mask.unsqueeze(-1)
    settings = DenoiserSettings(blocks=1, pair_width=4, node_feat_dim=2)
    network = LogOddsDenoiser(settings, 0.3, generator=generator()).double()
    torch.nn.init.normal_(network.out.weight, generator=generator())
    noisy = add_noise(GraphBatch(adj, mask, feat), SETTINGS, generator=generator())
    assert (len(noisy), noisy.max_nodes) == (3, 6)
    whole = noisy.costs(network, slice(None))
    parts = [noisy.costs(network, slice(0, 2), 4), noisy.costs(network, slice(2, 3))]
    torch.testing.assert_close(torch.cat(parts), whole)


def test_noise_is_that_of_each_graphs_sigma():
    """Clean graphs and their noisy versions differ by noise of the drawn standard deviations."""
    mask = torch.ones(40, 30, dtype=torch.bool)
    batch = GraphBatch(pair_mask(mask).double(), mask)
    noisy = add_noise(batch, SETTINGS, generator=generator())
    assert torch.equal(noisy.adj_clean, batch.adj)
    rows, columns = torch.triu_indices(30, 30, offset=1)
    spread = (noisy.adj_noisy - batch.adj)[:, rows, columns].std(1)
    assert (spread / noisy.sigma - 1).abs().max() < 5 * (1 / (2 * 435)) ** 0.5


def test_reproducible_and_only_from_the_generator():
    before = torch.get_rng_state()
    batch = three_node_graphs(2)
    first, again, other = (loss(Exact(), batch, seed=seed).total for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize(("name", "kind"), [("denoiser", "cross-entropy"), ("edp-gnn", "squared")])
def test_networks_learn_what_edges_say_about_each_other(name, kind):
    """A few steps bring the answer nearer to the exact posterior than independent edges are."""
    batch = three_node_graphs(2).to(dtype=torch.float32)
    density = float(batch.adj.mean()) * 9 / 6
    if name == "denoiser":
        shape = {"blocks": 1, "pair_width": 16, "node_width": 8, "product_width": 8}
        network = LogOddsDenoiser(DenoiserSettings(**shape), density, generator=generator())
    else:
        settings = EDPGNNSettings(channels=(2, 2), message_steps=1, initial_gains="one")
        edp_gnn = EDPGNN(settings, (2.0, 0.8, 0.3), generator=generator())
        network = AsDenoiser(edp_gnn, density)
    optimiser = torch.optim.Adam(network.parameters(), 1e-2)
    source = generator(1)
    settings = SETTINGS.replaced(loss=kind)
    for _ in range(40):
        optimiser.zero_grad()
        values = denoising_loss(network, batch, settings, generator=source)
        values.total.backward()
        optimiser.step()
    noisy = add_noise(three_node_graphs(20), settings, generator=generator(2))
    given = noisy.adj_noisy, noisy.node_mask, noisy.sigma
    exact = Exact().log_odds(*given).sigmoid()
    alone = independent_log_odds(*given[::2], network.prior_log_odds(given[1]).double()).sigmoid()
    learned = network.double().denoised(*given)
    errors = [((d - exact) * pair_mask(given[1])).square().mean() for d in (learned, alone)]
    assert errors[0] < errors[1] / 2


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"loss": "absolute"}, "loss"),
        ({"sigma_range": {"sigma_min": 5.0}}, "sigma_min must be below sigma_max"),
        ({"sigma_rage": {}}, "did you mean 'sigma_range'"),
    ],
    ids=str,
)
def test_settings_are_validated(values, message):
    with pytest.raises(SettingsError, match=message):
        DenoisingSettings(**values)
