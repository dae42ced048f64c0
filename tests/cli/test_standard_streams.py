"""Standard streams that are closed, full or without a reader, in real processes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from graphscore.artifacts import read_checkpoint
from graphscore.cli.main import main
from graphscore.graphs import read_graphs

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="streams of POSIX systems")
needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
SECONDS = 240
_FIT = """
from pathlib import Path
from graphscore import GraphGenerator, read_graphs
from graphscore.config import merge, read_config

settings = merge(read_config(Path("tiny.toml")), {"training": {"steps": 3}})
GraphGenerator.from_settings(settings).fit(read_graphs("graphs.g6"), run="python")
"""


def _closing(*descriptors: int):
    """Close standard streams in the new process, as the shell's `2>&-` does."""

    def close() -> None:
        for descriptor in descriptors:
            os.close(descriptor)

    return close


def _without_reader() -> int:
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def _hung_up() -> int:
    """A terminal whose other side is gone."""
    master, slave = os.openpty()
    os.close(master)
    return slave


@needs_full
def test_training_ends_and_is_kept_whatever_the_streams(place, program, environment):
    """Only a lost report on standard output changes the exit code, after everything is saved."""
    ends = [os.open("/dev/full", os.O_WRONLY), _without_reader(), _without_reader(), _hung_up()]
    full, broken_output, broken_errors, terminal = ends
    cases = {
        "closed": (0, {"preexec_fn": _closing(0, 1, 2)}),
        "broken": (141, {"stdout": broken_output, "stderr": broken_errors}),
        "full": (2, {"stdout": full, "stderr": full}),
        "python": (0, {"stdout": subprocess.PIPE, "stderr": terminal}),
    }
    options = ["--config", "tiny.toml", "--steps", "3"]
    commands = {
        name: [*program, "train", "graphs.g6", "--out", name, *options] for name in cases
    } | {"python": [sys.executable, "-c", _FIT]}
    processes = {
        name: subprocess.Popen(
            commands[name], env={**environment, "TERM": "xterm"}, text=True, **streams
        )
        for name, (_, streams) in cases.items()
    }
    for process in processes.values():
        process.communicate(timeout=SECONDS)
    for end in ends:
        os.close(end)
    assert {name: process.returncode for name, process in processes.items()} == {
        name: code for name, (code, _) in cases.items()
    }
    for name in cases:
        assert read_checkpoint(place / name)[0].step == 3, name
        lines = (place / name / "log.jsonl").read_text().splitlines()
        assert [json.loads(line)["step"] for line in lines] == [1, 2, 3], name


@pytest.mark.parametrize(
    "arguments", [["--version"], ["--help"], ["train", "--help"], ["datasets", "--json"]]
)
def test_a_reader_that_goes_away_ends_the_program_quietly(program, environment, arguments):
    """`graphscore --help | true`: 141, and nothing said, not even by the interpreter at its end."""
    output = _without_reader()
    done = subprocess.run(
        [*program, *arguments], env=environment, stdout=output, stderr=subprocess.PIPE
    )
    os.close(output)
    assert (done.returncode, done.stderr) == (141, b"")


@needs_full
def test_full_and_closed_output(program, environment):
    """A lost answer is told; where nobody wanted one, nothing is lost."""
    with Path("/dev/full").open("w") as full:
        run = partial(subprocess.run, env=environment, stdout=full)
        done = run([*program, "--version"], stderr=subprocess.PIPE)
        # The command fails and cannot even say so.
        silent, wrong = (run([*program, word], stderr=full) for word in ("--version", "trian"))
    assert done.returncode == 2
    assert done.stderr.startswith(b"graphscore: standard output cannot be written")
    assert done.stderr.count(b"\n") == 1
    assert (silent.returncode, wrong.returncode) == (2, 2)
    closed = subprocess.run(
        [*program, "--version"], env=environment, stderr=subprocess.PIPE, preexec_fn=_closing(0, 1)
    )
    assert (closed.returncode, closed.stderr) == (0, b"")


def test_graphs_go_through_a_pipe_and_nothing_else(place, program, environment):
    """`sample -o /dev/stdout | ...`: what is said goes to standard error."""
    command = [*program, "sample", "run", "-n", "3", "-o", "/dev/stdout", "--format", "graph6"]
    done = subprocess.run(command, env=environment, capture_output=True, timeout=SECONDS)
    assert done.returncode == 0
    assert b"3 graphs written to /dev/stdout" in done.stderr
    (place / "read.g6").write_bytes(done.stdout)
    assert len(read_graphs(place / "read.g6")) == 3
    assert done.stdout.count(b"\n") == 3

    output = _without_reader()
    lost = subprocess.run(command, env=environment, stdout=output, stderr=subprocess.PIPE)
    os.close(output)
    assert lost.returncode == 141
    assert b"Traceback" not in lost.stderr


def test_graphs_are_appended_to_standard_output(place, capfd):
    """In the shell `>> FILE`; with --json and through a link as well."""
    (place / "link").symlink_to("/dev/stdout")
    before = sorted(path.name for path in place.iterdir())
    for arguments in (
        ["sample", "run", "-n", "1", "-o", "/dev/stdout", "--format", "graph6"],
        ["sample", "run", "-n", "1", "-o", "link", "--format", "graph6", "--json"],
        ["sample", "run", "-n", "1", "-o", "/dev/stdout", "--format", "edgelist"],
        ["datasets", "export", "tree", "-o", "/dev/fd/1", "--format", "graph6"],
    ):
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        shown = capfd.readouterr()
        assert stopped.value.code == 0
        assert arguments[arguments.index("-o") + 1] in shown.err
        edges = arguments[-1] == "edgelist"
        assert re.fullmatch(r"# nodes: \d+\n(\d+ \d+\n)*" if edges else r"([?-~]+\n)+", shown.out)
    assert sorted(path.name for path in place.iterdir()) == before
