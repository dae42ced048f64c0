"""Ctrl-C and termination end training between two steps instead of in the middle of one."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class StopRequest:
    """Tells whether to stop: after a signal, or when the time is up."""

    def __init__(self, max_seconds: float | None) -> None:
        self.signalled = False
        self._deadline = None if max_seconds is None else time.monotonic() + max_seconds

    def __call__(self) -> bool:
        timed_out = self._deadline is not None and time.monotonic() >= self._deadline
        return self.signalled or timed_out

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.signalled:
            raise KeyboardInterrupt
        self.signalled = True
        # Not print: a signal may arrive in the middle of one, and streams are not reentrant.
        os.write(2, b"stopping after this step; Ctrl-C again to stop at once\n")


@contextmanager
def stop_requested(max_seconds: float | None = None) -> Iterator[StopRequest]:
    """Listen for Ctrl-C and termination: the first asks to stop, the second ends the program."""
    request = StopRequest(max_seconds)
    previous = {
        number: signal.signal(number, request.on_signal)
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield request
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
