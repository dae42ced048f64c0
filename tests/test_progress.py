"""Progress: lines where nobody watches, a bar on a terminal, nothing when switched off."""

from __future__ import annotations

import os
import select
import sys
from types import SimpleNamespace

import pytest

from graphscore.progress import progress


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass only when a test says so."""
    now = SimpleNamespace(seconds=0.0)
    stopped = SimpleNamespace(monotonic=lambda: now.seconds)
    monkeypatch.setattr("graphscore.progress.time", stopped)
    return now


def test_lines_tell_how_far_and_how_long(clock, capsys):
    with progress("training", 10) as update:
        update(0, "")
        clock.seconds = 40
        update(4, "loss 3")
        clock.seconds = 100
        update(10, "loss 1")
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines() == [
        "training 4/10, about 60 s left  loss 3",
        "training 10/10, 100 s  loss 1",
    ]


def test_lines_come_now_and_then(clock, capsys):
    """Thousands of quick steps do not make thousands of lines, but the last one is shown."""
    with progress("training", 1000) as update:
        for step in range(1, 1001):
            clock.seconds += 0.1
            update(step, "")
    lines = capsys.readouterr().err.splitlines()
    assert 2 < len(lines) < 12
    assert lines[-1].startswith("training 1000/1000, 100 s")


def test_a_resumed_run_is_timed_by_what_it_does_itself(clock, capsys):
    with progress("training", 100) as update:
        update(80, "")
        clock.seconds = 20
        update(90, "")
    assert "90/100, about 20 s left" in capsys.readouterr().err


def test_switched_off_it_shows_nothing(clock, capsys):
    with progress("training", 2, enabled=False) as update:
        clock.seconds = 100
        update(1, "half")
        update(2, "all")
    assert capsys.readouterr() == ("", "")


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
def test_a_terminal_gets_a_bar(monkeypatch):
    """With description, count and the latest note."""
    master, slave = os.openpty()
    with os.fdopen(slave, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "120")
        with progress("training", 4) as update:
            update(1, "")
            update(4, "loss 0.25")
        monkeypatch.undo()
        terminal.flush()
        shown = ""
        while select.select([master], [], [], 0.2)[0]:
            shown += os.read(master, 4096).decode(errors="replace")
    os.close(master)
    assert "training" in shown
    assert "4/4" in shown
    assert "loss 0.25" in shown
