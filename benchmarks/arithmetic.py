"""Floating-point operations and memory traffic of a call, counted operator by operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.clock import Run


@dataclass(frozen=True)
class Work:
    """What one call computes and moves.

    Attributes:
        flops: floating-point operations of its matrix products; elementwise operations are not
            counted.
        bytes: read and written if every operator loads its inputs and stores its outputs once.
            Fused operators move less.
    """

    flops: int
    bytes: int

    def to_dict(self) -> dict[str, int]:
        return {"flops": self.flops, "operator_bytes": self.bytes}


class _Traffic(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Adds up the sizes of the tensors that go into and come out of every operator."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.bytes = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        inputs = _tensors((args, kwargs))
        outputs = _tensors(out)
        shared = {tensor.untyped_storage().data_ptr() for tensor in inputs}
        # A view moves nothing: its output shares the memory of its input.
        view = all(tensor.untyped_storage().data_ptr() in shared for tensor in outputs)
        if outputs and (func._schema.is_mutable or not view):
            self.bytes += sum(map(_size, inputs)) + sum(map(_size, outputs))
        return out


def _tensors(values: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(values) if isinstance(leaf, Tensor)]


def _size(tensor: Tensor) -> int:
    # A tensor that was expanded occupies less than its shape says.
    return min(tensor.numel() * tensor.element_size(), tensor.untyped_storage().nbytes())


def count_work(run: Run) -> Work:
    """Count the work of one call; it must run operator by operator, as the plain path does.

    >>> import torch
    >>> a, b = torch.ones(2, 3), torch.ones(3, 5)
    >>> count_work(lambda: a @ b)
    Work(flops=60, bytes=124)
    """
    with FlopCounterMode(display=False) as flops, _Traffic() as traffic:
        run()
    return Work(flops.get_total_flops(), traffic.bytes)
