"""The folder of a run: started once, resumed with a log that fits its checkpoint."""

from __future__ import annotations

import pytest
import torch

from graphscore.artifacts.run_folder import LOG, RunFolder
from graphscore.errors import CheckpointError, OutputError

from .conftest import document_of


@pytest.fixture
def folder(tmp_path):
    run = RunFolder(tmp_path / "run")
    run.start({"seed": 1})
    return run


def test_resuming_cuts_the_log_back_to_the_checkpoint(folder):
    """Records after the checkpoint would be written a second time."""
    for step in (5, 10, 15):
        folder.append({"step": step, "loss": 1 / step})
        if step == 10:
            folder.checkpoint(document_of(step), {"optimiser.0.step": torch.tensor(10.0)})
    document, tensors = folder.read()
    folder.resume(document.step, {"seed": 1})
    assert document.step == 10
    assert tensors["optimiser.0.step"].item() == 10
    assert folder.records() == [{"step": 5, "loss": 1 / 5}, {"step": 10, "loss": 1 / 10}]


def test_a_line_cut_short_by_a_crash_is_left_out(folder):
    """The log stays readable, and goes on after resuming."""
    folder.append({"step": 5})
    folder.checkpoint(document_of(5), {"optimiser.0.step": torch.tensor(5.0)})
    with (folder.path / LOG).open("a") as stream:
        stream.write('{"step": 1')
    assert folder.records() == [{"step": 5}]
    folder.resume(5, {})
    folder.append({"step": 10})
    assert folder.records() == [{"step": 5}, {"step": 10}]


def test_nothing_is_overwritten(folder, tmp_path):
    """A folder that holds a run, other files, or is a file is refused with the way out."""
    folder.checkpoint(document_of(1), {"a": torch.zeros(1)})
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


def test_an_empty_folder_may_be_used(tmp_path):
    run = RunFolder(str(tmp_path))
    run.start({})
    assert run.records() == []


def test_a_model_without_training_state_cannot_be_continued(folder):
    """What `save` writes has no optimiser; continuing would silently restart the optimiser."""
    folder.checkpoint(document_of(10), {"average.w": torch.zeros(1)})
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
