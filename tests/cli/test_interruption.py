"""Training that is stopped, at whatever moment, ends as if it never had been."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from graphscore.artifacts import read_checkpoint
from graphscore.cli import interrupt
from graphscore.cli.interrupt import stop_requested

STEPS = 120
_FIT = """
import sys
from pathlib import Path
from graphscore import GraphGenerator, read_graphs
from graphscore.config import merge, read_config

steps = {"training": {"steps": int(sys.argv[1])}}
settings = merge(read_config(Path("tiny.toml")), steps)
generator = GraphGenerator.from_settings(settings, show_progress=False)
generator.fit(read_graphs("graphs.g6"), run="new", checkpoint_seconds=0)
"""


def _arguments(out: str) -> list[str]:
    return ["train", "graphs.g6", "--out", out, "--config", "tiny.toml", "--steps", str(STEPS)]


def _steps(run: Path) -> list[int]:
    return [json.loads(line)["step"] for line in (run / "log.jsonl").read_text().splitlines()]


def _started(command: list[str], place: Path, environment: dict[str, str]) -> subprocess.Popen[str]:
    """Start a training and wait until it has logged a step."""
    process = subprocess.Popen(
        command,
        cwd=place,
        env=environment,
        text=True,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    log = place / "new/log.jsonl"
    while not (log.exists() and log.read_bytes().endswith(b"\n")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)
    return process


def _assert_ends_as_uninterrupted(call, place: Path) -> None:
    """Finish both runs and compare weights, averages and optimiser bit by bit, and the logs."""
    assert call(*_arguments("new"), "--resume").code == 0
    assert call(*_arguments("whole")).code == 0
    resumed, tensors = read_checkpoint(place / "new")
    whole, expected = read_checkpoint(place / "whole")
    assert resumed.step == whole.step == STEPS
    assert tensors.keys() == expected.keys()
    assert all(torch.equal(tensors[name], expected[name]) for name in expected)
    assert _steps(place / "new") == _steps(place / "whole") == list(range(1, STEPS + 1))
    losses = [
        [json.loads(line)["loss"] for line in (place / run / "log.jsonl").open()]
        for run in ("new", "whole")
    ]
    assert losses[0] == losses[1]


@pytest.mark.parametrize("options", [[], ["--max-seconds", "600"]], ids=["plain", "with limit"])
def test_ctrl_c_leaves_a_checkpoint_to_go_on_from(place, call, program, environment, options):
    """Exit code 130 and how to continue; the resumed run is bit-equal to one in one piece."""
    process = _started([*program, *_arguments("new"), *options], place, environment)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    document, _ = read_checkpoint(place / "new")
    assert 0 < document.step < STEPS
    assert _steps(place / "new") == list(range(1, document.step + 1))
    assert "graphscore train graphs.g6 --out new --resume" in errors
    assert "Traceback" not in errors
    assert process.returncode == 130
    if not options:
        _assert_ends_as_uninterrupted(call, place)


@pytest.mark.parametrize("checkpoints", ["every record", "at the start"])
def test_kill_at_any_moment_loses_only_time(place, call, program, environment, checkpoints):
    """Whatever a killed process leaves can be resumed, bit-equal to a run in one piece."""
    every = checkpoints == "every record"
    script = [sys.executable, "-c", _FIT, str(STEPS)]
    process = _started(script if every else [*program, *_arguments("new")], place, environment)
    time.sleep(random.uniform(0, 0.1))
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    document, _ = read_checkpoint(place / "new")
    assert document.step <= STEPS if every else document.step == 0
    _assert_ends_as_uninterrupted(call, place)


def test_max_seconds_stops_in_good_order(place, call):
    """Exit code 0, a run that says it is unfinished, and the way to go on."""
    stopped = call(*_arguments("new"), "--max-seconds", 0.1, "--json")
    assert stopped.code == 0
    record = json.loads(stopped.out)
    assert record["step"] < STEPS
    assert record["finished"] is False
    assert "--resume" in stopped.err
    _assert_ends_as_uninterrupted(call, place)


def test_no_time_at_all_still_leaves_a_run(place, call):
    """A run stopped before its first step can be shown, sampled from and resumed."""
    assert call(*_arguments("new"), "--max-seconds", 0).code == 0
    assert json.loads(call("info", "new", "--json").out)["step"] == 0
    assert call("info", "new").code == 0
    assert call("sample", "new", "-n", 2).code == 0
    resumed = call("train", "graphs.g6", "--out", "new", "--resume", "--max-seconds", 0.05)
    assert resumed.code == 0
    assert _steps(place / "new") == list(range(1, len(_steps(place / "new")) + 1))


def test_a_folder_left_before_the_first_checkpoint_can_be_used_again(place, call):
    """A process killed in its first moments leaves settings and an empty log, nothing to keep."""
    (place / "new").mkdir()
    (place / "new/settings.json").write_text("{}")
    (place / "new/log.jsonl").write_text("")
    outcome = call(*_arguments("new"), "--max-seconds", 0)
    assert outcome.code == 0, outcome.err


def _interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.05)  # gives the handler its turn


def test_the_second_ctrl_c_stops_at_once(capfd, monkeypatch):
    """The first one asks; afterwards Ctrl-C means what it meant before."""
    monkeypatch.setattr(interrupt, "SAME_REQUEST_SECONDS", 0.0)
    before = signal.getsignal(signal.SIGINT)
    with stop_requested() as stop:
        assert not stop()
        _interrupt()
        assert stop()
        assert "Ctrl-C again" in capfd.readouterr().err
        with pytest.raises(KeyboardInterrupt):
            _interrupt()
    assert signal.getsignal(signal.SIGINT) is before


def test_one_request_that_arrives_twice_is_one_request():
    """A terminal and `make` may both pass a signal on; the checkpoint must still be written."""
    with stop_requested() as stop:
        _interrupt()
        _interrupt()
        assert stop()
