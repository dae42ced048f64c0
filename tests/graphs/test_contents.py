"""Bytes of files: no more than the limit is read, and gzip is decompressed to its end."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib

import pytest

from graphscore.errors import GraphDataError
from graphscore.graphs.contents import contents, members
from graphscore.graphs.limits import Limits, Reading


def test_a_file_as_large_as_the_limit_is_read(tmp_path):
    """One byte more is refused, and what was read counts."""
    (tmp_path / "g").write_bytes(b"a" * 1000)
    reading = Reading(Limits(max_bytes=1500))
    assert contents(tmp_path / "g", "g", reading) == b"a" * 1000
    assert reading.bytes_left == 500
    assert len(contents(tmp_path / "g", "g", Reading(Limits(max_bytes=1000)))) == 1000
    with pytest.raises(GraphDataError, match="g: more than 999 bytes"):
        contents(tmp_path / "g", "g", Reading(Limits(max_bytes=999)))


def test_a_file_over_the_limit_is_not_read(tmp_path):
    """It is refused by its size and takes no memory."""
    with open(tmp_path / "g", "wb") as handle:
        handle.truncate(2**25)
    tracemalloc.start()
    try:
        with pytest.raises(GraphDataError, match="g: more than 1000 bytes"):
            contents(tmp_path / "g", "g", Reading(Limits(max_bytes=1000)))
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()


MEMBER = gzip.compress(b"Bw\n", mtime=0)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (MEMBER, b"Bw\n"),
        (MEMBER + bytes(99_999) + MEMBER, b"Bw\nBw\n"),
        (MEMBER + bytes(16_384 - len(MEMBER)) + MEMBER, b"Bw\nBw\n"),
        (MEMBER + bytes(1) + MEMBER + bytes(99_999), b"Bw\nBw\n"),
        (gzip.compress(bytes(range(250)) * 999, mtime=0), bytes(range(250)) * 999),
        (gzip.compress(b"", mtime=0), b""),
    ],
)
@pytest.mark.parametrize("name", ["g.g6.gz", "G.GZ"])
def test_gzip_is_decompressed_to_its_end(tmp_path, name, data, expected):
    """Several members follow each other, with zeros between them."""
    (tmp_path / name).write_bytes(data)
    reading = Reading(Limits(max_bytes=300_000))
    assert contents(tmp_path / name, "g", reading) == expected
    assert reading.bytes_left == 300_000 - len(expected)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "its end is missing"),
        (MEMBER[:-1], "its end is missing"),
        (MEMBER + MEMBER[:-1], "its end is missing"),
        (b"Bw\n", "Error -3"),
        (zlib.compress(b"Bw\n"), "Error -3"),
        (bytes(9) + MEMBER, "Error -3"),
        (MEMBER + bytes(99_999) + b"x", "its end is missing"),
        (MEMBER + bytes(99_999) + b"more", "Error -3"),
        (MEMBER[:-8] + bytes(4) + MEMBER[-4:], "Error -3"),
    ],
)
def test_what_is_not_wholly_gzip_is_refused(tmp_path, data, reason):
    """The error says whether the end is missing or what is damaged."""
    (tmp_path / "g.gz").write_bytes(data)
    with pytest.raises(GraphDataError) as caught:
        contents(tmp_path / "g.gz", "g", Reading())
    assert str(caught.value).startswith(f"g: not a complete gzip file ({reason}")


def test_the_files_of_a_folder_are_counted_and_timed(tmp_path):
    """Every file counts 1024 bytes, hidden ones too; they are not in the list."""
    for name in ("b", "a10", "a9", ".hidden"):
        (tmp_path / name).touch()
    assert members(tmp_path, Reading(Limits(max_bytes=4096))) == ["a9", "a10", "b"]
    with pytest.raises(GraphDataError, match="more than 4095 bytes"):
        members(tmp_path, Reading(Limits(max_bytes=4095)))
    with pytest.raises(GraphDataError, match=f"{tmp_path.name}: checking took more than a third"):
        members(tmp_path, Reading(Limits(max_seconds=1e-9)))
