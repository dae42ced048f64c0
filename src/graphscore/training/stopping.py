"""When a training ends early: asked to, out of time, or interrupted with Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from graphscore.errors import SettingsError

_HINT = b"stopping after this step; Ctrl-C again to stop at once\n"


class Stopping:
    """Called between steps, it returns whether to stop.

    Args:
        should_stop: asked each time.
        max_seconds: time from now on; None for no limit.

    Attributes:
        interrupted: whether Ctrl-C asked for it.

    Raises:
        SettingsError: `max_seconds` is below 0 or no number.
    """

    def __init__(self, should_stop: Callable[[], bool], max_seconds: float | None = None) -> None:
        if max_seconds is not None and not max_seconds >= 0:
            raise SettingsError(f"max_seconds {max_seconds:g}: give at least 0.")
        self.interrupted = False
        self._should_stop = should_stop
        self._deadline = None if max_seconds is None else time.monotonic() + max_seconds

    @property
    def timed_out(self) -> bool:
        """Whether the time is over."""
        return self._deadline is not None and time.monotonic() >= self._deadline

    def __call__(self) -> bool:
        return self._should_stop() or self.interrupted or self.timed_out

    @contextmanager
    def on_ctrl_c(self) -> Iterator[None]:
        """Take the first Ctrl-C as a request; a second one raises `KeyboardInterrupt`.

        Only where Ctrl-C would raise it anyway: in the main thread, and while nobody else handles
        it, as the command line does.
        """
        main = threading.current_thread() is threading.main_thread()
        if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return

        def on_signal(number: int, frame: FrameType | None) -> None:
            if self.interrupted:
                signal.default_int_handler(number, frame)
            self.interrupted = True
            # Not print: a signal may arrive during one, and streams are not reentrant.
            with contextlib.suppress(OSError):
                os.write(2, _HINT)

        signal.signal(signal.SIGINT, on_signal)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
