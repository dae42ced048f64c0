"""Annealed Langevin dynamics, the paper's sampler (Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from graphscore.errors import SamplingError
from graphscore.noise import NoiseSettings, symmetric_noise
from graphscore.sampling.states import folded_normal
from graphscore.settings import Settings

Score = Callable[[Tensor, Tensor, Tensor], Tensor]
"""score(adj (B,N,N), node_mask (B,N), sigma (B,)) -> (B,N,N)"""

OnStep = Callable[[int, Tensor], None]
"""on_step(done, adj): steps done so far and the state after them, which is the caller's to keep.
Faster paths call it after several steps at once, and always after the last."""


class LangevinSettings(Settings):
    """Step sizes and lengths of annealed Langevin dynamics."""

    sampler: Literal["langevin"] = "langevin"
    """Tells the settings of one sampler from those of another."""
    step_size: float = Field(default=2e-3, gt=0)
    """epsilon: the step size at the smallest sigma; alpha_i = epsilon sigma_i^2 / sigma_L^2."""
    noise_scale: float = Field(default=1.0, ge=0)
    """epsilon_s: factor of the noise of every step (appendix)."""
    steps_per_level: int = Field(default=1000, ge=1)
    """T: steps at each noise level."""
    threshold: float = Field(default=0.5, gt=0, lt=1)
    """Entries above it become edges."""

    def steps_in_all(self, noise: NoiseSettings) -> int:
        """Steps at all levels of the ladder."""
        return len(noise.sigmas) * self.steps_per_level


@dataclass(frozen=True)
class SamplingResult:
    """Final states of a sampler.

    Attributes:
        adj: (B,N,N) continuous states.
        node_mask: (B,N) bool.
        network_calls: how often the score was evaluated on the batch.
    """

    adj: Tensor
    node_mask: Tensor
    network_calls: int


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


def levels(sigmas: Tensor, settings: LangevinSettings) -> list[Level]:
    """Return the levels of the strictly falling `sigmas`, largest first."""
    smallest = float(sigmas[-1])
    alphas = [(s, settings.step_size * (s / smallest) ** 2) for s in sigmas.tolist()]
    return [Level(s, alpha, settings.noise_scale * alpha**0.5) for s, alpha in alphas]


def check_finite(adj: Tensor, sigma: float, settings: LangevinSettings) -> None:
    """Refuse a state that is not finite after the level `sigma`.

    Raises:
        SamplingError: it is not, as happens when the step size is too large.
    """
    if not bool(adj.isfinite().all()):
        raise SamplingError(
            f"sampling left the finite numbers at sigma {sigma:g}: the step size "
            f"{settings.step_size:g} is too large for this model. Try a tenth of it."
        )


@torch.no_grad()
def annealed_langevin(
    score: Score,
    node_mask: Tensor,
    sigmas: Tensor,
    settings: LangevinSettings,
    *,
    generator: torch.Generator,
    initial: Tensor | None = None,
    on_step: OnStep | None = None,
) -> SamplingResult:
    """Run Algorithm 1: for each sigma_i, T times

    A <- A + alpha_i / 2 * s(A, sigma_i) + epsilon_s * sqrt(alpha_i) * z,  z symmetric.

    Args:
        score: the score function.
        node_mask: (B,N) bool; fixes the sizes of the graphs.
        sigmas: (L,) strictly falling noise levels.
        initial: (B,N,N) starting state, a folded normal if not given.
        on_step: called with the number of steps done and the state after every step.

    Raises:
        SamplingError: the state is not finite, as happens when the step size is too large.

    Example:
        >>> gaussian = lambda adj, mask, sigma: -adj / (1 + sigma.view(-1, 1, 1) ** 2)
        >>> mask = torch.ones(2, 4, dtype=torch.bool)
        >>> generator = torch.Generator().manual_seed(0)
        >>> settings = LangevinSettings(steps_per_level=5)
        >>> sigmas = torch.tensor([1.0, 0.1])
        >>> annealed_langevin(gaussian, mask, sigmas, settings, generator=generator).network_calls
        10
    """
    dtype = sigmas.dtype
    adj = folded_normal(node_mask, generator=generator, dtype=dtype) if initial is None else initial
    done = 0
    for level in levels(sigmas, settings):
        sigma = torch.full((len(adj),), level.sigma, dtype=dtype, device=adj.device)
        for _ in range(settings.steps_per_level):
            noise = symmetric_noise(node_mask, generator=generator, dtype=dtype)
            adj = adj + level.alpha / 2 * score(adj, node_mask, sigma) + level.noise_size * noise
            done += 1
            if on_step is not None:
                on_step(done, adj)
        check_finite(adj, level.sigma, settings)
    return SamplingResult(adj, node_mask, done)
