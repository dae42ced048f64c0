"""Signals: they stop training after the current step, and end everything else at once."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
STOP_SIGNALS = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))
"""Ctrl-C, `kill`, a lost connection, and what batch systems send; Windows lacks the last three."""
SAME_REQUEST_SECONDS = 1.0
"""Signals within this time are one request: the terminal and `make` may both send one."""


_exit = os._exit  # by another name in tests, which go on


def _loads_module(frame: FrameType | None) -> bool:
    """Whether a module is being loaded.

    What is raised there may be lost in C code that loads modules, or leave them in halves; and
    nothing is being written.
    """
    while frame is not None:
        code = frame.f_code
        if code.co_name == "_load_unlocked" and code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


class StopSignal(KeyboardInterrupt):
    """A signal that ends the program; whatever cleans up after Ctrl-C cleans up after it too."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


class _Received:
    """Remembers the first signal and when the last request came."""

    def __init__(self) -> None:
        self.number: int | None = None
        self._last = 0.0

    @property
    def exit_code(self) -> int:
        """128 + the number of the first signal; 0 without any."""
        return 0 if self.number is None else 128 + self.number

    def note(self, number: int) -> bool:
        """Note a signal; return whether it is a request of its own."""
        now = time.monotonic()
        if self.number is not None and now - self._last < SAME_REQUEST_SECONDS:
            return False
        self.number, self._last = self.number or number, now
        return True

    def end_program(self, frame: FrameType | None) -> NoReturn:
        """Leave what is done in `frame`, with the code of the first signal."""
        if _loads_module(frame):
            _exit(self.exit_code)
        raise StopSignal(self.exit_code)


class _EndOfProgram(_Received):
    """Ends what runs in the main thread, wherever it is."""

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.note(number):
            self.end_program(frame)


class StopRequest(_Received):
    """Called, it returns whether to stop: after a signal, or when the time limit is reached."""

    def __init__(self, max_seconds: float | None) -> None:
        super().__init__()
        self._deadline = None if max_seconds is None else time.monotonic() + max_seconds

    def __call__(self) -> bool:
        timed_out = self._deadline is not None and time.monotonic() >= self._deadline
        return self.number is not None or timed_out

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        first = self.number is None
        # Only Ctrl-C is impatient: other signals may come again and again, and the checkpoint must
        # still be written.
        if not first and number != signal.SIGINT:
            return
        if not self.note(number):
            return
        if not first:
            self.end_program(frame)
        hint = b"; Ctrl-C again to stop at once" if number == signal.SIGINT else b""
        # Not print: a signal may arrive during one, and streams are not reentrant.
        with contextlib.suppress(OSError):
            os.write(2, b"stopping after this step" + hint + b"\n")


@contextmanager
def stop_requested(max_seconds: float | None = None) -> Iterator[StopRequest]:
    """Take signals as requests: the first asks to stop, a later Ctrl-C ends the program."""
    request = StopRequest(max_seconds)
    with _handled(request.on_signal):
        yield request


@contextmanager
def signals_end_the_program() -> Iterator[None]:
    """Raise `StopSignal` where a signal arrives, so that half-written files are removed."""
    with _handled(_EndOfProgram().on_signal):
        yield


def ignore_signals() -> None:
    """Ignore from now on what would end the program, which is about to end by itself."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def _handled(on_signal: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handle the signals that are not ignored, as they are under `nohup` and in the background."""
    if threading.current_thread() is not threading.main_thread():  # only there can they be handled
        yield
        return
    previous = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    handled = [n for n, handler in previous.items() if handler not in (signal.SIG_IGN, None)]
    try:
        for number in handled:
            signal.signal(number, on_signal)
        yield
    finally:
        for number in handled:
            signal.signal(number, previous[number])
