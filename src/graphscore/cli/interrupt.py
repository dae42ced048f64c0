"""Ctrl-C and termination end training between two steps instead of in the middle of one."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stop_requested(max_seconds: float | None = None) -> Iterator[Callable[[], bool]]:
    """Give a function that tells whether to stop: after a signal, or when the time is up.

    The first Ctrl-C asks to stop; the second ends the program at once, as usual.
    """
    signalled = False
    deadline = None if max_seconds is None else time.monotonic() + max_seconds

    def on_signal(number: int, frame: FrameType | None) -> None:
        nonlocal signalled
        if signalled:
            raise KeyboardInterrupt
        signalled = True
        print("stopping after this step; Ctrl-C again to stop at once", file=sys.stderr)

    def stop() -> bool:
        return signalled or (deadline is not None and time.monotonic() >= deadline)

    previous = {
        number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield stop
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
