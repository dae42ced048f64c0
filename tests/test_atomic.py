"""Writing that succeeds as a whole or leaves everything as it was."""

from __future__ import annotations

import os

import pytest

from graphscore.atomic import check_folder_target, write_file, write_folder
from graphscore.errors import OutputError


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def full_disk(descriptor):
    raise OSError(28, "No space left on device")


def test_write_file_creates_parents_and_replaces(tmp_path):
    path = tmp_path / "a" / "b" / "file.bin"
    write_file(path, b"one")
    write_file(path, b"two")
    assert path.read_bytes() == b"two"
    assert names(path.parent) == ["file.bin"]


@pytest.mark.parametrize("function", ["replace", "fsync"])
def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch, function):
    """The old content stays, no temporary file does, the message names file and reason."""
    path = tmp_path / "file.bin"
    write_file(path, b"old")

    def fail(*args):
        full_disk(None)

    monkeypatch.setattr(os, function, fail)
    with pytest.raises(OutputError, match="No space left on device") as caught:
        write_file(path, b"new")
    assert str(path) in str(caught.value)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file.bin"]


def test_an_interrupt_leaves_nothing_behind(tmp_path, monkeypatch):
    """Ctrl-C during a write goes on as Ctrl-C."""

    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_file(tmp_path / "file", b"x")
    with pytest.raises(KeyboardInterrupt):
        write_folder(tmp_path / "folder", {"a": b"x"})
    assert names(tmp_path) == []


def test_targets_that_cannot_be_written(tmp_path):
    """A folder in the place of the file, a file in the place of a folder."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "folder", tmp_path / "file" / "below"):
        with pytest.raises(OutputError, match="cannot write") as caught:
            write_file(path, b"x")
        assert str(path) in str(caught.value)
    assert names(tmp_path) == ["file", "folder"]


def test_links_are_followed(tmp_path):
    """Through a symbolic link, the file it points to is replaced and not the link."""
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    write_file(link, b"new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_long_names_and_permissions(tmp_path):
    """Names near the limit of file systems work; the mode follows the umask."""
    path = tmp_path / ("x" * 250)
    before = os.umask(0o027)
    try:
        write_file(path, b"x")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("exists", [False, True])
def test_write_folder_into_new_or_empty(tmp_path, exists):
    path = tmp_path / "a" / "out"
    if exists:
        path.mkdir(parents=True)
    write_folder(path, {"x.txt": b"1", "y.txt": b"2"})
    assert names(path) == ["x.txt", "y.txt"]
    assert (path / "x.txt").read_bytes() == b"1"
    assert names(path.parent) == ["out"]


def test_write_folder_overwrites_nothing(tmp_path):
    """A filled folder or a file is refused, and kept."""
    filled, file = tmp_path / "filled", tmp_path / "file"
    filled.mkdir()
    (filled / "mine").write_text("mine")
    file.write_text("mine")
    for path, message in [(filled, "not empty"), (file, "a file of that name exists")]:
        with pytest.raises(OutputError, match=message) as caught:
            write_folder(path, {"x": b"1"})
        assert str(path) in str(caught.value)
        with pytest.raises(OutputError, match=message):
            check_folder_target(path)
    assert names(filled) == ["mine"]
    assert file.read_text() == "mine"
    check_folder_target(tmp_path / "new")


def test_a_failed_folder_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OutputError, match="No space left"):
        write_folder(tmp_path / "out", {"x": b"1", "y": b"2"})
    assert names(tmp_path) == []
