"""The folder of a run: started once, resumed with a log that fits its checkpoint."""

from __future__ import annotations

import os

import pytest
import torch

from graphscore import GraphGenerator
from graphscore.artifacts.checkpoint import DOCUMENT
from graphscore.artifacts.run_folder import LOG, RunFolder
from graphscore.errors import CheckpointError, GraphscoreWarning, OutputError

from ..tiny_generator import GRAPHS, make
from .conftest import document_of


@pytest.fixture
def folder(tmp_path):
    run = RunFolder(tmp_path / "run")
    run.start({"seed": 1})
    return run


def test_resuming_cuts_the_log_back_to_the_checkpoint(folder):
    """Records after the checkpoint would be written a second time."""
    for step in (5, 10, 15):
        folder.log.append({"step": step, "loss": 1 / step})
        if step == 10:
            folder.checkpoint(document_of(step), {"optimiser.0.step": torch.tensor(10.0)})
    document, tensors = folder.read()
    folder.resume(document.step, {"seed": 1})
    assert document.step == 10
    assert tensors["optimiser.0.step"].item() == 10
    assert folder.log.records() == [{"step": 5, "loss": 1 / 5}, {"step": 10, "loss": 1 / 10}]


def test_a_line_cut_short_by_a_crash_is_left_out(folder):
    """The log stays readable, and goes on after resuming."""
    folder.log.append({"step": 5})
    folder.checkpoint(document_of(5), {"optimiser.0.step": torch.tensor(5.0)})
    with (folder.path / LOG).open("a") as stream:
        stream.write('{"step": 1')
    assert folder.log.records() == [{"step": 5}]
    folder.resume(5, {})
    folder.log.append({"step": 10})
    assert folder.log.records() == [{"step": 5}, {"step": 10}]


def test_nothing_is_overwritten(folder, tmp_path):
    """A folder that holds a run, other files, or is a file is refused with the way out."""
    folder.checkpoint(document_of(1), {"optimiser.a": torch.zeros(1)})
    with pytest.raises(OutputError, match=r"already holds a run.*--resume"):
        RunFolder(folder.path).start({})
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("mine")
    with pytest.raises(OutputError, match="not an empty folder"):
        RunFolder(other).start({})
    with pytest.raises(OutputError, match="not an empty folder"):
        RunFolder(other / "thesis.tex").start({})
    assert (other / "thesis.tex").read_text() == "mine"


def test_remains_of_a_run_without_a_checkpoint_may_be_replaced(folder):
    """They hold nothing to go on from; but a file of somebody else's is still in the way."""
    (folder.path / "checkpoint-00000000-0123abcd.safetensors").touch()
    (folder.path / ".checkpoint.json.0a1b2c3d4e5f.tmp").touch()
    RunFolder(folder.path).start({"seed": 2})
    (folder.path / "notes.txt").touch()
    with pytest.raises(OutputError, match="not an empty folder"):
        RunFolder(folder.path).start({})


@pytest.mark.parametrize("end", ["safetensors", "json"])
def test_a_checkpoint_without_its_other_files_is_not_overwritten(tmp_path, end):
    """Its tensors may be all that is left of a training."""
    path = tmp_path / f"checkpoint-00000003-0123abcd.{end}"
    path.write_text("mine")
    with pytest.raises(OutputError, match=r"not an empty folder|already holds a run"):
        RunFolder(tmp_path).start({})
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


posix = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs links and named pipes")


@pytest.fixture
def outside(tmp_path):
    (tmp_path / "outside").write_text("mine")
    yield tmp_path / "outside"
    assert (tmp_path / "outside").read_text() == "mine"


@posix
@pytest.mark.parametrize("end", ["safetensors", "json"])
def test_checkpoints_are_not_written_through_links(tmp_path, outside, end):
    """The names are known in advance: resuming writes the checkpoint once more that it read."""
    run, first = tmp_path / "run", tmp_path / "first"
    make(steps=4).fit(GRAPHS, run=run, stop_at=2)
    make(steps=4).fit(GRAPHS, run=first)
    (own,) = run.glob("checkpoint-00000002-*.json")
    (later,) = first.glob(f"checkpoint-00000004-*.{end}")
    own.unlink()
    own.symlink_to(outside)
    (run / later.name).symlink_to(outside)
    assert make(steps=4).fit(GRAPHS, run=run, resume=True).step == 4
    assert not any(path.is_symlink() for path in run.iterdir())


@posix
def test_a_model_is_not_saved_through_a_link(tmp_path, outside):
    model = tmp_path / "model"
    make().fit(GRAPHS).save(model)
    (model / DOCUMENT).unlink()
    (model / DOCUMENT).symlink_to(outside)
    make().fit(GRAPHS).save(model)
    assert GraphGenerator.load(model, show_progress=False).step == 3


@posix
def test_a_log_is_not_begun_through_a_link(tmp_path):
    (tmp_path / "outside").touch()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / LOG).symlink_to(tmp_path / "outside")
    make().fit(GRAPHS, run=tmp_path / "run")
    assert (tmp_path / "outside").stat().st_size == 0
    assert [record["step"] for record in RunFolder(tmp_path / "run").log.records()] == [1, 2, 3]


@posix
def test_a_log_is_not_continued_through_a_link(tmp_path, outside):
    def on_record(record):
        if record.step == 1:
            (tmp_path / "run" / LOG).unlink()
            (tmp_path / "run" / LOG).symlink_to(outside)

    with pytest.warns(GraphscoreWarning, match="a link is in its place"):
        make().fit(GRAPHS, run=tmp_path / "run", on_record=on_record)


def test_an_empty_folder_may_be_used(tmp_path):
    run = RunFolder(str(tmp_path))
    run.start({})
    assert run.log.records() == []


def test_a_model_without_training_state_cannot_be_continued(folder):
    """What `save` writes has no optimiser; continuing would silently restart the optimiser."""
    folder.checkpoint(document_of(10), {})
    with pytest.raises(CheckpointError, match="without its training state"):
        folder.read()


def test_resuming_nothing(tmp_path):
    with pytest.raises(CheckpointError, match="no checkpoint here"):
        RunFolder(tmp_path).read()


def test_settings_of_something_else_are_not_overwritten(tmp_path):
    """A folder with just a settings.json is somebody else's."""
    (tmp_path / "settings.json").write_text("mine")
    with pytest.raises(OutputError, match="not an empty folder"):
        RunFolder(tmp_path).start({})
    assert (tmp_path / "settings.json").read_text() == "mine"
