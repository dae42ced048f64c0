"""Heun's method where the flow is known, and on graphs whose probabilities are."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
import torch

from graphscore.diffusion import SigmaRange
from graphscore.diffusion.samplers import HeunSettings, heun
from graphscore.diffusion.samplers.heun import raised
from graphscore.errors import SettingsError

MEAN, SPREAD = 0.7, 0.5
RANGE = SigmaRange(sigma_min=0.1, sigma_max=3.0)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def gaussian(noisy, sigma):
    """Posterior mean of independent pairs N(MEAN, SPREAD^2)."""
    square = sigma.view(-1, 1, 1) ** 2

    def mean(edges, mask):
        return (SPREAD**2 * edges + square * MEAN) / (SPREAD**2 + square) * mask

    return noisy.map(mean, noisy.masks)


def flow_error(prior, steps, **changes):
    """Largest error of the state at the smallest sigma, where the flow's value is known."""
    initial = prior.sample(3.0, generator=generator())
    states = []
    result = heun(
        gaussian,
        prior,
        RANGE,
        HeunSettings(steps=steps, **changes),
        generator=generator(1),
        initial=initial,
        on_step=lambda _, state: states.append(state),
    )
    shrink = math.sqrt((SPREAD**2 + 0.1**2) / (SPREAD**2 + 3.0**2))
    exact = (MEAN + shrink * (initial.edges - MEAN)) * initial.pair_mask
    # The last step leaves the smallest sigma for the posterior mean, the one before reaches it.
    levels = torch.full((3,), 0.1, dtype=torch.float64)
    torch.testing.assert_close(result.state.edges, gaussian(states[-2], levels).edges)
    assert torch.equal(result.state.edges, states[-1].edges)
    return (states[-2].edges - exact).abs().max().item()


@pytest.fixture
def prior(prior_of):
    return prior_of(torch.ones(3, 6, dtype=torch.bool), MEAN)


@pytest.mark.parametrize("rho", [1.0, 3.0, 7.0])
def test_the_error_falls_with_the_square_of_the_steps(prior, rho):
    """A Gaussian stays one along the flow: distances from the mean shrink with its width."""
    errors = [flow_error(prior, steps, rho=rho) for steps in (32, 64, 128)]
    assert errors[-1] < 2e-3
    for coarse, fine in pairwise(errors):
        assert 3 < coarse / fine < 5.5


def test_moments_with_fresh_noise(prior_of):
    """With churn the end still has the target's mean and variance, to 5 standard errors."""
    states = []
    heun(
        gaussian,
        prior_of(torch.ones(100, 20, dtype=torch.bool), MEAN),
        RANGE,
        HeunSettings(steps=60, churn=15, rho=3),
        generator=generator(),
        on_step=lambda _, state: states.append(state.edges),
    )
    rows, columns = torch.triu_indices(20, 20, offset=1)
    values, count = states[-2][:, rows, columns].flatten(), 100 * 190
    variance = SPREAD**2 + 0.1**2
    assert abs(values.mean() - MEAN) < 5 * (variance / count) ** 0.5
    assert abs(values.var() / variance - 1) < 5 * (2 / count) ** 0.5 + 0.01


def test_fresh_noise_makes_the_end_independent_of_the_start(prior):
    """Without churn equal starts end alike; with it they do not."""
    initial = prior.sample(3.0, generator=generator())

    def end(seed, churn):
        settings, source = HeunSettings(steps=20, churn=churn), generator(seed)
        return heun(gaussian, prior, RANGE, settings, generator=source, initial=initial).state.edges

    assert torch.equal(end(0, 0), end(1, 0))
    source = generator()
    before = source.get_state()
    heun(gaussian, prior, RANGE, HeunSettings(steps=5), generator=source, initial=initial)
    assert torch.equal(source.get_state(), before)
    assert (end(0, 5) - end(1, 5)).abs().max() > 0.1


@pytest.mark.parametrize("churn", [0, 10])
def test_probabilities_of_dependent_edges(three_nodes, prior_of, churn):
    """Graphs on 3 nodes come with their probabilities, to 5 standard errors and 1 percent."""
    prior = prior_of(torch.ones(5000, 3, dtype=torch.bool), three_nodes.density)
    settings = HeunSettings(steps=32, churn=churn)
    result = heun(three_nodes.denoise, prior, SigmaRange(), settings, generator=generator())
    found = three_nodes.frequencies(prior.likelihood.decode(result.state, 0.5).edges)
    expected = three_nodes.probabilities
    error = (expected * (1 - expected) / 5000).sqrt()
    assert ((found - expected).abs() < 5 * error + 0.01).all()


def test_no_fresh_noise_before_the_answer(prior):
    """With churn too the last step is the posterior mean of the state at the smallest sigma."""
    flow_error(prior, 10, churn=100)


def test_noise_is_raised_by_the_churn_within_its_bounds():
    """By churn / steps, at most to twice the variance, never above the range."""
    settings = HeunSettings(steps=10, churn=2)
    assert raised(1.0, RANGE, settings) == pytest.approx(1.2)
    assert raised(1.0, RANGE, settings.replaced(churn=1000)) == pytest.approx(math.sqrt(2))
    assert raised(2.9, RANGE, settings) == 3.0
    assert raised(3.0, RANGE, settings) == 3.0
    assert raised(1.0, RANGE, HeunSettings()) == 1.0


@pytest.mark.parametrize(
    "values", [{"steps": 0}, {"rho": 0}, {"churn": -1}, {"threshold": 1}], ids=str
)
def test_settings_are_validated(values):
    with pytest.raises(SettingsError, match=next(iter(values))):
        HeunSettings(**values)
