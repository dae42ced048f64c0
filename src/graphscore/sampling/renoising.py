"""Re-noising: draw a graph from the posterior, add less noise than before, and so on.

Between two noise levels every edge is drawn from its own posterior probability, so that the network
always looks at a binary matrix under noise, as in training. Edges are drawn independently of each
other; what they contradict each other in, the next levels repair.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from graphscore.graphs.batch import pair_mask
from graphscore.noise import NoiseSettings, SigmaRange, falling_sigmas, symmetric_noise
from graphscore.sampling.denoising import Denoise, FiniteCheck, noisy_start, started_at
from graphscore.sampling.langevin import OnStep, SamplingResult
from graphscore.settings import Settings


class RenoisingSettings(Settings):
    """Length and kind of re-noising.

    >>> RenoisingSettings(steps=32).network_calls
    32
    """

    sampler: Literal["renoising"] = "renoising"
    """Tells the settings of one sampler from those of another."""
    steps: int = Field(default=128, ge=1)
    """Noise levels from the largest to the smallest, one network call at each."""
    sigma_max: float | None = Field(default=None, gt=0)
    """Noise level to start from; the largest that the network was trained on if not given. Where
    that hides everything, steps there are lost for the levels at which graphs take shape."""
    rho: float = Field(default=7.0, gt=0)
    """How the levels are spaced: 1 evenly, larger values put more of them at small sigma."""
    noise: Literal["fresh", "bridge"] = "fresh"
    """Fresh noise forgets the state before; a bridge is noise as it lies between that state and the
    graph drawn, which moves less at a time and in many steps samples exactly."""
    threshold: float = Field(default=0.5, gt=0, lt=1)
    """Entries above it become edges."""

    @property
    def network_calls(self) -> int:
        """One per step."""
        return self.steps

    def steps_in_all(self, _: NoiseSettings) -> int:
        """Steps that are told of; the ladder of noise levels is the sampler's own."""
        return self.steps


@torch.no_grad()
def renoise(
    denoise: Denoise,
    node_mask: Tensor,
    sigma_range: SigmaRange,
    settings: RenoisingSettings,
    *,
    generator: torch.Generator,
    prior_mean: Tensor | float = 0.0,
    initial: Tensor | None = None,
    on_step: OnStep | None = None,
    dtype: torch.dtype = torch.float32,
) -> SamplingResult:
    """Draw graphs from the posterior under less and less noise, and return the last posterior mean.

    At sigma with the state A~: draw A from the probabilities D(A~, sigma), then go to sigma' by

    fresh:  A~' = A + sigma' z
    bridge: A~' = A + r^2 (A~ - A) + sigma' sqrt(1 - r^2) z,  r = sigma' / sigma,

    the second being the distribution of A + sigma' z if A~ is known to have come from it by more
    noise. At the smallest sigma D is returned, and D > 1/2 is the graph.

    Args:
        denoise: the posterior mean; `network.denoised`, or `denoise_by_score(network)`, of which
            what is not a probability is cut off.
        node_mask: (B,N) bool; fixes the sizes of the graphs.
        sigma_range: what the network was trained on; where to start, unless the settings say it,
            and where to end.
        prior_mean: density of edges of the starting state, see `noisy_start`.
        initial: (B,N,N) starting state, `noisy_start` if not given.
        on_step: called with the number of steps done and the state after every step.

    Raises:
        SamplingError: a posterior mean is not finite.
        SettingsError: the network was not trained on the noise to start from.

    Example:
        >>> likely = lambda adj, mask, sigma: torch.where(adj > 0.5, 0.9, 0.1)
        >>> mask, generator = torch.ones(2, 4, dtype=torch.bool), torch.Generator().manual_seed(0)
        >>> settings = RenoisingSettings(steps=5)
        >>> renoise(likely, mask, SigmaRange(), settings, generator=generator).network_calls
        5
    """
    levels = started_at(sigma_range, settings.sigma_max)
    sigmas = falling_sigmas(levels, settings.steps, settings.rho)
    adj = initial
    if adj is None:
        adj = noisy_start(node_mask, sigmas[0], prior_mean, generator=generator, dtype=dtype)
    check = FiniteCheck(settings.steps, adj.device)
    for step, (sigma, lower) in enumerate(zip(sigmas, (*sigmas[1:], 0.0))):
        of_graphs = torch.full((len(adj),), sigma, dtype=adj.dtype, device=adj.device)
        denoised = denoise(adj, node_mask, of_graphs)
        check.note(step, denoised)
        if lower:
            drawn = draw_edges(denoised, node_mask, generator=generator)
            noise = symmetric_noise(node_mask, generator=generator, dtype=adj.dtype)
            kept = (lower / sigma) ** 2 if settings.noise == "bridge" else 0.0
            adj = drawn + kept * (adj - drawn) + lower * math.sqrt(1 - kept) * noise
        else:
            # Here too.
            adj = (denoised + denoised.mT) / 2
        if on_step is not None:
            on_step(step + 1, adj)
    check.conclude(sigmas)
    return SamplingResult(adj, node_mask, settings.network_calls)


def draw_edges(probability: Tensor, node_mask: Tensor, *, generator: torch.Generator) -> Tensor:
    """Draw each edge with its own probability (B,N,N), once per unordered pair.

    >>> mask = torch.ones(1, 3, dtype=torch.bool)
    >>> draw_edges(torch.ones(1, 3, 3), mask, generator=torch.Generator()).sum().item()
    6.0
    """
    uniform = torch.rand(
        probability.shape, generator=generator, device=probability.device, dtype=probability.dtype
    )
    # Probabilities may be symmetric up to rounding only, so one triangle decides for both.
    edges = ((uniform < probability) & pair_mask(node_mask)).to(probability.dtype).triu(1)
    return edges + edges.mT
