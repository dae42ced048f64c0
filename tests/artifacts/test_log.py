"""The log: what is damaged in it is left out, and what cannot be written is written later."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path

import pytest
import torch

from graphscore import GraphGenerator
from graphscore.artifacts import log as log_module
from graphscore.artifacts import read_document
from graphscore.artifacts.log import TrainingLog
from graphscore.artifacts.run_folder import LOG, SETTINGS, RunFolder
from graphscore.cli.main import main
from graphscore.errors import GraphscoreWarning, OutputError
from graphscore.training import Trainer

from ..tiny_generator import GRAPHS, make

BAD = {
    "flipped byte": b'{"step": 2, "lo\xffss": 1.0}',
    "NUL": b"\x00" * 20,
    "no object": b"[1, 2]",
    "no step": b'{"loss": 1.0}',
    "step of text": b'{"step": "2"}',
    "step of truth": b'{"step": true}',
    "negative step": b'{"step": -2}',
    "text": b'{"step": 2, "loss": "low"}',
    "nothing": b'{"step": 2, "loss": null}',
    "deep": b'{"step": 2, "loss": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "long": b'{"step": 2, "loss": ' + b" " * 3_000_000 + b"1}",
    "digits": b'{"step": ' + b"9" * 5000 + b"}",
}


@pytest.fixture
def run(tmp_path):
    make(steps=6).fit(GRAPHS, run=tmp_path / "run", stop_at=4)
    return tmp_path / "run"


def goes_on(run, capsys):
    """The model is shown and trained to its end; returns the steps in the log."""
    for options in ([], ["--json"]):
        with pytest.raises(SystemExit) as stopped:
            main(["info", str(run), *options])
        assert stopped.value.code == 0
    capsys.readouterr()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphscoreWarning)
        assert make(steps=6).fit(GRAPHS, run=run, resume=True).step == 6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return [record["step"] for record in RunFolder(run).log.records()]


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_line_is_left_out(run, capsys, kind):
    """The others stay, and one warning says how many are gone."""
    lines = (run / LOG).read_bytes().splitlines()
    lines[1] = BAD[kind]
    lines.insert(3, BAD[kind])
    (run / LOG).write_bytes(b"\n".join(lines) + b"\n")
    with pytest.warns(GraphscoreWarning, match="2 lines are no records") as caught:
        assert [record["step"] for record in RunFolder(run).log.records()] == [1, 3, 4]
    assert len(caught) == 1
    assert goes_on(run, capsys) == [1, 3, 4, 5, 6]


def test_a_record_without_a_loss_is_no_reason_to_fail(run, capsys):
    with (run / LOG).open("a") as stream:
        stream.write('{"step": 4}\n')
    assert goes_on(run, capsys) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("what", ["missing", "folder", "pipe"])
@pytest.mark.parametrize("name", [LOG, SETTINGS])
def test_something_else_in_place_of_a_file(run, capsys, name, what):
    """The model is still shown and trained; what was in the way is kept."""
    (run / name).unlink()
    if what == "folder":
        (run / name).mkdir()
        (run / name / "mine").touch()
    elif what == "pipe":
        if not hasattr(os, "mkfifo"):
            pytest.skip("no pipes here")
        os.mkfifo(run / name)
    assert goes_on(run, capsys) == ([1, 2, 3, 4, 5, 6] if name == SETTINGS else [5, 6])
    assert (run / f"{name}.old").exists() == (what != "missing")
    assert json.loads((run / SETTINGS).read_text())["model"] == "edp-gnn"


def test_damaged_settings_do_not_matter(run, capsys):
    """The checkpoint has them."""
    (run / SETTINGS).write_bytes(b"\xff\x00{")
    assert goes_on(run, capsys) == [1, 2, 3, 4, 5, 6]


@pytest.fixture
def full_disk(monkeypatch):
    """full_disk(fails): whether a file of that name cannot be written now."""
    state = {"fails": lambda name: False}
    opened = Path.open

    def open_path(self, mode="r", *arguments, **options):
        if "r" not in mode and state["fails"](self.name):
            raise OSError(28, "No space left on device")
        return opened(self, mode, *arguments, **options)

    monkeypatch.setattr(Path, "open", open_path)
    return lambda fails: state.update(fails=fails)


def test_lines_that_cannot_be_written_are_written_later(tmp_path, full_disk):
    """One warning for all of them; each record is there once."""
    run = tmp_path / "run"

    def on_record(record):
        full_disk(lambda name: name == LOG and record.step in (2, 3))

    with pytest.warns(GraphscoreWarning) as caught:
        make(steps=6).fit(GRAPHS, run=run, on_record=on_record)
    assert len(caught) == 1
    assert "Training goes on" in str(caught[0].message)
    assert [record["step"] for record in RunFolder(run).log.records()] == [1, 2, 3, 4, 5, 6]


def test_a_log_that_cannot_be_written_is_tried_ever_more_rarely(tmp_path, monkeypatch):
    """So that the time does not grow with the square of the lines; a checkpoint writes them all."""
    log, tried = TrainingLog(tmp_path / LOG), []

    def refuse():
        tried.append(len(log._unwritten))
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(log, "_open", refuse)
    with pytest.warns(GraphscoreWarning, match="Training goes on"):
        log.append({"step": 1})
    for step in range(2, 101):
        log.append({"step": step})
    assert tried == [1, 2, 4, 8, 16, 32, 64]
    monkeypatch.undo()
    log.sync()
    assert [record["step"] for record in log.records()] == list(range(1, 101))


def test_a_checkpoint_that_cannot_be_written_does_not_end_training(tmp_path, full_disk):
    """The next ones are tried; the warning comes once."""
    whole, run = make(steps=6).fit(GRAPHS), tmp_path / "run"

    def on_record(record):
        full_disk(lambda name: "checkpoint" in name and record.step in (1, 2, 3))

    with pytest.warns(GraphscoreWarning) as caught:
        ended = make(steps=6).fit(GRAPHS, run=run, checkpoint_seconds=0, on_record=on_record)
    assert len(caught) == 1
    assert "Training goes on" in str(caught[0].message)
    expected = whole.network.state_dict()
    assert all(torch.equal(expected[n], t) for n, t in ended.network.state_dict().items())
    assert GraphGenerator.load(run, show_progress=False).step == 6


def test_the_last_checkpoint_must_be_written(tmp_path, full_disk):
    """The error says from where training can be continued."""
    run = tmp_path / "run"

    def on_record(record):
        full_disk(lambda name: "checkpoint" in name and record.step >= 2)

    with (
        pytest.warns(GraphscoreWarning),
        pytest.raises(OutputError, match=r"No space left.*is that of step 2.*--resume"),
    ):
        make(steps=6).fit(GRAPHS, run=run, checkpoint_seconds=0, on_record=on_record)
    full_disk(lambda name: False)
    assert make(steps=6).fit(GRAPHS, run=run, resume=True).step == 6


def test_the_first_checkpoint_must_be_written(tmp_path, full_disk):
    """Before any time is spent."""
    full_disk(lambda name: "checkpoint" in name)
    with pytest.raises(OutputError, match="No space left"):
        make(steps=6).fit(GRAPHS, run=tmp_path / "run")


@pytest.mark.parametrize(
    "line",
    [
        b'{"step": 2, "loss": [1, 2], "summed": 1, "per_pair": 1}',
        b'{"step": 2, "loss": 1' + b"0" * 400 + b', "summed": 1, "per_pair": 1}',
        b'{"step": 2, "loss": 1, "summed": 1, "per_pair": 1, "per_level": [[1]]}',
    ],
    ids=["list", "huge", "nested"],
)
def test_entries_are_numbers_that_can_be_shown(tmp_path, line):
    (tmp_path / "log.jsonl").write_bytes(line + b"\n")
    with pytest.warns(GraphscoreWarning, match="1 line is no record of a training"):
        assert TrainingLog(tmp_path / "log.jsonl").records() == []


def test_a_log_without_end_is_not_read(tmp_path):
    (tmp_path / "log.jsonl").touch()
    os.truncate(tmp_path / "log.jsonl", 10**12)
    with pytest.warns(GraphscoreWarning, match="larger than"):
        assert TrainingLog(tmp_path / "log.jsonl").records() == []


def test_a_log_that_cannot_be_read_is_kept_and_the_reason_said(tmp_path, monkeypatch):
    monkeypatch.setattr(log_module, "MOST_BYTES", 10)
    log = TrainingLog(tmp_path / "log.jsonl")
    log.path.write_text('{"step": 1}\n')
    with pytest.warns(
        GraphscoreWarning, match=r"cannot be read \(larger than 10 bytes\)\. It is k"
    ):
        log.cut(1)
    assert (tmp_path / "log.jsonl.old").read_text() == '{"step": 1}\n'
    assert log.records() == []


@pytest.mark.skipif(os.name == "nt", reason="needs links")
@pytest.mark.parametrize("name", ["log.jsonl", "settings.json"])
def test_what_a_link_leads_to_is_not_written(tmp_path, name):
    """A run of a stranger may have them; what is in the way is renamed."""
    run = tmp_path / "run"
    make(steps=2).fit(GRAPHS, run=run)
    (tmp_path / "mine").write_text("kept")
    (run / name).unlink()
    (run / name).symlink_to(tmp_path / "mine")
    with pytest.warns(GraphscoreWarning, match=name):
        make(steps=3).fit(GRAPHS, run=run, resume=True)
    assert (tmp_path / "mine").read_text() == "kept"
    assert not (run / name).is_symlink()


def test_the_last_record_is_found_at_the_end_of_the_log(tmp_path, monkeypatch):
    """Without reading what is before; the line that is cut there is no damage."""
    log = TrainingLog(tmp_path / "log.jsonl")
    assert log.last({"loss"}) is None
    log.path.write_text("".join(f'{{"step": {k}, "loss": {k}}}\n' for k in range(1, 60_000)))
    with log.path.open("a") as stream:
        stream.write('{"step": 60000, "other": 1}\nno record\n{"step": 60001, "loss"')
    read = []
    lines = log_module._lines
    monkeypatch.setattr(log_module, "_lines", lambda s: (read.append(k) or k for k in lines(s)))
    with pytest.warns(GraphscoreWarning, match="1 line is no record of a training"):
        assert log.last({"loss"}) == {"step": 59_999, "loss": 59_999}
    assert 2**20 - 100 < sum(map(len, read)) <= 2**20
    with pytest.warns(GraphscoreWarning, match="1 line is no record of a training"):
        assert log.last(set()) == {"step": 60_000, "other": 1}
    log.path.unlink()
    log.path.mkdir()
    with pytest.warns(GraphscoreWarning, match="cannot be read"):
        assert log.last({"loss"}) is None


def test_a_checkpoint_without_memory_does_not_end_training(tmp_path, monkeypatch):
    run, failing = tmp_path / "run", []
    state = Trainer.state

    def without_memory(self):
        if 1 <= self.step <= 3:
            failing.append(self.step)
            raise MemoryError
        return state(self)

    monkeypatch.setattr(Trainer, "state", without_memory)
    with pytest.warns(GraphscoreWarning, match="no memory for a checkpoint. Training goes on") as w:
        assert make(steps=6).fit(GRAPHS, run=run, checkpoint_seconds=0).step == 6
    assert (failing, len(w)) == ([1, 2, 3], 1)
    assert read_document(run).step == 6
    monkeypatch.setattr(Trainer, "state", lambda self: 1 / 0 if self.step == 2 else state(self))
    with pytest.raises(ZeroDivisionError):
        make(steps=3).fit(GRAPHS, run=tmp_path / "other", checkpoint_seconds=0)


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_are_not_finite_are_no_records(tmp_path, text):
    """`info --json` shows the last one, and JSON has no such numbers."""
    (tmp_path / LOG).write_text(f'{{"step": 1, "loss": 2.0}}\n{{"step": 2, "loss": {text}}}\n')
    with pytest.warns(GraphscoreWarning, match="1 line is no record"):
        assert RunFolder(tmp_path).log.records() == [{"step": 1, "loss": 2.0}]
