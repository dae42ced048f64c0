"""Measured peak of the device: matrix products and copies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from benchmarks.arithmetic import Work
from benchmarks.clock import Timing, time_in_turns
from benchmarks.plan import Plan
from graphscore.seeding import torch_generator


@dataclass(frozen=True)
class Ceilings:
    """Measured limits of a device.

    Attributes:
        flops_per_second: float32 matrix product, the precision that everything here computes in.
        bytes_per_second: copy, bytes read and bytes written added.
        details: how they were measured, for the record.
    """

    flops_per_second: float
    bytes_per_second: float
    details: dict[str, Any]

    def shares(self, work: Work, seconds: float) -> dict[str, float]:
        """Return which shares of the ceilings `work` done in `seconds` reaches.

        The share of the copy ceiling counts every operator's own traffic and can exceed 1 where
        caches hold what passes from one operator to the next.
        """
        return {
            "share_of_matrix_ceiling": work.flops / seconds / self.flops_per_second,
            "share_of_copy_ceiling": work.bytes / seconds / self.bytes_per_second,
        }


@contextmanager
def _float32_precision(precision: str) -> Iterator[None]:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def measure_ceilings(plan: Plan, device: torch.device) -> Ceilings:
    """Time large matrix products and a large copy; medians."""
    matrices = {"float32": _matrix(plan, device, "highest", torch.float32)}
    if device.type == "cuda":
        # For information: the networks compute in float32.
        matrices["tf32"] = _matrix(plan, device, "high", torch.float32)
        matrices["bfloat16"] = _matrix(plan, device, "highest", torch.bfloat16)
    copy = _copy(plan, device)
    details = {
        "matrix": {"rows_and_columns": plan.matrix_size, **matrices},
        "copy": {"tensor_bytes": plan.copy_bytes, **copy},
    }
    flops_per_second = matrices["float32"]["flops_per_second"]
    return Ceilings(flops_per_second, copy["bytes_per_second"], details)


def _matrix(plan: Plan, device: torch.device, precision: str, dtype: torch.dtype) -> dict[str, Any]:
    size = plan.matrix_size
    generator = torch_generator(0, "bench", "matrices", device=device)
    shape = (size, size)
    a, b = (torch.randn(shape, generator=generator, device=device).to(dtype) for _ in range(2))
    out = torch.empty_like(a)
    with _float32_precision(precision):
        timing = _time(lambda: torch.mm(a, b, out=out), plan, device)
    return {"flops_per_second": 2 * size**3 / timing.median, **timing.to_dict()}


def _copy(plan: Plan, device: torch.device) -> dict[str, Any]:
    source = torch.ones(plan.copy_bytes // 4, device=device)
    target = torch.empty_like(source)
    timing = _time(lambda: target.copy_(source), plan, device)
    return {"bytes_per_second": 2 * 4 * source.numel() / timing.median, **timing.to_dict()}


def _time(run: Any, plan: Plan, device: torch.device) -> Timing:
    run()
    return time_in_turns({"": run}, device, repeats=plan.repeats, at_most=plan.timing_seconds)[""]
