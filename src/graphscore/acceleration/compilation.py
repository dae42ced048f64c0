"""The blocks of a network compiled: kernels that read and write features once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

MOST_SHAPES = 64
"""Shapes, over the life of a process, that blocks are compiled for. The compiler's own limit is 8,
after which it leaves them as they are with a line in the log: as many as one training may have."""


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
        with _compiler_settings():
            yield
    finally:
        for block in blocks:
            block._compiled_call_impl = None


@contextmanager
def _compiler_settings() -> Iterator[None]:
    """Let the compiler see many shapes, and without a fusion that gives wrong gradients.

    From torch 2.10 on, sums over rows and over columns of the same matrix can share a kernel. By
    pytorch issue 193061 the gradients of gains and shifts, which in a batch of one graph are such
    sums over columns, then come out wrong without a notice. Such gradients were seen here too, with
    one graph of 48 or 52 nodes on torch 2.11.
    """
    # Slow to import, so not before they are needed.
    from torch._dynamo import config as tracing
    from torch._inductor import config as lowering

    fusion = {"triton.mix_order_reduction": False}
    known = fusion if hasattr(lowering.triton, "mix_order_reduction") else {}
    # Its name before torch 2.7, by which later versions know it too.
    with tracing.patch({"cache_size_limit": MOST_SHAPES}), lowering.patch(known):
        yield
