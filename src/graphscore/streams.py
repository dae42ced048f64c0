"""Saying things on the standard streams: no stream that fails may stop the work."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable
from typing import Any, TextIO

LONGEST_MESSAGE = 4000
"""Characters of a message; a longer one is cut in the middle."""

# Control characters except tab and line feed, marks and overrides of the writing direction, line
# separators, lone surrogates: none of these shows what a name or a file really holds.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def visible(text: str) -> str:
    r"""Replace what a terminal would obey or cannot show by its escape sequence.

    >>> print(visible("a\x1b[31m\u202eb\udc80"))
    a\x1b[31m\u202eb\udc80
    """
    return _HIDDEN.sub(lambda found: ascii(found.group())[1:-1], text)


def shortened(text: str) -> str:
    """Leave out the middle of a text of more than `LONGEST_MESSAGE` characters."""
    left_out = len(text) - LONGEST_MESSAGE
    if left_out <= 0:
        return text
    half = LONGEST_MESSAGE // 2
    return f"{text[:half]} [... {left_out} characters ...] {text[-half:]}"


def say(message: str) -> None:
    """Print a message on standard error; where that fails, the message is lost."""
    stream = Unfailing(sys.stderr)
    stream.write(visible(shortened(message)) + "\n")
    stream.flush()


def _encodable(text: str, encoding: str) -> str:
    """Replace characters that an encoding lacks by escape sequences."""
    try:
        return text.encode(encoding, "backslashreplace").decode(encoding)
    except LookupError:  # nobody knows it
        return text


class Unfailing:
    """A text stream that never raises: what cannot be written is lost.

    Characters that its encoding lacks are written as escape sequences.

    Args:
        stream: where text goes; None, as Python sets streams that are closed, takes nothing.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream: Any = stream
        self.failure: OSError | ValueError | None = None
        """Why text was lost; the first reason."""

    def write(self, text: str) -> int:
        """Write, or lose, all of the text."""
        if (stream := self._stream) is not None:
            # What somebody put in place of a stream may have no more than `write`.
            known = _encodable(text, getattr(stream, "encoding", None) or "utf-8")
            self._attempt(lambda: stream.write(known))
        return len(text)

    def flush(self) -> None:
        """Hand on what is buffered, or lose it."""
        if hasattr(self._stream, "flush"):
            self._attempt(self._stream.flush)

    def isatty(self) -> bool:
        """Whether it is a terminal that can be written to."""
        try:
            return hasattr(self._stream, "isatty") and self._stream.isatty()
        except ValueError:  # closed
            return False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _attempt(self, action: Callable[[], object]) -> None:
        try:
            action()
        except (OSError, ValueError) as error:  # ValueError: the stream is closed
            self.failure = self.failure or error
            self._forget()

    def _forget(self) -> None:
        """Empty the buffer, which would be written again, and fail again, at the program's end."""
        with contextlib.suppress(OSError, ValueError, AttributeError):
            descriptor = self._stream.fileno() if self._stream is not None else -1
            kept = os.dup(descriptor)
            nowhere = os.open(os.devnull, os.O_WRONLY)
            try:
                os.dup2(nowhere, descriptor)
                self._stream.flush()
            finally:
                os.dup2(kept, descriptor)
                os.close(nowhere)
                os.close(kept)
