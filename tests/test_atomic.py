"""Writing that succeeds as a whole or leaves everything as it was."""

from __future__ import annotations

import os
import socket
import stat
import threading
from pathlib import Path

import networkx as nx
import pytest

from graphscore.artifacts import RunFolder
from graphscore.atomic import (
    check_folder_target,
    check_name,
    check_place,
    descriptor_of,
    write_file,
    write_folder,
)
from graphscore.errors import OutputError
from graphscore.graphs import write_graphs
from graphscore.plots import draw_comparison


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


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs links and named pipes")
@pytest.mark.parametrize("kind", ["link", "link to nothing", "circle", "pipe", "file", "nothing"])
def test_what_is_not_followed_is_replaced(tmp_path, kind):
    """Nothing is written elsewhere; links above the file are the caller's and are followed."""
    outside, folder = tmp_path / "outside", tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "above").symlink_to("folder")
    path = tmp_path / "above" / "file"
    {
        "link": lambda: (outside.write_text("mine"), path.symlink_to(outside)),
        "link to nothing": lambda: path.symlink_to(outside),
        "circle": lambda: path.symlink_to(path),
        "pipe": lambda: os.mkfifo(path),
        "file": lambda: path.write_text("old"),
        "nothing": lambda: None,
    }[kind]()
    write_file(path, b"new", follow_links=False)
    assert stat.S_ISREG(os.lstat(folder / "file").st_mode)
    assert path.read_text() == "new"
    assert names(folder) == ["file"]
    assert names(tmp_path) == ["above", "folder", *(["outside"] if kind == "link" else [])]
    assert kind != "link" or outside.read_text() == "mine"


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


needs_fifos = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")


@needs_fifos
@pytest.mark.parametrize("linked", [False, True])
def test_a_named_pipe_is_written_to_and_stays_one(tmp_path, linked):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    path = pipe
    if linked:
        path = tmp_path / "link"
        path.symlink_to("pipe")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        check_place(path)
        write_file(path, b"graphs")
        assert os.read(reader, 100) == b"graphs"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    with pytest.raises(OutputError, match="a pipe, device or open file") as caught:
        write_folder(path, {"a": b"x"})
    assert "remove" not in str(caught.value)


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="needs devices")
def test_a_device_is_written_to_and_stays_one(tmp_path):
    """Also where nothing may be created beside it; what is refused names the reason."""
    link = tmp_path / "nowhere"
    link.symlink_to("/dev/null")
    for path in (Path("/dev/null"), link):
        check_place(path)
        write_file(path, b"x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert link.is_symlink()
    if os.path.exists("/dev/full"):
        with pytest.raises(OutputError, match="/dev/full: cannot write"):
            write_file(Path("/dev/full"), b"x")
        assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


@pytest.mark.skipif(not os.path.exists("/dev/fd/0"), reason="needs /dev/fd")
def test_an_open_file_is_written_to_where_it_stands(tmp_path):
    """As the shell's `>>` wants it: not replaced, and nothing in it overwritten."""
    with (tmp_path / "file").open("wb") as stream:
        stream.write(b"before ")
        stream.flush()
        path = Path(f"/dev/fd/{stream.fileno()}")
        assert descriptor_of(path) == stream.fileno()
        check_place(path)
        write_file(path, b"after")
        with pytest.raises(OutputError, match="open file of that name exists") as caught:
            check_folder_target(path)
        assert "remove" not in str(caught.value)
    assert (tmp_path / "file").read_bytes() == b"before after"
    assert names(tmp_path) == ["file"]
    assert descriptor_of(tmp_path / "file") is None


@needs_fifos
def test_a_full_pipe_that_does_not_wait_is_waited_for():
    """As some programs leave the pipe that is their standard output."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    data, read = bytes(1_000_000), []

    def read_all():
        with os.fdopen(reader, "rb") as stream:
            read.append(stream.read())

    thread = threading.Thread(target=read_all)
    try:
        # More than a pipe holds, before somebody reads.
        timer = threading.Timer(0.2, thread.start)
        timer.start()
        write_file(Path(f"/dev/fd/{writer}"), data)
    finally:
        os.close(writer)
    timer.join()
    thread.join()
    assert read == [data]


@needs_fifos
def test_a_pipe_without_a_reader_is_told_by_its_cause(tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        with pytest.raises(OutputError) as caught:
            write_file(Path(f"/dev/fd/{writer}"), b"x")
    finally:
        os.close(writer)
    assert isinstance(caught.value.__cause__, BrokenPipeError)


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="needs sockets with names")
def test_a_socket_is_refused_and_stays_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        for refuse in (check_place, lambda path: write_file(path, b"x")):
            with pytest.raises(OutputError, match="socket"):
                refuse(Path("socket"))
    assert stat.S_ISSOCK((tmp_path / "socket").stat().st_mode)


def _impossible(folder):
    circle = folder / "circle"
    circle.symlink_to(circle)
    return [folder / "a\0b", folder / "a\ud800b", folder / ("a" * 5000), circle, circle / "x"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows refuses other names")
def test_names_that_no_file_can_have_are_refused(tmp_path):
    for path in _impossible(tmp_path):
        for refuse in (
            check_name,
            check_place,
            check_folder_target,
            lambda path: write_file(path, b"x"),
            lambda path: write_folder(path, {"a": b"x"}),
            lambda path: write_graphs(path, [nx.path_graph(2)], format="graph6"),
            lambda path: RunFolder(path).check_new(),
        ):
            with pytest.raises(OutputError):
                refuse(path)
        with pytest.raises(OutputError):
            draw_comparison({"x": [nx.path_graph(2)]}, path / "x.png")
    assert names(tmp_path) == ["circle"]


def test_names_of_many_bytes_can_be_written(tmp_path):
    """The temporary name is short enough where characters take four bytes each."""
    path = tmp_path / ("🙂" * 62)
    write_file(path, b"x")
    assert path.read_bytes() == b"x"


def test_a_link_is_as_writable_as_the_place_it_points_to(tmp_path):
    """A link through a file points nowhere, whatever folder the link itself is in."""
    (tmp_path / "file").write_text("x")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "file" / "below")
    with pytest.raises(OutputError, match="is a file and not a folder"):
        check_place(link)


def test_the_root_is_no_name_of_a_file():
    with pytest.raises(OutputError, match="/: is no name of a file"):
        check_place(Path("/"))
