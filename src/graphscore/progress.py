"""How long work shows itself: a bar with time left on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO, cast

from graphscore.streams import Unfailing, say

Update = Callable[[int, str], None]
"""update(done, note): how far the work is, and a short text to show beside it."""

_FIRST_GAP, _LAST_GAP = 2.0, 15.0
"""Seconds between lines: twice as many each time, so that a short work is seen to go on, and a long
one does not fill a log."""
_SECONDS_BETWEEN_CHANGES = 0.1
"""Of a bar, whose work may have thousands of units per second."""


@contextmanager
def progress(description: str, total: int, *, enabled: bool = True) -> Iterator[Update]:
    """Show the progress of `total` units of work on standard error.

    >>> with progress("counting", 3, enabled=False) as update:
    ...     update(1, "one of three")
    """
    if not enabled:
        yield lambda done, note: None
    elif Unfailing(sys.stderr).isatty():
        with _bar(description, total) as update:
            yield update
    else:
        yield _lines(description, total)


@contextmanager
def _bar(description: str, total: int) -> Iterator[Update]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=Console(file=cast(TextIO, Unfailing(sys.stderr)))) as bar:
        task = bar.add_task(description, total=total, note="")
        changed, shown = 0.0, ""

        def update(done: int, note: str) -> None:
            nonlocal changed, shown
            now = time.monotonic()
            if done < total and note == shown and now - changed < _SECONDS_BETWEEN_CHANGES:
                return
            changed, shown = now, note
            bar.update(task, completed=done, note=note)

        yield update


def _lines(description: str, total: int) -> Update:
    started = time.monotonic()
    shown, gap = started, _FIRST_GAP
    first: int | None = None

    def update(done: int, note: str) -> None:
        nonlocal shown, first, gap
        now = time.monotonic()
        # A resumed run starts in the middle: the speed is that of what was done here.
        first = done if first is None else first
        if now - shown < gap and done < total:
            return
        shown, gap = now, min(2 * gap, _LAST_GAP)
        left = (now - started) / max(1, done - first) * (total - done)
        time_left = f", about {left:.0f} s left" if done < total else f", {now - started:.0f} s"
        say(f"{description} {done}/{total}{time_left}  {note}")

    return update
