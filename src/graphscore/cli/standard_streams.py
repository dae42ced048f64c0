"""The standard streams of the program: open from the start, and never a reason to stop."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TextIO, cast

from graphscore.atomic import descriptor_of
from graphscore.streams import Unfailing


@contextmanager
def standard_streams() -> Iterator[Unfailing]:
    """Open closed streams, make output and errors unfailing, and give the output."""
    _open_descriptors()
    before = sys.stdin, sys.stdout, sys.stderr
    output = Unfailing(sys.stdout or _stream(1, "w"))
    errors = Unfailing(sys.stderr or _stream(2, "w"))
    sys.stdin = sys.stdin or _stream(0, "r")
    sys.stdout, sys.stderr = cast(TextIO, output), cast(TextIO, errors)
    try:
        yield output
    finally:
        output.flush()
        errors.flush()
        sys.stdin, sys.stdout, sys.stderr = before


def apart_from(target: Path) -> AbstractContextManager[object]:
    """Move what is printed to standard error if `target` is standard output."""
    to_output = descriptor_of(target) == 1
    return contextlib.redirect_stdout(sys.stderr) if to_output else nullcontext()


def _open_descriptors() -> None:
    """Open closed ones on nothing: otherwise the next file gets the number, and the messages."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
            os.set_inheritable(opened, True)


def _stream(number: int, mode: str) -> TextIO:
    return cast(TextIO, open(number, mode, encoding="utf-8", closefd=False))
