"""One training at a time in a run folder.

The operating system holds the lock and releases it when the process ends, in whatever way, so that
a file left by a killed process is in nobody's way. The file only says who trains.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from graphscore.atomic import make_folder
from graphscore.errors import OutputError, warn
from graphscore.streams import visible

LOCK = ".train.lock"
TRIES = 100
"""How often the file is opened that is another one once it is locked."""
_HELD: set[int] = set()
"""Open lock files of this process."""
_FAR = 1 << 30
"""Where Windows locks a byte: what is locked there cannot be read."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a run folder, which is made if it is missing.

    Raises:
        OutputError: another process trains there, or nothing can be written there.
    """
    path = folder / LOCK
    made = not folder.exists()
    try:
        make_folder(folder)
        descriptor = _open(path)
    except OSError as error:
        raise OutputError(
            f"{folder}: cannot be written to ({error.strerror}). Give another folder, or make this "
            "one writable."
        ) from None
    _HELD.add(descriptor)
    try:
        yield
    finally:
        if descriptor in _HELD:  # and not in a copy of the process
            _HELD.discard(descriptor)
            _close(descriptor, path)
            if made:
                with contextlib.suppress(OSError):
                    folder.rmdir()  # only if training did not begin


def _open(path: Path) -> int:
    """Open and lock the file, and write into it who trains."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with contextlib.suppress(FileNotFoundError):
        # Before it is opened, because a device may react to that.
        found = os.lstat(path)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:  # it may also be another's file
            raise OutputError(f"{path}: is not an ordinary file of this folder alone. Remove it.")
    tries_left = TRIES
    while True:
        descriptor = os.open(path, flags, 0o666)
        tries_left -= 1
        try:
            settled = not _lock(descriptor, path) or _is_at(descriptor, path)
            if not (settled or tries_left):
                _warn_unlocked(path, "the open file is never the one of that name")
            if settled or not tries_left:
                _introduce(descriptor, path)
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        # Its holder removed it while it was opened here.
        os.close(descriptor)


def _lock(descriptor: int, path: Path) -> bool:
    """Lock an open file at once; False, with a warning, where the file system cannot."""
    try:
        _lock_now(descriptor)
    except OSError as error:
        if error.errno not in (errno.EAGAIN, errno.EACCES, errno.EDEADLK):
            _warn_unlocked(path, error.strerror)
            return False
        holder = _holder(descriptor)
        who = _in_words(holder) if holder else "by another process"
        raise OutputError(
            f"{path.parent}: is being trained {who}. Wait until it ends, or give another folder."
        ) from None
    return True


def _warn_unlocked(path: Path, reason: str | None) -> None:
    warn(
        f"{path}: cannot be locked ({reason}). Training goes on, but a second training in this "
        "folder would not be noticed: see to it that there is none."
    )


if sys.platform == "win32":
    import msvcrt

    def _lock_now(descriptor: int) -> None:
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def _is_at(descriptor: int, path: Path) -> bool:
        return True  # nobody can remove an open file

    def _close(descriptor: int, path: Path) -> None:
        with contextlib.suppress(OSError):
            os.close(descriptor)
        with contextlib.suppress(OSError):
            path.unlink()

else:
    import fcntl

    def _lock_now(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _is_at(descriptor: int, path: Path) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(path))
        except FileNotFoundError:
            return False

    def _close(descriptor: int, path: Path) -> None:
        # Removed while it is held, so that nobody else's is.
        with contextlib.suppress(OSError):
            if _is_at(descriptor, path):
                path.unlink()
        with contextlib.suppress(OSError):
            os.close(descriptor)

    def _leave_to_parent() -> None:
        """Close the copies that a forked process has: they would hold the lock after its parent."""
        while _HELD:
            with contextlib.suppress(OSError):
                os.close(_HELD.pop())

    os.register_at_fork(after_in_child=_leave_to_parent)


def _introduce(descriptor: int, path: Path) -> None:
    """Say in the file who trains; a training that a killed process left is nobody's by now."""
    before, host = _holder(descriptor), socket.gethostname()
    if before and before["host"] != host:
        warn(
            f"{path.parent}: was left being trained {_in_words(before)}. If that process still "
            "runs, end one of the two: locks of this folder may not be seen by other hosts."
        )
    since = datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
    content = json.dumps({"pid": os.getpid(), "host": host, "since": since}).encode()
    with contextlib.suppress(OSError):  # a full disk keeps nobody from training
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, content)


def _holder(descriptor: int) -> dict[str, str] | None:
    """What the file says; None if that is nothing."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        os.lseek(descriptor, 0, os.SEEK_SET)
        said = json.loads(os.read(descriptor, 1000))
        if isinstance(said, dict) and {"pid", "host", "since"} <= said.keys():
            return {key: str(said[key]) for key in ("pid", "host", "since")}
    return None


def _in_words(holder: dict[str, str]) -> str:
    pid, host, since = (visible(holder[key]) for key in ("pid", "host", "since"))
    return f"by process {pid} on host {host} since {since}"
