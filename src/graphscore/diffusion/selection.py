"""Choosing how to sample by the distance to validation graphs (appendix)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from graphscore.errors import SamplingError, SettingsError

Candidate = TypeVar("Candidate")

GUIDANCE_WEIGHTS = (0.0, 0.5, 1.0, 2.0, 3.0)
"""Weights of a guide model; 0 is the model alone."""


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
        >>> select([3.0, -1.0, 2.0], abs).best
        -1.0
    """
    trials: list[tuple[Candidate, float]] = []
    for candidate in candidates:
        try:
            trials.append((candidate, distance(candidate)))
        except SamplingError:  # for instance a step size that is too large for the model
            trials.append((candidate, math.inf))
    if not trials:
        raise SettingsError("there is nothing to choose from: give at least one candidate.")
    finite = [trial for trial in trials if trial[1] < math.inf]
    if not finite:
        raise SettingsError(
            f"none of {len(trials)} sampler settings gave finite samples. "
            "Give smaller step sizes, or train the model longer."
        )
    return Selection(min(finite, key=lambda trial: trial[1])[0], trials)
