"""Open regular files only: reading a pipe may wait for ever, and reading a device may never end."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

_FLAGS = sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"))
_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a link",
}


class NotRegularError(OSError):
    """What a path names is not a regular file; `strerror` says what it is."""


@contextmanager
def open_regular(path: Path, *, follow_links: bool = True) -> Iterator[BinaryIO]:
    """Open a regular file for reading.

    `read(n)` gives fewer bytes only at the end of the file: the stream is buffered, because one
    read of the operating system may give less, on Linux never more than 2 GiB.

    Args:
        path: the file.
        follow_links: whether a symbolic link may stand for it.

    Raises:
        NotRegularError: there is something else.
        OSError: it cannot be opened.
        ValueError: no file can have this name.
    """
    look = os.stat if follow_links else os.lstat
    # Before it is opened, because a device may react to that.
    _check_regular(look(path).st_mode)
    flags = _FLAGS if follow_links else _FLAGS | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, os.O_RDONLY | flags)
    with os.fdopen(descriptor, "rb") as stream:
        # It could have been replaced in between.
        _check_regular(os.fstat(descriptor).st_mode)
        yield stream


def kind_of(mode: int) -> str:
    """Return in words what has a mode that is no regular file's."""
    return _KINDS.get(stat.S_IFMT(mode), "something else")


def _check_regular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise NotRegularError(errno.EINVAL, f"{kind_of(mode)}, but a regular file is expected")
