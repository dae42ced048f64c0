"""What all samplers share: base class of settings, result, callback, check for finite states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import torch
from pydantic import Field
from torch import Tensor

from graphscore.diffusion.sigmas import Sigma, SigmaLevels, SigmaRange, karras_sigmas
from graphscore.errors import SamplingError
from graphscore.graphs.state import GraphState
from graphscore.settings import Settings

STARTS = (1.0, 0.7, 0.5)
"""Noise levels to start from that a search tries, beside the largest."""

OnStep = Callable[[int, GraphState], None]
"""on_step(done, state): steps done so far and the state after them, which is the caller's to keep.
Accelerated paths call it after several steps at once, and always after the last."""


class SamplerSettings(Settings):
    """Base class of the settings of samplers; each has a `kind` of its own."""

    kind: str
    """Which sampler these settings belong to."""
    threshold: float = Field(default=0.5, gt=0, lt=1)
    """Edge probabilities above it become edges; of weights of an EDP-GNN, this share of the weakest
    that counts as an edge."""

    def total_steps(self, noise: SigmaLevels | SigmaRange) -> int:
        """Return the number of steps that `on_step` counts."""
        raise NotImplementedError

    def variants(self, trained: SigmaRange | None) -> list[Self]:
        """Return the settings that a search on validation graphs tries.

        Args:
            trained: range of noise levels that the network was trained on, if it is a range.
        """
        raise NotImplementedError


class RangeSamplerSettings(SamplerSettings):
    """Base class of the settings of samplers that step down through a range of noise levels."""

    steps: int
    """Noise levels from the largest to the smallest."""
    sigma_max: Sigma | None = None
    """Noise level to start from; the largest that the network was trained on if not given. Steps at
    noise that hides everything are better spent at the levels where graphs take shape."""
    rho: float = Field(default=7.0, ge=0.1, le=1000)
    """Spacing of the levels: 1 is even, larger values put more of them at small sigma."""

    def total_steps(self, noise: SigmaLevels | SigmaRange) -> int:
        return self.steps

    def sigmas(self, trained: SigmaRange) -> tuple[float, ...]:
        """Return the noise levels, largest first.

        Raises:
            SettingsError: the network was not trained on the noise to start from.
        """
        return karras_sigmas(trained.starting_at(self.sigma_max), self.steps, self.rho)

    def starts(self, trained: SigmaRange | None) -> list[float | None]:
        """Return noise levels to start from that a search tries: the present one and `STARTS`."""
        if trained is None:
            return [self.sigma_max]
        inside = [start for start in STARTS if trained.sigma_min < start < trained.sigma_max]
        return list(dict.fromkeys([self.sigma_max, None, *inside]))


@dataclass(frozen=True)
class SamplingResult:
    """Final states of a sampler.

    Attributes:
        state: real-valued entries, to be decoded by the likelihood.
        network_calls: how often the network was called on the batch.
    """

    state: GraphState
    network_calls: int


class FiniteCheck:
    """Finds states that are not finite without waiting for the device at every step."""

    def __init__(self) -> None:
        self._finite: list[Tensor] = []

    def note(self, state: GraphState) -> None:
        """Remember whether the state of the next step is finite."""
        self._finite.append(state.isfinite())

    def conclude(self, sigmas: tuple[float, ...]) -> None:
        """Wait for the device and refuse states that were not finite.

        Raises:
            SamplingError: names the first sigma at which one was not.
        """
        finite = torch.stack(self._finite).tolist()
        if not all(finite):
            raise SamplingError(
                f"the state became infinite or NaN at sigma {sigmas[finite.index(False)]:g}: the "
                "network's answer there is not finite. Train it longer or with a lower learning "
                "rate, or sample within the noise levels it was trained on."
            )
