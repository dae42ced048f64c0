"""Checkpoints: exact round trips, damage is named, and no moment to die at loses one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from graphscore.artifacts import has_checkpoint, read_checkpoint, read_document
from graphscore.artifacts.checkpoint import DOCUMENT, write_checkpoint
from graphscore.errors import CheckpointError, OutputError

from .conftest import document_of


def tensors_of(step):
    return {
        "optimiser.a": torch.full((3, 2), float(step)),
        "optimiser.b.c": torch.arange(step + 1, dtype=torch.int64),
        "optimiser.scalar": torch.tensor(step / 3, dtype=torch.float64),
    }


def write(folder, step, **learned):
    write_checkpoint(folder, document_of(step, note=f"step {step}", **learned), tensors_of(step))


def assert_is(folder, step):
    document, tensors = read_checkpoint(folder)
    assert document.step == step
    assert document.learned["note"] == f"step {step}"
    expected = tensors_of(step)
    assert tensors.keys() == expected.keys()
    assert all(torch.equal(tensors[name], expected[name]) for name in expected)
    assert all(tensors[name].dtype == expected[name].dtype for name in expected)


def tensor_file(folder):
    (path,) = folder.glob("checkpoint-????????-????????.safetensors")
    return path


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_round_trip_and_replacement(tmp_path):
    """The last one written is there, whole, and nothing else is."""
    folder = tmp_path / "new" / "run"
    assert not has_checkpoint(folder)
    for step in (0, 5, 5, 1_000_000):
        write(folder, step)
        assert has_checkpoint(folder)
        assert_is(folder, step)
        assert names(folder) == sorted([DOCUMENT, tensor_file(folder).name])


@pytest.mark.parametrize(
    "value",
    [
        {"nested": [1, 2.5, None, True, "text ü"]},
        1e-17,
        0.1 + 0.2,
        (1, 2),
        {2: "two", 10: "ten"},
    ],
    ids=str,
)
def test_documents_come_back_as_json_does(tmp_path, value):
    """Whatever JSON can hold is stored and verified, floats exactly."""
    write(tmp_path, 1, value=value)
    assert read_document(tmp_path).learned["value"] == json.loads(json.dumps(value))


def test_same_step_other_content(tmp_path):
    """The step does not identify a checkpoint: the second of two at one step replaces the first."""
    write_checkpoint(tmp_path, document_of(3), {"optimiser.a": torch.zeros(2)})
    write_checkpoint(tmp_path, document_of(3), {"optimiser.a": torch.ones(2)})
    assert read_checkpoint(tmp_path)[1]["optimiser.a"].tolist() == [1, 1]
    tensor_file(tmp_path)


def test_tensors_that_share_memory_or_are_strided(tmp_path):
    """Views, transposes and one tensor under two names are stored as what they hold."""
    base = torch.arange(6.0).view(2, 3)
    write_checkpoint(
        tmp_path,
        document_of(1),
        {
            "optimiser.x": base,
            "optimiser.y": base,
            "optimiser.t": base.mT,
            "optimiser.part": base[:, 1],
        },
    )
    _, tensors = read_checkpoint(tmp_path)
    assert torch.equal(tensors["optimiser.x"], base)
    assert torch.equal(tensors["optimiser.y"], base)
    assert torch.equal(tensors["optimiser.t"], base.mT)
    assert tensors["optimiser.part"].tolist() == [1, 4]


def test_parameters_can_be_written(tmp_path):
    """Tensors that require gradients are stored without them."""
    write_checkpoint(tmp_path, document_of(1), {"optimiser.w": torch.nn.Parameter(torch.ones(2))})
    assert not read_checkpoint(tmp_path)[1]["optimiser.w"].requires_grad


# ---------------------------------------------------------------- damage


def flipped(path, position):
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)


def edit(change):
    def damage(folder):
        path = folder / DOCUMENT
        body = json.loads(path.read_text())
        change(body)
        path.write_text(json.dumps(body))

    return damage


def cut(path, size):
    path.write_bytes(path.read_bytes()[:size])


TENSOR_DAMAGE = {
    "truncated": (lambda f: cut(tensor_file(f), -1), "truncated or was changed"),
    "empty": (lambda f: cut(tensor_file(f), 0), "0 bytes"),
    "longer": (
        lambda f: tensor_file(f).write_bytes(tensor_file(f).read_bytes() + b"x"),
        "truncated or was changed",
    ),
    "last byte flipped": (lambda f: flipped(tensor_file(f), -1), "content was changed"),
    "header flipped": (lambda f: flipped(tensor_file(f), 9), "content was changed"),
    "missing": (lambda f: tensor_file(f).unlink(), "cannot be read"),
    "renamed": (lambda f: tensor_file(f).rename(f / "other.safetensors"), "cannot be read"),
}

DOCUMENT_DAMAGE = {
    "truncated": (lambda f: cut(f / DOCUMENT, -20), "not readable as JSON"),
    "empty": (lambda f: cut(f / DOCUMENT, 0), "not readable as JSON"),
    "binary": (lambda f: (f / DOCUMENT).write_bytes(b"\xff\xfe\x00"), "not readable as JSON"),
    "not an object": (lambda f: (f / DOCUMENT).write_text("[1]"), "not a graphscore checkpoint"),
    "other format": (edit(lambda b: b.update(format="x")), "not a graphscore checkpoint"),
    "step edited": (edit(lambda b: b.update(step=6)), "changed after it was written"),
    "note edited": (edit(lambda b: b["learned"].update(note="x")), "changed after it was written"),
    "key added": (edit(lambda b: b.update(extra=1)), "changed after it was written"),
    "key removed": (edit(lambda b: b.pop("tensors")), "changed after it was written"),
    "digest removed": (edit(lambda b: b.pop("digest")), "changed after it was written"),
    "sha edited": (edit(lambda b: b["tensors"].update(sha256="0")), "changed after it was written"),
    "version": (edit(lambda b: b.update(version=3)), r"checkpoint version 3, .* version 2"),
    "no version": (edit(lambda b: b.pop("version")), "checkpoint version None"),
}


@pytest.mark.parametrize("kind", TENSOR_DAMAGE)
def test_damaged_tensors_are_named(tmp_path, kind):
    """The error names the tensor file; the document alone is still readable."""
    write(tmp_path, 5)
    path = tensor_file(tmp_path)
    damage, message = TENSOR_DAMAGE[kind]
    damage(tmp_path)
    with pytest.raises(CheckpointError, match=message) as caught:
        read_checkpoint(tmp_path)
    assert str(path) in str(caught.value)
    assert read_document(tmp_path).step == 5


@pytest.mark.parametrize("kind", DOCUMENT_DAMAGE)
def test_a_damaged_document_is_named(tmp_path, kind):
    """The error names the document and says what to do."""
    write(tmp_path, 5)
    damage, message = DOCUMENT_DAMAGE[kind]
    damage(tmp_path)
    for read in (read_document, read_checkpoint):
        with pytest.raises(CheckpointError, match=message) as caught:
            read(tmp_path)
        assert str(tmp_path / DOCUMENT) in str(caught.value)
        assert "train again" in str(caught.value)


@pytest.mark.parametrize("place", ["folder", "file", "nothing"])
def test_no_checkpoint_at_all(tmp_path, place):
    """An empty folder, a file and a missing folder give the same advice."""
    path = tmp_path / "x"
    if place == "folder":
        path.mkdir()
    elif place == "file":
        path.write_text("")
    assert not has_checkpoint(path)
    with pytest.raises(CheckpointError, match="no checkpoint here") as caught:
        read_checkpoint(path)
    assert str(path) in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("kind", ["pipe", "folder", "link"])
def test_a_document_that_is_something_else_is_not_missing(tmp_path, kind):
    {
        "pipe": lambda: os.mkfifo(tmp_path / DOCUMENT),
        "folder": (tmp_path / DOCUMENT).mkdir,
        "link": lambda: (tmp_path / DOCUMENT).symlink_to(tmp_path / "nothing"),
    }[kind]()
    with pytest.raises(CheckpointError, match=f"a.* {kind}, but a regular file is expected"):
        read_checkpoint(tmp_path)


# ---------------------------------------------------------------- crashes


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_dying_before_the_document_keeps_the_old_checkpoint(tmp_path, monkeypatch, error):
    """New tensors without their document are invisible; removed at once, or by the next write."""
    write(tmp_path, 1)
    replace = os.replace

    def fail_on_document(source, target):
        if os.path.basename(target) == DOCUMENT:
            raise error
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail_on_document)
        expected = OutputError if isinstance(error, OSError) else KeyboardInterrupt
        with pytest.raises(expected):
            write(tmp_path, 2)
    assert_is(tmp_path, 1)
    assert len(list(tmp_path.glob("*.safetensors"))) == (1 if expected is OutputError else 2)
    write(tmp_path, 3)
    assert_is(tmp_path, 3)
    assert names(tmp_path) == sorted([DOCUMENT, tensor_file(tmp_path).name])


def test_dying_at_the_same_step_keeps_the_old_checkpoint(tmp_path, monkeypatch):
    """Other tensors at an equal step do not replace the file that the old document points to."""
    write(tmp_path, 1)
    replace = os.replace

    def fail_on_document(source, target):
        if os.path.basename(target) == DOCUMENT:
            raise OSError(5, "Input/output error")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail_on_document)
    with pytest.raises(OutputError, match="Input/output error"):
        write_checkpoint(tmp_path, document_of(1), {"optimiser.a": torch.ones(3)})
    assert_is(tmp_path, 1)


def test_dying_while_the_tensors_are_written_keeps_the_old_checkpoint(tmp_path, monkeypatch):
    """A full disk during the first of the two writes changes nothing."""
    write(tmp_path, 1)
    before = names(tmp_path)

    def full(descriptor):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OutputError, match="No space left on device"):
            write(tmp_path, 2)
    assert_is(tmp_path, 1)
    assert names(tmp_path) == before


def test_stale_temporary_files_are_swept(tmp_path):
    """What a killed writer left is removed by the next write; other files are not touched."""
    write(tmp_path, 1)
    for name in (".checkpoint.json.0a1b2c3d4e5f.tmp", ".checkpoint-1.safetensors.0a1b2c3d4e5f.tmp"):
        (tmp_path / name).write_bytes(b"half")
    foreign = ("settings.json", "log.jsonl", "model.safetensors", ".other.tmp")
    for name in (*foreign, "checkpoint-500.safetensors"):
        (tmp_path / name).write_text("mine")
    write(tmp_path, 2)
    assert_is(tmp_path, 2)
    kept = [DOCUMENT, tensor_file(tmp_path).name, *foreign, "checkpoint-500.safetensors"]
    assert names(tmp_path) == sorted(kept)


ROOT = Path(__file__).parents[2]
WRITER = """
import os, random, signal, sys, time
from pathlib import Path
import torch
from graphscore.artifacts.checkpoint import DOCUMENT, write_checkpoint
from tests.artifacts.conftest import document_of

root, rounds = Path(sys.argv[1]), int(sys.argv[2])
rng = random.Random(0)
for index in range(rounds):
    folder = root / str(index)
    child = os.fork()
    if child == 0:
        step = 0
        while True:
            step += 1
            a, b = torch.full((30_000,), float(step)), torch.tensor(step)
            tensors = {"optimiser.a": a, "optimiser.b": b}
            write_checkpoint(folder, document_of(step, again=[step] * 200), tensors)
    while not (folder / DOCUMENT).exists():
        time.sleep(0.001)
    time.sleep(rng.random() * 0.03)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killing_the_writer_at_random_moments(tmp_path):
    """After kill -9 the checkpoint is one of those written, complete, and writing can go on."""
    rounds = 20
    command = [sys.executable, "-c", WRITER, str(tmp_path), str(rounds)]
    subprocess.run(command, check=True, cwd=ROOT)
    for index in range(rounds):
        folder = tmp_path / str(index)
        document, tensors = read_checkpoint(folder)
        step = document.step
        assert step >= 1
        assert document.learned["again"] == [step] * 200
        assert torch.equal(tensors["optimiser.a"], torch.full((30_000,), float(step)))
        assert tensors["optimiser.b"].item() == step
        write(folder, step + 1)
        assert_is(folder, step + 1)
        assert names(folder) == sorted([DOCUMENT, tensor_file(folder).name])
