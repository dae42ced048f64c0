"""Writing that succeeds as a whole or leaves everything as it was.

What is not a regular file, such as a pipe or a device, is written to and not replaced, unless
links are not to be followed.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

from graphscore.errors import OutputError
from graphscore.regular import kind_of

_MOST_LINKS = 40
"""Symbolic links behind each other, as in Linux."""


def write_file(path: Path, data: bytes, *, follow_links: bool = True) -> None:
    """Replace `path` by a file holding `data`, creating parent folders.

    Pipes, devices and open files (`/dev/stdout`, `/dev/fd/3`) are written to as they are.

    Args:
        path: the file.
        data: its content.
        follow_links: False in a folder that may be a stranger's: what has that name is replaced,
            a link or a pipe too, and nothing is written outside of the folder.

    Raises:
        OutputError: the file cannot be written; an older file is then still intact.
    """
    if follow_links and is_stream(path):
        _pour(path, data)
        return
    try:
        # Through a symbolic link, the file it points to is replaced and not the link.
        target = Path(os.path.realpath(path))
        if not follow_links:
            target = Path(os.path.realpath(path.parent), path.name)
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = _beside(target)
        try:
            _write_through(temporary, data)
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync_folder(target.parent)
    except OSError as error:
        raise _refusal(path, error) from error


def write_folder(path: Path, files: Mapping[str, bytes]) -> None:
    """Create the folder `path` with the given file names and contents.

    Raises:
        OutputError: the folder exists and is not empty, or cannot be written.
    """
    check_folder_target(path)
    try:
        target = Path(os.path.realpath(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = _beside(target)
        try:
            temporary.mkdir()
            for name, data in files.items():
                _write_through(temporary / name, data)
            _sync_folder(temporary)
            os.replace(temporary, target)  # fails on a folder that was filled meanwhile
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        _sync_folder(target.parent)
    except OSError as error:
        raise _refusal(path, error) from error


def check_ordinary(path: Path) -> None:
    """Refuse what is neither file nor folder, where the folder that it is in may be a stranger's.

    Raises:
        OutputError: it is a link, a pipe, a device or a socket.
    """
    try:
        mode = os.lstat(path).st_mode
    except (OSError, ValueError):
        return  # nothing is there, or writing will say why not
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OutputError(
            f"{path}: is {kind_of(mode)}, which may lead out of the folder. Remove it, or give "
            "another name."
        )


def check_name(path: Path) -> None:
    """Refuse what cannot be the name of a file or folder: too long, or a circle of links.

    Raises:
        OutputError: there can be no such file, or nobody may look whether there is one.
    """
    _status(path)


def make_folder(path: Path) -> None:
    """Create a folder and its parents where they are missing, so that a power cut keeps them."""
    folder = Path(os.path.realpath(path))
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    for place in reversed(missing):
        place.mkdir(exist_ok=True)
        _sync_folder(place.parent)


def check_folder_target(path: Path) -> None:
    """Refuse a target whose present content a new folder would replace.

    Raises:
        OutputError: `path` is a file, or a folder that is not empty.
    """
    status = _status(path)
    if status is None:
        return
    if not stat.S_ISDIR(status.st_mode):
        what, advice = "file", ", or remove the file first"
        if is_stream(path):
            what, advice = "pipe, device or open file", ""
        raise OutputError(
            f"{path}: a {what} of that name exists, but a folder is to be written. "
            f"Give another name{advice}."
        )
    try:
        filled = any(path.iterdir())
    except OSError as error:
        raise _refusal(path, error) from error
    if filled:
        raise OutputError(
            f"{path}: the folder exists and is not empty, and nothing in it is overwritten. "
            "Give a new folder, or remove this one first."
        )


def check_place(path: Path) -> None:
    """Refuse a target that cannot be written where it is, before long work.

    Raises:
        OutputError: something else is in the way, or nothing may be written there.
    """
    if is_stream(path):
        if descriptor_of(path) is None and not os.access(path, os.W_OK):
            raise OutputError(f"{path}: may not be written to. Give another name.")
        return
    try:
        parents = Path(os.path.realpath(path)).parents
    except OSError as error:  # the current folder is gone
        raise _refusal(path, error) from error
    place = next((folder for folder in parents if os.path.exists(folder)), None)
    if place is None:
        raise OutputError(f"{path}: is no name of a file. Give another name.")
    if not place.is_dir():
        raise OutputError(f"{path}: {place} is a file and not a folder. Give another name.")
    if not os.access(place, os.W_OK):
        raise OutputError(f"{path}: nothing may be written into {place}. Give another folder.")


def descriptor_of(path: Path) -> int | None:
    """Return the descriptor that a path stands for, such as 1 for /dev/stdout; None for others."""
    folders = {os.path.realpath(folder) for folder in ("/dev/fd", "/proc/self/fd")}
    place = str(path)
    for _ in range(_MOST_LINKS):
        folder, name = os.path.split(place)
        folder = os.path.realpath(folder)
        if folder in folders and name.isascii() and name.isdecimal():
            return int(name)
        place = os.path.join(folder, name)
        if not os.path.islink(place):
            return None
        place = os.path.join(folder, os.readlink(place))
    return None


def _status(path: Path) -> os.stat_result | None:
    """What is at `path`, through links; None where nothing is."""
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError as error:
        raise OutputError(
            f"{str(path)!r}: no file can have this name ({error}). Give another name."
        ) from error
    except OSError as error:
        raise _refusal(path, error) from error


def is_stream(path: Path) -> bool:
    """Whether `path` is a pipe, a device or an open file, which is written to and not replaced."""
    status = _status(path)
    if status is None or stat.S_ISDIR(status.st_mode):
        return False
    if descriptor_of(path) is not None:
        return True
    if stat.S_ISSOCK(status.st_mode) or stat.S_ISBLK(status.st_mode):
        raise OutputError(f"{path}: is a socket or a disk and not a file. Give another name.")
    return not stat.S_ISREG(status.st_mode)


def _pour(path: Path, data: bytes) -> None:
    """Write to something that exists, without creating, emptying or replacing it."""
    try:
        number = descriptor_of(path)
        # An open file is not opened again: that would write over its beginning.
        descriptor = _open_for_writing(path) if number is None else os.dup(number)
        try:
            rest = memoryview(data)
            while rest:
                try:
                    rest = rest[os.write(descriptor, rest) :]
                except BlockingIOError:  # a pipe that is full, and that somebody made not to wait
                    select.select([], [descriptor], [])
        finally:
            os.close(descriptor)
    except OSError as error:
        raise OutputError(f"{path}: cannot write ({error.strerror or error}).") from error


def _open_for_writing(path: Path) -> int:
    flags = (getattr(os, name, 0) for name in ("O_WRONLY", "O_NOCTTY", "O_BINARY"))
    return os.open(path, sum(flags))


def _beside(target: Path) -> Path:
    # In the same folder, because a rename is atomic only within one file system. The mode of the
    # new file follows the user's umask, which tempfile would override. A character of the name
    # takes up to four bytes of the 255 that a name may have.
    return target.with_name(f".{target.name[:50]}.{secrets.token_hex(6)}.tmp")


def _write_through(path: Path, data: bytes) -> None:
    with path.open("xb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def _sync_folder(folder: Path) -> None:
    # Makes the rename durable; some systems cannot open folders, and there it is best effort.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _refusal(path: Path, error: OSError) -> OutputError:
    reason = error.strerror or str(error)
    return OutputError(f"{path}: cannot write ({reason}). Nothing was changed.")
