"""Ancestral sampling on graphs whose probabilities are known."""

from __future__ import annotations

import pytest
import torch

from graphscore.diffusion import Posterior, SigmaRange, perturb
from graphscore.diffusion.samplers import AncestralSettings, HeunSettings, ancestral, heun
from graphscore.errors import SettingsError


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize(
    ("sampler", "settings"),
    [
        (ancestral, AncestralSettings(steps=8)),
        (ancestral, AncestralSettings(steps=8, noise="posterior")),
        (heun, HeunSettings(steps=16)),
        (heun, HeunSettings(steps=16, churn=3)),
    ],
    ids=["independent", "posterior", "heun", "heun with churn"],
)
@pytest.mark.parametrize("p", [0.1, 0.6])
def test_independent_edges_keep_their_density(prior_of, sampler, settings, p):
    """Each pair is an edge with probability p, whatever the others are; to 5 standard errors."""
    prior = prior_of(torch.ones(100, 20, dtype=torch.bool), p, torch.float32)
    exact = Posterior(lambda noisy, sigma, condition: noisy * 0.0, prior.likelihood).denoise
    result = sampler(exact, prior, SigmaRange(), settings, generator=generator())
    edges = prior.likelihood.decode(result.state, 0.5).edges.sum((1, 2)) / 2
    count = 190 * 100
    assert abs(edges.sum() / count - p) < 5 * (p * (1 - p) / count) ** 0.5 + 0.002
    # Of independent edges, so their number varies as binomial numbers do.
    assert abs(edges.var() / (190 * p * (1 - p)) - 1) < 5 * (2 / 100) ** 0.5


@pytest.mark.parametrize(("noise", "bias"), [("independent", 0.02), ("posterior", 0.01)])
def test_probabilities_of_dependent_edges(three_nodes, prior_of, noise, bias):
    """Graphs on 3 nodes come with their probabilities, to 5 standard errors and what steps cost.

    Edges are drawn one by one from probabilities that belong together, which costs less the nearer
    the levels are, and less with posterior noise.
    """
    prior = prior_of(torch.ones(5000, 3, dtype=torch.bool), three_nodes.density)

    def frequencies(steps):
        settings = AncestralSettings(steps=steps, noise=noise)
        result = ancestral(
            three_nodes.denoise, prior, SigmaRange(), settings, generator=generator()
        )
        return three_nodes.frequencies(prior.likelihood.decode(result.state, 0.5).edges)

    expected = three_nodes.probabilities
    error = (expected * (1 - expected) / 5000).sqrt()
    off = (frequencies(64) - expected).abs()
    assert (off < 5 * error + bias).all()
    assert (frequencies(8) - expected).abs().max() > 2 * off.max()


def test_posterior_noise_has_the_size_of_its_level(prior_of):
    """If A~ is A under noise sigma and A is drawn, the next state is A under noise sigma'."""
    prior = prior_of(torch.ones(400, 20, dtype=torch.bool), 0.3)
    sigma = torch.full((400,), 2.0, dtype=torch.float64)
    clean = prior.likelihood.draw(prior.mean, sigma, generator=generator(5))
    states = []
    ancestral(
        lambda noisy, sigma: clean,
        prior,
        SigmaRange(sigma_min=0.5, sigma_max=2.0),
        AncestralSettings(steps=4, rho=1, noise="posterior"),
        generator=generator(),
        initial=perturb(clean, sigma, generator=generator(6)),
        on_step=lambda _, state: states.append(state.edges),
    )
    rows, columns = torch.triu_indices(20, 20, offset=1)
    noises = [(state - clean.edges)[:, rows, columns].flatten() for state in states]
    count = len(noises[0])
    for noise, level in zip(noises, (1.5, 1.0, 0.5)):
        assert abs(noise.mean()) < 5 * level / count**0.5
        assert abs(noise.var() / level**2 - 1) < 5 * (2 / count) ** 0.5
    # The correlation of neighbours is sigma' / sigma, and none with independent noise.
    correlation = torch.corrcoef(torch.stack(noises[:2]))[0, 1]
    assert abs(correlation - 1 / 1.5) < 5 / count**0.5


@pytest.mark.parametrize(
    "values", [{"steps": 0}, {"rho": -1}, {"noise": "none"}, {"threshold": 0}], ids=str
)
def test_settings_are_validated(values):
    with pytest.raises(SettingsError, match=next(iter(values))):
        AncestralSettings(**values)
