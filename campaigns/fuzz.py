"""Fuzz everything that reads files: broken and hostile inputs, guided by coverage where possible.

`fuzz_targets.py` has the readers, `fuzz_worker.py` the process that mutates inputs. Inputs that
fail are kept in a folder that git ignores, each with its traceback and a line that repeats it.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from campaigns.fuzz_targets import attempt, targets
from campaigns.fuzz_worker import FOUND, GRACE_SECONDS, INPUT, REPORT
from campaigns.outcome import ROOT, Outcome

HELP = "fuzz every reader of files, for a number of seconds in all"
KEPT = ROOT / "runs" / "fuzz"
START_SECONDS = 120
"""How long the worker may take to start, besides its time."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the campaign."""
    parser.add_argument("--seconds", type=float, default=20, help="divided over the targets")
    parser.add_argument(
        "--target", action="append", choices=list(targets()), help="all if not given"
    )
    parser.add_argument("--kept", type=Path, default=KEPT, help="folder for inputs that fail")
    parser.add_argument("--random", action="store_true", help="do not use atheris")
    parser.add_argument("--repeat", type=Path, help="read one kept input again, and nothing else")


def run(given: argparse.Namespace) -> Outcome:
    """Fuzz, or repeat one input."""
    if given.repeat is not None:
        return repeat(given.repeat)
    names = given.target or list(targets())
    guided = not given.random and importlib.util.find_spec("atheris") is not None
    if not guided and not given.random:
        print(
            "atheris is not installed (there are builds for Linux on x86_64), so mutations are "
            "random and not guided by coverage."
        )
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        failures = work(names, given.seconds, Path(folder), guided)
        rows = reported(Path(folder))
        kept = keep(Path(folder, FOUND), given.kept)
    idle = [f"{name}: nothing was tried" for name, row in rows.items() if not row["executions"]]
    for name, row in rows.items():
        row["failed"] = sum(path.name.rsplit("-", 1)[0] == name for path in kept)
    return Outcome(
        what="fuzzed inputs",
        # What --communities takes is a short text: its millions would hide how few files there are.
        tried=sum(row["executions"] for name, row in rows.items() if name != "communities"),
        failures=[*failures, *idle, *map(in_words, kept)],
        seconds=time.monotonic() - started,
        rows=rows,
        settings={"engine": engine(guided), "seconds_of_fuzzing": given.seconds},
    )


def engine(guided: bool) -> str:
    """Name what mutates."""
    version = importlib.metadata.version("atheris") if guided else ""
    return f"atheris {version}" if guided else "random mutations, not guided by coverage"


def work(names: list[str], seconds: float, folder: Path, guided: bool) -> list[str]:
    """Run the worker to its end; return what is wrong with how it ended."""
    command = [sys.executable, "-m", "campaigns.fuzz_worker", *names]
    command += ["--seconds", str(seconds), "--work", str(folder), *["--guided"] * guided]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    limit = seconds + START_SECONDS + GRACE_SECONDS * len(names)
    try:
        subprocess.run(command, cwd=ROOT, env=environment, timeout=limit, check=True)
    except subprocess.SubprocessError as error:
        done = reported(folder)
        name = next((name for name in names if name not in done), "end")
        hung = sorted(folder.glob(f"*/{INPUT}"))
        if hung:
            found = folder / FOUND
            found.mkdir(exist_ok=True)
            hung[-1].replace(found / f"{name}-hangs")
            (found / f"{name}-hangs.txt").write_text(f"{error}\n", encoding="utf-8")
            return []
        return [f"{name}: the worker did not come to its end ({error})"]
    return []


def reported(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the rows that the worker wrote, by target."""
    path = folder / REPORT
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    rows = [json.loads(line) for line in lines]
    return {row.pop("target"): row for row in rows}


def keep(found: Path, kept: Path) -> list[Path]:
    """Copy the inputs that failed, with a line on how to repeat each; return where they are."""
    paths = []
    for source in sorted(found.glob("*.txt")) if found.is_dir() else ():
        kept.mkdir(parents=True, exist_ok=True)
        path = kept / source.stem
        path.write_bytes(source.with_suffix("").read_bytes())
        text = source.read_text(encoding="utf-8")
        again = f"python -m campaigns fuzz --repeat {shown(path)}"
        path.with_name(source.name).write_text(f"{text}{again}\n", encoding="utf-8")
        paths.append(path)
    return paths


def in_words(path: Path) -> str:
    """Return one line about a kept input."""
    kind = path.with_name(path.name + ".txt").read_text(encoding="utf-8").split("\n", 1)[0]
    return f"{path.name.rsplit('-', 1)[0]}: {kind}; kept as {shown(path)}"


def shown(path: Path) -> Path:
    """Return a path relative to the repository, if it is in there."""
    path = path.resolve()
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


def repeat(path: Path) -> Outcome:
    """Read one kept input again, in this process; an exception is shown as it comes."""
    name = path.name.rsplit("-", 1)[0]
    if name not in targets() or not path.is_file():
        sys.exit(f"{path}: not a kept input. Give a file TARGET-NUMBER of {shown(KEPT)}.")
    with tempfile.TemporaryDirectory() as folder:
        print(attempt(targets()[name], path.read_bytes(), Path(folder)))
    return Outcome("fuzzed inputs", 1, [], 0.0)
