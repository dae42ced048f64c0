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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from graphscore.errors import CheckpointError
from graphscore.regular import NotRegularError, open_regular

MOST_VALUES = 250_000
"""In a JSON file; each takes some hundred bytes once it is read."""
MOST_ENTRIES = 1000
"""Of one object or list; whoever checks types keeps an error for each, of thousands of bytes."""
DEEPEST = 50
"""Objects and lists within each other; real ones have some four."""
LONGEST_NAME = 200
"""Characters of a name in an object."""
Place = tuple[str, ...]
"""The names that lead to an object in JSON."""
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


def read_json(path: Path, at_most: int, longer: Mapping[Place, int] | None = None) -> Any:
    """Read a JSON file, see `parse_json`.

    Args:
        at_most: bytes.
        longer: as for `parse_json`.

    Raises:
        DamagedError: it is missing, too large, or not such JSON.
        CheckpointError: it is no regular file.
    """
    with open_own(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > at_most:
            raise DamagedError(f"{path}: {size} bytes; at most {at_most} are read")
        content = stream.read(at_most)
    try:
        return parse_json(content, longer)
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"{path}: not readable as JSON ({error!s:.200})") from None


def parse_json(content: bytes, longer: Mapping[Place, int] | None = None) -> Any:
    """Return the value of a JSON text: no number that is not finite, no name twice in one object.

    Args:
        content: of bounded size.
        longer: the objects that may have more entries than `MOST_ENTRIES`, and how many.

    Raises:
        ValueError, RecursionError: it is not such JSON, or has too many values.
    """
    if sum(map(content.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise ValueError(f"more than {MOST_VALUES} values")
    value = json.loads(
        content.decode(),
        parse_constant=_finite,
        parse_float=_finite,
        object_pairs_hook=_without_repetition,
    )
    # Half a surrogate pair can be escaped in JSON, but neither printed nor written.
    json.dumps(value, ensure_ascii=False).encode()
    _check_entries(value, longer or {}, ())
    return value


def _check_entries(value: Any, longer: Mapping[Place, int], place: Place) -> None:
    if not isinstance(value, dict | list):
        return
    if len(place) >= DEEPEST:
        raise ValueError(f"more than {DEEPEST} objects and lists within each other")
    most = longer.get(place, MOST_ENTRIES)
    if len(value) > most:
        where = ".".join(place) or "the whole"
        raise ValueError(f"{where} has {len(value)} entries; at most {most} are read")
    parts = value.items() if isinstance(value, dict) else ((str(i), v) for i, v in enumerate(value))
    for name, part in parts:
        if len(name) > LONGEST_NAME:
            raise ValueError(f"a name of {len(name)} characters; at most {LONGEST_NAME} are read")
        _check_entries(part, longer, (*place, name))


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"a number is not finite: {text:.20}")
    return value


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; refuse one that says something twice."""
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("a name occurs twice in one object")
    return values
