"""What a user reads when a fast path does not work here."""

from __future__ import annotations

import warnings

from graphscore.errors import GraphscoreWarning


def warn(message: str) -> None:
    """Issue a `GraphscoreWarning`."""
    warnings.warn(message, GraphscoreWarning, stacklevel=3)


def short(error: Exception) -> str:
    """Return the first line of an error, or its kind.

    >>> short(RuntimeError("no driver\\nand a stack trace"))
    'no driver'
    """
    lines = str(error).strip().splitlines()
    # Compilers name the part that raised it in the first line.
    said = 2 if lines and lines[0].endswith(":") else 1
    return " ".join(line.strip() for line in lines[:said]) or type(error).__name__
