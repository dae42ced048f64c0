"""One seed in, independent generators out; the only place that seeds anything.

Every random stream is named by a purpose and, where there are many, by counters (an epoch, a step).
Streams with different names are independent; the same seed and name give the same stream, so
nothing has to be stored to continue an interrupted run.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch


def derive_seed(seed: int, *stream: str | int) -> int:
    """Return the 63-bit seed of one named stream.

    >>> derive_seed(0, "noise", 1) == derive_seed(0, "noise", 1)
    True
    >>> derive_seed(0, "noise", 1) == derive_seed(0, "noise", 2)
    False
    """
    names = tuple(part if isinstance(part, str) else int(part) for part in stream)
    digest = hashlib.sha256(repr((int(seed), *names)).encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1


def reseed(generator: torch.Generator, seed: int, *stream: str | int) -> None:
    """Put a generator at the start of one named stream."""
    generator.manual_seed(derive_seed(seed, *stream))


def torch_generator(
    seed: int, *stream: str | int, device: torch.device | str = "cpu"
) -> torch.Generator:
    """Return a fresh torch generator for one named stream on `device`."""
    import torch

    generator = torch.Generator(device=device)
    reseed(generator, seed, *stream)
    return generator


def numpy_generator(seed: int, *stream: str | int) -> np.random.Generator:
    """Return a fresh numpy generator for one named stream."""
    return np.random.default_rng(derive_seed(seed, *stream))
