"""Heun's method on the probability flow, with or without fresh noise (Karras et al. 2022).

The distribution of A + sigma z is carried from large to small sigma by dA/dsigma = (A - D) / sigma.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from graphscore.noise import NoiseSettings, SigmaRange, falling_sigmas, symmetric_noise
from graphscore.sampling.denoising import Denoise, FiniteCheck, noisy_start, started_at
from graphscore.sampling.langevin import OnStep, SamplingResult
from graphscore.settings import Settings

LARGEST_CHURN = math.sqrt(2) - 1
"""Of one step: as much new noise as is there already."""


class HeunSettings(Settings):
    """Length and stochasticity of Heun's method.

    >>> HeunSettings(steps=32).network_calls
    63
    """

    sampler: Literal["heun"] = "heun"
    """Tells the settings of one sampler from those of another."""
    steps: int = Field(default=64, ge=1)
    """Noise levels from the largest to the smallest; each is left by one step of Heun's method."""
    sigma_max: float | None = Field(default=None, gt=0)
    """Noise level to start from; the largest that the network was trained on if not given. Where
    that hides everything, steps there are lost for the levels at which graphs take shape."""
    rho: float = Field(default=7.0, gt=0)
    """How the levels are spaced: 1 evenly, larger values put more of them at small sigma."""
    churn: float = Field(default=0.0, ge=0)
    """Fresh noise, S_churn of Karras et al.: before each step sigma is raised by the factor
    1 + churn / steps, at most by the square root of 2. Zero follows the flow without chance."""
    threshold: float = Field(default=0.5, gt=0, lt=1)
    """Entries above it become edges."""

    @property
    def network_calls(self) -> int:
        """Two per step, and one for the last."""
        return 2 * self.steps - 1

    def steps_in_all(self, _: NoiseSettings) -> int:
        """Steps that are told of; the ladder of noise levels is the sampler's own."""
        return self.steps


@torch.no_grad()
def heun(
    denoise: Denoise,
    node_mask: Tensor,
    sigma_range: SigmaRange,
    settings: HeunSettings,
    *,
    generator: torch.Generator,
    prior_mean: Tensor | float = 0.0,
    initial: Tensor | None = None,
    on_step: OnStep | None = None,
    dtype: torch.dtype = torch.float32,
) -> SamplingResult:
    """Follow the flow down to the smallest sigma and return the posterior mean there.

    A step from sigma to sigma' (Algorithm 2 of Karras et al.): fresh noise raises the state to
    sigma^ >= sigma; then A' = A + (sigma' - sigma^) (d + d') / 2 with d = (A - D(A, sigma^)) /
    sigma^ at the start and d' at the end of a first step with d alone. The last step goes from the
    smallest sigma, without fresh noise, to 0, which is D itself.

    Args:
        denoise: the posterior mean; `network.denoised`, or `denoise_by_score(network)`.
        node_mask: (B,N) bool; fixes the sizes of the graphs.
        sigma_range: what the network was trained on; where to start, unless the settings say it,
            and where to end.
        prior_mean: density of edges of the starting state, see `noisy_start`.
        initial: (B,N,N) starting state, `noisy_start` if not given.
        on_step: called with the number of steps done and the state after every step.

    Raises:
        SamplingError: a state is not finite.
        SettingsError: the network was not trained on the noise to start from.

    Example:
        >>> empty = lambda adj, mask, sigma: torch.zeros_like(adj)
        >>> mask, generator = torch.ones(2, 4, dtype=torch.bool), torch.Generator().manual_seed(0)
        >>> result = heun(empty, mask, SigmaRange(), HeunSettings(steps=5), generator=generator)
        >>> result.network_calls, result.adj.abs().max().item()
        (9, 0.0)
    """
    levels = started_at(sigma_range, settings.sigma_max)
    sigmas = falling_sigmas(levels, settings.steps, settings.rho)
    adj = initial
    if adj is None:
        adj = noisy_start(node_mask, sigmas[0], prior_mean, generator=generator, dtype=dtype)
    dtype = adj.dtype
    check = FiniteCheck(settings.steps, adj.device)
    calls = 0

    def posterior_mean(adj: Tensor, sigma: float) -> Tensor:
        nonlocal calls
        calls += 1
        of_graphs = torch.full((len(adj),), sigma, dtype=dtype, device=adj.device)
        return denoise(adj, node_mask, of_graphs)

    for step, (sigma, lower) in enumerate(zip(sigmas, (*sigmas[1:], 0.0))):
        # Noise that no step takes away again would only blur the answer.
        raised = raised_sigma(sigma, sigma_range, settings) if lower else sigma
        if raised > sigma:
            noise = symmetric_noise(node_mask, generator=generator, dtype=dtype)
            adj = adj + math.sqrt(raised**2 - sigma**2) * noise
        denoised = posterior_mean(adj, raised)
        if lower:
            first = (adj - denoised) / raised
            reached = adj + (lower - raised) * first
            second = (reached - posterior_mean(reached, lower)) / lower
            adj = adj + (lower - raised) * (first + second) / 2
        else:
            # A network's answer may be symmetric up to rounding only; a graph must be exactly.
            adj = (denoised + denoised.mT) / 2
        check.note(step, adj)
        if on_step is not None:
            on_step(step + 1, adj)
    check.conclude(sigmas)
    return SamplingResult(adj, node_mask, calls)


def raised_sigma(sigma: float, sigma_range: SigmaRange, settings: HeunSettings) -> float:
    """Return the level that fresh noise raises `sigma` to, which the network must know.

    >>> raised_sigma(1.0, SigmaRange(), HeunSettings(steps=10, churn=2.5))
    1.25
    """
    share = min(settings.churn / settings.steps, LARGEST_CHURN)
    return max(sigma, min(sigma * (1 + share), sigma_range.sigma_max))
