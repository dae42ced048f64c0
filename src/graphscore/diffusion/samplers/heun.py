"""Heun's method on the probability flow, with or without fresh noise (Karras et al. 2022).

The distribution of A + sigma z is carried from large to small sigma by dA/dsigma = (A - D) / sigma.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Literal, Self

import torch
from pydantic import Field

from graphscore.diffusion.likelihood import Prior
from graphscore.diffusion.noise import noise_like
from graphscore.diffusion.posterior import Denoise
from graphscore.diffusion.samplers.base import (
    FiniteCheck,
    OnStep,
    RangeSamplerSettings,
    SamplingResult,
)
from graphscore.diffusion.sigmas import SigmaRange
from graphscore.graphs.state import GraphState
from graphscore.settings import MOST_SAMPLING_STEPS

LARGEST_CHURN = math.sqrt(2) - 1
"""Of one step: as much new noise as is there already."""
CHURNS = (0.0, 0.1, 0.4)
"""Fresh noise per step that a search tries."""


class HeunSettings(RangeSamplerSettings):
    """Length and stochasticity of Heun's method.

    >>> HeunSettings(steps=32).network_calls
    63
    """

    kind: Literal["heun"] = "heun"
    steps: int = Field(default=64, ge=1, le=MOST_SAMPLING_STEPS)
    """Noise levels from the largest to the smallest; each is left by one step of Heun's method."""
    churn: float = Field(default=0.0, ge=0, le=1e6)
    """Fresh noise, S_churn of Karras et al.: before each step sigma is raised by the factor
    1 + churn / steps, at most by the square root of 2. With 0 the flow is deterministic."""

    @property
    def network_calls(self) -> int:
        """Two per step, and one for the last."""
        return 2 * self.steps - 1

    def variants(self, trained: SigmaRange | None) -> list[Self]:
        return [
            self.replaced(churn=share * self.steps, sigma_max=start)
            for share, start in product(CHURNS, self.starts(trained))
        ]


@torch.no_grad()
def heun(
    denoise: Denoise,
    prior: Prior,
    sigma_range: SigmaRange,
    settings: HeunSettings,
    *,
    generator: torch.Generator,
    initial: GraphState | None = None,
    on_step: OnStep | None = None,
) -> SamplingResult:
    """Follow the flow down to the smallest sigma and return the posterior mean there.

    A step from sigma to sigma' (Algorithm 2 of Karras et al.): fresh noise raises the state to
    sigma^ >= sigma; then A' = A + (sigma' - sigma^) (d + d') / 2 with d = (A - D(A, sigma^)) /
    sigma^ at the start and d' at the end of a first step with d alone. The last step goes from the
    smallest sigma, without fresh noise, to 0, which is D itself.

    Args:
        denoise: the posterior mean D.
        prior: of the new graphs; fixes their sizes.
        sigma_range: what the network was trained on; where to start, unless the settings say it,
            and where to end.
        initial: starting state, a prior sample if not given.
        on_step: called with the number of steps done and the state after every step.

    Raises:
        SamplingError: a state is not finite.
        SettingsError: the network was not trained on the noise to start from.
    """
    sigmas = settings.sigmas(sigma_range)
    state = prior.sample(sigmas[0], generator=generator) if initial is None else initial
    check = FiniteCheck()
    ones = torch.ones(len(state), dtype=state.edges.dtype, device=state.edges.device)
    for step, (sigma, lower) in enumerate(zip(sigmas, (*sigmas[1:], 0.0))):
        # Noise that no step takes away again would only blur the answer.
        sigma_hat = raised(sigma, sigma_range, settings) if lower else sigma
        if sigma_hat > sigma:
            added = math.sqrt(sigma_hat**2 - sigma**2)
            state = state + noise_like(state, generator=generator) * added
        denoised = denoise(state, ones * sigma_hat)
        if lower:
            first = (state - denoised) / sigma_hat
            reached = state + first * (lower - sigma_hat)
            second = (reached - denoise(reached, ones * lower)) / lower
            state = state + (first + second) * (lower - sigma_hat) / 2
        else:
            # A network's answer may be symmetric up to rounding only; a graph must be exactly.
            state = denoised.symmetrised()
        check.note(state)
        if on_step is not None:
            on_step(step + 1, state)
    check.conclude(sigmas)
    return SamplingResult(state, settings.network_calls)


def raised(sigma: float, sigma_range: SigmaRange, settings: HeunSettings) -> float:
    """Return sigma_hat, the level that fresh noise raises `sigma` to, within the trained range.

    >>> raised(1.0, SigmaRange(), HeunSettings(steps=10, churn=2.5))
    1.25
    """
    share = min(settings.churn / settings.steps, LARGEST_CHURN)
    return max(sigma, min(sigma * (1 + share), sigma_range.sigma_max))
