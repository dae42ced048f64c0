"""Find source files in the data folder or download them, and verify them by sha256."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
import urllib.request
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

from graphscore.errors import DatasetError

DATA_VARIABLE = "GRAPHSCORE_DATA"
_TIMEOUT_SECONDS = 60


@dataclass(frozen=True)
class Archive:
    """A zip file on the network and its required members.

    Attributes:
        folder: folder of the members, inside the zip and inside the data folder alike.
        url: address of the zip.
        sha256: file name of each required member -> hex digest of its content.
    """

    folder: str
    url: str
    sha256: Mapping[str, str]


def data_folder(data_dir: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of source files: `data_dir`, else GRAPHSCORE_DATA, else the cache folder.

    The cache folder is `$XDG_CACHE_HOME/graphscore`, by default `~/.cache/graphscore`.

    Example:
        >>> data_folder("here").name
        'here'
    """
    chosen = data_dir or os.environ.get(DATA_VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "graphscore"


def fetch(archive: Archive, data_dir: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of the verified members of `archive`; download them if absent.

    Raises:
        DatasetError: a file is damaged, or is absent and cannot be downloaded.

    Example:
        >>> import hashlib, pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     _ = pathlib.Path(root, "set").mkdir()
        ...     _ = pathlib.Path(root, "set", "a.txt").write_bytes(b"1")
        ...     digests = {"a.txt": hashlib.sha256(b"1").hexdigest()}
        ...     fetch(Archive("set", "https://example.org/set.zip", digests), root).name
        'set'
    """
    root = data_folder(data_dir)
    target = root / archive.folder
    missing = [name for name in archive.sha256 if not (target / name).is_file()]
    if missing:
        _download(archive, root, missing)
    for name, expected in archive.sha256.items():
        check_file(target / name, expected, archive.url)
    return target


def check_file(path: Path, expected: str, url: str) -> None:
    """Verify the content of a file.

    Args:
        path: a file that exists.
        expected: hex digest (sha256) of its content.
        url: where the original file is.

    Raises:
        DatasetError: the file cannot be read, or its content differs.
    """
    try:
        actual = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error}. Check its permissions.") from error
    if actual != expected:
        raise DatasetError(
            f"{path} is damaged or of another version: its sha256 is {actual}, expected "
            f"{expected}. Delete it and load the dataset again, or replace it by the file from "
            f"{url}."
        )


def _download(archive: Archive, root: Path, missing: list[str]) -> None:
    """Download the missing members of `archive` to `root`: all of them, verified, or none."""
    target = root / archive.folder
    was_there = root.exists()
    try:
        root.mkdir(parents=True, exist_ok=True)
        # Inside the data folder, so that the final move stays on one disk and is atomic.
        with tempfile.TemporaryDirectory(dir=root, prefix=".download-") as scratch:
            packed = Path(scratch, "archive.zip")
            with (
                urllib.request.urlopen(archive.url, timeout=_TIMEOUT_SECONDS) as response,
                packed.open("wb") as sink,
            ):
                shutil.copyfileobj(response, sink)
            _extract(archive, packed, Path(scratch))
            for name, expected in archive.sha256.items():
                _check_member(Path(scratch, name), expected, archive.url)
            target.mkdir(exist_ok=True)
            # Only absent files are moved: an existing file of the user is never replaced.
            for name in missing:
                os.replace(Path(scratch, name), target / name)
    except (OSError, HTTPException, KeyError, zipfile.BadZipFile) as error:
        raise DatasetError(
            f"{target} lacks {', '.join(missing)}, and downloading {archive.url} failed "
            f"({type(error).__name__}: {error}). Check the network, or download that file by hand "
            f"and unpack it so that {target / missing[0]} exists; another folder can be chosen "
            f"with the environment variable {DATA_VARIABLE}, --data-dir or the argument data_dir."
        ) from error
    finally:
        if not was_there:
            with contextlib.suppress(OSError):
                root.rmdir()  # only if it is empty


def _extract(archive: Archive, packed: Path, into: Path) -> None:
    """Unpack only the required members, under their own names (no paths from the archive)."""
    with zipfile.ZipFile(packed) as bundle:
        for name in archive.sha256:
            with (
                bundle.open(f"{archive.folder}/{name}") as source,
                (into / name).open("wb") as sink,
            ):
                shutil.copyfileobj(source, sink)


def _check_member(path: Path, expected: str, url: str) -> None:
    """Verify the content of a downloaded member."""
    actual = hashlib.sha256(path.read_bytes()).hexdigest()
    if actual != expected:
        raise DatasetError(
            f"{url}: {path.name} has sha256 {actual}, expected {expected}; nothing was kept. The "
            "download was damaged or the archive has changed: try again, or put the original file "
            f"into the data folder ({DATA_VARIABLE}) by hand."
        )
