"""Objectives at distributions whose optimum is known: score matching (equation 3), denoising."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.integrate import quad

from graphscore.diffusion import (
    BernoulliEdges,
    Denoising,
    DenoisingSettings,
    EdgeDensity,
    GraphLikelihood,
    Posterior,
    ScoreMatching,
    SigmaRange,
    symmetric_noise,
)
from graphscore.diffusion.noise import noise_like, score_of_mean
from graphscore.diffusion.objectives import NoisyBatch
from graphscore.graphs import NO_CONDITION, GraphBatch, GraphState, node_mask_of_sizes, pair_mask
from graphscore.networks import EDPGNN, Denoiser, DenoiserSettings, EDPGNNSettings

SIGMAS = (1.0, 0.4, 0.2)
P = 0.3
RANGE = SigmaRange(sigma_min=0.3, sigma_max=2.0)

ROWS, COLUMNS = torch.triu_indices(3, 3, offset=1)
GRAPHS = torch.tensor(list(itertools.product([0.0, 1.0], repeat=3)), dtype=torch.float64)
COUNTS = torch.tensor([3.0, 4.0, 1.0, 12.0], dtype=torch.float64)[GRAPHS.sum(1).long()]
"""How often each graph on 3 nodes occurs among 30: edges depend on each other."""


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def metrics(objective, network, batch, seed=0):
    """Return the loss, the loss per pair, and the loss per level or bin."""
    items = objective.perturb(batch, generator=generator(seed))
    values = objective.metrics(items, objective.per_graph_loss(network, items))
    assert len(values) == 2 + objective.sigma_bins
    return values[0], values[1], values[2:]


def score_matching(network, batch, seed=0):
    return metrics(ScoreMatching(SIGMAS), network, batch, seed)


def zero(noisy, sigma, condition):
    return noisy * 0.0


def bernoulli_graphs(count, nodes, seed=0):
    """Graphs whose edges are independent with probability P."""
    mask = torch.ones(count, nodes, dtype=torch.bool)
    # Another seed than that of the noise, or the two would be the same numbers.
    normal = symmetric_noise(mask, generator=generator(seed + 1000), dtype=torch.float64)
    edges = (torch.special.ndtr(normal) < P) & pair_mask(mask)
    return GraphBatch(edges.double(), mask)


def bernoulli_score(noisy, sigma, condition=None):
    """Exact score: the posterior mean D of an edge given its noisy value, (D - a) / sigma^2."""
    square = sigma.view(-1, 1, 1) ** 2
    posterior = torch.sigmoid(np.log(P / (1 - P)) + (2 * noisy.edges - 1) / (2 * square))
    edges = (posterior - noisy.edges) / square * noisy.pair_mask
    return GraphState(edges, noisy.node_mask)


def posterior_variance(sigma):
    """E[Var(A | A~)] by numerical integration over the noisy value."""

    def density(a, mean):
        return np.exp(-((a - mean) ** 2) / (2 * sigma**2)) / (np.sqrt(2 * np.pi) * sigma)

    def integrand(a):
        total = P * density(a, 1) + (1 - P) * density(a, 0)
        # total * D (1 - D), written so that nothing divides zero by zero far out
        return 0.0 if total == 0 else P * density(a, 1) * (1 - P) * density(a, 0) / total

    return quad(integrand, -8 * sigma, 1 + 8 * sigma, points=[0, 0.5, 1], limit=200)[0]


@pytest.mark.parametrize("seed", range(3))
def test_zero_at_the_exact_score_of_a_point_mass(seed):
    """If all graphs are one graph, the score of the noise is the score, and the loss is zero."""
    batch = bernoulli_graphs(1, 6, seed)

    def exact(noisy, sigma, condition):
        return score_of_mean(batch.state.repeated(3), noisy, sigma)

    total, _, per_level = score_matching(exact, batch)
    torch.testing.assert_close(per_level, torch.zeros(3, dtype=torch.float64))
    assert total.item() < 1e-20


def test_known_optimum_for_independent_edges():
    """At the exact score each level's loss is pairs * E[Var(A|A~)] / (2 sigma^2), to 5 std errors.

    `pairs` counts both (i,j) and (j,i), as the paper's Frobenius norm does.
    """
    nodes, count = 6, 8000
    runs = [
        score_matching(bernoulli_score, bernoulli_graphs(count, nodes, s), s) for s in range(10)
    ]
    total, per_pair, per_level = (torch.stack(values) for values in zip(*runs))
    error = per_level.std(0) / len(runs) ** 0.5
    expected = torch.tensor(
        [nodes * (nodes - 1) * posterior_variance(s) / (2 * s**2) for s in SIGMAS]
    )
    assert ((per_level.mean(0) - expected).abs() < 5 * error).all()
    assert (error < 0.02 * expected).all()
    torch.testing.assert_close(total, per_level.mean(1))
    torch.testing.assert_close(per_pair, 2 * per_level.mean(1) / (nodes * (nodes - 1)))


@pytest.mark.parametrize(
    "change",
    [
        lambda score, adj: 0.8 * score,
        lambda score, adj: 1.2 * score,
        lambda score, adj: score + 0.4,
        lambda score, adj: score - 0.2 * adj,
        lambda score, adj: score + 0.3 * torch.sin(5 * adj),
    ],
    ids=["smaller", "larger", "shifted", "tilted", "wavy"],
)
def test_any_change_of_the_exact_score_is_worse(change):
    """On the same graphs and noise every changed score has a larger loss at every level."""
    batch = bernoulli_graphs(8000, 5)

    def changed(noisy, sigma, condition):
        score = bernoulli_score(noisy, sigma)
        return score.map(lambda s, x, mask: change(s, x) * mask, noisy, noisy.masks)

    assert (score_matching(changed, batch)[2] > score_matching(bernoulli_score, batch)[2]).all()


def test_zero_score():
    """A network that answers zero loses N (N - 1) / 2 per graph and 1 per pair, at every level."""
    nodes, count = 7, 20_000
    _, per_pair, per_level = score_matching(zero, bernoulli_graphs(count, nodes))
    pairs = nodes * (nodes - 1) / 2
    error = (2 / (count * pairs)) ** 0.5
    assert (per_level / pairs - 1).abs().max() < 5 * error
    assert abs(per_pair - 1) < 5 * error


def test_zero_score_with_mixed_sizes():
    """Padding and graphs of one node count for nothing; the loss per pair stays 1."""
    sizes = torch.tensor([1, 3, 8, 5]).repeat(5000)
    mask = node_mask_of_sizes(sizes)
    batch = GraphBatch(torch.zeros(len(mask), 8, 8, dtype=torch.float64), mask)
    _, per_pair, per_level = score_matching(zero, batch)
    pairs = (sizes * (sizes - 1) / 2).mean()
    assert (per_level / pairs - 1).abs().max() < 0.01
    assert abs(per_pair - 1) < 0.01


def test_only_nodes_and_no_pairs():
    """Graphs of a single node have nothing to learn and nothing to divide by."""
    batch = GraphBatch(torch.zeros(2, 1, 1), torch.ones(2, 1, dtype=torch.bool))
    total, per_pair, per_level = score_matching(zero, batch)
    assert (total, per_pair, per_level.tolist()) == (0, 0, [0, 0, 0])


def test_the_network_sees_each_graph_at_each_level_with_its_condition():
    """One call with B*L graphs; masks, features, communities and sigmas belong together."""
    mask = node_mask_of_sizes(torch.tensor([2, 4]))
    sizes = mask.sum(-1)
    feat = sizes.view(2, 1, 1) * mask.unsqueeze(-1).double()
    numbers = sizes.view(2, 1) * mask
    seen = []

    def network(noisy, sigma, condition):
        given = condition.node_feat[:, 0, 0], condition.communities[:, 0], sigma
        seen.extend(zip(noisy.node_mask.sum(-1).tolist(), *(x.tolist() for x in given)))
        return noisy * 0.0

    adj = torch.zeros(2, 4, 4, dtype=torch.float64)
    score_matching(network, GraphBatch(adj, mask, feat, numbers))
    assert seen == [(n, float(n), n, pytest.approx(s)) for n in (2, 4) for s in SIGMAS]


def test_only_the_loss_carries_a_gradient():
    """The loss per pair is a number for the log, the loss is what is minimised."""
    factor = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)

    def scaled(noisy, sigma, condition):
        return bernoulli_score(noisy, sigma) * factor

    total, _, _ = score_matching(scaled, bernoulli_graphs(50, 5))
    total.backward()
    assert factor.grad.item() < 0


def three_node_graphs(copies):
    pairs = GRAPHS.repeat_interleave(COUNTS.long(), dim=0).repeat(copies, 1)
    adj = torch.zeros(len(pairs), 3, 3, dtype=torch.float64)
    adj[:, ROWS, COLUMNS] = pairs
    return GraphBatch(adj + adj.mT, torch.ones(len(pairs), 3, dtype=torch.bool))


class Exact:
    """The posterior of a graph on 3 nodes by Bayes' rule, with its logits changed on request."""

    likelihood = GraphLikelihood(BernoulliEdges(EdgeDensity.constant(P)))

    def __init__(self, change=lambda logits: logits):
        self.change = change

    def logits(self, noisy, sigma, condition=None):
        """Of the first three nodes; graphs with others are for changes that ignore the logits."""
        nearness = noisy.edges[:, ROWS, COLUMNS] @ GRAPHS.mT - GRAPHS.sum(1) / 2
        posterior = (COUNTS.log() + nearness / sigma.view(-1, 1) ** 2).softmax(1)
        result = torch.zeros_like(noisy.edges)
        result[:, ROWS, COLUMNS] = (posterior @ GRAPHS).logit(eps=1e-12)
        return GraphState(self.change(result + result.mT) * noisy.pair_mask, noisy.node_mask)

    def __call__(self, noisy, sigma, condition=None):
        return score_of_mean(self.likelihood.mean(self.logits(noisy, sigma), sigma), noisy, sigma)


def denoising(kind="cross-entropy"):
    return Denoising(RANGE, DenoisingSettings(loss=kind))


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
def test_any_change_of_the_exact_posterior_is_worse(kind, change):
    """On the same graphs and noise, in every bin of the range."""
    batch = three_node_graphs(200)
    best, changed = (metrics(denoising(kind), Exact(*c), batch) for c in ((), (change,)))
    assert (changed[2] > best[2]).all()
    assert changed[0] > best[0]
    assert best[0] == best[1]


def test_at_the_posterior_the_loss_is_its_entropy():
    """E[-A log D - (1 - A) log(1 - D)] = E[H(D)] if D is the probability of A; to 5 std errors."""
    items = denoising().perturb(three_node_graphs(400), generator=generator())
    losses = denoising().per_graph_loss(Exact(), items)
    logits = Exact().logits(items.noisy, items.sigma).edges
    entropy = torch.distributions.Bernoulli(logits=logits[:, ROWS, COLUMNS]).entropy().mean(1)
    difference = losses - entropy
    assert abs(difference.mean()) < 5 * difference.std() / len(difference) ** 0.5
    assert difference.std() > 0.1


def test_squared_error_of_the_posterior_mean():
    """(1 / sigma^2 + 4) / 2 of the mean squared error per pair, from the score alone."""
    batch = three_node_graphs(2)
    items = denoising("squared").perturb(batch, generator=generator())

    def mean_everywhere(noisy, sigma, condition):
        mean = GraphState(0.6 * noisy.pair_mask, noisy.node_mask)
        return score_of_mean(mean, noisy, sigma)

    errors = (0.6 - batch.adj[:, ROWS, COLUMNS]).square().mean(1)
    expected = (1 / items.sigma**2 + 4) / 2 * errors
    torch.testing.assert_close(
        denoising("squared").per_graph_loss(mean_everywhere, items), expected
    )


def test_every_graph_counts_the_same_and_padding_nothing():
    """The mean over pairs of each graph, then over graphs; graphs without pairs lose nothing."""
    mask = node_mask_of_sizes(torch.tensor([1, 3, 8, 5]))
    batch = GraphBatch(pair_mask(mask).double(), mask)
    items = denoising().perturb(batch, generator=generator())
    losses = denoising().per_graph_loss(Exact(lambda logits: torch.full_like(logits, 0.4)), items)
    one = torch.log1p(torch.exp(torch.tensor(-0.4, dtype=torch.float64)))
    expected = torch.stack([torch.zeros_like(one), one, one, one])
    torch.testing.assert_close(losses, expected)
    torch.testing.assert_close(denoising().metrics(items, losses)[0], 0.75 * one)


def test_loss_by_bin_of_the_range():
    """Means over the graphs in each quarter of log sigma; the mean of all where a bin is empty."""
    batch, objective = three_node_graphs(1), denoising()
    items = objective.perturb(batch, generator=generator())
    ends = torch.logspace(
        *torch.tensor([0.3, 2.0]).log10().tolist(), 5, dtype=torch.float64
    ).tolist()
    losses = torch.arange(30.0, dtype=torch.float64)
    per_bin = objective.metrics(items, losses)[2:]
    for number, (low, high) in enumerate(itertools.pairwise(ends)):
        inside = (items.sigma >= low) & (items.sigma < high)
        assert 6 <= inside.sum() <= 9
        torch.testing.assert_close(per_bin[number], losses[inside].mean())
    two = objective.perturb(batch[:2], generator=generator())
    per_bin = objective.metrics(two, torch.tensor([1.0, 3.0], dtype=torch.float64))[2:]
    assert sorted(per_bin.tolist()) == [1, 2, 2, 3]


@pytest.mark.parametrize("objective", [denoising(), ScoreMatching(SIGMAS)], ids=["range", "levels"])
def test_micro_batches_have_the_loss_of_the_whole(objective):
    """Computed in parts, cut to the width they need, with the noise of the whole batch."""
    mask = node_mask_of_sizes(torch.tensor([3, 4, 6]))
    adj = (symmetric_noise(mask, generator=generator(), dtype=torch.float64) > 0.5).double()
    feat = torch.randn(3, 6, 2, generator=generator(), dtype=torch.float64) * mask.unsqueeze(-1)
    settings = DenoiserSettings(blocks=1, pair_width=4, node_feat_dim=2)
    network = Denoiser(settings, Exact.likelihood, generator=generator()).double()
    torch.nn.init.normal_(network.out.weight, generator=generator())
    posterior = Posterior(network, Exact.likelihood)
    copies = objective.noise_copies
    items = objective.perturb(GraphBatch(adj, mask, feat), generator=generator())
    assert (len(items), items.max_nodes) == (3 * copies, 6)
    whole = objective.per_graph_loss(posterior, items)
    parts = [items.part(slice(0, 2 * copies), 4), items.part(slice(2 * copies, 3 * copies))]
    assert (len(parts[0]), parts[0].max_nodes) == (2 * copies, 4)
    found = torch.cat([objective.per_graph_loss(posterior, part) for part in parts])
    torch.testing.assert_close(found, whole)


@pytest.mark.parametrize("objective", [denoising(), ScoreMatching(SIGMAS)], ids=["range", "levels"])
def test_noise_is_that_of_each_items_sigma(objective):
    """Clean graphs and their noisy versions differ by noise of the items' standard deviations."""
    mask = torch.ones(40, 30, dtype=torch.bool)
    batch = GraphBatch(pair_mask(mask).double(), mask)
    before = torch.get_rng_state()
    items, again = (objective.perturb(batch, generator=generator()) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(items.noisy.edges, again.noisy.edges)
    other = objective.perturb(batch, generator=generator(1))
    assert not torch.equal(items.noisy.edges, other.noisy.edges)
    assert torch.equal(items.clean.edges, batch.state.repeated(objective.noise_copies).edges)
    rows, columns = torch.triu_indices(30, 30, offset=1)
    spread = (items.noisy - items.clean).edges[:, rows, columns].std(1)
    assert (spread / items.sigma - 1).abs().max() < 5 * (1 / (2 * 435)) ** 0.5


@pytest.mark.parametrize(("name", "kind"), [("denoiser", "cross-entropy"), ("edp-gnn", "squared")])
def test_networks_learn_what_edges_say_about_each_other(name, kind):
    """A few steps bring the answer nearer to the exact posterior than independent edges are."""
    batch, objective = three_node_graphs(2).to(dtype=torch.float32), denoising(kind)
    likelihood = GraphLikelihood(BernoulliEdges.of(batch))
    if name == "denoiser":
        shape = {"blocks": 1, "pair_width": 16, "node_width": 8, "product_width": 8}
        inner = Denoiser(DenoiserSettings(**shape), likelihood, generator=generator())
    else:
        settings = EDPGNNSettings(channels=(2, 2), message_steps=1, initial_gains="one")
        inner = EDPGNN(settings, (2.0, 0.8, 0.3), generator=generator())
    network = Posterior(inner, likelihood)
    optimiser = torch.optim.Adam(network.parameters(), 1e-2)
    source = generator(1)
    for _ in range(40):
        optimiser.zero_grad()
        items = objective.perturb(batch, generator=source)
        objective.per_graph_loss(network, items).mean().backward()
        optimiser.step()
    items = objective.perturb(three_node_graphs(20), generator=generator(2))
    given = items.noisy, items.sigma
    exact = likelihood.mean(Exact().logits(*given), given[1])
    independent = Posterior(zero, likelihood)
    errors = [
        (each.denoise(*given) - exact).edges.square().mean()
        for each in (network.double(), independent)
    ]
    assert errors[0] < errors[1] / 2


def test_the_ends_of_the_range_are_in_its_first_and_last_bin():
    objective = denoising()
    items = objective.perturb(three_node_graphs(1)[:2], generator=generator())
    ends = torch.tensor([RANGE.sigma_min, RANGE.sigma_max], dtype=torch.float64)
    losses = torch.tensor([1.0, 3.0], dtype=torch.float64)
    assert objective.metrics(replace(items, sigma=ends), losses)[2:].tolist() == [1, 2, 2, 3]


def test_equation_3_sums_over_edges_and_nodes():
    """The target of both is -z / sigma, so that an answer of zero loses |z|^2 / 2."""
    mask = node_mask_of_sizes(torch.tensor([3, 2]))
    clean = GraphState(
        torch.zeros(2, 3, 3, dtype=torch.float64), mask, torch.zeros(2, 3, 2, dtype=torch.float64)
    )
    noisy = noise_like(clean, generator=generator())
    sigma = torch.tensor([0.5, 2.0], dtype=torch.float64)
    items = NoisyBatch(clean, noisy.scaled(sigma), sigma, NO_CONDITION)
    losses = ScoreMatching((2.0,)).per_graph_loss(zero, items)
    squares = noisy.edges.square().sum((1, 2)) + noisy.nodes.square().sum((1, 2))
    torch.testing.assert_close(losses, squares / 2)
