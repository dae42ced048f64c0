"""File operations below a folder, watched one by one: recorded, made to fail, or the last ones.

`Watch` replaces the functions of `os` and `open` that change or read files, in this process and
while it is active. The real operations are done, except that nothing is synced with the disk.
"""

from __future__ import annotations

import builtins
import contextlib
import io
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, Self
from unittest.mock import patch


@dataclass(frozen=True)
class Operation:
    """One file operation.

    Attributes:
        kind: create, open, read, write, close, sync, sync folder, rename, unlink, mkdir, rmdir,
            list, truncate or lock.
        path: relative to the watched folder.
        data: what is written.
        target: the new name of what is renamed.
        size: to which is truncated.
    """

    kind: str
    path: str
    data: bytes = b""
    target: str = ""
    size: int = 0


class Partly(Exception):
    """Raised before a write: half of it is done, and then something happens."""

    def __init__(self, then: Callable[[], NoReturn]) -> None:
        super().__init__()
        self.then = then


class Watch:
    """Calls `before` with every operation below `root`, and `after` when it has succeeded.

    Args:
        root: an existing folder.
        before: may raise what the operation is to fail with.
        after: records it, for instance.
    """

    def __init__(
        self,
        root: Path,
        before: Callable[[Operation], None] = lambda operation: None,
        after: Callable[[Operation], None] = lambda operation: None,
    ) -> None:
        self._root = os.path.realpath(root)
        self._before = before
        self._after = after
        self._real = {name: getattr(os, name) for name in _NAMES}
        self._open = io.open
        self._paths: dict[int, str] = {}
        self._patches = contextlib.ExitStack()

    def __enter__(self) -> Self:
        replaced = [patch.object(os, name, getattr(self, f"_os_{name}")) for name in _NAMES]
        replaced += [patch.object(module, "open", self._open_file) for module in (io, builtins)]
        if sys.platform != "win32":
            import fcntl

            self._flock = fcntl.flock
            replaced.append(patch.object(fcntl, "flock", self._lock))
        for each in replaced:
            self._patches.enter_context(each)
        return self

    def __exit__(self, *error: object) -> None:
        self._patches.close()

    def inside(self, path: Any) -> str | None:
        """The name of a path below the watched folder; None if it is elsewhere."""
        if isinstance(path, int):
            return self._paths.get(path)
        absolute = os.path.abspath(os.fspath(path))
        below = f"{absolute}{os.sep}".startswith(self._root + os.sep)
        return os.path.relpath(absolute, self._root) if below else None

    def do(self, operation: Operation, real: Callable[[], Any]) -> Any:
        """Do one operation, if it does not fail before."""
        self._before(operation)
        result = real()
        self._after(operation)
        return result

    def write(self, name: str, data: bytes, real: Callable[[bytes], int]) -> int:
        """Write, perhaps only half of it."""
        try:
            self._before(Operation("write", name, data))
        except Partly as partly:
            half = data[: len(data) // 2]
            real(half)
            self._after(Operation("write", name, half))
            partly.then()
        written = real(data)
        self._after(Operation("write", name, data[:written]))
        return written

    def _open_file(self, file: Any, mode: str = "r", *more: Any, **options: Any) -> Any:
        name = self.inside(file)
        if name is None:
            return self._open(file, mode, *more, **options)
        raw = _File(self, name, file, mode.replace("b", "").replace("t", ""))
        buffered: Any = io.BufferedReader(raw) if "r" in mode else io.BufferedWriter(raw)
        if "b" in mode:
            return buffered
        return io.TextIOWrapper(buffered, encoding=options.get("encoding") or "utf-8")

    def _call(self, kind: str, function: str, path: Any, *more: Any, **fields: Any) -> Any:
        """Do an operation of `os` on a path or descriptor."""
        name = self.inside(path)
        real = self._real[function]
        if name is None:
            return real(path, *more)
        return self.do(Operation(kind, name, **fields), lambda: real(path, *more))

    def _os_open(self, path: Any, flags: int, mode: int = 0o777) -> int:
        name = self.inside(path)
        if name is None:
            return int(self._real["open"](path, flags, mode))
        new = flags & os.O_CREAT and not os.path.lexists(path)
        operation = Operation("create" if new else "open", name)
        descriptor = int(self.do(operation, lambda: self._real["open"](path, flags, mode)))
        self._paths[descriptor] = name
        return descriptor

    def _os_close(self, descriptor: int) -> None:
        name = self._paths.pop(descriptor, None)
        try:
            if name is not None:
                self._before(Operation("close", name))
        finally:
            self._real["close"](descriptor)

    def _os_fsync(self, descriptor: int) -> None:
        name = self._paths.get(descriptor)
        if name is not None:
            kind = "sync folder" if os.path.isdir(os.path.join(self._root, name)) else "sync"
            self.do(Operation(kind, name), lambda: None)

    def _os_write(self, descriptor: int, data: bytes) -> int:
        name, real = self._paths.get(descriptor), self._real["write"]
        if name is None:
            return int(real(descriptor, data))
        return self.write(name, bytes(data), lambda part: int(real(descriptor, part)))

    def _os_rename(self, source: Any, target: Any) -> None:
        self._call("rename", "rename", source, target, target=self.inside(target) or "")

    def _os_replace(self, source: Any, target: Any) -> None:
        self._call("rename", "replace", source, target, target=self.inside(target) or "")

    def _os_unlink(self, path: Any) -> None:
        self._call("unlink", "unlink", path)

    def _os_mkdir(self, path: Any, mode: int = 0o777) -> None:
        self._call("mkdir", "mkdir", path, mode)

    def _os_rmdir(self, path: Any) -> None:
        self._call("rmdir", "rmdir", path)

    def _os_listdir(self, path: Any = ".") -> Any:
        return self._call("list", "listdir", path)

    def _os_truncate(self, path: Any, size: int) -> None:
        self._call("truncate", "truncate", path, size, size=size)

    def _os_ftruncate(self, descriptor: int, size: int) -> None:
        self._call("truncate", "ftruncate", descriptor, size, size=size)

    def _lock(self, descriptor: int, how: int) -> None:
        name = self._paths.get(descriptor)
        if name is None:
            self._flock(descriptor, how)
        else:
            self.do(Operation("lock", name), lambda: self._flock(descriptor, how))


_NAMES = (
    *("open", "close", "fsync", "write", "rename", "replace", "unlink", "mkdir", "rmdir"),
    *("listdir", "truncate", "ftruncate"),
)


class _File(io.FileIO):
    """An open file whose operations are watched."""

    def __init__(self, watch: Watch, name: str, path: Any, mode: str) -> None:
        self._watch = watch
        self._watched = name
        new = mode != "r" and not isinstance(path, int) and not os.path.lexists(path)
        if not isinstance(path, int):  # that is open already
            watch.do(Operation("create" if new else "open", name), lambda: None)
        super().__init__(path, mode)
        if mode == "w" and not new:
            watch.do(Operation("truncate", name), lambda: None)
        watch._paths[self.fileno()] = name

    def readinto(self, buffer: Any) -> Any:
        return self._read(lambda: super(_File, self).readinto(buffer))

    def readall(self) -> bytes:
        return bytes(self._read(super().readall))

    def _read(self, real: Callable[[], Any]) -> Any:
        return self._watch.do(Operation("read", self._watched), real)

    def write(self, data: Any) -> int:
        real = super().write
        return self._watch.write(self._watched, bytes(data), lambda part: real(part) or 0)

    def close(self) -> None:
        if self.closed or not hasattr(self, "_watched"):
            super().close()
            return
        self._watch._paths.pop(self.fileno(), None)
        try:
            self._watch._before(Operation("close", self._watched))
        finally:
            super().close()
