"""Reading numbers from a device without waiting for it."""

from __future__ import annotations

import torch
from torch import Tensor


class PendingMetrics:
    """Numbers on their way from the device to the host, which does not wait for them.

    Attributes:
        step: optimiser steps done when the numbers were made.
        rate: learning rate of the last of them.
    """

    def __init__(self, numbers: Tensor, step: int, rate: float) -> None:
        self.step = step
        self.rate = rate
        self._event: torch.cuda.Event | None = None
        if numbers.is_cuda:
            host = torch.empty(numbers.shape, dtype=numbers.dtype, pin_memory=True)
            host.copy_(numbers, non_blocking=True)
            self._event = torch.cuda.Event()  # type: ignore[no-untyped-call]
            self._event.record(torch.cuda.current_stream(numbers.device))
            numbers = host
        self._numbers = numbers

    def arrived(self) -> bool:
        return self._event is None or bool(self._event.query())  # type: ignore[no-untyped-call]

    def values(self) -> list[float]:
        if self._event is not None:
            self._event.synchronize()
        values: list[float] = self._numbers.tolist()
        return values
