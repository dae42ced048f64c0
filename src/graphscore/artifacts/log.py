"""The log of a training: one JSON record per line, readable whatever happened to single lines."""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import math
import os
from collections.abc import Iterator, Set
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from graphscore.atomic import write_file
from graphscore.errors import OutputError, warn
from graphscore.regular import open_regular
from graphscore.training import TrainingRecord

LONGEST = 1 << 20
"""Bytes of a line; a longer one is no record. Also of the end of a log, which has its last one."""
MOST_BYTES = 1 << 30
"""Of a log; about 3 million records."""
PER_LEVEL = ("per_level", "held_out_per_level")
"""The entries of a record that are lists."""


class TrainingLog:
    """Reads and writes the log of a run; it is never a reason to end a training.

    Lines that cannot be written are kept in memory; they are tried again when there are twice as
    many, and with every checkpoint. Lines that cannot be read are left out.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._unwritten: list[bytes] = []
        self._torn = False

    def start(self) -> None:
        """Write an empty log."""
        write_file(self.path, b"", follow_links=False)

    def append(self, record: dict[str, Any]) -> None:
        """Add one record; a warning, once, if it cannot be written now."""
        self._unwritten.append(json.dumps(record).encode() + b"\n")
        count = len(self._unwritten)
        if count & (count - 1):
            return  # when they are twice as many, so that the time does not grow with the square
        try:
            self._write()
        except OSError as error:
            if count == 1:
                warn(
                    f"{self.path}: cannot write ({error.strerror}). Training goes on, and these "
                    "lines are written when that is possible again."
                )

    def sync(self) -> None:
        """Have on the disk what can be written, so that the log is as new as a checkpoint."""
        with contextlib.suppress(OSError):
            if self._unwritten:
                self._write()
            with self._open() as stream:
                os.fsync(stream.fileno())

    def _open(self) -> BinaryIO:
        if self.path.is_symlink():  # it may lead out of the folder
            raise OSError(errno.ELOOP, "a link is in its place")
        return self.path.open("ab")

    def _write(self) -> None:
        lines = b"".join(self._unwritten)
        size = None
        try:
            with self._open() as stream:
                size = stream.tell()
                stream.write(b"\n" + lines if self._torn else lines)
        except OSError:
            if size is not None:
                # No half line, and none that is written a second time.
                self._torn = True
                with contextlib.suppress(OSError):
                    os.truncate(self.path, size)
                    self._torn = False
            raise
        self._unwritten.clear()
        self._torn = False

    def records(self) -> list[dict[str, Any]]:
        """Read the log; with one warning lines are left out that are no records.

        A last line cut short by a crash is left out without one.
        """
        found: dict[int, dict[str, Any]] = {}
        try:
            for record, _ in self._read():
                found[record["step"]] = record
        except OSError as error:
            warn(f"{self.path}: cannot be read ({error.strerror}). It is taken as empty.")
            return []
        return list(found.values())

    def training_records(self) -> list[TrainingRecord]:
        """Read the log; what is no whole record is left out."""
        found = []
        for record in self.records():
            with contextlib.suppress(TypeError):  # other names
                found.append(TrainingRecord(**record))
        return found

    def last(self, names: Set[str]) -> dict[str, Any] | None:
        """Return the last record that has entries of these names; the end of the log is read."""
        found = None
        try:
            for record, _ in self._read(end=LONGEST):
                found = record if names <= record.keys() else found
        except OSError as error:
            warn(f"{self.path}: cannot be read ({error.strerror}). It is taken as empty.")
        return found

    def cut(self, step: int) -> None:
        """Rewrite the log with the records up to `step`, where training continues."""
        try:
            kept = self._lines_up_to(step)
        except OSError:
            try:
                kept = self._lines_up_to(step)  # a disk may fail once
            except OSError as error:
                set_aside(self.path, error.strerror)
                kept = b""
        write_file(self.path, kept, follow_links=False)

    def _lines_up_to(self, step: int) -> bytes:
        # As text, because records take twenty times as much.
        kept = BytesIO()
        for record, line in self._read():
            if record["step"] <= step:
                kept.write(line.rstrip() + b"\n")
        return kept.getvalue()

    def _read(self, end: int | None = None) -> Iterator[tuple[dict[str, Any], bytes]]:
        """Return records and their lines, one at a time.

        Args:
            end: read only so many bytes at the end of the log.
        """
        if not os.path.lexists(self.path):
            return
        left_out = 0
        with open_regular(self.path, follow_links=False) as stream:
            size = os.fstat(stream.fileno()).st_size
            if end is None and size > MOST_BYTES:
                raise OSError(0, f"larger than {MOST_BYTES} bytes")
            if end is not None and size > end:
                stream.seek(size - end)
                stream.readline(end)  # the rest of a line
            for line in _lines(stream):
                record = _record(line)
                if record is not None:
                    yield record, line
                elif line.endswith(b"\n") and line.strip():
                    left_out += 1
        if left_out:
            what = "1 line is no record" if left_out == 1 else f"{left_out} lines are no records"
            warn(f"{self.path}: {what} of a training, left out.")


def _lines(stream: Any) -> Iterator[bytes]:
    """The lines of a file; of one that is too long only the end."""
    while line := stream.readline(LONGEST):
        while len(line) == LONGEST and not line.endswith(b"\n"):
            line = b"..." + stream.readline(LONGEST - 3)
        yield line


def _record(line: bytes) -> dict[str, Any] | None:
    """The record in a line, or None: a step and other numbers, one of them per noise level."""
    try:
        record = json.loads(line.decode())
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or type(record.get("step")) is not int:
        return None
    levels = [record.get(name, []) for name in PER_LEVEL]
    single = [value for name, value in record.items() if name not in PER_LEVEL]
    lists = all(isinstance(values, list) for values in levels)
    numbers = lists and all(map(_is_number, itertools.chain(single, *levels)))
    return record if numbers and record["step"] >= 0 else None


def _is_number(value: Any) -> bool:
    if type(value) is float:
        return math.isfinite(value)
    return type(value) is int and abs(value) < 2**63


def set_aside(path: Path, reason: str | None) -> None:
    """Rename what is in the way of a file of a run, with a warning; nothing is removed.

    Args:
        reason: why it cannot be read.

    Raises:
        OutputError: it cannot be renamed.
    """
    names = (path.with_name(f"{path.name}.old{number or ''}") for number in itertools.count())
    new = next(name for name in names if not os.path.lexists(name))
    try:
        path.rename(new)
    except OSError as error:
        raise OutputError(
            f"{path}: cannot be read, nor renamed ({error.strerror}). Remove it by hand."
        ) from None
    warn(f"{path}: cannot be read ({reason}). It is kept as {new.name}, and a new one is begun.")
