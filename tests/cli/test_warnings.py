"""Warnings of graphscore: one line on standard error, without the place in the code."""

from __future__ import annotations

import warnings

from graphscore.errors import GraphscoreWarning


def test_a_batch_that_does_not_fit_is_a_warning_of_one_line(place, call, monkeypatch):
    """Training goes on, and the line says what is done differently."""
    monkeypatch.setattr(
        "graphscore.training.micro_batches.available_memory", lambda device: 100_000
    )
    outcome = call("train", "graphs.g6", "--out", "new", "--config", "tiny.toml", "--steps", 2)
    assert outcome.code == 0
    (line,) = [line for line in outcome.err.splitlines() if "at a time" in line]
    assert line.startswith("graphscore: ")
    assert " noisy graphs padded to " in line
    assert line.endswith(" at a time (the gradient is the same).")
    assert "micro_batches.py" not in outcome.err
    assert "Warning" not in outcome.err


def test_other_warnings_are_shown_as_usual(place, call, monkeypatch):
    """And whoever calls the program in their own process keeps their way of showing them."""
    shown = warnings.showwarning

    def warn(*arguments, **keywords):
        warnings.warn("from elsewhere", RuntimeWarning, stacklevel=1)
        warnings.warn("from here", GraphscoreWarning, stacklevel=1)
        warnings.warn("from here", GraphscoreWarning, stacklevel=1)

    monkeypatch.setattr("graphscore.training.micro_batches.available_memory", warn)
    outcome = call("train", "graphs.g6", "--out", "new", "--config", "tiny.toml", "--steps", 1)
    assert outcome.code == 0
    assert "RuntimeWarning: from elsewhere" in outcome.err
    assert outcome.err.count("graphscore: from here\n") == 2
    assert warnings.showwarning is shown
