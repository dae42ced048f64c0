"""Choosing sampler settings by their distance to validation graphs (appendix)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product

from graphscore.errors import SamplingError, SettingsError
from graphscore.sampling.heun import HeunSettings
from graphscore.sampling.langevin import LangevinSettings
from graphscore.sampling.renoising import RenoisingSettings

SamplerSettings = LangevinSettings | HeunSettings | RenoisingSettings
CHURNS = (0.0, 0.1, 0.2, 0.4)
"""Fresh noise per step of Heun's method."""
SPACINGS = (3.0, 5.0, 7.0, 10.0)
"""Spacings of the noise levels of re-noising."""


@dataclass(frozen=True)
class Selection:
    """Outcome of a search.

    Attributes:
        best: the settings with the smallest distance.
        trials: every candidate with its distance; infinite where sampling failed.
    """

    best: SamplerSettings
    trials: list[tuple[SamplerSettings, float]]


def langevin_grid(
    base: LangevinSettings | None = None,
    step_sizes: Iterable[float] = (5e-3, 2e-3, 1e-3, 5e-4, 2e-4),
    noise_scales: Iterable[float] = (1.0, 0.9, 0.7),
) -> list[LangevinSettings]:
    """Return all pairs (epsilon, epsilon_s), other settings as in `base`.

    >>> len(langevin_grid())
    15
    """
    start = base or LangevinSettings()
    return [
        start.replaced(step_size=step_size, noise_scale=noise_scale)
        for step_size, noise_scale in product(step_sizes, noise_scales)
    ]


def grid(base: SamplerSettings) -> list[SamplerSettings]:
    """Return settings to try: the few that matter most for a sampler, others as in `base`.

    >>> len(grid(LangevinSettings())), len(grid(HeunSettings()))
    (15, 4)
    """
    if isinstance(base, LangevinSettings):
        return [*langevin_grid(base)]
    if isinstance(base, HeunSettings):
        return [base.replaced(churn=share * base.steps) for share in CHURNS]
    return [base.replaced(rho=rho) for rho in SPACINGS]


def select(
    candidates: Iterable[SamplerSettings], distance: Callable[[SamplerSettings], float]
) -> Selection:
    """Try every candidate and keep the nearest.

    Args:
        distance: samples with the given settings and compares with validation graphs, for
            instance by average MMD. Hand in validation graphs, never test graphs.

    Raises:
        SettingsError: there is no candidate, or sampling failed with all of them.

    Example:
        >>> select(grid(HeunSettings(steps=10)), lambda settings: settings.churn).best.churn
        0.0
    """
    trials: list[tuple[SamplerSettings, float]] = []
    for settings in candidates:
        try:
            trials.append((settings, distance(settings)))
        except SamplingError:  # a step size too large for the model: out of the race, not an end
            trials.append((settings, float("inf")))
    finite = [trial for trial in trials if trial[1] < float("inf")]
    if not finite:
        raise SettingsError(
            f"none of {len(trials)} sampler settings gave finite samples. "
            "Give smaller step sizes, or train the model longer."
        )
    return Selection(min(finite, key=lambda trial: trial[1])[0], trials)
