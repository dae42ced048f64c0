"""The bytes of files from outside: regular files only, decompressed, no more than the limits."""

from __future__ import annotations

import math
import os
import re
import zlib
from pathlib import Path
from typing import Any, BinaryIO

from graphscore.errors import GraphDataError
from graphscore.graphs.limits import BYTES_PER_FILE, Bytes, Reading
from graphscore.regular import NotRegularError, open_regular

_CHUNK = 2**14  # bytes that are decompressed at a time


def contents(path: Path, source: str, reading: Reading) -> Bytes:
    """Return the bytes of a file, decompressed if its name ends in .gz.

    Raises:
        GraphDataError: no regular file, one that changes, damaged compression, or more than the
            limits allow.
        OSError: the file cannot be read.
    """
    try:
        with open_regular(path) as handle:
            size = os.fstat(handle.fileno()).st_size
            if path.name.lower().endswith(".gz"):
                return _decompressed(handle, source, reading)
            if size > reading.bytes_left:
                raise reading.too_many_bytes(source)
            data = handle.read(size + 1)
    except NotRegularError as error:
        raise GraphDataError(
            f"{source}: {error.strerror}. Save the graphs to a file first."
        ) from error
    if len(data) != size:
        raise GraphDataError(f"{source}: the file changes while it is read. Try again later.")
    reading.add_bytes(source, len(data))
    return data


def members(folder: Path, reading: Reading) -> list[str]:
    """Return the names of what is in a folder, except hidden files, in natural order.

    Raises:
        GraphDataError: more than the limits allow.
        OSError: the folder cannot be read.
    """
    names = []
    with os.scandir(folder) as entries:
        for entry in entries:
            reading.tick(folder.name)
            reading.add_bytes(folder.name, BYTES_PER_FILE)
            if not entry.name.startswith("."):
                names.append(entry.name)
    return sorted(names, key=_natural)


def _decompressed(handle: BinaryIO, source: str, reading: Reading) -> bytearray:
    """Decompress all gzip members of a file, a piece at a time; zeros may follow them."""
    result, waiting, ended = bytearray(), b"", False
    member: Any = None
    try:
        while waiting or (waiting := handle.read(_CHUNK)):
            reading.tick(source)
            if member is None:
                waiting = waiting.lstrip(b"\0") if ended else waiting
                if not waiting:
                    continue
                member = zlib.decompressobj(wbits=31)
            piece = member.decompress(waiting, _CHUNK)
            reading.add_bytes(source, len(piece))
            result += piece
            waiting = member.unconsumed_tail
            if member.eof:
                waiting, member, ended = member.unused_data, None, True
    except zlib.error as error:
        raise _not_gzip(source, str(error)) from error
    if member is not None or not ended:
        raise _not_gzip(source, "its end is missing")
    return result


def _not_gzip(source: str, reason: str) -> GraphDataError:
    return GraphDataError(
        f"{source}: not a complete gzip file ({reason}). Download or compress it again."
    )


def _natural(name: str) -> list[tuple[float, str]]:
    """Sort key under which digits compare as numbers."""
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    return [(int(p) if p.isdecimal() else math.inf, p) for p in parts]
