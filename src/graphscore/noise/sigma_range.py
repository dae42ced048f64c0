"""Noise levels as a range instead of a ladder: what a network that knows every sigma is trained on.

Training draws levels from the range, and samplers that can stop anywhere in it walk down a ladder
of as many levels as they like.
"""

from __future__ import annotations

import math
from typing import Self

import torch
from pydantic import Field, model_validator
from torch import Tensor

from graphscore.settings import Settings


class SigmaRange(Settings):
    """Between which standard deviations noise is drawn.

    Below 0.15 noise hides nothing of a binary matrix: an entry is told wrong about once in 2000
    times from its own value alone. Above 4 it hides all but a few numbers of a graph of some tens
    of nodes; larger graphs tell more, so that they may want more.

    >>> SigmaRange().sigma_max
    4.0
    """

    sigma_min: float = Field(default=0.15, gt=0)
    """Where sampling ends."""
    sigma_max: float = Field(default=4.0, gt=0)
    """Where sampling starts."""

    @model_validator(mode="after")
    def _rises(self) -> Self:
        if self.sigma_min >= self.sigma_max:
            raise ValueError("sigma_min must be below sigma_max")
        return self


def draw_sigmas(
    sigma_range: SigmaRange,
    count: int,
    *,
    generator: torch.Generator,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Draw (count,) standard deviations, each uniform in log sigma over the range.

    They are stratified: the range is cut into `count` equal parts with one draw in each, in random
    order. Each draw alone is uniform, but all noise levels occur in every batch, which takes out of
    the loss the luck of which levels were drawn.

    >>> sigma = draw_sigmas(SigmaRange(), 8, generator=torch.Generator().manual_seed(0))
    >>> bool((sigma > 0.15).all()), bool((sigma < 4).all())
    (True, True)
    """
    low, high = math.log(sigma_range.sigma_min), math.log(sigma_range.sigma_max)
    device = generator.device
    within, order = torch.rand(2, count, generator=generator, device=device, dtype=dtype)
    part = (torch.arange(count, device=device, dtype=dtype) + within) / count
    # Graphs of a batch may come sorted by size, and sizes must not be tied to noise levels.
    log_sigma: Tensor = low + (high - low) * part[order.argsort()]
    return log_sigma.exp()


def falling_sigmas(sigma_range: SigmaRange, steps: int, rho: float) -> tuple[float, ...]:
    """Return `steps` noise levels from the largest to the smallest (Karras et al. 2022, eq. 5).

    sigma_i^(1/rho) falls in equal steps: rho 1 is a straight line, and the larger rho, the more
    levels are small; in the limit their logarithms fall in equal steps. A single level is the
    largest.

    >>> falling_sigmas(SigmaRange(sigma_min=1, sigma_max=4), 4, rho=1)
    (4.0, 3.0, 2.0, 1.0)
    """
    largest, smallest = sigma_range.sigma_max ** (1 / rho), sigma_range.sigma_min ** (1 / rho)
    fall = (smallest - largest) / max(1, steps - 1)
    # The ends are given as they are, so that rounding asks no network for levels outside.
    inner = [(largest + i * fall) ** rho for i in range(1, steps - 1)]
    return (sigma_range.sigma_max, *inner, *[sigma_range.sigma_min] * (steps > 1))
