"""The blocks of a network compiled: kernels that read and write features once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def compiled(blocks: nn.ModuleList, *, dynamic: bool | None = None) -> Iterator[None]:
    """Let the blocks run compiled, and as they are again afterwards.

    They are compiled one by one at their first call, and since they only differ in their weights,
    the others share it, as do later calls with inputs of the same shape. What a compiler raises
    comes through.

    Args:
        dynamic: False compiles for every shape anew, which makes the fastest kernels; None does so
            for the first shape, and for the second compiles what serves all others.
    """
    try:
        for block in blocks:
            block.compile(dynamic=dynamic)
        yield
    finally:
        for block in blocks:
            block._compiled_call_impl = None
