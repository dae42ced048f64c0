"""What all samplers of the posterior mean share: their start, their states, their checks."""

from __future__ import annotations

import pytest
import torch

from graphscore.diffusion import Posterior, SigmaLevels, SigmaRange
from graphscore.diffusion.noise import mean_of_score
from graphscore.diffusion.samplers import (
    SAMPLERS,
    AncestralSettings,
    HeunSettings,
    LangevinSettings,
    annealed_langevin,
)
from graphscore.errors import SamplingError, SettingsError
from graphscore.graphs import GraphState, node_mask_of_sizes, pair_mask
from graphscore.networks import Denoiser, DenoiserSettings

RANGE = SigmaRange()
VARIANTS = {
    "heun": HeunSettings(steps=5),
    "heun with churn": HeunSettings(steps=5, churn=2),
    "independent noise": AncestralSettings(steps=5),
    "posterior noise": AncestralSettings(steps=5, noise="posterior"),
}


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def network(prior_of):
    source = generator()
    likelihood = prior_of(torch.ones(1, 2, dtype=torch.bool), 0.3).likelihood
    settings = DenoiserSettings(blocks=1, pair_width=4, node_width=4, product_width=2)
    made = Denoiser(settings, likelihood, generator=source).double()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=source))
    return Posterior(made, likelihood).eval()


@pytest.fixture(params=VARIANTS)
def sample(request, prior_of):
    """Run a sampler on graphs with a mask and a density of 0.3."""
    settings = VARIANTS[request.param]
    sampler = SAMPLERS[settings.kind].function

    def run(denoise, mask, seed=0, *, dtype=torch.float64, changes=None, **arguments):
        prior, chosen = prior_of(mask, 0.3, dtype), settings.replaced(**(changes or {}))
        return sampler(denoise, prior, RANGE, chosen, generator=generator(seed), **arguments)

    run.settings = settings
    return run


def test_every_sampler_is_in_the_registry_by_its_kind():
    assert set(SAMPLERS) == {"langevin", "heun", "ancestral"}
    for kind, sampler in SAMPLERS.items():
        assert sampler.settings().kind == kind
        assert sampler.needs == ("score" if kind == "langevin" else "denoise")


def test_settings_if_not_given():
    assert LangevinSettings() == LangevinSettings(
        step_size=2e-3, noise_scale=1.0, steps_per_level=1000, sigmas=None, threshold=0.5
    )
    shared = {"sigma_max": None, "rho": 7.0, "threshold": 0.5}
    assert HeunSettings() == HeunSettings(steps=64, churn=0.0, **shared)
    assert AncestralSettings() == AncestralSettings(steps=128, noise="independent", **shared)


@pytest.mark.parametrize(
    ("kind", "name", "accepted", "refused"),
    [
        (HeunSettings, "steps", [1, 10_000], [0, 10_001]),
        (HeunSettings, "churn", [0, 0.5, 1e6], [-0.1, 1e6 + 1]),
        (HeunSettings, "rho", [0.1, 1000], [0.09, 1001]),
        (HeunSettings, "threshold", [0.01, 0.99], [0, 1]),
        (AncestralSettings, "steps", [1, 10_000], [0, 10_001]),
        (LangevinSettings, "step_size", [0.5], [0]),
        (LangevinSettings, "noise_scale", [0, 0.5], [-0.1]),
        (LangevinSettings, "steps_per_level", [1, 1_000_000], [0, 1_000_001]),
        (LangevinSettings, "sigmas", [(1.0, 0.5), None], [(0.5, 1.0), ()]),
    ],
)
def test_limits_of_settings(kind, name, accepted, refused):
    for value in accepted:
        assert getattr(kind(**{name: value}), name) == value
    for value in refused:
        with pytest.raises(SettingsError, match=name):
            kind(**{name: value})


def test_a_score_serves_as_well_as_a_posterior_mean(sample, network, prior_of):
    """Tweedie's formula makes the same graphs of both; Langevin takes the score."""
    mask = node_mask_of_sizes(torch.tensor([6, 1, 4]))

    def by_score(noisy, sigma):
        return mean_of_score(network(noisy, sigma), noisy, sigma)

    direct, through_score = sample(network.denoise, mask), sample(by_score, mask)
    torch.testing.assert_close(direct.state.edges, through_score.state.edges)
    levels, settings = SigmaLevels(sigmas=(1.0, 0.2)), LangevinSettings(steps_per_level=2)
    result = annealed_langevin(network, prior_of(mask), levels, settings, generator=generator())
    assert result.state.edges.isfinite().all()


def test_sampling_starts_where_the_settings_say(sample):
    seen = []

    def empty(noisy, sigma):
        seen.append(sigma[0].item())
        return noisy * 0.0

    sample(empty, node_mask_of_sizes(torch.tensor([40, 40])), changes={"sigma_max": 0.7})
    # Fresh noise may raise it, up to what was trained on.
    assert 0.699 < seen[0] < 1.0
    assert seen[-1] == pytest.approx(RANGE.sigma_min)


@pytest.mark.parametrize("sigma_max", [0.15, 4.1])
def test_noise_that_was_not_trained_on_is_refused(sample, sigma_max):
    mask = node_mask_of_sizes(torch.tensor([3]))
    with pytest.raises(SettingsError, match=r"trained on noise from 0.15 to 4"):
        sample(lambda noisy, sigma: noisy, mask, changes={"sigma_max": sigma_max})


def test_states_stay_symmetric_masked_and_are_counted(sample, network):
    """Calls are as many as the settings say, at levels of the range; a step ends at each level."""
    mask = torch.tensor([[True] * 5, [True, False, True, True, False]])
    calls, steps = [], []

    def denoise(noisy, sigma):
        assert len(set(sigma.tolist())) == 1
        calls.append(sigma[0].item())
        return network.denoise(noisy, sigma)

    def watch(step, state):
        steps.append(step)
        assert torch.equal(state.edges, state.edges.mT)
        assert not state.edges[~pair_mask(mask)].any()

    result = sample(denoise, mask, on_step=watch)
    edges = result.state.edges
    assert result.network_calls == len(calls) == sample.settings.network_calls
    assert steps == list(range(1, sample.settings.total_steps(RANGE) + 1))
    assert max(calls) == calls[0] == pytest.approx(4)
    assert min(calls) == pytest.approx(0.15)
    assert torch.equal(result.state.node_mask, mask)
    assert not edges.requires_grad
    assert 0 <= edges.min() < edges.max() <= 1


def test_reproducible_for_a_seed(sample, network):
    """Same seed, same states, bit for bit; another seed, other states; no global randomness."""
    mask = torch.ones(2, 5, dtype=torch.bool)
    before = torch.get_rng_state()
    first, again, other = (sample(network.denoise, mask, seed).state.edges for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_a_given_start_is_used_and_not_changed(sample, network, prior_of):
    mask = torch.ones(2, 5, dtype=torch.bool)
    initial = prior_of(mask, 0.4).sample(4.0, generator=generator(9))
    copy = initial.edges.clone()
    states = []
    for start in (initial, GraphState(initial.edges + 30, mask)):
        steps = []
        watch = lambda _, state, steps=steps: steps.append(state.edges)  # noqa: E731
        result = sample(network.denoise, mask, initial=start, on_step=watch)
        assert result.state.edges.dtype == torch.float64
        states.append(steps[0])
    assert torch.equal(initial.edges, copy)
    assert not torch.equal(*states)


def test_padding_does_not_matter(sample, network):
    """The same states with two columns of padding, given noise of the same width."""
    mask = node_mask_of_sizes(torch.tensor([4, 3]), 6)
    wide = sample(network.denoise, mask)
    holes = torch.tensor([5, 0, 4, 1, 2, 3])
    inverse = holes.argsort()

    def permuted(noisy, sigma):
        moved = GraphState(noisy.edges[:, holes][:, :, holes], noisy.node_mask[:, holes])
        edges = network.denoise(moved, sigma).edges[:, inverse][:, :, inverse]
        return GraphState(edges, noisy.node_mask)

    def trimmed(noisy, sigma):
        return network.denoise(noisy.part(slice(None), 4), sigma).extended(2)

    for denoise in (permuted, trimmed):
        torch.testing.assert_close(sample(denoise, mask).state.edges, wide.state.edges)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_answers_that_are_not_finite_are_an_error(sample, bad):
    """Even where edges are drawn from them, which would hide it; the message gives the sigma."""
    mask, seen = torch.ones(2, 4, dtype=torch.bool), []

    def denoise(noisy, sigma):
        seen.append(sigma)
        return noisy.map(lambda edges: torch.full_like(edges, bad if len(seen) == 3 else 0.5))

    with pytest.raises(SamplingError, match=r"infinite or NaN at sigma [0-9.]+: .* trained on"):
        sample(denoise, mask)


def test_a_single_step_answers_from_noise(sample, prior_of):
    """One level is the largest, and the answer is the posterior mean there."""
    mask, seen = torch.ones(2, 4, dtype=torch.bool), []

    def denoise(noisy, sigma):
        seen.append(sigma.tolist())
        return noisy / 7

    result = sample(denoise, mask, changes={"steps": 1})
    assert seen == [[4.0, 4.0]]
    assert result.network_calls == 1
    start = prior_of(mask, 0.3).sample(4.0, generator=generator())
    assert torch.equal(result.state.edges, (start / 7).edges)
