"""Runs tests for mutation testing: a warm process that forks a child for every run.

It has imported what tests need, but nothing of the package under test, so that a child can import a
changed module in place of the real one. One task per line of standard input, one answer per line of
standard output, both in JSON; see `answer`.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest

from campaigns.mutation import mutated

PRELOADED = (
    "torch",
    "numpy.testing",
    "scipy.special",
    "scipy.stats",
    "scipy.cluster.hierarchy",
    "networkx",
    "rustworkx",
    "pydantic",
    "safetensors.torch",
    "rich.progress",
    "coverage",
    "doctest",
)
FLAGS = ("-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", "--tb=no")
PASSED, NO_TESTS = 0, 5
"""Exit codes of pytest."""
FAILED, RECORD, OUTPUT = "failed.txt", "record.json", "output.txt"
"""Files that a child leaves."""


class MutatedModule(SourceFileLoader):
    """Gives one module a syntax tree other than that of its file."""

    def __init__(self, name: str, path: Path, tree: ast.Module) -> None:
        super().__init__(name, str(path))
        self.tree = tree

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self.name:
            return None
        is_package = [str(Path(self.path).parent)] if self.path.endswith("__init__.py") else None
        return spec_from_file_location(
            fullname, self.path, loader=self, submodule_search_locations=is_package
        )

    def get_code(self, fullname: str) -> CodeType:
        code: CodeType = compile(self.tree, self.path, "exec")
        return code


class Only:
    """Plugin of pytest: runs the chosen tests, in their order; writes which one failed."""

    def __init__(self, tests: Sequence[str], file: Path) -> None:
        self.order = {test: place for place, test in enumerate(tests)}
        self.file = file

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        chosen = [item for item in items if item.nodeid in self.order]
        items[:] = sorted(chosen, key=lambda item: self.order[item.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.file.write_text(report.nodeid, encoding="utf-8")


class Recorder:
    """Plugin of pytest: for every test that passed, its processor time and the lines that it runs.

    Lines that a fixture of a wider scope runs belong to every test that uses it.
    """

    def __init__(self, root: Path, source: Path) -> None:
        from coverage import Coverage

        self.root = root
        self.coverage = Coverage(
            data_file=None, source=[str(source)], config_file=False, messages=False
        )
        self.context = ""
        self.tests: dict[str, dict[str, Any]] = {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        fixtures = list(getattr(item, "fixturenames", []))
        self.tests[item.nodeid] = {"fixtures": fixtures, "passed": True}
        self._switch(item.nodeid)
        before = _processor_time()
        yield
        self.tests[item.nodeid]["seconds"] = _processor_time() - before
        self._switch("")

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        before = self.context
        if fixturedef.scope != "function":
            self._switch(f"fixture {fixturedef.argname}")
        yield
        self._switch(before)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome != "passed":
            self.tests[report.nodeid]["passed"] = False

    def _switch(self, context: str) -> None:
        self.context = context
        self.coverage.switch_context(context)

    def result(self) -> dict[str, dict[str, Any]]:
        """Return {test: {seconds, lines: {file: lines}}}."""
        self.coverage.stop()
        data = self.coverage.get_data()
        lines: dict[str, dict[str, set[int]]] = {}
        for file in data.measured_files():
            name = Path(file).relative_to(self.root).as_posix()
            for line, contexts in data.contexts_by_lineno(file).items():
                for context in contexts:
                    lines.setdefault(context, {}).setdefault(name, set()).add(line)
        found = {}
        for test, seen in self.tests.items():
            if seen["passed"]:
                merged: dict[str, set[int]] = {}
                for context in (test, *(f"fixture {name}" for name in seen["fixtures"])):
                    for name, ran in lines.get(context, {}).items():
                        merged[name] = merged.get(name, set()) | ran
                found[test] = {
                    "seconds": round(seen["seconds"], 4),
                    "lines": {name: sorted(ran) for name, ran in merged.items()},
                }
        return found


def _processor_time() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def answer(root: Path, task: dict[str, Any]) -> Any:
    """Do one task in a child of this process.

    Args:
        root: folder of the project under test; its packages are in src.
        task: to record, `record` (a test file); to test, `tests` and, for a mutant, `path` and
            `number` (of `mutations`). `seconds` of processor time are the limit.

    Returns:
        What `Recorder.result` says, or what was printed if there is none; or None if tests passed,
        else the one that failed.
    """
    folder = Path(tempfile.mkdtemp(prefix="mutants-"))
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = _in_child(root, task, folder)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    try:
        ended = _wait(child, 10 * task["seconds"] + 60)
        if "record" in task:
            text = folder / RECORD
            if text.exists():
                return json.loads(text.read_text(encoding="utf-8"))
            return (folder / OUTPUT).read_text(encoding="utf-8")[-2000:]
        failed = folder / FAILED
        by = failed.read_text(encoding="utf-8") if failed.exists() else "an error"
    finally:
        _end(child)
        shutil.rmtree(folder, ignore_errors=True)
    if ended is None or (os.WIFSIGNALED(ended) and os.WTERMSIG(ended) == signal.SIGXCPU):
        return "too long"
    passed = os.WIFEXITED(ended) and os.WEXITSTATUS(ended) in (PASSED, NO_TESTS)
    return None if passed else by


def _wait(child: int, seconds: float) -> int | None:
    """Return how a child ended; None if it did not within the time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.02)
    return None


def _end(child: int) -> None:
    """End a child and what it has started."""
    for kill, number in ((os.killpg, child), (os.kill, child)):
        try:
            kill(number, signal.SIGKILL)
        except ProcessLookupError:
            continue
    try:
        os.waitpid(child, 0)
    except ChildProcessError:
        return


def _in_child(root: Path, task: dict[str, Any], folder: Path) -> int:
    import resource  # not on Windows

    os.setsid()
    limit = int(task["seconds"]) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    output = os.open(folder / OUTPUT, os.O_WRONLY | os.O_CREAT)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(root)
    sys.path.insert(0, str(root / "src"))
    flags = [*FLAGS, f"--rootdir={root}", f"--basetemp={folder / 'tests'}"]
    if "record" in task:
        recorder = Recorder(root, root / "src")
        recorder.coverage.start()
        flags.remove("-x")
        _import([task["record"]])
        pytest.main([task["record"], *flags], plugins=[recorder])
        text = json.dumps(recorder.result())
        (folder / RECORD).write_text(text, encoding="utf-8")
        return 0
    if "path" in task:
        path = root / task["path"]
        tree = mutated(path.read_text(encoding="utf-8"), task["number"])
        sys.meta_path.insert(0, MutatedModule(_module(task["path"]), path, tree))
        _import([task["path"]])
    files = list(dict.fromkeys(test.split("::")[0] for test in task["tests"]))
    _import(files)
    return int(pytest.main([*files, *flags], plugins=[Only(task["tests"], folder / FAILED)]))


def _module(source: str) -> str:
    """Return the name of the module that a file of src is."""
    parts = Path(source).relative_to("src").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _import(files: Sequence[str]) -> None:
    """Import those files that are of src, as users do.

    Pytest would put a module where its package has a function of the same name.
    """
    for file in files:
        if file.startswith("src/"):
            importlib.import_module(_module(file))


def _without_surprises() -> None:
    """Make property tests repeatable and free of time limits of their own."""
    try:
        from hypothesis import HealthCheck, settings
    except ImportError:
        return
    settings.register_profile(
        "mutants",
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    settings.load_profile("mutants")


def main() -> None:
    root = Path(sys.argv[1]).resolve()
    os.environ["COVERAGE_CORE"] = "ctrace"  # the one that knows contexts on every Python
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    for name in PRELOADED:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    _without_surprises()
    for line in sys.stdin:
        text = json.dumps(answer(root, json.loads(line)))
        try:
            print(text, flush=True)
        except BrokenPipeError:  # nobody waits for it any more
            os._exit(1)


if __name__ == "__main__":
    main()
