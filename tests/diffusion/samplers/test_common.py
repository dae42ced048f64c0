"""What samplers of the posterior mean share: Tweedie's formula, the start, the check."""

from __future__ import annotations

import pytest
import torch

from graphscore.errors import SamplingError, SettingsError
from graphscore.graphs import node_mask_of_sizes, pair_mask
from graphscore.networks import DenoiserSettings, LogOddsDenoiser
from graphscore.noise import SigmaRange, symmetric_noise
from graphscore.sampling import (
    HeunSettings,
    LangevinSettings,
    RenoisingSettings,
    annealed_langevin,
    denoise_by_score,
    heun,
    noisy_start,
    renoise,
)

RANGE = SigmaRange()
SAMPLERS = {
    "heun": (heun, HeunSettings(steps=5)),
    "churned heun": (heun, HeunSettings(steps=5, churn=2)),
    "re-noising": (renoise, RenoisingSettings(steps=5)),
    "bridges": (renoise, RenoisingSettings(steps=5, noise="bridge")),
}


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def network():
    source = generator()
    settings = DenoiserSettings(blocks=1, pair_width=4, node_width=4, product_width=2)
    made = LogOddsDenoiser(settings, 0.3, generator=source)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=source))
    return made.eval()


@pytest.fixture(params=SAMPLERS)
def sample(request):
    sampler, settings = SAMPLERS[request.param]

    def run(denoise, mask, seed=0, sigma_max=None, **arguments):
        chosen = settings.replaced(sigma_max=sigma_max)
        return sampler(denoise, mask, RANGE, chosen, generator=generator(seed), **arguments)

    run.settings = settings
    return run


def test_tweedie_turns_a_score_back_into_its_posterior_mean():
    mask = node_mask_of_sizes(torch.tensor([6, 4]))
    adj, sigma = symmetric_noise(mask, generator=generator()), torch.tensor([0.4, 2.0])
    made = network()
    result = denoise_by_score(made)(adj, mask, sigma)
    torch.testing.assert_close(result, made.denoised(adj, mask, sigma), rtol=1e-5, atol=1e-6)


def test_every_network_serves_every_sampler(sample):
    """By its posterior mean or by its score, with the same graphs; Langevin takes the score."""
    mask, made = node_mask_of_sizes(torch.tensor([6, 1, 4])), network()
    direct = sample(made.denoised, mask, prior_mean=0.3)
    by_score = sample(denoise_by_score(made), mask, prior_mean=0.3)
    torch.testing.assert_close(direct.adj, by_score.adj, rtol=1e-3, atol=1e-3)
    settings = LangevinSettings(steps_per_level=2)
    annealed_langevin(made, mask, torch.tensor([1.0, 0.2]), settings, generator=generator())


def test_the_start_is_the_mean_under_noise():
    """The noise of sigma on the density of each graph, on existing pairs only."""
    mask = node_mask_of_sizes(torch.tensor([5, 3]))
    density = torch.tensor([0.2, 0.7], dtype=torch.float64)
    noise = symmetric_noise(mask, generator=generator(), dtype=torch.float64)
    of_pairs = 0.5 + 0.1 * noise
    for given, mean in ((density, density.view(2, 1, 1)), (of_pairs, of_pairs)):
        start = noisy_start(mask, 4.0, given, generator=generator(), dtype=torch.float64)
        torch.testing.assert_close(start, (mean + 4 * noise) * pair_mask(mask))
    alike = noisy_start(mask, 4.0, 0.5, generator=generator(), dtype=torch.float64)
    torch.testing.assert_close(alike, (0.5 + 4 * noise) * pair_mask(mask))


def test_sampling_starts_where_the_settings_say(sample):
    seen = []

    def empty(adj, mask, sigma):
        seen.append(sigma[0].item())
        return torch.zeros_like(adj)

    mask = node_mask_of_sizes(torch.tensor([40, 40]))
    sample(empty, mask, sigma_max=0.7)
    # Fresh noise may raise it, up to what was trained on.
    assert 0.699 < seen[0] < 1.0
    assert seen[-1] == pytest.approx(RANGE.sigma_min)


@pytest.mark.parametrize("sigma_max", [0.15, 4.1])
def test_noise_that_was_not_trained_on_is_refused(sample, sigma_max):
    mask = node_mask_of_sizes(torch.tensor([3]))
    with pytest.raises(SettingsError, match=r"trained on noise from 0.15 to 4"):
        sample(lambda adj, mask, sigma: adj, mask, sigma_max=sigma_max)


def test_states_stay_symmetric_masked_and_are_counted(sample):
    """Calls are as many as the settings say, at levels of the range; a step ends at each level."""
    mask = torch.tensor([[True] * 5, [True, False, True, True, False]])
    made, calls, steps = network(), [], []

    def denoise(adj, node_mask, sigma):
        assert len(set(sigma.tolist())) == 1
        calls.append(sigma[0].item())
        return made.denoised(adj, node_mask, sigma)

    def watch(step, adj):
        steps.append(step)
        assert torch.equal(adj, adj.mT)
        assert not adj[~pair_mask(mask)].any()

    result = sample(denoise, mask, on_step=watch)
    assert result.network_calls == len(calls) == sample.settings.network_calls
    assert steps == [1, 2, 3, 4, 5]
    assert max(calls) == calls[0] == pytest.approx(4)
    assert min(calls) == pytest.approx(0.15)
    assert torch.equal(result.node_mask, mask)
    assert not result.adj.requires_grad
    assert 0 <= result.adj.min() < result.adj.max() <= 1


def test_reproducible_for_a_seed(sample):
    """Same seed, same states, bit for bit; another seed, other states; no global randomness."""
    mask, made = torch.ones(2, 5, dtype=torch.bool), network()
    before = torch.get_rng_state()
    first, again, other = (sample(made.denoised, mask, seed).adj for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_a_given_start_is_used_and_not_changed(sample):
    mask, made = torch.ones(2, 5, dtype=torch.bool), network()
    initial = noisy_start(mask, 4.0, 0.4, generator=generator(9), dtype=torch.float64)
    copy = initial.clone()
    states = []
    for start in (initial, initial + 30):
        steps = []
        watch = lambda _, adj, steps=steps: steps.append(adj)  # noqa: E731
        result = sample(made.double().denoised, mask, initial=start, on_step=watch)
        assert result.adj.dtype == torch.float64
        states.append(steps[0])
    assert torch.equal(initial, copy)
    assert not torch.equal(*states)


def test_padding_does_not_matter(sample):
    """The same states with two columns of padding, given noise of the same width."""
    made = network().double()
    mask = node_mask_of_sizes(torch.tensor([4, 3]), 6)
    wide = sample(made.denoised, mask, dtype=torch.float64)
    holes = torch.tensor([5, 0, 4, 1, 2, 3])
    inverse = holes.argsort()

    def permuted(adj, node_mask, sigma):
        moved = adj[:, holes][:, :, holes]
        return made.denoised(moved, node_mask[:, holes], sigma)[:, inverse][:, :, inverse]

    def trimmed(adj, node_mask, sigma):
        inner = made.denoised(adj[:, :4, :4], node_mask[:, :4], sigma)
        return torch.nn.functional.pad(inner, (0, 2, 0, 2))

    for denoise in (permuted, trimmed):
        result = sample(denoise, mask, dtype=torch.float64)
        torch.testing.assert_close(result.adj, wide.adj)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_answers_that_are_not_finite_are_an_error(sample, bad):
    """Even where edges are drawn from them, which would hide it; the message gives the sigma."""
    mask, seen = torch.ones(2, 4, dtype=torch.bool), []

    def denoise(adj, node_mask, sigma):
        seen.append(sigma)
        return torch.full_like(adj, bad if len(seen) == 3 else 0.5)

    with pytest.raises(SamplingError, match=r"finite numbers at sigma [0-9.]+: .* trained on"):
        sample(denoise, mask)


def test_a_single_step_answers_from_noise(sample):
    """One level is the largest, and the answer is the posterior mean there."""
    settings = sample.settings.replaced(steps=1)
    sampler = heun if isinstance(settings, HeunSettings) else renoise
    mask, seen = torch.ones(2, 4, dtype=torch.bool), []

    def denoise(adj, node_mask, sigma):
        seen.append(sigma.tolist())
        return adj / 7

    result = sampler(denoise, mask, RANGE, settings, generator=generator())
    assert seen == [[4.0, 4.0]]
    assert result.network_calls == settings.network_calls == 1
    start = noisy_start(mask, 4.0, 0.0, generator=generator())
    assert torch.equal(result.adj, start / 7)
