"""Mutation testing: small changes of the code that no test notices are gaps in the tests.

Every mutant (see `campaigns/mutation.py`) is run against the tests that run the changed lines,
those named after the changed file first. Which lines a test runs is recorded once per test file and
kept in `.mutants/` until the code or the test file changes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Self

from campaigns.mutation import Mutation, mutations
from campaigns.outcome import ROOT, Outcome, require_fork
from graphscore.errors import GraphscoreError
from graphscore.progress import progress

HELP = "mutation testing: changes of the code that no test notices"

PACKAGES: dict[str, tuple[str, ...]] = {
    "metrics": ("metrics",),
    "diffusion": ("diffusion",),
    "graphs": ("graphs",),
    "training": ("training",),
    "sampling": ("models/request.py", "models/sizes.py", "models/communities.py"),
}
TEST_FOLDERS = ("contracts", "diffusion", "graphs", "metrics", "models", "networks", "training")
MANY = 50
"""From so many mutants on, all test files are recorded; before that, those named after a changed
file, the contracts, and what is recorded already."""
BUDGET = 60.0
"""Seconds of tests, at most, for one mutant; what they do not notice survives."""
PROCESSOR_SECONDS = 30
"""Processor time that every run of tests has besides five times what the tests took before."""

Lines = dict[str, list[int]]


@dataclass(frozen=True)
class Project:
    """Code that is changed, and its tests.

    Attributes:
        root: the folder that holds src and tests.
        package: name of the package in src.
        parts: files and folders of the package, by the name of their row.
        folders: of tests/, whose test files count; those in tests/ itself do too.
    """

    root: Path
    package: str
    parts: dict[str, tuple[str, ...]]
    folders: tuple[str, ...] = ()

    def sources(self, part: str) -> list[str]:
        """Return the files of a part, as paths in the project."""
        base = self.root / "src" / self.package
        paths = [base / name for name in self.parts[part]]
        files = [
            file for path in paths for file in ([path] if path.is_file() else path.rglob("*.py"))
        ]
        return sorted(file.relative_to(self.root).as_posix() for file in files)

    def test_files(self) -> list[str]:
        """Return all test files, and those of the sources, whose examples are tests."""
        tests = self.root / "tests"
        files = [*tests.glob("test_*.py")]
        files += [file for name in self.folders for file in (tests / name).rglob("test_*.py")]
        found = sorted(file.relative_to(self.root).as_posix() for file in files)
        return found + [source for part in self.parts for source in self.sources(part)]

    def mirrored(self, source: str) -> list[str]:
        """Return the test files named after a source file, and the file itself for its examples."""
        inner = Path(source).relative_to(f"src/{self.package}")
        tests = self.root / "tests"
        files = [*(tests / inner.parent).glob(f"test_{inner.stem}*.py")]
        return [source, *sorted(file.relative_to(self.root).as_posix() for file in files)]

    def contracts(self) -> list[str]:
        """Return the test files of what all of a kind must satisfy."""
        files = (self.root / "tests" / "contracts").glob("test_*.py")
        return sorted(file.relative_to(self.root).as_posix() for file in files)

    def digest(self, test_file: str) -> str:
        """Return what a record depends on: the code, the test file and what tests share."""
        package = sorted((self.root / "src").rglob("*.py"))
        shared = (file for file in (self.root / "tests").rglob("*.py") if file.name[:5] != "test_")
        texts = hashlib.sha256()
        for file in (*package, *sorted(shared), self.root / test_file):
            texts.update(file.read_bytes())
        return texts.hexdigest()


@dataclass(frozen=True)
class Mutant:
    """One change of one file.

    Attributes:
        path: the file, in the project.
        number: which of its `mutations`.
        change: the change.
        part: whose row it counts in.
    """

    path: str
    number: int
    change: Mutation
    part: str

    def __str__(self) -> str:
        return f"{self.path}:{self.change.line}: {self.change.before} -> {self.change.after}"


@dataclass
class Records:
    """Which lines each test runs, by test file; kept in a folder."""

    project: Project
    tests: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)

    def _file(self, test_file: str) -> Path:
        return self.project.root / ".mutants" / f"{test_file.replace('/', '-')}.json"

    def load(self, test_file: str) -> bool:
        """Take the record of a test file if there is one that is still true."""
        file = self._file(test_file)
        if not file.exists():
            return False
        stored = json.loads(file.read_text(encoding="utf-8"))
        if stored["digest"] != self.project.digest(test_file):
            return False
        self.tests[test_file] = stored["tests"]
        return True

    def make(self, test_file: str, worker: Worker) -> None:
        """Run a test file and keep which lines each of its tests runs."""
        found = worker.ask({"record": test_file, "seconds": 1800})
        if isinstance(found, str):
            raise GraphscoreError(f"{test_file} cannot be run with coverage:\n{found}")
        sources = {source for part in self.project.parts for source in self.project.sources(part)}
        for test in found.values():
            test["lines"] = {f: lines for f, lines in test["lines"].items() if f in sources}
        file = self._file(test_file)
        file.parent.mkdir(exist_ok=True)
        stored = {"digest": self.project.digest(test_file), "tests": found}
        file.write_text(json.dumps(stored), encoding="utf-8")
        self.tests[test_file] = found

    def choose(self, mutant: Mutant) -> list[list[str]]:
        """Return the tests for a mutant in stages: those named after its file, then the others.

        What runs when a module is imported is tested by all tests, those first that run the module.
        """
        change = mutant.change
        wanted = set(range(change.first, change.last + 1))
        stages: list[list[str]] = [[], [], []]
        mirrored = set(self.project.mirrored(mutant.path))
        left = BUDGET
        for file in sorted(self.tests, key=lambda name: (name not in mirrored, self._cost(name))):
            by_speed = sorted(self.tests[file].items(), key=lambda pair: pair[1]["seconds"])
            for test, seen in by_speed:
                ran = seen["lines"].get(mutant.path, ())
                direct = not wanted.isdisjoint(ran)
                if direct or not change.in_function:
                    stage = 0 if file in mirrored else 1 if ran else 2
                    stages[stage].append(test)
        chosen = []
        for tests in stages:
            kept = []
            for test in tests:
                seconds = self.seconds([test])
                if seconds <= left:
                    kept.append(test)
                    left -= seconds
            chosen.append(kept)
        return [tests for tests in chosen if tests]

    def seconds(self, tests: Sequence[str]) -> float:
        """Return how long tests take together."""
        return sum(float(self.tests[file_of(test)][test]["seconds"]) for test in tests)

    def _cost(self, test_file: str) -> float:
        return sum(float(test["seconds"]) for test in self.tests[test_file].values())


def file_of(test: str) -> str:
    """Return the file of a test.

    >>> file_of("tests/test_a.py::test_b[c]")
    'tests/test_a.py'
    """
    return test.split("::")[0]


class Worker:
    """A process of `mutant_worker`."""

    def __init__(self, root: Path) -> None:
        path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "campaigns.mutant_worker", str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        self._process.communicate()

    def ask(self, task: dict[str, Any]) -> Any:
        """Return the answer to one task."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(task) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise GraphscoreError("the process that runs the tests has ended; see its error above.")
        return json.loads(line)


@contextmanager
def team(root: Path, size: int) -> Iterator[Callable[..., list[Any]]]:
    """Yield a function that calls another for many values, each with a worker of its own."""
    with ExitStack() as stack:
        free: SimpleQueue[Worker] = SimpleQueue()
        for _ in range(size):
            free.put(stack.enter_context(Worker(root)))

        def with_worker(function: Callable[[Any, Worker], Any], value: Any) -> Any:
            worker = free.get()
            try:
                return function(value, worker)
            finally:
                free.put(worker)

        def work(
            title: str, function: Callable[[Any, Worker], Any], values: Sequence[Any]
        ) -> list[Any]:
            with ThreadPoolExecutor(size) as pool, progress(title, len(values)) as update:
                jobs = [pool.submit(with_worker, function, value) for value in values]
                for done, job in enumerate(as_completed(jobs), 1):
                    if job.exception() is not None:
                        pool.shutdown(cancel_futures=True)
                    job.result()
                    update(done, "")
            return [job.result() for job in jobs]

        yield work


def draw(project: Project, parts: Sequence[str], number: int, seed: int) -> list[Mutant]:
    """Draw mutants of some parts; all if there are no more."""
    found = [
        Mutant(path, place, change, part)
        for part in parts
        for path in project.sources(part)
        for place, change in enumerate(mutations((project.root / path).read_text(encoding="utf-8")))
    ]
    return random.Random(seed).sample(found, min(number, len(found)))


def survives(mutant: Mutant, records: Records, worker: Worker) -> str | None:
    """Return the line of the report if no test notices a mutant."""
    stages = records.choose(mutant)
    for tests in stages:
        seconds = PROCESSOR_SECONDS + 5 * records.seconds(tests)
        task = {"path": mutant.path, "number": mutant.number, "tests": tests, "seconds": seconds}
        if worker.ask(task) is not None:
            return None
    survivor = str(mutant) if stages else f"{mutant} (no test runs it)"
    print(f"survived: {survivor}", file=sys.stderr, flush=True)
    return survivor


def check_unchanged(
    mutants: Sequence[Mutant], records: Records, worker: Worker, *, stages: int | None
) -> None:
    """Refuse tests that fail without any change: every mutant would seem to be noticed.

    Those of the first stages for one mutant of each part; of all stages if `stages` is None.
    """
    for mutant in {mutant.part: mutant for mutant in mutants}.values():
        for tests in records.choose(mutant)[:stages]:
            seconds = PROCESSOR_SECONDS + 5 * records.seconds(tests)
            failed = worker.ask({"tests": tests, "seconds": seconds})
            if failed is not None:
                raise GraphscoreError(
                    f"{failed} fails without any change, after the others of its kind: "
                    f"python -m pytest {' '.join(dict.fromkeys(map(file_of, tests)))}"
                )


def attack(
    project: Project, parts: Sequence[str], *, number: int, seed: int, workers: int, allowed: float
) -> Outcome:
    """Draw mutants and run the tests on each."""
    started = time.monotonic()
    mutants = draw(project, parts, number, seed)
    records = Records(project)
    needed = {file for mutant in mutants for file in project.mirrored(mutant.path)}
    needed.update(project.contracts())
    missing = [file for file in project.test_files() if not records.load(file)]
    if number < MANY:
        missing = [file for file in missing if file in needed]
    with team(project.root, workers) as work:
        work("recording test files", records.make, missing)
        work(
            "tests without changes",
            lambda chosen, worker: check_unchanged(
                chosen, records, worker, stages=None if number >= MANY else 1
            ),
            [[mutant for mutant in mutants if mutant.part == part] for part in parts],
        )
        found = work("mutants", lambda mutant, worker: survives(mutant, records, worker), mutants)
    rows = {}
    for part in parts:
        of_part = [line for mutant, line in zip(mutants, found) if mutant.part == part]
        survived = sum(line is not None for line in of_part)
        share = survived / len(of_part) if of_part else None
        rows[part] = {"mutants": len(of_part), "survived": survived, "share": share}
    return Outcome(
        what="mutants",
        tried=len(mutants),
        failures=sorted(line for line in found if line is not None),
        seconds=time.monotonic() - started,
        rows=rows,
        settings={"seed": seed, "packages": " ".join(parts)},
        allowed=int(allowed * len(mutants)),
    )


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the campaign."""
    parser.add_argument("--number", type=int, default=24, help="how many mutants (default 24)")
    parser.add_argument("--seed", type=int, default=0, help="which mutants are drawn")
    parser.add_argument(
        "--packages", nargs="+", choices=PACKAGES, default=list(PACKAGES), help="whose code"
    )
    parser.add_argument("--workers", type=int, choices=(1, 2), default=1, help="processes")
    parser.add_argument(
        "--allowed", type=float, default=0.04, help="share that may survive (default 0.04)"
    )


def run(given: argparse.Namespace) -> Outcome:
    """Attack, and say what survived."""
    require_fork()
    project = Project(ROOT, "graphscore", PACKAGES, TEST_FOLDERS)
    return attack(
        project,
        given.packages,
        number=given.number,
        seed=given.seed,
        workers=given.workers,
        allowed=given.allowed,
    )
