"""Which noise levels are used: a strictly falling ladder of standard deviations."""

from __future__ import annotations

from itertools import pairwise

import torch
from pydantic import field_validator
from torch import Tensor

from graphscore.settings import Settings


class NoiseSettings(Settings):
    """Noise levels of the paper's appendix, largest first.

    >>> NoiseSettings().sigmas
    (1.6, 0.8, 0.6, 0.4, 0.2, 0.1)
    """

    sigmas: tuple[float, ...] = (1.6, 0.8, 0.6, 0.4, 0.2, 0.1)

    @field_validator("sigmas")
    @classmethod
    def _strictly_falling(cls, sigmas: tuple[float, ...]) -> tuple[float, ...]:
        if not sigmas or min(sigmas) <= 0:
            raise ValueError("give at least one standard deviation, all above 0")
        if any(low >= high for high, low in pairwise(sigmas)):
            raise ValueError("the standard deviations must fall strictly; sort them, largest first")
        return sigmas


def ladder(
    settings: NoiseSettings,
    *,
    device: torch.device | str | None = None,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Return the noise levels as an (L,) tensor, largest first.

    >>> ladder(NoiseSettings(sigmas=(1.0, 0.5)))
    tensor([1.0000, 0.5000])
    """
    return torch.tensor(settings.sigmas, device=device, dtype=dtype)
