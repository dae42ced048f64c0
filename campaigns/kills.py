"""A tiny training is killed, again and again, and resumed until it ends."""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from campaigns import tiny
from campaigns.outcome import Outcome, require_fork
from campaigns.watched import Operation, Partly, Watch
from graphscore.errors import OutputError
from graphscore.training import TrainingRecord

HELP = "kill a training at random moments and at single file operations, and resume it"
REFUSED = 3
"""Exit code of a process whose run another one trains."""
KILLS_OF_A_TRAINING = 4
"""At random moments, before it is left to end."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the campaign."""
    parser.add_argument("--number", type=int, default=200, help="kills of each kind (default 200)")
    parser.add_argument("--seed", type=int, default=0, help="fixes the moments (default 0)")


def run(given: argparse.Namespace) -> Outcome:
    """Kill trainings in three ways, and say which did not end as an undisturbed one."""
    require_fork()
    started = time.perf_counter()
    tiny.undisturbed()  # imports everything that the processes share
    rows: dict[str, dict[str, Any]] = {}
    failures: list[str] = []
    for name, part in PARTS.items():
        kills, wrong = part(given.number, random.Random(f"{given.seed} {name}"))
        rows[name] = {"tried": kills, "failed": len(wrong)}
        failures += [f"{name}: {one}" for one in wrong]
    return Outcome(
        what="kills",
        tried=sum(row["tried"] for row in rows.values()),
        failures=failures,
        seconds=time.perf_counter() - started,
        rows=rows,
        settings={"seed": given.seed, "steps_of_the_training": tiny.STEPS},
    )


def _start(work: Callable[[], None]) -> int:
    """Do some work in a copy of this process; its exit code says how it ended."""
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        work()
        code = 0
    except OutputError as error:
        code = REFUSED if "is being trained" in str(error) else 1
    finally:
        os._exit(code)


def _end(process: int) -> int:
    """Wait for a process; minus the signal that ended it, or its exit code."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _kill(process: int, after: float) -> int:
    time.sleep(after)
    os.kill(process, signal.SIGKILL)
    return _end(process)


def _finished(folder: Path) -> str | None:
    """Continue to the end, and say what is not as in an undisturbed training."""
    if lost := tiny.newest_lost(folder):
        return lost
    code = _end(_start(lambda: tiny.train(folder)))
    return f"cannot be continued (exit code {code})" if code else tiny.difference(folder)


def _duration() -> float:
    with tiny.scratch() as scratch:
        started = time.perf_counter()
        _end(_start(lambda: tiny.train(Path(scratch) / "run")))
        return time.perf_counter() - started


def random_moments(number: int, rng: random.Random) -> tuple[int, list[str]]:
    """Kill at random moments, several times in each training."""
    kills, wrong, longest = 0, [], _duration()
    while kills < number:
        with tiny.scratch() as scratch:
            folder, ended = Path(scratch) / "run", 0
            for _ in range(KILLS_OF_A_TRAINING):
                process = _start(partial(tiny.train, folder))
                ended += _kill(process, rng.random() * longest) == -signal.SIGKILL
            kills += ended
            found = _finished(folder)
            wrong += [f"after {kills} kills: {found}"] if found else []
    return kills, wrong


def file_operations(number: int, rng: random.Random) -> tuple[int, list[str]]:
    """Kill before single file operations, and in the middle of writing."""
    seen: list[Operation] = []
    with tiny.scratch() as scratch, Watch(Path(scratch), before=seen.append):
        tiny.train(Path(scratch) / "run")
    writes = [(n, True) for n, each in enumerate(seen) if each.kind == "write"]
    points = [*((n, False) for n in range(len(seen))), *writes]
    chosen = points if number >= len(points) else rng.sample(points, number)
    wrong = []
    for point, halfway in chosen:
        with tiny.scratch() as scratch:
            root = Path(scratch)
            code = _end(_start(partial(_die_at, root, point, halfway)))
            found = f"exit code {code}" if code != -signal.SIGKILL else _finished(root / "run")
            what = f"operation {point}, {seen[point].kind} of {seen[point].path}"
            wrong += [f"{what}: {found}"] if found else []
    return len(chosen), wrong


def _die_at(root: Path, point: int, halfway: bool) -> None:
    count = -1

    def die() -> NoReturn:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    def before(operation: Operation) -> None:
        nonlocal count
        count += 1
        if count == point:
            if halfway:
                raise Partly(die)
            die()

    with Watch(root, before=before):
        tiny.train(root / "run")


def two_at_once(number: int, rng: random.Random) -> tuple[int, list[str]]:
    """Let two processes resume a killed training at once, and kill one of them."""
    kills, wrong = 0, []
    with tiny.scratch() as begun:
        tiny.train(Path(begun) / "run", stop_at=1)
        longest = _duration()
        while kills < number:
            with tiny.scratch() as scratch:
                folder = Path(scratch) / "run"
                shutil.copytree(Path(begun) / "run", folder)
                killed, found = _two(folder, rng, longest)
                kills += killed
                found = found or _finished(folder)
                wrong += [f"after {kills} kills: {found}"] if found else []
    return kills, wrong


def _two(folder: Path, rng: random.Random, longest: float) -> tuple[bool, str | None]:
    """Start two, kill one; say if it had not ended before, and what went wrong.

    They may not train at the same time, or end otherwise than finished, refused or killed.
    """
    reading, writing = os.pipe()

    def report(record: TrainingRecord) -> None:
        os.write(writing, os.getpid().to_bytes(4))

    def work() -> None:
        tiny.train(folder, resume=True, on_record=report)

    pair = [_start(work), _start(work)]
    os.close(writing)
    victim = rng.choice(pair)
    codes = [_kill(victim, rng.random() * longest)]
    codes += [_end(process) for process in pair if process != victim]
    with open(reading, "rb") as stream:
        said = stream.read()
    trained = [said[at : at + 4] for at in range(0, len(said), 4)]
    turns = [one for one, before in zip(trained, [b"", *trained]) if one != before]
    wrong = None
    if len(turns) > len(set(turns)):
        wrong = "both trained at the same time"
    elif not {*codes} <= {0, REFUSED, -signal.SIGKILL}:
        wrong = f"exit codes {codes}"
    return codes[0] == -signal.SIGKILL, wrong


PARTS: dict[str, Callable[[int, random.Random], tuple[int, list[str]]]] = {
    "random moments": random_moments,
    "file operations": file_operations,
    "two processes at once": two_at_once,
}
