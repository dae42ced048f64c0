"""A model of a disk that loses what was not synced when the power is cut.

POSIX promises no more than this: what was written to a file is kept once the file is synced, and
what was done to the names of a folder (new files, renames, removals) once the folder is. Before
that, any part of it may be kept or lost.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from campaigns.watched import Operation

Names = dict[str, int]
"""The file behind each name; folders are `FOLDER`."""
FOLDER = -1
State = dict[str, bytes | None]
"""What is on a disk after the power was cut, by name; None is a folder."""


@dataclass
class Disk:
    """What is sure to be on the disk, and what is not yet."""

    names: Names = field(default_factory=dict)
    sure_names: Names = field(default_factory=dict)
    pending: list[Operation] = field(default_factory=list)
    pending_files: list[int] = field(default_factory=list)
    contents: list[bytes] = field(default_factory=list)
    sure_contents: list[bytes] = field(default_factory=list)

    def do(self, operation: Operation) -> None:
        """Follow one operation that succeeded."""
        kind, path = operation.kind, operation.path
        if kind in ("create", "mkdir", "rename", "unlink", "rmdir"):
            if kind == "create":
                self.contents.append(b"")
                self.sure_contents.append(b"")
            file = FOLDER if kind == "mkdir" else len(self.contents) - 1
            file = self.names.get(path, file)
            _change(self.names, operation, file)
            self.pending.append(operation)
            self.pending_files.append(file)
        elif kind == "write":
            self.contents[self.names[path]] += operation.data
        elif kind == "truncate":
            file = self.names[path]
            self.contents[file] = self.contents[file][: operation.size]
        elif kind == "sync":
            self.sure_contents[self.names[path]] = self.contents[self.names[path]]
        elif kind == "sync folder":
            self._sync_names(path)

    def _sync_names(self, folder: str) -> None:
        left = []
        for operation, file in zip(self.pending, self.pending_files):
            if (os.path.dirname(operation.path) or ".") == folder:
                _change(self.sure_names, operation, file)
            else:
                left.append((operation, file))
        self.pending = [operation for operation, _ in left]
        self.pending_files = [file for _, file in left]

    def after_cut(self) -> Iterator[State]:
        """The states that the disk may be found in, the worst ones among them.

        Of the changes of names none, all, each alone, and all but each are kept; of what was
        written all, nothing, half, or other bytes.
        """
        for kept in _parts(len(self.pending)):
            names = dict(self.sure_names)
            for index in kept:
                _change(names, self.pending[index], self.pending_files[index])
            # What is in a folder is lost with it.
            there = {n: f for n, f in names.items() if _has_folders(n, names)}
            unsure = {f for f in there.values() if f >= 0 and self._unsure(f)}
            for way in range(5 if unsure else 1):
                yield {
                    name: None if file == FOLDER else self._content(file, way)
                    for name, file in there.items()
                }

    def _unsure(self, file: int) -> bool:
        return self.contents[file] != self.sure_contents[file]

    def _content(self, file: int, way: int) -> bytes:
        sure, now = self.sure_contents[file], self.contents[file]
        if not self._unsure(file) or way == 0:
            return sure
        half = sure + now[len(sure) : (len(sure) + len(now)) // 2]
        lost = sure + bytes(len(now) - len(sure))
        other = sure + bytes(value ^ 0x5A for value in now[len(sure) :])
        return (now, half, lost, other)[way - 1]


def _change(names: Names, operation: Operation, file: int) -> None:
    if operation.kind in ("unlink", "rmdir", "rename"):
        names.pop(operation.path, None)
    if operation.kind in ("create", "mkdir"):
        names[operation.path] = file
    if operation.kind == "rename":
        names[operation.target] = file


def _has_folders(name: str, names: Names) -> bool:
    folder = os.path.dirname(name)
    return not folder or (folder in names and _has_folders(folder, names))


def _parts(number: int) -> list[Sequence[int]]:
    every = range(number)
    alone = [[index] for index in every]
    without = [[other for other in every if other != index] for index in every]
    return [[], every, *alone, *without]


def put(state: State, place: Path) -> None:
    """Write a state into an empty folder."""
    for name, content in sorted(state.items()):
        path = place / name
        if content is None:
            path.mkdir()
        else:
            path.write_bytes(content)
