"""Ctrl-C and SIGTERM stop training after the current step."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SAME_REQUEST_SECONDS = 1.0
"""Signals within this time are one request: the terminal and `make` may both send one."""


class StopRequest:
    """Called, it returns whether to stop: after a signal, or when the time limit is reached."""

    def __init__(self, max_seconds: float | None) -> None:
        self.signalled = False
        self._first_signal = 0.0
        self._deadline = None if max_seconds is None else time.monotonic() + max_seconds

    def __call__(self) -> bool:
        timed_out = self._deadline is not None and time.monotonic() >= self._deadline
        return self.signalled or timed_out

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self.signalled and now - self._first_signal < SAME_REQUEST_SECONDS:
            return
        if self.signalled:
            raise KeyboardInterrupt
        self.signalled, self._first_signal = True, now
        # Not print: a signal may arrive during one, and streams are not reentrant.
        os.write(2, b"stopping after this step; Ctrl-C again to stop at once\n")


@contextmanager
def stop_requested(max_seconds: float | None = None) -> Iterator[StopRequest]:
    """Handle Ctrl-C and SIGTERM: the first requests a stop, the second ends the program."""
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
