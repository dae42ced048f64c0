"""The blocks of a network compiled: kernels that read and write features once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def compiled(blocks: nn.ModuleList) -> Iterator[None]:
    """Let the blocks run compiled, and as they are again afterwards.

    They are compiled one by one at their first call, and since they only differ in their weights,
    the others share it. What a compiler raises comes through.
    """
    try:
        for block in blocks:
            block.compile()
        yield
    finally:
        for block in blocks:
            block._compiled_call_impl = None
