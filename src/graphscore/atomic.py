"""Writing that succeeds as a whole or leaves everything as it was."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path

from graphscore.errors import OutputError


def write_file(path: Path, data: bytes) -> None:
    """Replace `path` by a file holding `data`, creating parent folders.

    Raises:
        OutputError: the file cannot be written; an older file is then still intact.
    """
    try:
        # Through a symbolic link, the file it points to is replaced and not the link.
        target = Path(os.path.realpath(path))
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
    try:
        check_folder_target(path)
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


def check_folder_target(path: Path) -> None:
    """Refuse a target whose present content a new folder would replace.

    Raises:
        OutputError: `path` is a file, or a folder that is not empty.
    """
    if path.is_dir():
        if any(path.iterdir()):
            raise OutputError(
                f"{path}: the folder exists and is not empty, and nothing in it is overwritten. "
                "Give a new folder, or remove this one first."
            )
    elif path.exists():
        raise OutputError(
            f"{path}: a file of that name exists, but a folder is to be written. "
            "Give another name, or remove the file first."
        )


def check_place(path: Path) -> None:
    """Refuse a target whose folder is not there and cannot be made, before long work.

    Raises:
        OutputError: something else is in the way, or nothing may be written there.
    """
    place = next(folder for folder in path.absolute().parents if folder.exists())
    if not place.is_dir():
        raise OutputError(f"{path}: {place} is a file and not a folder. Give another name.")
    if not os.access(place, os.W_OK):
        raise OutputError(f"{path}: nothing may be written into {place}. Give another folder.")


def _beside(target: Path) -> Path:
    # In the same folder, because a rename is atomic only within one file system. The mode of the
    # new file follows the user's umask, which tempfile would override.
    return target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.tmp")


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
