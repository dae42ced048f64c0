"""Noise levels: fixed ones, ranges drawn evenly in log sigma, schedules through a range."""

from __future__ import annotations

import math

import pytest
import torch

from graphscore.diffusion import SigmaLevels, SigmaRange
from graphscore.diffusion.sigmas import draw_sigmas, karras_sigmas
from graphscore.errors import SettingsError

RANGE = SigmaRange(sigma_min=0.1, sigma_max=10.0)


@pytest.mark.parametrize(
    ("sigmas", "message"),
    [
        ((), "at least one standard deviation"),
        ((1.0, 0.0), "all above 0"),
        ((1.0, -0.5), "all above 0"),
        ((0.1, 0.2), "fall strictly"),
        ((1.0, 0.5, 0.5), "fall strictly"),
        ((1.1e6, 1.0), "from 1e-06 to 1e\\+06"),
        ((1.0, 0.9e-6), "from 1e-06 to 1e\\+06"),
        ((1.0, float("nan")), "finite"),
        ((float("inf"), 1.0), "finite"),
        (("wide", 1.0), "number"),
        (1.0, "tuple"),
    ],
)
def test_bad_levels_are_refused(sigmas, message):
    """The error names the setting and says what is wrong."""
    with pytest.raises(SettingsError, match=message) as caught:
        SigmaLevels(sigmas=sigmas)
    assert "sigmas" in str(caught.value)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def position(sigma):
    """Where in the range: 0 at its lower and 1 at its upper end, even in log sigma."""
    return (sigma.log() - math.log(0.1)) / math.log(100)


def test_one_draw_in_each_bin():
    """Of 10 draws one lies in each tenth of the range, in an order that differs."""
    orders = []
    for seed in range(20):
        sigma = draw_sigmas(RANGE, 10, generator=generator(seed), dtype=torch.float64)
        bins = (position(sigma) * 10).long()
        assert bins.sort().values.tolist() == list(range(10))
        orders.append(tuple(bins.tolist()))
    assert len(set(orders)) == 20


def test_every_draw_is_uniform_in_log_sigma():
    """The first of a batch, and where it lies in its bin: moments to 5 standard errors."""
    source = generator()
    draws = [draw_sigmas(RANGE, 3, generator=source, dtype=torch.float64) for _ in range(4000)]
    first = position(torch.stack(draws)[:, 0])
    for uniform in (first, 3 * first % 1):
        assert abs(uniform.mean() - 1 / 2) < 5 * (1 / 12 / 4000) ** 0.5
        assert abs(uniform.square().mean() - 1 / 3) < 5 * (4 / 45 / 4000) ** 0.5


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_draws_are_reproducible_and_only_from_the_generator(dtype):
    before = torch.get_rng_state()
    first, again, other = (
        draw_sigmas(RANGE, 5, generator=generator(s), dtype=dtype) for s in (1, 1, 2)
    )
    assert torch.equal(torch.get_rng_state(), before)
    assert first.dtype == dtype
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("rho", [1.0, 3.0, 7.0])
@pytest.mark.parametrize("steps", [2, 3, 50])
def test_schedules_fall_evenly_in_the_root(steps, rho):
    """From the largest to the smallest exactly, by equal steps of sigma^(1/rho)."""
    sigmas = karras_sigmas(RANGE, steps, rho)
    assert len(sigmas) == steps
    assert (sigmas[0], sigmas[-1]) == (10.0, 0.1)
    roots = torch.tensor(sigmas, dtype=torch.float64) ** (1 / rho)
    steps_down = roots.diff()
    assert (steps_down < 0).all()
    torch.testing.assert_close(steps_down, steps_down.mean().expand_as(steps_down))


def test_the_range_if_not_given_and_its_ends():
    assert SigmaRange() == SigmaRange(sigma_min=0.15, sigma_max=4.0)
    assert SigmaRange.model_validate({"sigma_max": 3.0}) == SigmaRange(sigma_max=3.0)
    assert SigmaLevels(sigmas=(1e6, 1e-6)).sigmas == (1e6, 1e-6)


def test_sampling_starts_within_the_range_or_at_its_largest_level():
    assert RANGE.starting_at(10.0) == RANGE
    assert RANGE.starting_at(0.11) == SigmaRange(sigma_min=0.1, sigma_max=0.11)
    for sigma_max in (0.1, 10.1):
        with pytest.raises(SettingsError, match="sampling cannot start at sigma_max"):
            RANGE.starting_at(sigma_max)


def test_a_schedule_of_one_level_is_the_largest():
    assert karras_sigmas(RANGE, 1, 7.0) == (10.0,)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"sigma_min": 0.0}, "sigma_min"),
        ({"sigma_max": -1.0}, "sigma_max"),
        ({"sigma_min": 2.0, "sigma_max": 1.0}, "sigma_min must be below sigma_max"),
        ({"sigma_min": 1.0, "sigma_max": 1.0}, "sigma_min must be below sigma_max"),
        ({"sigma_max": float("inf")}, "finite"),
        ({"sigma_mx": 1.0}, "did you mean 'sigma_max'"),
    ],
    ids=str,
)
def test_bad_ranges_are_refused(values, message):
    with pytest.raises(SettingsError, match=message):
        SigmaRange(**values)
