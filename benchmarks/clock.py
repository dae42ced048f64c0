"""Time of work on a device, waiting for the device only at the ends."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

Run = Callable[[], object]


@dataclass(frozen=True)
class Timing:
    """Seconds of one call.

    Attributes:
        seconds: one number per repeat, each the mean of `calls` calls.
        calls: calls in one repeat.
    """

    seconds: tuple[float, ...]
    calls: int

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    def to_dict(self) -> dict[str, Any]:
        return {
            "median_seconds": self.median,
            "fastest_seconds": min(self.seconds),
            "slowest_seconds": max(self.seconds),
            "repeats": len(self.seconds),
            "calls_per_repeat": self.calls,
        }


def synchronise(device: torch.device) -> None:
    """Wait until the device has done everything it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def seconds_of(run: Run, device: torch.device, *, calls: int = 1) -> float:
    """Return the mean seconds of `calls` calls, with no waiting between them."""
    synchronise(device)
    started = time.perf_counter()
    for _ in range(calls):
        run()
    synchronise(device)
    return (time.perf_counter() - started) / calls


def time_in_turns(
    cases: Mapping[str, Run],
    device: torch.device,
    *,
    repeats: int,
    calls: int = 1,
    at_most: float = math.inf,
) -> dict[str, Timing]:
    """Time several cases in turns, so that other load on the machine affects all alike.

    The caller warms the cases up. After `at_most` seconds no new turn begins.

    >>> timings = time_in_turns({"sum": lambda: sum(range(9))}, torch.device("cpu"), repeats=3)
    >>> len(timings["sum"].seconds)
    3
    """
    collected: dict[str, list[float]] = {name: [] for name in cases}
    started = time.perf_counter()
    for turn in range(repeats):
        if turn and time.perf_counter() - started > at_most:
            break
        for name, run in cases.items():
            collected[name].append(seconds_of(run, device, calls=calls))
    return {name: Timing(tuple(seconds), calls) for name, seconds in collected.items()}
