"""Annealed Langevin dynamics, the paper's sampler (Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Literal, Self

import torch
from pydantic import Field, field_validator

from graphscore.diffusion.likelihood import Prior
from graphscore.diffusion.noise import noise_like
from graphscore.diffusion.posterior import Score
from graphscore.diffusion.samplers.base import OnStep, SamplerSettings, SamplingResult
from graphscore.diffusion.sigmas import SigmaLevels, SigmaRange, Sigmas, strictly_falling
from graphscore.errors import SamplingError
from graphscore.graphs.state import GraphState
from graphscore.settings import MOST_LANGEVIN_STEPS

STEP_SIZES, NOISE_SCALES = (5e-3, 2e-3, 1e-3, 5e-4, 2e-4), (1.0, 0.9, 0.7)
"""epsilon and epsilon_s that a search tries (appendix)."""


class LangevinSettings(SamplerSettings):
    """Step sizes and lengths of annealed Langevin dynamics."""

    kind: Literal["langevin"] = "langevin"
    step_size: float = Field(default=2e-3, gt=0)
    """epsilon: the step size at the smallest sigma; alpha_i = epsilon sigma_i^2 / sigma_L^2."""
    noise_scale: float = Field(default=1.0, ge=0)
    """epsilon_s: factor of the noise of every step (appendix)."""
    steps_per_level: int = Field(default=1000, ge=1, le=MOST_LANGEVIN_STEPS)
    """T: steps at each noise level."""
    sigmas: Sigmas | None = None
    """Noise levels, largest first. If not given, those that the network was trained on; of a range,
    the paper's levels within it."""

    @field_validator("sigmas")
    @classmethod
    def _falling(cls, sigmas: tuple[float, ...] | None) -> tuple[float, ...] | None:
        return None if sigmas is None else strictly_falling(sigmas)

    def total_steps(self, noise: SigmaLevels | SigmaRange) -> int:
        assert isinstance(noise, SigmaLevels)
        return len(noise.sigmas) * self.steps_per_level

    def variants(self, trained: SigmaRange | None) -> list[Self]:
        return [
            self.replaced(step_size=step_size, noise_scale=noise_scale)
            for step_size, noise_scale in product(STEP_SIZES, NOISE_SCALES)
        ]


@dataclass(frozen=True)
class Level:
    """One noise level of Algorithm 1.

    Attributes:
        sigma: standard deviation of the noise.
        alpha: step size, epsilon sigma_i^2 / sigma_L^2.
        noise_size: factor of the noise of a step, epsilon_s sqrt(alpha).
    """

    sigma: float
    alpha: float
    noise_size: float


def step_sizes(levels: SigmaLevels, settings: LangevinSettings) -> list[Level]:
    """Return step and noise size at each of the noise levels, largest first."""
    # Rounded to single precision, as they are in the states.
    sigmas = torch.tensor(levels.sigmas, dtype=torch.float32).tolist()
    alphas = [(sigma, settings.step_size * (sigma / sigmas[-1]) ** 2) for sigma in sigmas]
    return [Level(sigma, alpha, settings.noise_scale * alpha**0.5) for sigma, alpha in alphas]


def check_finite(state: GraphState, sigma: float, settings: LangevinSettings) -> None:
    """Refuse a state that is not finite after the level `sigma`.

    Raises:
        SamplingError: it is not, as happens when the step size is too large.
    """
    if not bool(state.isfinite()):
        raise SamplingError(
            f"the state became infinite or NaN at sigma {sigma:g}: the step size "
            f"{settings.step_size:g} is too large for this model. Try a tenth of it."
        )


def folded_normal(like: GraphState, *, generator: torch.Generator) -> GraphState:
    """Draw the initial state |e_ij| with standard normal e, one per pair (section 3.2)."""
    return noise_like(like, generator=generator).map(torch.abs)


@torch.no_grad()
def annealed_langevin(
    score: Score,
    prior: Prior,
    levels: SigmaLevels,
    settings: LangevinSettings,
    *,
    generator: torch.Generator,
    initial: GraphState | None = None,
    on_step: OnStep | None = None,
) -> SamplingResult:
    """Run Algorithm 1: for each sigma_i, T times

    A <- A + alpha_i / 2 * s(A, sigma_i) + epsilon_s * sqrt(alpha_i) * z,  z symmetric.

    Args:
        score: the score function s.
        prior: of the new graphs; fixes their sizes.
        levels: the noise levels sigma_i.
        initial: starting state, a folded normal if not given.
        on_step: called with the number of steps done and the state after every step.

    Raises:
        SamplingError: the state is not finite, as happens when the step size is too large.
    """
    state = folded_normal(prior.mean, generator=generator) if initial is None else initial
    ones = torch.ones(len(state), dtype=state.edges.dtype, device=state.edges.device)
    done = 0
    for level in step_sizes(levels, settings):
        sigma = ones * level.sigma
        for _ in range(settings.steps_per_level):
            noise = noise_like(state, generator=generator)
            state = state + score(state, sigma) * (level.alpha / 2) + noise * level.noise_size
            done += 1
            if on_step is not None:
                on_step(done, state)
        check_finite(state, level.sigma, settings)
    return SamplingResult(state, done)
