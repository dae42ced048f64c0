"""Choosing sampler settings: the best wins, failures are survived."""

from __future__ import annotations

import math

import pytest
import torch

from graphscore.diffusion import SigmaLevels, SigmaRange
from graphscore.diffusion.samplers import (
    AncestralSettings,
    HeunSettings,
    LangevinSettings,
    annealed_langevin,
)
from graphscore.diffusion.selection import select
from graphscore.errors import SamplingError, SettingsError


def test_variants_of_langevin_are_a_product_and_keep_the_rest():
    tried = LangevinSettings(steps_per_level=7, threshold=0.4).variants(None)
    assert [(s.step_size, s.noise_scale) for s in tried] == [
        (step, noise) for step in (5e-3, 2e-3, 1e-3, 5e-4, 2e-4) for noise in (1.0, 0.9, 0.7)
    ]
    assert all((s.steps_per_level, s.threshold) == (7, 0.4) for s in tried)


def test_samplers_of_denoisers_are_tried_from_several_starts():
    trained = SigmaRange(sigma_max=0.9)
    tried = HeunSettings(steps=10, threshold=0.4).variants(trained)
    assert {(s.churn, s.sigma_max) for s in tried} == {
        (churn, start) for churn in (0.0, 1.0, 4.0) for start in (None, 0.7, 0.5)
    }
    assert all((s.steps, s.threshold) == (10, 0.4) for s in tried)
    given = AncestralSettings(sigma_max=0.6).variants(trained)
    assert {s.sigma_max for s in given} == {0.6, None, 0.7, 0.5}
    assert given[0].starts(trained) == [0.6, None, 0.7, 0.5]
    assert given[0].starts(SigmaRange(sigma_max=2.0)) == [0.6, None, 1.0, 0.7, 0.5]
    # The ends of the range are no choice: one is the start already, the other leaves no way.
    assert HeunSettings().starts(SigmaRange(sigma_min=0.5, sigma_max=1.0)) == [None, 0.7]
    unknown = AncestralSettings().variants(None)
    assert {(s.rho, s.sigma_max) for s in unknown} == {(3.0, None), (7.0, None)}


def test_the_best_of_all_trials_wins():
    """The smallest distance, wherever it stands; every trial is reported, in order."""
    tried = LangevinSettings().variants(None)
    selection = select(tried, lambda s: abs(s.step_size - 2e-4) + abs(s.noise_scale - 0.7))
    assert (selection.best.step_size, selection.best.noise_scale) == (2e-4, 0.7)
    assert [settings for settings, _ in selection.trials] == tried
    assert selection.distance == min(distance for _, distance in selection.trials) == 0


def test_failing_candidates_are_survived(prior_of):
    """A step size that makes a real chain diverge loses, and the search goes on."""

    def distance(settings):
        result = annealed_langevin(
            lambda noisy, sigma: noisy * -1.0,
            prior_of(torch.ones(1, 3, dtype=torch.bool)),
            SigmaLevels(sigmas=(0.5,)),
            settings,
            generator=torch.Generator().manual_seed(0),
        )
        return float(result.state.edges.square().mean())

    tried = [LangevinSettings(steps_per_level=300, step_size=s) for s in (100.0, 0.5, 80.0)]
    selection = select(tried, distance)
    assert selection.best.step_size == 0.5
    assert [math.isinf(value) for _, value in selection.trials] == [True, False, True]


def test_a_distance_that_is_not_a_number_never_wins():
    selection = select([0.1, 0.2], lambda s: math.nan if s == 0.1 else 5.0)
    assert selection.best == 0.2


def test_nothing_to_choose_from_is_an_error():
    """No candidates, or none that works."""

    def fail(settings):
        raise SamplingError("diverged")

    with pytest.raises(SettingsError, match="at least one candidate"):
        select([], lambda s: 0.0)
    with pytest.raises(SettingsError, match=r"none of 15 .*smaller step sizes"):
        select(range(15), fail)


def test_a_bug_is_not_survived():
    """Errors that are not about input or settings are not swallowed."""
    with pytest.raises(ZeroDivisionError):
        select([1], lambda s: 1 / 0)
