"""Arrays as numpy stores them, `.npy` and the members of `.npz`, read within limits."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Callable
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from graphscore.errors import GraphDataError
from graphscore.graphs.limits import Bytes, Reading

MAX_MEMBERS = 100
"""Arrays of one archive."""
_MAX_HEADER = 10_000
_CHUNK = 2**20  # bytes that are decompressed at a time
Array = np.ndarray[Any, Any]


def read_archive(
    data: Bytes, source: str, reading: Reading, expected: str, is_wanted: Callable[[str], bool]
) -> tuple[list[str], dict[str, Array]]:
    """Return the names of all arrays of an archive, and those that are wanted.

    Args:
        expected: what errors say is expected.
        is_wanted: whether an array of a name is read.

    Raises:
        GraphDataError: it is no such archive, or damaged, or holds too many arrays, two of one
            name, Python objects, or more than the limits allow.
    """
    # Each member takes memory when the archive is opened, and has this mark.
    if data.count(b"PK\x01\x02") > MAX_MEMBERS:
        raise GraphDataError(f"{source}: more than {MAX_MEMBERS} arrays. {expected}")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            names = [member.filename.removesuffix(".npy") for member in members]
            if len(set(names)) < len(names):
                raise GraphDataError(f"{source}: two arrays of one name. {expected}")
            return names, {
                name: _member(archive, member, source, reading)
                for name, member in zip(names, members)
                if is_wanted(name)
            }
    except (GraphDataError, MemoryError):
        raise
    except Exception as error:  # zipfile, zlib and numpy raise many types on damaged files
        raise _unreadable(source, "npz", error) from error


def read_array(data: Bytes, source: str, reading: Reading) -> Array:
    """Return the array of a `.npy` file.

    Raises:
        GraphDataError: it is no such file, or damaged, or holds Python objects, or more than the
            limits allow.
    """
    reading.add_bytes(source, -len(data))  # what counts is the array
    try:
        return _array(io.BytesIO(data), source, reading)
    except (GraphDataError, MemoryError):
        raise
    except Exception as error:  # numpy raises many types on damaged files
        raise _unreadable(source, "npy", error) from error


def _unreadable(source: str, form: str, error: Exception) -> GraphDataError:
    return GraphDataError(
        f"{source}: not a readable .{form} file ({type(error).__name__}). It may be truncated, of "
        "another format, or hold Python objects, which are never loaded."
    )


def _member(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, source: str, reading: Reading
) -> Array:
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError("a compression that numpy does not write")
    with archive.open(member) as stream:
        return _array(stream, source, reading)


def _array(stream: IO[bytes], source: str, reading: Reading) -> Array:
    """Read an array whose header has been checked against the limits."""
    shape, fortran, dtype = _header(stream)
    size = math.prod(shape) * dtype.itemsize
    reading.add_bytes(source, size)
    content = bytearray(size)
    view = memoryview(content)
    while len(view):
        reading.tick(source)
        piece = stream.read(min(_CHUNK, len(view)))
        if not piece:
            raise ValueError("shorter than its header says")
        view[: len(piece)] = piece
        view = view[len(piece) :]
    if stream.read(_CHUNK):  # this also compares the checksum
        raise ValueError("longer than its header says")
    array = np.frombuffer(content, dtype)  # refuses Python objects and types of no size
    return array.reshape(shape[::-1]).T if fortran else array.reshape(shape)


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read shape, order and type; numpy would first read a header of any length."""
    major, _ = npy.read_magic(stream)
    field = stream.read(2 if major == 1 else 4)
    length = int.from_bytes(field, "little")
    if length > _MAX_HEADER:
        raise ValueError("a header longer than any shape needs")
    header = io.BytesIO(field + stream.read(length))
    read = npy.read_array_header_1_0 if major == 1 else npy.read_array_header_2_0
    return read(header, max_header_size=length)  # which is not too long, see above
