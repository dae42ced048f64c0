"""Initial weights.

Those of networks without memory (torch's device "meta") are left as they are: torch would import
its compiler to draw them, which takes longer than all else that loading a model does.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


def fill_normal(weights: Tensor, std: float, *, generator: torch.Generator) -> None:
    """Draw weights from a normal distribution around zero."""
    if not weights.is_meta:
        nn.init.normal_(weights, std=std, generator=generator)


def fill_uniform(weights: Tensor, bound: float, *, generator: torch.Generator) -> None:
    """Draw weights between -bound and bound."""
    if not weights.is_meta:
        nn.init.uniform_(weights, -bound, bound, generator=generator)
