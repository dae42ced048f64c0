"""Choosing how to sample by the distance to validation graphs (appendix)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from typing import Generic, TypeVar

from graphscore.errors import SamplingError, SettingsError
from graphscore.noise import SigmaRange
from graphscore.sampling.heun import HeunSettings
from graphscore.sampling.langevin import LangevinSettings
from graphscore.sampling.renoising import RenoisingSettings

SamplerSettings = LangevinSettings | HeunSettings | RenoisingSettings
Candidate = TypeVar("Candidate")

CHURNS = (0.0, 0.1, 0.4)
"""Fresh noise per step of Heun's method."""
SPACINGS = (3.0, 7.0)
"""Spacings of the noise levels of re-noising."""
STARTS = (1.0, 0.7, 0.5)
"""Noise levels to start from, beside the largest."""
WEIGHTS = (0.0, 0.5, 1.0, 2.0, 3.0)
"""Weights of a guide; 0 is the model alone."""


@dataclass(frozen=True)
class Selection(Generic[Candidate]):
    """Outcome of a search.

    Attributes:
        best: the candidate with the smallest distance.
        trials: every candidate with its distance; infinite where sampling failed.
    """

    best: Candidate
    trials: list[tuple[Candidate, float]]

    @property
    def distance(self) -> float:
        """The smallest distance."""
        return min(distance for _, distance in self.trials)


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


def grid(base: SamplerSettings, trained: SigmaRange | None = None) -> list[SamplerSettings]:
    """Return settings to try: the few that matter most for a sampler, others as in `base`.

    Args:
        trained: noise levels that a denoiser was trained on, among which sampling may start.

    >>> len(grid(LangevinSettings())), len(grid(HeunSettings(), SigmaRange()))
    (15, 12)
    """
    if isinstance(base, LangevinSettings):
        return [*langevin_grid(base)]
    # The given one too, but nothing twice.
    others = [] if trained is None else [None, *starts_within(trained)]
    starts = list(dict.fromkeys([base.sigma_max, *others]))
    if isinstance(base, HeunSettings):
        return [
            base.replaced(churn=share * base.steps, sigma_max=start)
            for share, start in product(CHURNS, starts)
        ]
    return [base.replaced(rho=rho, sigma_max=start) for rho, start in product(SPACINGS, starts)]


def starts_within(trained: SigmaRange) -> list[float]:
    """Return the levels of `STARTS` that lie within those that were trained on.

    >>> starts_within(SigmaRange(sigma_max=0.8))
    [0.7, 0.5]
    """
    return [start for start in STARTS if trained.sigma_min < start < trained.sigma_max]


def select(
    candidates: Iterable[Candidate], distance: Callable[[Candidate], float]
) -> Selection[Candidate]:
    """Try every candidate and keep the nearest.

    Args:
        candidates: settings of the sampler, or whatever else decides samples.
        distance: samples in the given way and compares with validation graphs, for instance by
            average MMD. Hand in validation graphs, never test graphs.

    Raises:
        SettingsError: there is no candidate, or sampling failed with all of them.

    Example:
        >>> select(grid(HeunSettings(steps=10)), lambda settings: settings.churn).best.churn
        0.0
    """
    trials: list[tuple[Candidate, float]] = []
    for candidate in candidates:
        try:
            trials.append((candidate, distance(candidate)))
        except SamplingError:  # a step size too large for the model: out of the race, not an end
            trials.append((candidate, float("inf")))
    if not trials:
        raise SettingsError("there is nothing to choose from: give at least one candidate.")
    finite = [trial for trial in trials if trial[1] < float("inf")]
    if not finite:
        raise SettingsError(
            f"none of {len(trials)} sampler settings gave finite samples. "
            "Give smaller step sizes, or train the model longer."
        )
    return Selection(min(finite, key=lambda trial: trial[1])[0], trials)
