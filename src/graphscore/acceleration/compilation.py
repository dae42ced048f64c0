"""The blocks of a network compiled: kernels that read and write features once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from graphscore.acceleration.notices import notify, short
from graphscore.training.memory import is_out_of_memory

VARIANTS = 64
"""Shapes that may be compiled for one by one before PyTorch gives up."""


@contextmanager
def compiled(blocks: nn.ModuleList) -> Iterator[None]:
    """Let the blocks run compiled, or as they are, with a notice, where that does not work.

    Blocks are compiled one by one, and since they only differ in their weights, once for all.
    """
    try:
        for block in blocks:
            block._compiled_call_impl = _or_plain(block, blocks)
        with torch._dynamo.config.patch(recompile_limit=VARIANTS):
            yield
    finally:
        _plain_again(blocks)


def _or_plain(block: nn.Module, blocks: nn.ModuleList) -> Callable[..., Any]:
    fast = torch.compile(block._call_impl)

    def call(*arguments: Any) -> Any:
        try:
            return fast(*arguments)
        # Compilers raise exceptions of many kinds, none of them the user's concern.
        except Exception as error:
            if is_out_of_memory(error):
                raise
            _plain_again(blocks)
            notify(f"blocks cannot be compiled here, so training is slower ({short(error)}).")
        return block(*arguments)

    return call


def _plain_again(blocks: nn.ModuleList) -> None:
    for block in blocks:
        block._compiled_call_impl = None
