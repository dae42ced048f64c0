"""The blocks of a network compiled: kernels that read and write features once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from torch import nn

MOST_SHAPES = 64
"""Shapes, over the life of a process, that blocks are compiled for. The compiler's own limit is 8,
after which it leaves them as they are with a line in the log: as many as one training may have."""


@contextmanager
def compiled(blocks: Sequence[nn.Module], *, dynamic: bool | None = None) -> Iterator[None]:
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
        with _for_many_shapes():
            yield
    finally:
        for block in blocks:
            block._compiled_call_impl = None


@contextmanager
def _for_many_shapes() -> Iterator[None]:
    # Slow to import, so not before it is needed.
    from torch._dynamo import config

    # Its name before torch 2.7, by which later versions know it too.
    with config.patch({"cache_size_limit": MOST_SHAPES}):
        yield
