"""Find source files in the data folder or download them, and verify them by sha256."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

from graphscore.atomic import check_place, write_file
from graphscore.datasets.https import fetch_bytes
from graphscore.errors import DatasetError
from graphscore.regular import NotRegularError, open_regular

DATA_VARIABLE = "GRAPHSCORE_DATA"
MAX_BYTES = 2**25
"""Of an archive and of each source file; the largest known one has 2 MB."""


@dataclass(frozen=True)
class Archive:
    """A zip file on the network and its required members.

    Attributes:
        folder: folder of the members, inside the zip and inside the data folder alike.
        url: address of the zip, https.
        sha256: file name of each required member -> hex digest of its content.
    """

    folder: str
    url: str
    sha256: Mapping[str, str]


def data_folder(data_dir: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of source files: `data_dir`, else GRAPHSCORE_DATA, else the cache folder.

    The cache folder is `$XDG_CACHE_HOME/graphscore`, by default `~/.cache/graphscore`.

    Raises:
        DatasetError: there is no home folder, or no folder can have this name.

    Example:
        >>> data_folder("here").name
        'here'
    """
    chosen = data_dir or os.environ.get(DATA_VARIABLE)
    return _usable(Path(chosen)) if chosen else cache_folder()


def cache_folder() -> Path:
    """Return the folder of what can be made again: `$XDG_CACHE_HOME/graphscore`, see `data_folder`.

    Raises:
        DatasetError: as `data_folder`.

    Example:
        >>> cache_folder().name
        'graphscore'
    """
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return _usable(Path(f"{cache}/graphscore"))


def _usable(folder: Path) -> Path:
    try:
        folder = folder.expanduser()
        with contextlib.suppress(OSError):
            os.lstat(folder)
    except (RuntimeError, ValueError) as error:  # no home folder; a NUL or a lone surrogate
        reason = str(error).rstrip(".")
        raise DatasetError(
            f"{str(folder)!r} cannot be the folder of source files: {reason}. Choose one with the "
            f"environment variable {DATA_VARIABLE}, --data-dir or the argument data_dir."
        ) from None
    return folder


def fetch(archive: Archive, data_dir: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of the verified members of `archive`; download them if absent.

    Raises:
        DatasetError: a file is damaged, or is absent and cannot be downloaded.
        OutputError: the data folder cannot be written.

    Example:
        >>> import hashlib, pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     _ = pathlib.Path(root, "set").mkdir()
        ...     _ = pathlib.Path(root, "set", "a.txt").write_bytes(b"1")
        ...     digests = {"a.txt": hashlib.sha256(b"1").hexdigest()}
        ...     fetch(Archive("set", "https://example.org/set.zip", digests), root).name
        'set'
    """
    target = data_folder(data_dir) / archive.folder
    missing = [name for name in archive.sha256 if not (target / name).exists()]
    if missing:
        check_place(target / missing[0])
        members = _download(archive, target, missing)
        # Only absent files are written: an existing file of the user is never replaced.
        for name in missing:
            write_file(target / name, members[name])
    for name, expected in archive.sha256.items():
        read_verified(target / name, expected, archive.url)
    return target


def read_verified(path: Path, expected: str, url: str) -> bytes:
    """Return the content of a source file.

    Args:
        path: a file that exists.
        expected: hex digest (sha256) of its content.
        url: where the original file is.

    Raises:
        DatasetError: it is not a regular file, cannot be read, or its content differs.
    """
    try:
        with open_regular(path) as stream:
            content = stream.read(MAX_BYTES + 1)
    except NotRegularError as error:
        raise DatasetError(f"{path} is {error.strerror}. Put that of {url} there.") from error
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error}. Check its permissions.") from error
    actual = hashlib.sha256(content).hexdigest()
    if actual != expected:
        raise DatasetError(
            f"{path} is damaged or of another version: its sha256 is {actual}, expected "
            f"{expected}. Delete it and load the dataset again, or replace it by the file from "
            f"{url}."
        )
    return content


def _download(archive: Archive, target: Path, missing: list[str]) -> dict[str, bytes]:
    """Return the members of `archive` from the network, all of them verified."""
    try:
        members = _members(archive, fetch_bytes(archive.url, MAX_BYTES))
    except (OSError, HTTPException, zipfile.BadZipFile) as error:
        raise DatasetError(
            f"{target} lacks {', '.join(missing)}, and downloading {archive.url} failed "
            f"({type(error).__name__}: {error}). Check the network, or download that file by hand "
            f"and unpack it so that {target / missing[0]} exists; another folder can be chosen "
            f"with the environment variable {DATA_VARIABLE}, --data-dir or the argument data_dir."
        ) from error
    for name, content in members.items():
        actual, expected = hashlib.sha256(content).hexdigest(), archive.sha256[name]
        if actual != expected:
            raise DatasetError(
                f"{archive.url}: {name} has sha256 {actual}, expected {expected}; nothing was "
                "kept. The download was damaged or the archive has changed: try again, or put the "
                f"original file into the data folder ({DATA_VARIABLE}) by hand."
            )
    return members


def _members(archive: Archive, packed: bytes) -> dict[str, bytes]:
    """Unpack only the required members, by their own names (no paths from the archive)."""
    members = {}
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as bundle:
            for name in archive.sha256:
                info = bundle.getinfo(f"{archive.folder}/{name}")
                # Of other methods, a few bytes are unpacked at once to any size.
                if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise ValueError(f"{name} is compressed in an unusual way")
                with bundle.open(info) as source:
                    members[name] = source.read(MAX_BYTES + 1)
                if len(members[name]) > MAX_BYTES:
                    raise ValueError(f"{name} has more than the {MAX_BYTES} bytes allowed")
    except MemoryError:
        raise
    except Exception as error:  # zipfile and zlib raise many types on damaged files
        raise zipfile.BadZipFile(f"{type(error).__name__}: {error}") from error
    return members
