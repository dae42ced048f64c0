"""The objective (equation 3) at distributions whose optimum is known in closed form."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.integrate import quad

from graphscore.graphs import GraphBatch, node_mask_of_sizes, pair_mask
from graphscore.noise import symmetric_noise
from graphscore.training import score_matching_loss

SIGMAS = (1.0, 0.4, 0.2)
P = 0.3


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def loss(network, batch, seed=0, sigmas=SIGMAS):
    levels = torch.tensor(sigmas, dtype=batch.adj.dtype)
    return score_matching_loss(network, batch, levels, generator=generator(seed))


def zero(adj, node_mask, sigma, node_feat):
    return torch.zeros_like(adj)


def bernoulli_graphs(count, nodes, seed=0):
    """Graphs whose edges are independent with probability P."""
    mask = torch.ones(count, nodes, dtype=torch.bool)
    # Another seed than that of the noise in `loss`, or the two would be the same numbers.
    normal = symmetric_noise(mask, generator=generator(seed + 1000), dtype=torch.float64)
    edges = (torch.special.ndtr(normal) < P) & pair_mask(mask)
    return GraphBatch(edges.double(), mask)


def bernoulli_score(adj, node_mask, sigma, node_feat=None):
    """Exact score: the posterior mean D of an edge given its noisy value, (D - a) / sigma^2."""
    square = sigma.view(-1, 1, 1) ** 2
    posterior = torch.sigmoid(np.log(P / (1 - P)) + (2 * adj - 1) / (2 * square))
    return (posterior - adj) / square * pair_mask(node_mask)


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
    """If all graphs are one graph, the score of the noise is the score; nothing is left to lose."""
    batch = bernoulli_graphs(1, 6, seed)

    def exact(adj, node_mask, sigma, node_feat):
        return (batch.adj - adj) / sigma.view(-1, 1, 1) ** 2

    values = loss(exact, batch)
    torch.testing.assert_close(values.per_level, torch.zeros(3, dtype=torch.float64))
    assert values.total.item() < 1e-20


def test_known_optimum_for_independent_edges():
    """At the exact score each level's loss is pairs * E[Var(A|A~)] / (2 sigma^2), to 5 std errors.

    `pairs` counts both (i,j) and (j,i), as the paper's Frobenius norm does.
    """
    nodes, count = 6, 8000
    parts = [loss(bernoulli_score, bernoulli_graphs(count, nodes, s), s) for s in range(10)]
    per_level = torch.stack([part.per_level for part in parts])
    error = per_level.std(0) / len(parts) ** 0.5
    expected = torch.tensor(
        [nodes * (nodes - 1) * posterior_variance(s) / (2 * s**2) for s in SIGMAS]
    )
    assert ((per_level.mean(0) - expected).abs() < 5 * error).all()
    assert (error < 0.02 * expected).all()
    total = torch.stack([part.total for part in parts])
    torch.testing.assert_close(total, per_level.mean(1))
    per_pair = torch.stack([part.per_pair for part in parts]).mean(0)
    torch.testing.assert_close(per_pair, 2 * per_level.mean(0) / (nodes * (nodes - 1)))


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
def test_any_change_of_the_optimum_is_worse(change):
    """On the same graphs and noise every perturbed score has a larger loss at every level."""
    batch = bernoulli_graphs(8000, 5)

    def changed(adj, node_mask, sigma, node_feat):
        score = bernoulli_score(adj, node_mask, sigma)
        return change(score, adj) * pair_mask(node_mask)

    assert (loss(changed, batch).per_level > loss(bernoulli_score, batch).per_level).all()


def test_zero_score():
    """A network that answers zero loses N (N - 1) / 2 per graph and 1 per pair, at every level."""
    nodes, count = 7, 20_000
    values = loss(zero, bernoulli_graphs(count, nodes))
    pairs = nodes * (nodes - 1) / 2
    error = (2 / (count * pairs)) ** 0.5
    assert (values.per_level / pairs - 1).abs().max() < 5 * error
    assert (values.per_pair - 1).abs().max() < 5 * error


def test_zero_score_with_mixed_sizes():
    """Padding and graphs of one node count for nothing; per_pair stays 1."""
    sizes = torch.tensor([1, 3, 8, 5]).repeat(5000)
    mask = node_mask_of_sizes(sizes)
    values = loss(zero, GraphBatch(torch.zeros(len(mask), 8, 8, dtype=torch.float64), mask))
    pairs = (sizes * (sizes - 1) / 2).mean()
    assert (values.per_level / pairs - 1).abs().max() < 0.01
    assert (values.per_pair - 1).abs().max() < 0.01


def test_only_nodes_and_no_pairs():
    """Graphs of a single node have nothing to learn and nothing to divide by."""
    values = loss(zero, GraphBatch(torch.zeros(2, 1, 1), torch.ones(2, 1, dtype=torch.bool)))
    assert values.per_level.tolist() == [0, 0, 0]
    assert values.per_pair.tolist() == [0, 0, 0]


def test_the_network_sees_each_graph_at_each_level_with_its_features():
    """One call with B*L graphs; masks, features and sigmas belong together."""
    mask = node_mask_of_sizes(torch.tensor([2, 4]))
    feat = mask.sum(-1).view(2, 1, 1) * mask.unsqueeze(-1).double()
    seen = []

    def network(adj, node_mask, sigma, node_feat):
        seen.extend(zip(node_mask.sum(-1).tolist(), node_feat[:, 0, 0].tolist(), sigma.tolist()))
        return torch.zeros_like(adj)

    loss(network, GraphBatch(torch.zeros(2, 4, 4, dtype=torch.float64), mask, feat))
    assert sorted(seen) == sorted((n, float(n), s) for n in (2, 4) for s in SIGMAS)


def test_only_the_total_carries_a_gradient():
    """per_pair is a number for the log, total is what is minimised."""
    factor = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    batch = bernoulli_graphs(50, 5)

    def scaled(adj, node_mask, sigma, node_feat):
        return factor * bernoulli_score(adj, node_mask, sigma)

    values = loss(scaled, batch)
    assert not values.per_pair.requires_grad
    values.total.backward()
    assert factor.grad.item() < 0


def test_the_sum_over_levels_is_the_scale_of_the_papers_tables():
    """Equation 3 has the factor 1/L; Table 3 and the released program do not."""
    batch = GraphBatch(torch.zeros(2, 4, 4), torch.ones(2, 4, dtype=torch.bool))
    loss = score_matching_loss(
        lambda adj, mask, sigma, feat: torch.zeros_like(adj),
        batch,
        torch.tensor([1.0, 0.5, 0.1]),
        generator=torch.Generator().manual_seed(0),
    )
    assert loss.summed.item() == pytest.approx(3 * loss.total.item(), rel=1e-6)
