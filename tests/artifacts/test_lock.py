"""One training at a time in a run folder; what a dead process left is in nobody's way."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from graphscore import GraphGenerator
from graphscore.artifacts import lock
from graphscore.artifacts.lock import LOCK, locked
from graphscore.errors import GraphscoreWarning, OutputError

from ..tiny_generator import GRAPHS, make

NOT_ALONE = r"is not an ordinary file of this folder alone\. Remove it\."
HOLDER = """
import sys
import warnings
from pathlib import Path
from graphscore.artifacts.lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def run(tmp_path):
    make(steps=9).fit(GRAPHS, run=tmp_path / "run", stop_at=2)
    return tmp_path / "run"


@pytest.fixture
def holder(run):
    """A process that holds the lock."""
    command = [sys.executable, "-c", HOLDER, str(run)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


def test_a_second_training_is_refused_at_once(run, holder):
    """It says who trains; everything stays as it was, and reading needs no lock."""
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    message = rf"is being trained by process {holder.pid} on host .* since .*another folder"
    with pytest.raises(OutputError, match=message):
        make(steps=9).fit(GRAPHS, run=run, resume=True)
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before
    generator = GraphGenerator.load(run, show_progress=False)
    with pytest.raises(OutputError, match="is being trained by process"):
        generator.select_sampling(GRAPHS, number=2, run=run)


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_killed_process_leaves_no_lock(run, holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert (run / LOCK).exists()
    assert make(steps=9).fit(GRAPHS, run=run, resume=True).step == 9
    assert not (run / LOCK).exists()


def test_the_lock_is_released_when_training_ends_or_fails(run):
    def fail(record):
        assert (run / LOCK).exists()
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        make(steps=9).fit(GRAPHS, run=run, resume=True, on_record=fail)
    assert not (run / LOCK).exists()
    with locked(run), pytest.raises(OutputError, match=f"process {os.getpid()} "), locked(run):
        pass
    assert make(steps=9).fit(GRAPHS, run=run, resume=True).step == 9
    assert not (run / LOCK).exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_does_not_release_the_lock(run):
    """When it leaves the block that it was forked in."""
    child = None
    try:
        with locked(run):
            child = os.fork()
            if child:
                assert os.waitpid(child, 0)[1] == 0
                with pytest.raises(OutputError, match="is being trained"), locked(run):
                    pass
    finally:
        if child == 0:
            os._exit(1 if sys.exc_info()[0] else 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_does_not_hold_the_lock(run):
    """It may outlive its parent, which was killed."""
    forking = HOLDER.replace('    print("held"', '    if not os.fork(): print("held"')
    command = [sys.executable, "-c", f"import os{forking}", str(run)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"held\n"
        process.kill()
        process.wait()
        with locked(run):  # while the fork, which has said so, still runs
            pass


def test_the_lock_of_another_host_is_mentioned(run):
    """Whether its process still runs cannot be seen from here."""
    left = {"pid": 4711, "host": "else\x1b[31mwhere", "since": "2026-01-01 10:00:00"}
    (run / LOCK).write_text(json.dumps(left))
    with pytest.warns(GraphscoreWarning, match=r"by process 4711 on host else\\x1b") as caught:
        make(steps=9).fit(GRAPHS, run=run, resume=True)
    assert "\x1b" not in str(caught[0].message)


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"pid": 1}', "\x00" * 3000])
def test_what_else_is_in_the_file_does_not_matter(run, content):
    (run / LOCK).write_text(content)
    assert make(steps=9).fit(GRAPHS, run=run, resume=True).step == 9


def test_a_file_system_without_locks(run, monkeypatch):
    """Training goes on, with a warning of what is not seen."""

    def no_locks(descriptor):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(lock, "_lock_now", no_locks)
    with pytest.warns(GraphscoreWarning, match=r"cannot be locked \(No locks available\)"):
        make(steps=9).fit(GRAPHS, run=run, resume=True)


@pytest.mark.parametrize("locks", [True, False])
def test_a_file_system_whose_numbers_of_files_differ(run, monkeypatch, locks):
    """Between an open file and its name: one warning, and training goes on."""
    asked = []

    def never(descriptor, path):
        asked.append(path)
        assert len(asked) < 1000, "asks for ever"
        return False

    def no_locks(descriptor):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(lock, "_is_at", never)
    if not locks:
        monkeypatch.setattr(lock, "_lock_now", no_locks)
    with pytest.warns(GraphscoreWarning, match="cannot be locked") as caught:
        assert make(steps=9).fit(GRAPHS, run=run, resume=True).step == 9
    assert len(caught) == 1


def test_a_killed_training_on_this_host_is_nobodys(run, monkeypatch):
    """Whatever the host is called."""
    monkeypatch.setattr(socket, "gethostname", lambda: "fünf 'hosts'")
    with locked(run):
        content = (run / LOCK).read_bytes()
    (run / LOCK).write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert make(steps=9).fit(GRAPHS, run=run, resume=True).step == 9


def test_a_refused_training_leaves_no_folder(tmp_path):
    """One that fails before it begins."""
    with pytest.raises(ValueError, match="stop"), locked(tmp_path / "new"):
        raise ValueError("stop")
    assert not (tmp_path / "new").exists()


def test_a_link_in_place_of_the_lock_is_not_followed(run, tmp_path):
    """Nothing is written into the file it points to."""
    other = tmp_path / "other"
    other.write_text("mine")
    try:
        (run / LOCK).symlink_to(other)
    except OSError:
        pytest.skip("no links here")
    with pytest.raises(OutputError, match=NOT_ALONE):
        make(steps=9).fit(GRAPHS, run=run, resume=True)
    assert Path(other).read_text() == "mine"


def test_a_lock_that_is_also_a_file_elsewhere_is_not_written(run, tmp_path):
    """The folder of a stranger may hold a hard link to a file of the user."""
    other = tmp_path / "other"
    other.write_text("mine")
    try:
        os.link(other, run / LOCK)
    except OSError:
        pytest.skip("no hard links here")
    with pytest.raises(OutputError, match=NOT_ALONE):
        make(steps=9).fit(GRAPHS, run=run, resume=True)
    assert other.read_text() == "mine"


def test_a_folder_in_place_of_the_lock_is_named(run):
    (run / LOCK).mkdir()
    with pytest.raises(OutputError, match=NOT_ALONE):
        make(steps=9).fit(GRAPHS, run=run, resume=True)
    (run / LOCK).rmdir()
    assert make(steps=9).fit(GRAPHS, run=run, resume=True).step == 9
