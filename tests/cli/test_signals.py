"""Signals: training stops with a checkpoint, everything else at once, with the usual exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from graphscore import atomic
from graphscore.artifacts import read_checkpoint
from graphscore.cli import demo as demo_module
from graphscore.cli import interrupt
from graphscore.cli import train as train_module
from graphscore.cli.interrupt import (
    STOP_SIGNALS,
    StopSignal,
    signals_end_the_program,
    stop_requested,
)
from graphscore.generator import GraphGenerator

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX systems")
SECONDS = 240
ENDLESS = 10**6
ENDLESS_LEVEL = 10**5  # of the six levels of a sampler
NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")


def _train(out: str) -> list[str]:
    options = ["--config", "tiny.toml", "--steps", str(ENDLESS)]
    return ["train", "graphs.g6", "--out", out, *options]


def _code(name: str) -> int:
    """128 + the number, which is not the same everywhere."""
    return 128 + getattr(signal, name)


def _wait_for(condition, process: subprocess.Popen[str] | None = None) -> None:
    ends = time.monotonic() + SECONDS
    while not condition():
        assert process is None or process.poll() is None, process and process.communicate()
        assert time.monotonic() < ends
        time.sleep(0.005)


def _lines(run: Path) -> int:
    log = run / "log.jsonl"
    return log.read_bytes().count(b"\n") if log.exists() else 0


def _assert_complete(run: Path, *, started: bool = True) -> None:
    """A run to continue from, and no half-written file."""
    document, _ = read_checkpoint(run)
    assert (document.step > 0) is started
    assert _lines(run) == document.step
    assert not list(run.glob(".*"))


def _send_when(condition, number: int) -> threading.Thread:
    """Send this process a signal as soon as something is so and the program handles it."""
    before = signal.getsignal(signal.SIGTERM)

    def wait_and_send() -> None:
        _wait_for(lambda: signal.getsignal(signal.SIGTERM) is not before and condition())
        os.kill(os.getpid(), number)

    thread = threading.Thread(target=wait_and_send)
    thread.start()
    return thread


@pytest.fixture
def begins(monkeypatch):
    """begins(object, name): an event that is set when that function is called."""

    def watch(where, name):
        event, function = threading.Event(), getattr(where, name)

        def begun(*arguments, **options):
            event.set()
            return function(*arguments, **options)

        monkeypatch.setattr(where, name, begun)
        return event

    return watch


@pytest.mark.parametrize("name", NAMES)
def test_training_stops_with_a_checkpoint(place, call, name):
    sender = _send_when(lambda: _lines(place / "new") > 0, getattr(signal, name))
    outcome = call(*_train("new"))
    sender.join()
    assert outcome.code == _code(name)
    assert "graphscore train graphs.g6 --out new --resume" in outcome.err
    _assert_complete(place / "new")


def test_the_first_of_many_signals_gives_the_code(place, program, environment):
    """As batch systems send them: a warning, then others while the checkpoint is written."""
    process = subprocess.Popen(
        [*program, *_train("new")],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    _wait_for(lambda: _lines(place / "new") > 0, process)
    process.send_signal(signal.SIGUSR1)
    while "stopping after this step" not in (line := process.stderr.readline()):
        assert line, "ended without a word"
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGTERM):
        process.send_signal(number)
    _, errors = process.communicate(timeout=SECONDS)
    assert "Traceback" not in errors
    assert process.returncode == _code("SIGUSR1")
    _assert_complete(place / "new")


def test_ignored_signals_stay_ignored(place, program, environment):
    """Under `nohup`, and in the background of a script, where Ctrl-C is meant for others."""

    def ignore() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    process = subprocess.Popen(
        [*program, *_train("new")],
        env=environment,
        preexec_fn=ignore,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _wait_for(lambda: _lines(place / "new") > 0, process)
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGINT)
    goes_on = _lines(place / "new") + 5
    _wait_for(lambda: _lines(place / "new") > goes_on, process)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=SECONDS) == 143
    _assert_complete(place / "new")


LOST = """
import os, signal, time
try:
    os.kill(os.getpid(), signal.{})
    time.sleep(0.1)
except BaseException:
    pass
"""


def test_a_signal_is_not_lost_where_modules_are_loaded(tmp_path, environment):
    """Modules written in C clear exceptions, or load what was interrupted once more."""
    (tmp_path / "lost.py").write_text(LOST.format("SIGTERM"))
    program = (
        "from graphscore.cli.interrupt import signals_end_the_program\n"
        "with signals_end_the_program():\n    import lost"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment)
    assert done.returncode == 143


def test_ctrl_c_while_the_commands_are_loaded_shows_no_traceback(tmp_path, environment):
    (tmp_path / "cyclopts.py").write_text(LOST.format("SIGINT"))
    done = subprocess.run(
        [sys.executable, "-c", "from graphscore.__main__ import main; main()"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (-signal.SIGINT, b"")


def test_a_signal_before_training_ends_at_once(place, call, tree, monkeypatch):
    """While graphs are read: nothing has been written."""
    load = train_module.load_to_train

    def interrupted(*arguments, **options):
        os.kill(os.getpid(), signal.SIGHUP)
        return load(*arguments, **options)

    monkeypatch.setattr(train_module, "load_to_train", interrupted)
    before = tree(place)
    handlers = [signal.getsignal(number) for number in STOP_SIGNALS]
    assert call(*_train("new")).code == 129
    assert tree(place) == before
    assert [signal.getsignal(number) for number in STOP_SIGNALS] == handlers


def test_a_signal_before_the_first_step_leaves_a_run(place, call, monkeypatch):
    """While the model is built: the run is there, to be resumed from its start."""
    fit = GraphGenerator.fit

    def interrupted(self, *arguments, **options):
        os.kill(os.getpid(), signal.SIGUSR2)
        return fit(self, *arguments, **options)

    monkeypatch.setattr(GraphGenerator, "fit", interrupted)
    outcome = call(*_train("new"))
    assert outcome.code == _code("SIGUSR2")
    assert "--resume" in outcome.err
    _assert_complete(place / "new", started=False)


@pytest.mark.parametrize("early", ["SIGUSR1", None], ids=["stopped", "finished"])
def test_a_signal_during_the_last_report(place, call, monkeypatch, early):
    """The run is kept; the code is that of the first signal."""
    report = train_module.report

    def interrupted(*arguments, **options):
        os.kill(os.getpid(), signal.SIGTERM)
        report(*arguments, **options)

    monkeypatch.setattr(train_module, "report", interrupted)
    if early is None:
        outcome = call(*_train("new")[:-1], 3)
        assert outcome.code == 143
    else:
        sender = _send_when(lambda: _lines(place / "new") > 0, getattr(signal, early))
        outcome = call(*_train("new"), "--json")
        sender.join()
        assert outcome.code == _code(early)
        assert json.loads(outcome.out)["finished"] is False
    _assert_complete(place / "new")


def test_an_impatient_ctrl_c_keeps_the_code_of_the_first_signal(monkeypatch):
    """In training and elsewhere; the second signal ends the program all the same."""
    monkeypatch.setattr(interrupt, "SAME_REQUEST_SECONDS", 0.0)
    with stop_requested() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop()
        with pytest.raises(StopSignal) as stopped:
            os.kill(os.getpid(), signal.SIGINT)
    assert (stopped.value.exit_code, stop.exit_code) == (143, 143)
    with signals_end_the_program():
        for number in (signal.SIGHUP, signal.SIGUSR1):
            with pytest.raises(StopSignal) as stopped:
                os.kill(os.getpid(), number)
            assert stopped.value.exit_code == 129


def test_a_signal_while_the_sampler_is_chosen(place, call, begins):
    """The choice takes long and is left at once; the trained model is complete."""
    toml = (place / "tiny.toml").read_text().replace("level = 2", f"level = {ENDLESS_LEVEL}")
    (place / "tiny.toml").write_text(toml)
    sender = _send_when(begins(GraphGenerator, "_select").is_set, signal.SIGTERM)
    outcome = call(*_train("new")[:-1], 3, "--validation", "graphs.g6")
    sender.join()
    assert outcome.code == 143
    _assert_complete(place / "new")


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_sampling_ends_at_once_and_writes_nothing(place, call, tree, begins, name):
    before = tree(place)
    sender = _send_when(begins(GraphGenerator, "sample").is_set, getattr(signal, name))
    assert call("sample", "run", "--steps-per-level", ENDLESS_LEVEL).code == _code(name)
    sender.join()
    assert tree(place) == before


def test_sampling_ends_while_it_waits_for_someone_to_read_from_a_pipe(place, call, begins):
    os.mkfifo(place / "pipe")
    sender = _send_when(begins(atomic, "_open_for_writing").is_set, signal.SIGUSR1)
    assert call("sample", "run", "-o", "pipe", "--format", "graph6").code == _code("SIGUSR1")
    sender.join()
    assert (place / "pipe").is_fifo()


AT_THE_END = """
import atexit, os, signal
atexit.register(lambda: [os.kill(os.getpid(), getattr(signal, name)) for name in {}])
from graphscore.__main__ import main
main()
"""


def test_signals_do_not_change_the_exit_code_of_a_command_that_has_ended(environment):
    """Ending takes a second, and batch systems send several."""
    done = subprocess.run(
        [sys.executable, "-c", AT_THE_END.format(NAMES), "--version"],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_demo_stops_with_a_checkpoint_and_samples_until_it_is_told_not_to(
    place, call, monkeypatch
):
    sender = _send_when(lambda: _lines(place / "X") > 0, signal.SIGTERM)
    outcome = call("demo", "--out", "X", "--steps", ENDLESS)
    sender.join()
    assert outcome.code == 143
    assert "the same command continues" in outcome.err
    step = read_checkpoint(place / "X")[0].step
    sample = demo_module._sample_and_evaluate

    def interrupted(*arguments, **options):
        os.kill(os.getpid(), signal.SIGHUP)
        sample(*arguments, **options)

    monkeypatch.setattr(demo_module, "_sample_and_evaluate", interrupted)
    assert call("demo", "--out", "X", "--steps", step).code == 129
    assert not (place / "X/samples.g6").exists()
