"""Ancestral sampling: draw clean entries from the posterior, add less noise than before, repeat.

Between two noise levels every entry is drawn from its own posterior, so that the network always
sees a clean graph under noise, as in training. Entries are drawn independently of each other;
contradictions between them are repaired at the next levels.
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

SPACINGS = (3.0, 7.0)
"""Spacings of the noise levels that a search tries."""


class AncestralSettings(RangeSamplerSettings):
    """Length and noise of ancestral sampling.

    >>> AncestralSettings(steps=32).network_calls
    32
    """

    kind: Literal["ancestral"] = "ancestral"
    steps: int = Field(default=128, ge=1, le=MOST_SAMPLING_STEPS)
    """Noise levels from the largest to the smallest, one network call at each."""
    noise: Literal["independent", "posterior"] = "independent"
    """Independent noise forgets the state before; posterior noise is drawn given that state and the
    entries drawn, which moves less at a time and in many steps samples exactly."""

    @property
    def network_calls(self) -> int:
        """One per step."""
        return self.steps

    def variants(self, trained: SigmaRange | None) -> list[Self]:
        return [
            self.replaced(rho=rho, sigma_max=start)
            for rho, start in product(SPACINGS, self.starts(trained))
        ]


@torch.no_grad()
def ancestral(
    denoise: Denoise,
    prior: Prior,
    sigma_range: SigmaRange,
    settings: AncestralSettings,
    *,
    generator: torch.Generator,
    initial: GraphState | None = None,
    on_step: OnStep | None = None,
) -> SamplingResult:
    """Draw clean graphs under less and less noise, and return the last posterior mean.

    At sigma with the state A~: draw A from the posterior of mean D(A~, sigma), then go to sigma' by

    independent: A~' = A + sigma' z
    posterior:   A~' = A + r^2 (A~ - A) + sigma' sqrt(1 - r^2) z,  r = sigma' / sigma,

    the second being the distribution of A + sigma' z given that A~ came from it by more noise. At
    the smallest sigma D is returned, and D > 1/2 is the graph.

    Args:
        denoise: the posterior mean D.
        prior: of the new graphs; fixes their sizes and how clean entries are drawn.
        sigma_range: what the network was trained on; where to start, unless the settings say it,
            and where to end.
        initial: starting state, a prior sample if not given.
        on_step: called with the number of steps done and the state after every step.

    Raises:
        SamplingError: a posterior mean is not finite.
        SettingsError: the network was not trained on the noise to start from.
    """
    sigmas = settings.sigmas(sigma_range)
    state = prior.sample(sigmas[0], generator=generator) if initial is None else initial
    check = FiniteCheck()
    ones = torch.ones(len(state), dtype=state.edges.dtype, device=state.edges.device)
    for step, (sigma, lower) in enumerate(zip(sigmas, (*sigmas[1:], 0.0))):
        levels = ones * sigma
        denoised = denoise(state, levels)
        check.note(denoised)
        if lower:
            drawn = prior.likelihood.draw(denoised, levels, generator=generator)
            noise = noise_like(state, generator=generator)
            kept = (lower / sigma) ** 2 if settings.noise == "posterior" else 0.0
            state = drawn + (state - drawn) * kept + noise * (lower * math.sqrt(1 - kept))
        else:
            # A network's answer may be symmetric up to rounding only; a graph must be exactly.
            state = denoised.symmetrised()
        if on_step is not None:
            on_step(step + 1, state)
    check.conclude(sigmas)
    return SamplingResult(state, settings.network_calls)
