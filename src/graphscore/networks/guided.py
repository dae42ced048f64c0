"""Guidance: a network that is led away from the mistakes of a weaker one.

A network that is small, or was trained for a short time, errs where the better one errs too, only
more: it allows what lies just outside of the data. Where the two differ, going further than the
better one in the same direction goes back to the data (Karras et al. 2024, "Guiding a Diffusion
Model with a Bad Version of Itself"). It helps at the noise levels at which graphs take shape and
does harm where they are finished (Kynkäänniemi et al. 2024, "Applying Guidance in a Limited
Interval Improves Sample and Distribution Quality in Diffusion Models").
"""

from __future__ import annotations

import math
from typing import Self

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from graphscore.networks.log_odds import LogOddsNetwork
from graphscore.settings import Settings


class GuidanceSettings(Settings):
    """How far a network goes beyond itself, and at which noise levels.

    >>> GuidanceSettings(weight=2.0, sigma_max=0.9).weight
    2.0
    """

    weight: float = Field(default=1.0, ge=0)
    """Differences from the guide are made larger by this share; 0 is without guidance."""
    sigma_min: float | None = Field(default=None, gt=0)
    """Smallest noise level with guidance; all of them if not given."""
    sigma_max: float | None = Field(default=None, gt=0)
    """Largest noise level with guidance; all of them if not given."""

    @model_validator(mode="after")
    def _rises(self) -> Self:
        low, high = self.limits
        if low >= high:
            raise ValueError("sigma_min must be below sigma_max")
        return self

    @property
    def limits(self) -> tuple[float, float]:
        """Both noise levels as numbers."""
        low = 0.0 if self.sigma_min is None else self.sigma_min
        return low, math.inf if self.sigma_max is None else self.sigma_max


class GuidedNetwork(LogOddsNetwork):
    """log-odds = l + w (l - l'), l those of a network and l' those of its guide.

    Probabilities, posterior mean and score follow from the log-odds as always, so that every
    sampler works with it. A call takes one call of each of the two.

    Args:
        network: the better one.
        guide: the weaker one.
        guidance: weight w, and noise levels outside of which it is 0.

    Example:
        >>> from graphscore.networks import DenoiserSettings, LogOddsDenoiser
        >>> generator = torch.Generator().manual_seed(0)
        >>> network, guide = (
        ...     LogOddsDenoiser(DenoiserSettings(blocks=b, pair_width=8), 0.3, generator=generator)
        ...     for b in (2, 1)
        ... )
        >>> guided = GuidedNetwork(network, guide, GuidanceSettings(weight=2.0))
        >>> mask = torch.ones(2, 5, dtype=torch.bool)
        >>> guided.denoised(torch.zeros(2, 5, 5), mask, torch.ones(2)).shape
        torch.Size([2, 5, 5])
    """

    def __init__(
        self, network: LogOddsNetwork, guide: LogOddsNetwork, guidance: GuidanceSettings
    ) -> None:
        # Not that of the base class, which stores a density of edges: the network has one.
        nn.Module.__init__(self)
        self.network = network
        self.guide = guide
        self.guidance = guidance

    @property
    def settings(self) -> Settings:
        """Those of the better network."""
        settings: Settings = self.network.settings  # type: ignore[assignment]
        return settings

    @property
    def blocks_to_compile(self) -> list[nn.Module]:
        """Those of both networks."""
        return [*self.network.blocks_to_compile, *self.guide.blocks_to_compile]

    def with_weight(self, weight: float) -> LogOddsNetwork:
        """Return the same two networks with another weight; the better one alone for 0."""
        if not weight:
            return self.network
        return GuidedNetwork(self.network, self.guide, self.guidance.replaced(weight=weight))

    def prior_log_odds(self, node_mask: Tensor, node_feat: Tensor | None = None) -> Tensor:
        """Return those of the better network."""
        return self.network.prior_log_odds(node_mask, node_feat)

    def _log_odds(
        self,
        adj: Tensor,
        pairs: Tensor,
        node_mask: Tensor,
        sigma: Tensor,
        node_feat: Tensor | None,
    ) -> Tensor:
        own, weaker = (
            network._log_odds(adj, pairs, node_mask, sigma, node_feat)
            for network in (self.network, self.guide)
        )
        low, high = self.guidance.limits
        weight = self.guidance.weight * ((sigma >= low) & (sigma <= high))
        return torch.lerp(weaker, own, 1 + weight.view(-1, 1, 1).to(own.dtype))
