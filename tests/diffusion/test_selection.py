"""Choosing sampler settings: the best wins, failures are survived."""

from __future__ import annotations

import math

import pytest
import torch

from graphscore.errors import SamplingError, SettingsError
from graphscore.noise import SigmaRange
from graphscore.sampling import (
    HeunSettings,
    LangevinSettings,
    RenoisingSettings,
    annealed_langevin,
    grid,
    langevin_grid,
    select,
)


def test_grid_is_the_product_and_keeps_the_rest():
    base = LangevinSettings(steps_per_level=7, threshold=0.4)
    tried = langevin_grid(base, step_sizes=(0.1, 0.2), noise_scales=(1.0, 0.5))
    assert [(s.step_size, s.noise_scale) for s in tried] == [
        (0.1, 1.0),
        (0.1, 0.5),
        (0.2, 1.0),
        (0.2, 0.5),
    ]
    assert all((s.steps_per_level, s.threshold) == (7, 0.4) for s in tried)


def test_samplers_of_denoisers_are_tried_from_several_starts():
    trained = SigmaRange(sigma_max=0.9)
    base = HeunSettings(steps=10, threshold=0.4)
    tried = grid(base, trained)
    assert {(s.churn, s.sigma_max) for s in tried} == {
        (churn, start) for churn in (0.0, 1.0, 4.0) for start in (None, 0.7, 0.5)
    }
    assert all((s.steps, s.threshold) == (10, 0.4) for s in tried)
    given = grid(RenoisingSettings(sigma_max=0.6), trained)
    assert {s.sigma_max for s in given} == {0.6, None, 0.7, 0.5}
    assert {(s.rho, s.sigma_max) for s in grid(RenoisingSettings())} == {(3.0, None), (7.0, None)}


def test_the_best_of_all_trials_wins():
    """The smallest distance, wherever it stands; every trial is reported, in order."""
    tried = langevin_grid()
    selection = select(tried, lambda s: abs(s.step_size - 2e-4) + abs(s.noise_scale - 0.7))
    assert (selection.best.step_size, selection.best.noise_scale) == (2e-4, 0.7)
    assert [settings for settings, _ in selection.trials] == tried
    assert min(distance for _, distance in selection.trials) == 0


def test_failing_candidates_are_survived():
    """A step size that makes a real chain diverge is out of the race, not the end of it."""

    def distance(settings):
        result = annealed_langevin(
            lambda adj, mask, sigma: -adj,
            torch.ones(1, 3, dtype=torch.bool),
            torch.tensor([0.5]),
            settings,
            generator=torch.Generator().manual_seed(0),
        )
        return float(result.adj.square().mean())

    base = LangevinSettings(steps_per_level=300)
    grid = langevin_grid(base, step_sizes=(100.0, 0.5, 80.0), noise_scales=(1.0,))
    selection = select(grid, distance)
    assert selection.best.step_size == 0.5
    assert [math.isinf(value) for _, value in selection.trials] == [True, False, True]


def test_a_distance_that_is_not_a_number_never_wins():
    grid = langevin_grid(step_sizes=(0.1, 0.2), noise_scales=(1.0,))
    selection = select(grid, lambda s: math.nan if s.step_size == 0.1 else 5.0)
    assert selection.best.step_size == 0.2


def test_nothing_to_choose_from_is_an_error():
    """No candidates, or none that works."""

    def fail(settings):
        raise SamplingError("diverged")

    with pytest.raises(SettingsError, match="at least one candidate"):
        select([], lambda s: 0.0)
    with pytest.raises(SettingsError, match=r"none of 15 .*smaller step sizes"):
        select(langevin_grid(), fail)


def test_a_bug_is_not_survived():
    """Errors that are not about input or settings are not swallowed."""
    with pytest.raises(ZeroDivisionError):
        select(langevin_grid(), lambda s: 1 / 0)
