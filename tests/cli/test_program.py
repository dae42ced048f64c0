"""The program itself: quick help, versions, exit codes of real processes."""

from __future__ import annotations

import subprocess
import sys

import pytest

import graphscore

COMMANDS = ["train", "sample", "evaluate", "split", "demo", "info", "bench", "datasets"]
_HELP = """
import sys
from graphscore.cli.main import main
try:
    main(["--help"])
except SystemExit as stopped:
    assert stopped.code == 0, stopped.code
heavy = {"torch", "networkx", "scipy", "matplotlib"} & set(sys.modules)
assert not heavy, heavy
"""


def test_help_imports_no_heavy_library():
    """Help answers at once: neither torch, networkx, scipy nor matplotlib is imported."""
    done = subprocess.run([sys.executable, "-c", _HELP], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all(command in done.stdout for command in COMMANDS)


def test_exit_codes_of_the_installed_program(program, tmp_path):
    """0 and a version on standard output; 2, a message and no traceback on standard error."""
    good = subprocess.run([*program, "--version"], capture_output=True, text=True)
    assert (good.returncode, good.stdout.strip()) == (0, graphscore.__version__)
    bad = subprocess.run(
        [*program, "train", "missing.g6", "--out", "run"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert (bad.returncode, bad.stdout) == (2, "")
    assert "missing.g6: no such file or folder" in bad.stderr
    assert "Traceback" not in bad.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_goes_away_gets_no_traceback(program):
    """`graphscore datasets | head -1` ends quietly."""
    writer = subprocess.Popen(
        [*program, "datasets", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert writer.stdout is not None
    writer.stdout.close()
    assert writer.stderr is not None
    assert b"Traceback" not in writer.stderr.read()
    writer.stderr.close()
    assert writer.wait() in (0, 141)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(call, command):
    outcome = call(command, "--help")
    assert outcome.code == 0
    assert f"Usage: graphscore {command}" in outcome.out
    assert outcome.err == ""


def test_the_program_alone_shows_its_commands(call):
    outcome = call()
    assert outcome.code == 0
    assert all(command in outcome.out for command in COMMANDS)
