"""Noise levels: the paper's fixed levels, a continuous range, and schedules through a range.

A noise level is always a standard deviation sigma, never an index.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Annotated, Self

import torch
from pydantic import Field, field_validator, model_validator
from torch import Tensor

from graphscore.errors import SettingsError
from graphscore.settings import LARGEST_SIGMA, MOST_LEVELS, SMALLEST_SIGMA, Settings

Sigma = Annotated[float, Field(ge=SMALLEST_SIGMA, le=LARGEST_SIGMA)]
"""A noise level in settings."""
Sigmas = Annotated[tuple[float, ...], Field(max_length=MOST_LEVELS)]
"""Noise levels in settings."""
PAPER_SIGMAS = (1.6, 0.8, 0.6, 0.4, 0.2, 0.1)
"""Noise levels of the paper's appendix, largest first."""


def strictly_falling(sigmas: tuple[float, ...]) -> tuple[float, ...]:
    """Return noise levels that fall strictly and are above 0.

    Raises:
        ValueError: they do not.
    """
    if not sigmas or min(sigmas) <= 0:
        raise ValueError("give at least one standard deviation, all above 0")
    if min(sigmas) < SMALLEST_SIGMA or max(sigmas) > LARGEST_SIGMA:
        raise ValueError(f"give standard deviations from {SMALLEST_SIGMA:g} to {LARGEST_SIGMA:g}")
    if any(low >= high for high, low in pairwise(sigmas)):
        raise ValueError("the standard deviations must fall strictly; sort them, largest first")
    return sigmas


class SigmaLevels(Settings):
    """Fixed noise levels, largest first, by default those of the paper's appendix.

    >>> SigmaLevels().sigmas
    (1.6, 0.8, 0.6, 0.4, 0.2, 0.1)
    """

    sigmas: Sigmas = PAPER_SIGMAS
    """Noise levels, largest first; each is trained and sampled at."""

    _falling = field_validator("sigmas")(strictly_falling)


class SigmaRange(Settings):
    """A continuous range of noise levels.

    Below 0.15 noise hides nothing of a binary matrix: an entry is read wrongly about once in 2000
    times from its own value alone. Above 4 it hides all but a few numbers of a graph of some tens
    of nodes; larger graphs reveal more, so they may need more.

    >>> SigmaRange().sigma_max
    4.0
    """

    sigma_min: Sigma = 0.15
    """Where sampling ends."""
    sigma_max: Sigma = 4.0
    """Where sampling starts."""

    @model_validator(mode="after")
    def _rises(self) -> Self:
        if self.sigma_min >= self.sigma_max:
            raise ValueError("sigma_min must be below sigma_max")
        return self

    def starting_at(self, sigma_max: float | None) -> SigmaRange:
        """Return the part of the range that sampling goes through.

        Args:
            sigma_max: where to start; the largest of the range if None.

        Raises:
            SettingsError: it is not within the range.

        >>> SigmaRange().starting_at(0.7).sigma_max, SigmaRange().starting_at(None).sigma_max
        (0.7, 4.0)
        """
        if sigma_max is None:
            return self
        if not self.sigma_min < sigma_max <= self.sigma_max:
            raise SettingsError(
                f"sampling cannot start at sigma_max {sigma_max:g}: the network was trained on "
                f"noise from {self.sigma_min:g} to {self.sigma_max:g}. Give a number within."
            )
        return SigmaRange(sigma_min=self.sigma_min, sigma_max=sigma_max)


def draw_sigmas(
    sigma_range: SigmaRange,
    count: int,
    *,
    generator: torch.Generator,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Draw (count,) standard deviations, each uniform in log sigma over the range.

    They are stratified: the range is cut into `count` equal bins with one draw in each, in random
    order. Each draw alone is uniform, but all noise levels occur in every batch, which lowers the
    variance of the loss.

    >>> sigma = draw_sigmas(SigmaRange(), 8, generator=torch.Generator().manual_seed(0))
    >>> bool((sigma > 0.15).all()), bool((sigma < 4).all())
    (True, True)
    """
    low, high = math.log(sigma_range.sigma_min), math.log(sigma_range.sigma_max)
    device = generator.device
    within, order = torch.rand(2, count, generator=generator, device=device, dtype=dtype)
    position = (torch.arange(count, device=device, dtype=dtype) + within) / count
    # Graphs of a batch may come sorted by size, and sizes must not be tied to noise levels.
    log_sigma: Tensor = low + (high - low) * position[order.argsort()]
    return log_sigma.exp()


def karras_sigmas(sigma_range: SigmaRange, steps: int, rho: float) -> tuple[float, ...]:
    """Return `steps` noise levels from the largest to the smallest (Karras et al. 2022, eq. 5).

    sigma_i^(1/rho) falls in equal steps: rho 1 is a straight line, and the larger rho, the more
    levels are small; in the limit their logarithms fall in equal steps. A single level is the
    largest.

    >>> karras_sigmas(SigmaRange(sigma_min=1, sigma_max=4), 4, rho=1)
    (4.0, 3.0, 2.0, 1.0)
    """
    largest, smallest = sigma_range.sigma_max ** (1 / rho), sigma_range.sigma_min ** (1 / rho)
    # The ends are given as they are, so that rounding leads to no level outside of the range.
    inner = [
        (largest + i * ((smallest - largest) / (steps - 1))) ** rho for i in range(1, steps - 1)
    ]
    return (sigma_range.sigma_max, *inner, *[sigma_range.sigma_min] * (steps > 1))
