"""Every file operation and every allocation of a training fails once; the power is cut.

After each, the training is continued and must arrive at the weights of an undisturbed one, bit for
bit.
"""

from __future__ import annotations

import argparse
import errno
import functools
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from campaigns import tiny
from campaigns.outcome import Outcome
from campaigns.power import Disk, State, put
from campaigns.watched import Operation, Partly, Watch
from graphscore.artifacts import has_checkpoint
from graphscore.artifacts.checkpoint import DOCUMENT
from graphscore.artifacts.stored import read_document_file, read_tensors
from graphscore.errors import GraphscoreError
from graphscore.training.memory import is_out_of_memory

HELP = "let every file operation and allocation of a training fail once, and cut the power"
CHANGES = ("EIO", "ENOSPC", "EDQUOT")
"""Errors of operations that change something; reading fails with the first."""
_READS = ("open", "read", "list", "lock")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the campaign."""
    parser.add_argument(
        "--every", type=int, default=1, help="try only every so many of the points (default 1)"
    )


def run(given: argparse.Namespace) -> Outcome:
    """Disturb trainings at every point, and say after which they did not go on as they should."""
    started = time.perf_counter()
    rows: dict[str, dict[str, Any]] = {}
    failures: list[str] = []
    for name, part in PARTS.items():
        found = part(given.every)
        rows[name] = {"tried": len(found), "failed": sum(one is not None for one in found)}
        failures += [f"{name}: {one}" for one in found if one is not None]
    return Outcome(
        what="injected faults",
        tried=sum(row["tried"] for row in rows.values()),
        failures=failures,
        seconds=time.perf_counter() - started,
        rows=rows,
        settings={"tried_is_one_point_of": given.every, "steps_of_the_training": tiny.STEPS},
    )


# ---------------------------------------------------------------- files


def _operations(root: Path, train: Callable[[], None]) -> list[Operation]:
    """All file operations of a training."""
    seen: list[Operation] = []
    with Watch(root, before=seen.append):
        train()
    return seen


def fail_at(number: int, error: str) -> Callable[[Operation], None]:
    """Return what fails the operation of that number, with an error or half written."""
    count = -1

    def fail() -> NoReturn:
        code = errno.ENOSPC if error == "short write" else getattr(errno, error)
        raise OSError(code, os.strerror(code))

    def before(operation: Operation) -> None:
        nonlocal count
        count += 1
        if count == number:
            if error == "short write":
                raise Partly(fail)
            fail()

    return before


def _errors(operation: Operation) -> tuple[str, ...]:
    if operation.kind in _READS:
        return CHANGES[:1]
    return (*CHANGES, "short write") if operation.kind == "write" else CHANGES


def _continued(folder: Path) -> str | None:
    """Continue a training undisturbed, and say what is not as it should be."""
    if lost := tiny.newest_lost(folder):
        return lost
    try:
        tiny.train(folder)
    except GraphscoreError as error:
        return f"cannot be continued: {error}"
    return tiny.difference(folder)


def _disturbed(prepare: Callable[[Path], None], every: int) -> list[str | None]:
    """Let each operation of a training fail that is begun or continued."""
    with tiny.scratch() as scratch:
        root = Path(scratch)
        prepare(root / "run")
        operations = _operations(root, lambda: tiny.train(root / "run"))
    points = [(n, error) for n, each in enumerate(operations) for error in _errors(each)]
    found: list[str | None] = []
    for number, error in points[::every]:
        with tiny.scratch() as scratch:
            root = Path(scratch)
            prepare(root / "run")
            what = f"{error} at operation {number}, {operations[number].kind} of "
            what += operations[number].path
            try:
                with Watch(root, before=fail_at(number, error)):
                    tiny.train(root / "run")
            except GraphscoreError:
                pass
            except Exception as raw:
                found.append(f"{what}: {type(raw).__name__}: {raw}")
                continue
            wrong = _continued(root / "run")
            found.append(wrong and f"{what}: {wrong}")
    return found


def files_of_training(every: int) -> list[str | None]:
    """File operations of a training from its start."""
    return _disturbed(lambda folder: None, every)


def files_of_resuming(every: int) -> list[str | None]:
    """File operations of a training that is resumed."""
    return _disturbed(lambda folder: tiny.train(folder, stop_at=2), every)


# ---------------------------------------------------------------- memory


class _NoMemory(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes which operations on tensors allocate, and lets one fail as without memory."""

    def __init__(self, fails: int | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.allocating: list[int] = []
        self._count = 0
        self._fails = fails

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        number, self._count = self._count, self._count + 1
        if number == self._fails:
            raise _OUT_OF_MEMORY[number % len(_OUT_OF_MEMORY)]()
        result = func(*args, **(kwargs or {}))
        if _storages(result) - _storages((args, kwargs)):
            self.allocating.append(number)
        return result


def _storages(values: Any) -> set[int]:
    """Addresses of the memory of all tensors in some values."""
    tensors = (leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor))
    return {tensor.untyped_storage().data_ptr() for tensor in tensors} - {0}


_OUT_OF_MEMORY: list[Callable[[], Exception]] = [
    functools.partial(MemoryError, "out of memory"),
    functools.partial(RuntimeError, "DefaultCPUAllocator: can't allocate memory"),
    functools.partial(torch.OutOfMemoryError, "CUDA out of memory."),
]


def allocations(every: int) -> list[str | None]:
    """Operations on tensors of a whole training that take memory for what they return."""
    with tiny.scratch() as scratch, _NoMemory() as counted:
        tiny.train(Path(scratch) / "run")
    found = []
    for number in counted.allocating[::every]:
        with tiny.scratch() as scratch:
            folder = Path(scratch) / "run"
            wrong = _without_memory(folder, number)
            found.append(wrong and f"operation {number}: {wrong}")
    return found


def _without_memory(folder: Path, number: int) -> str | None:
    try:
        with _NoMemory(number):
            tiny.train(folder)
    except (GraphscoreError, MemoryError, RuntimeError) as error:
        if not (isinstance(error, GraphscoreError) or is_out_of_memory(error)):
            return f"{type(error).__name__}: {error}"
        return _continued(folder)
    # It went on in smaller micro-batches, whose sum is rounded otherwise.
    tensors, _ = tiny.state(folder)
    expected, _ = tiny.undisturbed()
    near = all(torch.allclose(tensors[name], expected[name], atol=1e-3) for name in expected)
    return None if near else "other weights"


# ---------------------------------------------------------------- power


def power_cuts(every: int) -> list[str | None]:
    """States of a disk after each file operation."""
    found = []
    for number, (state, written) in enumerate(_cut_states()):
        if number % every == 0:
            with tiny.scratch() as scratch:
                put(state, Path(scratch))
                wrong = _after_cut(Path(scratch) / "run", written)
                found.append(wrong and f"state {number}: {wrong}")
    return found


def _cut_states() -> Iterator[tuple[State, int | None]]:
    """Different states after a cut, with the step of the last checkpoint that had been written."""
    operations: list[Operation | int] = []
    with tiny.scratch() as scratch:
        root = Path(scratch)
        with Watch(root, after=operations.append):
            tiny.train(
                root / "run", on_record=lambda record: operations.append(record.step), stop_at=2
            )
            # Once more, because resuming writes too.
            tiny.train(root / "run", on_record=lambda record: operations.append(record.step))
    disk, written, seen = Disk(), None, set()
    for operation in operations:
        if isinstance(operation, int):
            written = operation
        else:
            disk.do(operation)
        for state in disk.after_cut():
            key = (written, frozenset(state.items()))
            if key not in seen:
                seen.add(key)
                yield state, written


def _after_cut(folder: Path, written: int | None) -> str | None:
    """Load what a cut left, if a checkpoint had been written, and continue."""
    if written is not None:
        if not has_checkpoint(folder):
            return f"the checkpoint of step {written} is lost"
        try:
            # That of checkpoint.json, and not an older one with a warning.
            document = read_document_file(folder / DOCUMENT)
            read_tensors(folder, document)
        except GraphscoreError as error:
            return f"the checkpoint of step {written} is lost: {error}"
        if document.step < written:
            return f"step {document.step} is left, but {written} had been written"
    return _continued(folder)


PARTS: dict[str, Callable[[int], list[str | None]]] = {
    "file operations of a training": files_of_training,
    "file operations of resuming": files_of_resuming,
    "allocations of a training": allocations,
    "states after a power cut": power_cuts,
}
