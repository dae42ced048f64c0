"""Re-noising on graphs whose probabilities are known."""

from __future__ import annotations

import math

import pytest
import torch

from graphscore.errors import SettingsError
from graphscore.graphs import node_mask_of_sizes, pair_mask
from graphscore.networks.log_odds import independent_log_odds
from graphscore.noise import SigmaRange, symmetric_noise
from graphscore.sampling import HeunSettings, RenoisingSettings, heun, quantise, renoise
from graphscore.sampling.renoising import draw_edges


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize(
    ("sampler", "settings"),
    [
        (renoise, RenoisingSettings(steps=8)),
        (renoise, RenoisingSettings(steps=8, noise="bridge")),
        (heun, HeunSettings(steps=16)),
        (heun, HeunSettings(steps=16, churn=3)),
    ],
    ids=["fresh", "bridge", "heun", "churned heun"],
)
@pytest.mark.parametrize("p", [0.1, 0.6])
def test_independent_edges_keep_their_density(sampler, settings, p):
    """Each pair is an edge with probability p, whatever the others are; to 5 standard errors."""
    mask = torch.ones(100, 20, dtype=torch.bool)
    prior = torch.tensor(math.log(p / (1 - p)))

    def denoise(adj, node_mask, sigma):
        return independent_log_odds(adj, sigma, prior).sigmoid() * pair_mask(node_mask)

    result = sampler(denoise, mask, SigmaRange(), settings, generator=generator(), prior_mean=p)
    edges = quantise(result.adj, mask).sum((1, 2)) / 2
    count = 190 * 100
    assert abs(edges.sum() / count - p) < 5 * (p * (1 - p) / count) ** 0.5 + 0.002
    # Of independent edges, so their number varies as binomial numbers do.
    assert abs(edges.var() / (190 * p * (1 - p)) - 1) < 5 * (2 / 100) ** 0.5


def frequencies(three_nodes, steps, noise, graphs=5000):
    mask = torch.ones(graphs, 3, dtype=torch.bool)
    result = renoise(
        three_nodes.denoise,
        mask,
        SigmaRange(),
        RenoisingSettings(steps=steps, noise=noise),
        generator=generator(),
        prior_mean=three_nodes.density,
        dtype=torch.float64,
    )
    return three_nodes.frequencies(quantise(result.adj, mask))


@pytest.mark.parametrize(("noise", "bias"), [("fresh", 0.02), ("bridge", 0.01)])
def test_probabilities_of_dependent_edges(three_nodes, noise, bias):
    """Graphs on 3 nodes come with their probabilities, to 5 standard errors and what steps cost.

    Edges are drawn one by one from probabilities that belong together, which costs less the nearer
    the levels are, and less with bridges.
    """
    expected = three_nodes.probabilities
    error = (expected * (1 - expected) / 5000).sqrt()
    off = (frequencies(three_nodes, 64, noise) - expected).abs()
    assert (off < 5 * error + bias).all()
    few = (frequencies(three_nodes, 8, noise) - expected).abs()
    assert few.max() > 2 * off.max()


def test_bridges_have_the_noise_of_their_level():
    """If A~ is A under noise sigma and A is drawn, the bridge to sigma' is A under noise sigma'."""
    mask = torch.ones(400, 20, dtype=torch.bool)
    adj = draw_edges(torch.full((400, 20, 20), 0.3).double(), mask, generator=generator(5))
    states = []
    renoise(
        lambda noisy, node_mask, sigma: adj,
        mask,
        SigmaRange(sigma_min=0.5, sigma_max=2.0),
        RenoisingSettings(steps=4, rho=1, noise="bridge"),
        generator=generator(),
        initial=adj + 2.0 * symmetric_noise(mask, generator=generator(6), dtype=torch.float64),
        on_step=lambda _, state: states.append(state),
    )
    rows, columns = torch.triu_indices(20, 20, offset=1)
    noises = [(state - adj)[:, rows, columns].flatten() for state in states]
    count = len(noises[0])
    for noise, sigma in zip(noises, (1.5, 1.0, 0.5)):
        assert abs(noise.mean()) < 5 * sigma / count**0.5
        assert abs(noise.var() / sigma**2 - 1) < 5 * (2 / count) ** 0.5
    # It remembers: the correlation of neighbours is sigma' / sigma, and none with fresh noise.
    correlation = torch.corrcoef(torch.stack(noises[:2]))[0, 1]
    assert abs(correlation - 1 / 1.5) < 5 / count**0.5


def test_edges_are_drawn_once_per_pair():
    """Symmetric, binary, only where there are pairs, with the probability asked for."""
    mask = node_mask_of_sizes(torch.tensor([6, 4]).repeat(3000))
    drawn = draw_edges(torch.full((6000, 6, 6), 0.2), mask, generator=generator())
    assert torch.equal(drawn, drawn.mT)
    assert not drawn[~pair_mask(mask)].any()
    values = drawn[pair_mask(mask)]
    assert set(values.unique().tolist()) == {0.0, 1.0}
    assert abs(values.mean() - 0.2) < 5 * (0.16 / (len(values) / 2)) ** 0.5


def test_what_is_no_probability_is_cut_off():
    """The posterior mean of a score network may lie outside; then edges are certain."""
    mask = torch.ones(50, 4, dtype=torch.bool)
    for value, edge in ((1.3, True), (-0.2, False)):
        drawn = draw_edges(torch.full((50, 4, 4), value), mask, generator=generator())
        assert torch.equal(drawn == 1, pair_mask(mask) & edge)


@pytest.mark.parametrize(
    "values", [{"steps": 0}, {"rho": -1}, {"noise": "none"}, {"threshold": 0}], ids=str
)
def test_settings_are_validated(values):
    with pytest.raises(SettingsError, match=next(iter(values))):
        RenoisingSettings(**values)
