"""Read crafted files with the default limits, each in a process of its own."""

from __future__ import annotations

import argparse
import json
import os
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from campaigns.bomb_files import bombs
from campaigns.bomb_parts import Bomb
from campaigns.outcome import Outcome, require_fork
from graphscore.errors import GraphscoreError
from graphscore.graphs import read_graphs

HELP = "Read crafted graph files that want much memory or time, or that are no ordinary files."
HANG_SECONDS = 90
"""A file may take the time limit of reading and half as much again."""
REFUSED_MB = 200
"""Memory above the imported program while a file is refused."""
_ADDRESS_SPACE = 6 * 2**30  # more than any file is allowed, less than the machine has


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the campaign."""
    parser.add_argument("--every", type=int, default=1, help="take every K-th file only")
    parser.add_argument("--only", default="", help="take files whose format and name contain this")


def run(given: argparse.Namespace) -> Outcome:
    """Read the files and say which of them did harm."""
    require_fork()
    chosen = [bomb for bomb in bombs() if given.only in f"{bomb.form} {bomb.name}"]
    return attack(chosen[:: given.every])


def attack(chosen: Sequence[Bomb]) -> Outcome:
    """Read crafted files, one process each."""
    start, failures = time.perf_counter(), []
    rows: dict[str, dict[str, Any]] = {}
    for bomb in chosen:
        found = read(bomb)
        row = rows.setdefault(
            bomb.form,
            {"files": 0, "refused": 0, "largest MB refused": 0.0}
            | {"largest MB read": 0.0, "longest seconds": 0.0, "failed": 0},
        )
        row["files"] += 1
        row["longest seconds"] = max(row["longest seconds"], found["seconds"])
        row["refused"] += found["end"] == "refused"
        key = "largest MB read" if found["end"] == "graphs" else "largest MB refused"
        row[key] = max(row[key], found["megabytes"])
        reason = failure(found)
        if reason:
            row["failed"] += 1
            failures.append(f"{bomb.form}, {bomb.name}: {reason}")
        print(
            f"{bomb.form:9} {bomb.name:42} {found['end']:8} {found['seconds']:5.1f} s "
            f"{found['megabytes']:6.0f} MB  {found['message'][:150]}",
            file=sys.stderr,
        )
    return Outcome(
        what="crafted files",
        tried=len(chosen),
        failures=failures,
        seconds=time.perf_counter() - start,
        rows=rows,
        settings={"megabytes_while_refused": REFUSED_MB, "seconds_at_most": HANG_SECONDS},
    )


def failure(found: dict[str, Any]) -> str:
    """Say what is wrong about the reading of a file; empty if nothing is.

    >>> failure({"end": "refused", "megabytes": 3.0, "message": "too large"})
    ''
    """
    if found["end"] not in ("graphs", "refused"):
        return f"{found['end']} {found['message']}".strip()
    if found["end"] == "refused" and found["megabytes"] > REFUSED_MB:
        return f"{found['megabytes']:.0f} MB while it was refused"
    return ""


def read(bomb: Bomb) -> dict[str, Any]:
    """Make a file and read it, in one forked process each, so that none sees another's memory."""
    with tempfile.TemporaryDirectory() as name:
        made = _forked(lambda: {"end": "made", "message": str(bomb.make(Path(name)))})
        if made["end"] != "made":
            return made | {"end": "not made", "megabytes": 0.0}
        before = time.perf_counter()
        found = _forked(lambda: _outcome(Path(made["message"])))
        return {"megabytes": 0.0} | found | {"seconds": time.perf_counter() - before}


def _outcome(path: Path) -> dict[str, Any]:
    if sys.platform == "linux":  # elsewhere the limit is refused or does nothing
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    before = _peak()
    try:
        graphs = read_graphs(path)
        found = {"end": "graphs", "message": f"{len(graphs)} graphs"}
    except GraphscoreError as error:
        found = {"end": "refused", "message": str(error)}
    except BaseException as error:
        found = {"end": "error", "message": f"{type(error).__name__}: {error}"[:300]}
    return {**found, "megabytes": _peak() - before}


def _peak() -> float:
    import resource  # not on Windows

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def _forked(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return what `work` returns in a child process; a child that hangs is killed."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(receive)
            os.write(send, json.dumps(work()).encode()[:60_000])
        finally:
            os._exit(0)
    os.close(send)
    with os.fdopen(receive, "rb") as answer:
        ready, _, _ = select.select([answer], [], [], HANG_SECONDS)
        if not ready:
            os.kill(child, signal.SIGKILL)
        text = answer.read() if ready else b""
    os.waitpid(child, 0)
    if not text:
        return {"end": "died" if ready else "hang", "message": "", "seconds": float(HANG_SECONDS)}
    found: dict[str, Any] = json.loads(text)
    return found
