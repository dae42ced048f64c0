"""The blocks of a network compiled: kernels that read and write features once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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
    # Slow to import, so not before it is needed.
    from torch._inductor import config

    try:
        for block in blocks:
            block.compile(dynamic=dynamic)
        with config.patch(_correct(config)):
            yield
    finally:
        for block in blocks:
            block._compiled_call_impl = None


def _correct(config: Any) -> dict[str, bool]:
    """Return the compiler's settings without a fusion that gives wrong gradients.

    From torch 2.10 on, sums over rows and over columns of the same matrix can share a kernel. In a
    batch of one graph the gradients of gains and shifts are such sums over columns, and come out
    wrong without a notice (pytorch issue 193061; seen here with 48 and 52 nodes on torch 2.11).
    """
    known = hasattr(config.triton, "mix_order_reduction")
    return {"triton.mix_order_reduction": False} if known else {}
