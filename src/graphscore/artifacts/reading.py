"""Read files that may come from a stranger: regular ones only, of bounded size, strict JSON.

Broken blocks, lost files and cut writes are damage, and an older checkpoint may take the place of a
damaged one. What is refused for another reason is as its writer left it, and nothing takes its
place.
"""

from __future__ import annotations

import errno
import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from graphscore.errors import CheckpointError
from graphscore.regular import NotRegularError, open_regular

MOST_VALUES = 500_000
"""In a JSON file; each takes some hundred bytes once it is read."""
REMEDY = "Restore it from a copy, or train again."
_BROKEN = {
    getattr(errno, name, None) for name in ("ENOENT", "ENOTDIR", "EIO", "EBADMSG", "EUCLEAN")
}
"""Errors of files that are gone or cannot be read from the disk; a lack of permission is none."""


class DamagedError(CheckpointError):
    """A file of a checkpoint that is gone, or whose bytes are not those that were written.

    Attributes:
        what: the message without the remedy.
    """

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}. {REMEDY}")
        self.what = what


@contextmanager
def open_own(path: Path) -> Iterator[BinaryIO]:
    """Open a file of a model for reading.

    Raises:
        DamagedError: it is missing, or the disk does not give it.
        CheckpointError: it is a link or no regular file, or may not be read.
    """
    # A link could lead out of the folder.
    try:
        with open_regular(path, follow_links=False) as stream:
            yield stream
    except NotRegularError as error:
        raise CheckpointError(f"{path}: {error.strerror}. {REMEDY}") from None
    except (OSError, ValueError) as error:
        what = f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})"
        if getattr(error, "errno", 0) in _BROKEN:
            raise DamagedError(what) from None
        raise CheckpointError(f"{what}. {REMEDY}") from None


def read_json(path: Path, at_most: int) -> Any:
    """Read a JSON file: no number that is not finite, no name twice in one object.

    Args:
        at_most: bytes.

    Raises:
        DamagedError: it is missing, or no JSON at all.
        CheckpointError: it is no regular file, too large, or not such JSON.
    """
    with open_own(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > at_most:
            raise CheckpointError(f"{path}: {size} bytes; at most {at_most} are read. {REMEDY}")
        content = stream.read(at_most)
    if sum(map(content.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise CheckpointError(f"{path}: more than {MOST_VALUES} values. {REMEDY}")
    try:
        value = json.loads(
            content.decode(),
            parse_constant=_finite,
            parse_float=_finite,
            object_pairs_hook=without_repetition,
        )
        # Half a surrogate pair can be escaped in JSON, but neither printed nor written.
        json.dumps(value, ensure_ascii=False).encode()
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise DamagedError(f"{path}: not readable as JSON ({error!s:.200})") from None
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: not readable as JSON ({error!s:.200}). {REMEDY}") from None
    return value


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"a number is not finite: {text:.20}")
    return value


def without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; refuse one that says something twice."""
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("a name occurs twice in one object")
    return values
