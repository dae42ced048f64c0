"""Checkpoints that a run keeps: an older one where the newest is damaged, and only there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import torch

from graphscore import GraphGenerator
from graphscore.artifacts import read_checkpoint, read_document
from graphscore.artifacts.checkpoint import DOCUMENT, write_checkpoint
from graphscore.artifacts.document import digest
from graphscore.artifacts.lock import LOCK
from graphscore.artifacts.stored import MOST_DOCUMENT_BYTES
from graphscore.cli.main import main
from graphscore.errors import CheckpointError, GraphscoreWarning, SettingsError

from ..tiny_generator import GRAPHS, make
from .conftest import document_of


def write(folder, *steps, keep=2):
    for step in steps:
        write_checkpoint(
            folder, document_of(step), {"optimiser.a": torch.full((9,), step)}, keep=keep
        )


def files(folder, step, end):
    return list(folder.glob(f"checkpoint-{step:08d}-*.{end}"))


def steps_of(folder, end="json"):
    return [int(path.name.split("-")[1]) for path in sorted(folder.glob(f"checkpoint-*.{end}"))]


@pytest.mark.parametrize("keep", [1, 2, 3])
def test_so_many_stay(tmp_path, keep):
    """Tensors and documents of the newest ones, and nothing else."""
    write(tmp_path, 0, 5, 10, 15, 20, keep=keep)
    expected = [0, 5, 10, 15, 20][-keep:]
    assert steps_of(tmp_path) == steps_of(tmp_path, "safetensors") == expected
    assert len(list(tmp_path.iterdir())) == 2 * keep + 1
    (own,) = files(tmp_path, 20, "json")
    assert own.read_bytes() == (tmp_path / DOCUMENT).read_bytes()


def damage(path, how):
    if how == "missing":
        path.unlink()
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "truncated":
        path.write_bytes(path.read_bytes()[:-9])
    else:
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)


@pytest.mark.parametrize("how", ["missing", "empty", "truncated", "flipped"])
def test_damaged_tensors_are_replaced_by_older_ones(tmp_path, how):
    """With a warning of what is damaged and which step is used."""
    write(tmp_path, 5, 10)
    (path,) = files(tmp_path, 10, "safetensors")
    damage(path, how)
    with pytest.warns(GraphscoreWarning) as caught:
        document, tensors = read_checkpoint(tmp_path)
    assert document.step == tensors["optimiser.a"][0] == 5
    (message,) = (str(warning.message) for warning in caught)
    assert str(path) in message
    assert "checkpoint of step 5 is used" in message


@pytest.mark.parametrize("how", ["missing", "empty", "truncated", "flipped"])
def test_a_damaged_document_is_replaced_by_its_copy(tmp_path, how):
    """Nothing is lost; if the copy is damaged too, the older checkpoint is used."""
    write(tmp_path, 5, 10)
    damage(tmp_path / DOCUMENT, how)
    with pytest.warns(GraphscoreWarning, match=r"checkpoint\.json.*step 10 is used"):
        assert read_checkpoint(tmp_path)[0].step == 10
    assert read_document(tmp_path).step == 10
    (copy,) = files(tmp_path, 10, "json")
    damage(copy, how)
    with pytest.warns(GraphscoreWarning, match="step 5 is used"):
        assert read_checkpoint(tmp_path)[0].step == 5


def test_a_document_with_any_bit_flipped_is_replaced_by_its_copy(tmp_path):
    """Also where it seems to be of another version, or has a number that is infinite."""
    write(tmp_path, 10)
    content = (tmp_path / DOCUMENT).read_bytes()
    flips = [
        (place, bit)
        for place, byte in enumerate(content)
        for bit in range(8)
        if place % 8 == bit or b"version" in content[place - 9 : place + 2] or byte in b'"'
    ]
    for place, bit in flips:
        changed = bytearray(content)
        changed[place] ^= 1 << bit
        (tmp_path / DOCUMENT).write_bytes(changed)
        with pytest.warns(GraphscoreWarning, match="step 10 is used"):
            assert read_checkpoint(tmp_path)[0].step == 10
    (tmp_path / DOCUMENT).write_bytes(content + b" " * MOST_DOCUMENT_BYTES)
    with pytest.warns(GraphscoreWarning, match="step 10 is used"):
        assert read_checkpoint(tmp_path)[0].step == 10


def test_info_warns_once_of_damage(tmp_path, capsys):
    run = tmp_path / "run"
    make(steps=3).fit(GRAPHS, run=run, checkpoint_seconds=0)
    (path,) = files(run, 3, "safetensors")
    damage(path, "truncated")
    with pytest.raises(SystemExit) as stopped:
        main(["info", str(run), "--json"])
    assert stopped.value.code == 0
    shown = capsys.readouterr()
    assert shown.err.count(str(path)) == 1
    assert json.loads(shown.out)["step"] == 2


def test_if_none_is_good_all_are_named(tmp_path):
    write(tmp_path, 5, 10)
    for path in tmp_path.glob("*.safetensors"):
        damage(path, "flipped")
    with pytest.raises(CheckpointError, match="none of its checkpoints is good") as caught:
        read_checkpoint(tmp_path)
    assert all(str(path) in str(caught.value) for path in tmp_path.glob("*.safetensors"))


@pytest.mark.parametrize(
    "change", [{"version": 3}, {"step": "x"}, {"learned": 3}, {"colour": "red"}], ids=str
)
def test_what_is_refused_is_not_replaced(tmp_path, change):
    """A document of another version or with another content, with the right digest."""
    write(tmp_path, 5, 10)
    body = json.loads((tmp_path / DOCUMENT).read_text())
    del body["digest"]
    body.update(change)
    (tmp_path / DOCUMENT).write_text(json.dumps({**body, "digest": digest(body)}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(CheckpointError):
            read_checkpoint(tmp_path)


def test_training_goes_on_from_an_older_checkpoint_to_the_same_weights(tmp_path):
    """And the damaged one is not kept in place of a good one."""
    whole, run = make(steps=9).fit(GRAPHS), tmp_path / "run"
    make(steps=9).fit(GRAPHS, run=run, checkpoint_seconds=0, stop_at=6)
    assert steps_of(run) == [5, 6]
    (path,) = files(run, 6, "safetensors")
    damage(path, "flipped")
    with pytest.warns(GraphscoreWarning, match="step 5 is used"):
        assert GraphGenerator.load(run, show_progress=False).step == 5
    with pytest.warns(GraphscoreWarning, match="step 5 is used"):
        make(steps=9).fit(GRAPHS, run=run, resume=True, stop_at=5)
    assert steps_of(run) == [5]
    resumed = make(steps=9).fit(GRAPHS, run=run, resume=True)
    expected = whole.network.state_dict()
    assert all(torch.equal(expected[n], t) for n, t in resumed.network.state_dict().items())


def test_a_run_with_one_checkpoint_of_before_goes_on(tmp_path):
    """Its tensors have no document of their own name yet."""
    run = tmp_path / "run"
    make(steps=9).fit(GRAPHS, run=run, checkpoint_seconds=0, stop_at=6, keep=1)
    (own,) = run.glob("checkpoint-*.json")
    own.unlink()
    assert make(steps=9).fit(GRAPHS, run=run, resume=True).step == 9
    assert steps_of(run) == [6, 9]


def test_a_saved_model_has_one_checkpoint(tmp_path):
    make().fit(GRAPHS).save(tmp_path / "model")
    assert [*steps_of(tmp_path / "model")] == []
    assert steps_of(tmp_path / "model", "safetensors") == [3]


@pytest.mark.parametrize("keep", [0, -1, 1.5, "2", None])
def test_keeping_is_a_whole_number_from_one(tmp_path, keep):
    with pytest.raises(SettingsError, match=rf"^--keep '?{keep}'?: give a whole number from 1"):
        make().fit(GRAPHS, run=tmp_path / "run", keep=keep)
    assert not (tmp_path / "run").exists()


def test_settings_that_are_stored_remove_no_checkpoint(tmp_path):
    run = tmp_path / "run"
    generator = make(steps=4).fit(GRAPHS, run=run, checkpoint_seconds=0, keep=4)
    before = steps_of(run)
    generator.select_sampling(GRAPHS, number=2, candidates=[{"step_size": 1e-3}], run=run)
    assert steps_of(run) == before == [1, 2, 3, 4]
    assert GraphGenerator.load(run).settings.sampling.step_size == 1e-3


def test_settings_that_are_stored_leave_a_saved_model_one(tmp_path):
    """It does not become a run, whose training state would be missing."""
    generator = make(steps=2).fit(GRAPHS)
    generator.save(tmp_path / "model")
    before = sorted(path.name for path in (tmp_path / "model").iterdir())
    candidates = [{"step_size": 1e-3}]
    generator.select_sampling(GRAPHS, number=2, candidates=candidates, run=tmp_path / "model")
    after = {path.name for path in (tmp_path / "model").iterdir()}
    assert after - set(before) <= {LOCK}
    generator.save(tmp_path / "model")
    assert GraphGenerator.load(tmp_path / "model").settings.sampling.step_size == 1e-3


def test_of_many_damaged_checkpoints_some_are_tried(tmp_path):
    write(tmp_path, *range(40), keep=40)
    for path in [*tmp_path.glob("*.safetensors")]:
        damage(path, "flipped")
    with pytest.raises(CheckpointError, match="none of its checkpoints is good") as caught:
        read_checkpoint(tmp_path)
    assert str(caught.value).count("its content was changed") == 16


def test_the_option_of_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("graphs.g6").write_text("C~\nC^\n")
    Path("tiny.toml").write_text("[network]\nblocks = 1\npair_width = 8\nnode_width = 4\n")
    options = ["train", "graphs.g6", "--out", "run", "--config", "tiny.toml", "--steps", "2"]
    with pytest.raises(SystemExit) as stopped:
        main([*options, "--keep", "0"])
    assert stopped.value.code == 2
    with pytest.raises(SystemExit) as stopped:
        main([*options, "--keep", "1"])
    assert stopped.value.code == 0
    assert steps_of(tmp_path / "run") == [2]


READER = """
import os, sys
from pathlib import Path
import torch
from graphscore.artifacts import read_checkpoint
from graphscore.artifacts.checkpoint import write_checkpoint
from graphscore import atomic
from tests.artifacts.conftest import document_of

os.fsync = lambda descriptor: None  # the disk would slow the writer down
folder = Path(sys.argv[1])
def write(step):
    write_checkpoint(folder, document_of(step), {"optimiser.a": torch.full((99,), step)}, keep=1)
write(0)
writer = os.fork()
if writer == 0:
    step = 0
    while True:
        step += 1
        write(step)
import signal, warnings
warnings.simplefilter("error")
seen = set()
try:
    for _ in range(3000):
        document, tensors = read_checkpoint(folder)
        assert tensors["optimiser.a"][0] == document.step
        seen.add(document.step)
finally:
    os.kill(writer, signal.SIGKILL)
    os.waitpid(writer, 0)
print(len(seen))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_reading_while_checkpoints_are_replaced(tmp_path):
    """A writer as fast as it can be is never in the way of a reader."""
    command = [sys.executable, "-c", READER, str(tmp_path)]
    done = subprocess.run(
        command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 1
