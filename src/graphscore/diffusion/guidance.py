"""Autoguidance: a network steered away from the mistakes of a weaker one, its guide model.

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

from graphscore.diffusion.posterior import Posterior
from graphscore.diffusion.sigmas import Sigma
from graphscore.graphs.condition import NO_CONDITION, Condition
from graphscore.graphs.state import GraphState, per_graph
from graphscore.settings import Settings


class GuidanceSettings(Settings):
    """How strongly a network is guided, and at which noise levels.

    >>> GuidanceSettings(weight=2.0, sigma_max=0.9).weight
    2.0
    """

    weight: float = Field(default=1.0, ge=0, le=1e6)
    """Share by which differences from the guide model are enlarged; 0 is without guidance."""
    sigma_min: Sigma | None = None
    """Smallest noise level with guidance; all of them if not given."""
    sigma_max: Sigma | None = None
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


class GuidedPosterior(Posterior):
    """logits = l + w (l - l'), with l of a network and l' of its guide model.

    Posterior mean and score follow from the logits as always, so that every sampler works with it.
    A call takes one call of each of the two networks.

    Args:
        network: the better one.
        guide: the guide model.
        guidance: weight w, and noise levels outside of which it is 0.
    """

    def __init__(self, network: Posterior, guide: Posterior, guidance: GuidanceSettings) -> None:
        super().__init__(network, network.likelihood)
        self.guide = guide
        self.guidance = guidance

    @property
    def better(self) -> Posterior:
        """The network without its guide model."""
        assert isinstance(self.network, Posterior)
        return self.network

    @property
    def blocks_to_compile(self) -> list[nn.Module]:
        """Those of both networks."""
        return [*self.better.blocks_to_compile, *self.guide.blocks_to_compile]

    def logits(
        self, noisy: GraphState, sigma: Tensor, condition: Condition = NO_CONDITION
    ) -> GraphState:
        """Return the guided logits of every entry, zero where there is none."""
        own = self.better.logits(noisy, sigma, condition)
        weaker = self.guide.logits(noisy, sigma, condition)
        low, high = self.guidance.limits
        weight = self.guidance.weight * ((sigma >= low) & (sigma <= high))

        def guided(weaker: Tensor, own: Tensor) -> Tensor:
            return torch.lerp(weaker, own, 1 + per_graph(weight, own).to(own.dtype))

        return weaker.map(guided, own)
