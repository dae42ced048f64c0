"""Annealed Langevin dynamics on Gaussian targets, where every moment of the chain is known."""

from __future__ import annotations

import math

import pytest
import torch

from graphscore.diffusion import SigmaLevels
from graphscore.diffusion.samplers import LangevinSettings, annealed_langevin, folded_normal
from graphscore.errors import GraphscoreError, SettingsError
from graphscore.graphs import GraphState, node_mask_of_sizes, pair_mask
from graphscore.networks import EDPGNN, EDPGNNSettings

MEAN, SPREAD = 0.7, 0.5


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def gaussian(noisy, sigma):
    """Score of independent pairs N(MEAN, SPREAD^2 + sigma^2)."""
    variance = SPREAD**2 + sigma.view(-1, 1, 1) ** 2
    return noisy.map(lambda edges, mask: (MEAN - edges) / variance * mask, noisy.masks)


def predicted_moments(sigmas, settings):
    """Mean and variance of a pair after all steps: the chain is linear, so they follow exactly."""
    mean, variance = math.sqrt(2 / math.pi), 1 - 2 / math.pi
    for sigma in sigmas:
        alpha = settings.step_size * sigma**2 / sigmas[-1] ** 2
        kept = 1 - alpha / (2 * (SPREAD**2 + sigma**2))
        for _ in range(settings.steps_per_level):
            mean = MEAN + kept * (mean - MEAN)
            variance = kept**2 * variance + settings.noise_scale**2 * alpha
    return mean, variance


@pytest.fixture
def sample(prior_of):
    def run(sigmas, settings, *, graphs=200, nodes=25, seed=0):
        prior = prior_of(torch.ones(graphs, nodes, dtype=torch.bool))
        levels = SigmaLevels(sigmas=sigmas)
        result = annealed_langevin(gaussian, prior, levels, settings, generator=generator(seed))
        return result.state.edges[:, *torch.triu_indices(nodes, nodes, offset=1)].flatten()

    return run


def assert_moments(values, mean, variance):
    """To 5 standard errors of independent samples from a Gaussian."""
    count = len(values)
    assert abs(values.mean().item() - mean) < 5 * (variance / count) ** 0.5
    assert abs(values.var().item() / variance - 1) < 5 * (2 / count) ** 0.5


@pytest.mark.parametrize("noise_scale", [1.0, 0.5])
@pytest.mark.parametrize("steps", [1, 4])
def test_moments_after_few_steps(sample, steps, noise_scale):
    """Far from equilibrium, over three levels, mean and variance are those of the recursion."""
    settings = LangevinSettings(step_size=0.05, noise_scale=noise_scale, steps_per_level=steps)
    sigmas = (0.9, 0.6, 0.3)
    # One step from a folded normal is not Gaussian yet, but its fourth moment is smaller.
    assert_moments(sample(sigmas, settings), *predicted_moments(sigmas, settings))


@pytest.mark.parametrize(("step_size", "noise_scale"), [(0.1, 1.0), (0.4, 1.0), (0.4, 0.6)])
def test_moments_in_equilibrium(sample, step_size, noise_scale):
    """The final level settles at variance s^2 v / (1 - alpha / 4v), the bias of finite steps.

    With kept = 1 - alpha / 2v the stationary variance V solves V = kept^2 V + s^2 alpha.
    """
    sigmas = (1.2, 0.3)
    settings = LangevinSettings(
        step_size=step_size, noise_scale=noise_scale, steps_per_level=round(12 / step_size)
    )
    v = SPREAD**2 + sigmas[-1] ** 2
    stationary = noise_scale**2 * v / (1 - step_size / (4 * v))
    mean, variance = predicted_moments(sigmas, settings)
    assert abs(mean - MEAN) < 1e-6
    assert abs(variance / stationary - 1) < 1e-6
    assert_moments(sample(sigmas, settings), MEAN, stationary)


def test_without_noise_it_is_gradient_ascent(sample):
    """noise_scale 0 follows the score and ends at the mean."""
    settings = LangevinSettings(step_size=0.3, noise_scale=0.0, steps_per_level=80)
    assert (sample((0.3,), settings, graphs=3) - MEAN).abs().max() < 1e-9


def test_states_stay_symmetric_masked_and_are_counted(prior_of):
    """Every step's state is a symmetric matrix with zero diagonal and padding; L * T calls."""
    mask = torch.tensor([[True] * 5, [True, False, True, True, False]])
    calls, steps = [], []

    def score(noisy, sigma):
        calls.append(sigma.tolist())
        return gaussian(noisy, sigma)

    def watch(step, state):
        steps.append(step)
        assert torch.equal(state.edges, state.edges.mT)
        assert not state.edges[~pair_mask(mask)].any()

    settings = LangevinSettings(steps_per_level=4, step_size=0.01)
    levels = SigmaLevels(sigmas=(1.0, 0.5, 0.25))
    result = annealed_langevin(
        score, prior_of(mask), levels, settings, generator=generator(), on_step=watch
    )
    assert result.network_calls == len(calls) == settings.total_steps(levels) == 12
    assert steps == list(range(1, 13))
    assert calls == [[1.0, 1.0]] * 4 + [[0.5, 0.5]] * 4 + [[0.25, 0.25]] * 4
    assert torch.equal(result.state.node_mask, mask)


def test_a_network_keeps_states_symmetric_and_masked(prior_of):
    """The same with a real score network, in evaluation mode, on graphs of mixed sizes."""
    mask = node_mask_of_sizes(torch.tensor([6, 1, 4]))
    network = EDPGNN(EDPGNNSettings(channels=(2, 2)), (1.0, 0.1), generator=generator()).eval()
    state = annealed_langevin(
        network,
        prior_of(mask, dtype=torch.float32),
        SigmaLevels(sigmas=(1.0, 0.1)),
        LangevinSettings(steps_per_level=3),
        generator=generator(),
    ).state
    torch.testing.assert_close(state.edges, state.edges.mT, rtol=0, atol=1e-5)
    assert not state.edges[~pair_mask(mask)].any()
    assert not state.edges.requires_grad


def test_reproducible_for_a_seed(sample):
    """Same seed, same states, bit for bit; another seed, other states; no global randomness."""
    settings = LangevinSettings(steps_per_level=3)
    before = torch.get_rng_state()
    first, again, other = (sample((1.0, 0.1), settings, graphs=3, seed=s) for s in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_the_default_start_is_the_folded_normal(prior_of):
    """Not giving `initial` is the same as giving a folded normal; a given one is not changed."""
    prior, levels = prior_of(torch.ones(2, 5, dtype=torch.bool)), SigmaLevels(sigmas=(0.5,))
    settings, source = LangevinSettings(steps_per_level=2), generator()
    default = annealed_langevin(gaussian, prior, levels, settings, generator=generator())
    initial = folded_normal(prior.mean, generator=source)
    copy = initial.edges.clone()
    given = annealed_langevin(gaussian, prior, levels, settings, generator=source, initial=initial)
    assert torch.equal(default.state.edges, given.state.edges)
    assert torch.equal(initial.edges, copy)


def test_folded_normal_moments_and_symmetry():
    """|e| has mean sqrt(2/pi) and second moment 1; symmetric, zero off the existing pairs."""
    mask = node_mask_of_sizes(torch.tensor([5, 3, 1]).repeat(4000))
    like = GraphState(torch.zeros(12000, 5, 5, dtype=torch.float64), mask)
    state = folded_normal(like, generator=generator()).edges
    assert torch.equal(state, state.mT)
    assert torch.equal(state > 0, pair_mask(mask))
    values = state[pair_mask(mask) & torch.ones(5, 5, dtype=torch.bool).triu()]
    count = len(values)
    assert abs(values.mean() - math.sqrt(2 / math.pi)) < 5 * ((1 - 2 / math.pi) / count) ** 0.5
    assert abs(values.square().mean() - 1) < 5 * (2 / count) ** 0.5
    assert torch.equal(state, folded_normal(like, generator=generator()).edges)
    assert not torch.equal(state, folded_normal(like, generator=generator(1)).edges)


def test_a_diverging_step_size_is_an_error(sample):
    """Beyond alpha = 4 v the chain explodes; the message gives the step size and a remedy."""
    settings = LangevinSettings(step_size=50.0, steps_per_level=400)
    with pytest.raises(GraphscoreError, match=r"sigma 0\.3.*step size 50 is too large.*tenth"):
        sample((0.3,), settings, graphs=2, nodes=4)


@pytest.mark.parametrize(
    "values",
    [{"step_size": 0}, {"noise_scale": -1}, {"steps_per_level": 0}, {"threshold": 1}],
    ids=str,
)
def test_settings_are_validated(values):
    with pytest.raises(SettingsError, match=next(iter(values))):
        LangevinSettings(**values)
