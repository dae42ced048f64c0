"""Help ends with an example that works, and completion is installed where the shell looks."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess

import pytest

from graphscore.cli.examples import EXAMPLES
from graphscore.cli.main import app


def test_every_command_has_an_example():
    assert set(EXAMPLES) == {name for name in app if not name.startswith("-")}


@pytest.mark.parametrize("command", EXAMPLES)
def test_examples_are_accepted_and_end_the_help(call, command):
    """Every option is one of the command, and nothing that it needs is missing."""
    words = shlex.split(EXAMPLES[command])
    assert words[:2] == ["graphscore", command]
    app.parse_args(words[1:], exit_on_error=False, print_error=False)
    lines = call(command, "--help").out.rstrip().split("\n\n")[-1]
    assert " ".join(lines.split()) == f"Example: {EXAMPLES[command]}"


def test_paragraphs_of_help_are_not_broken(program):
    """Lines are as wide as the terminal, not as in the code."""
    shell = {**os.environ, "COLUMNS": "400"}
    done = subprocess.run([*program, "demo", "--help"], capture_output=True, text=True, env=shell)
    assert (
        "metrics.json and samples.png. The EDP-GNN that comes with the package is sampled"
        in done.stdout
    )


def test_completion_is_installed_and_completes(program, tmp_path, monkeypatch):
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    monkeypatch.setenv("HOME", str(tmp_path))
    done = subprocess.run(
        [*program, "--install-completion", "--shell", "bash"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    (script,) = (tmp_path / ".local/share/bash-completion/completions").iterdir()
    assert str(script) in (tmp_path / ".bashrc").read_text()
    ask = f"""
    source {shlex.quote(str(script))}
    COMP_WORDS=(graphscore train --ste) COMP_CWORD=2
    _graphscore graphscore --ste train
    echo "${{COMPREPLY[@]}}"
    """
    said = subprocess.run([bash, "-c", ask], capture_output=True, text=True)
    assert said.stdout.split() == ["--steps"]


def test_other_shells_are_refused(call):
    outcome = call("--install-completion", "--shell", "tcsh")
    assert outcome.code == 2
    assert '"bash"' in outcome.err
