"""Read crafted files with the default limits, each in a process of its own."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from campaigns.bomb_files import bombs
from campaigns.bomb_parts import Bomb
from campaigns.outcome import Outcome, require_fork
from campaigns.process import in_a_process
from graphscore.errors import GraphscoreError
from graphscore.graphs import read_graphs

HELP = "Read crafted graph files that want much memory or time, or that are no ordinary files."
HANG_SECONDS = 90
"""A file may take the time limit of reading and half as much again."""
REFUSED_MB = 200
"""Memory above the imported program while a file is refused."""
READ_MB = 1400
"""Memory while a file is read that the limits allow; docs/data.md says so."""


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
        megabytes = found["peak"] / 1e6
        row = rows.setdefault(
            bomb.form,
            {"files": 0, "refused": 0, "largest MB refused": 0.0}
            | {"largest MB read": 0.0, "longest seconds": 0.0, "failed": 0},
        )
        row["files"] += 1
        row["longest seconds"] = max(row["longest seconds"], found["seconds"])
        row["refused"] += found["end"] == "refused"
        key = "largest MB read" if found["end"] == "graphs" else "largest MB refused"
        row[key] = max(row[key], megabytes)
        reason = failure(found)
        if reason:
            row["failed"] += 1
            failures.append(f"{bomb.form}, {bomb.name}: {reason}")
        print(
            f"{bomb.form:9} {bomb.name:42} {found['end']:8} {found['seconds']:5.1f} s "
            f"{megabytes:6.0f} MB  {found['message'][:150]}",
            file=sys.stderr,
        )
    return Outcome(
        what="crafted files",
        tried=len(chosen),
        failures=failures,
        seconds=time.perf_counter() - start,
        rows=rows,
        settings={
            "megabytes_while_refused": REFUSED_MB,
            "megabytes_while_read": READ_MB,
            "seconds_at_most": HANG_SECONDS,
        },
    )


def failure(found: dict[str, Any]) -> str:
    """Say what is wrong about the reading of a file; empty if nothing is.

    >>> failure({"end": "refused", "peak": 3_000_000, "message": "too large"})
    ''
    """
    if found["end"] not in ("graphs", "refused"):
        return f"{found['end']} {found['message']}".strip()
    most = REFUSED_MB if found["end"] == "refused" else READ_MB
    if found["peak"] > most * 1e6:
        return f"{found['peak'] / 1e6:.0f} MB, but at most {most} are allowed ({found['end']})"
    return ""


def read(bomb: Bomb) -> dict[str, Any]:
    """Make a file and read it, in one forked process each, so that none sees another's memory."""
    with tempfile.TemporaryDirectory() as name:
        made = in_a_process(lambda: {"path": str(bomb.make(Path(name)))}, HANG_SECONDS)
        before, end = time.perf_counter(), "not made"
        found = made
        if "path" in made:
            end = "failed"
            path = Path(made["path"])
            found = in_a_process(lambda: _outcome(path, bomb.asked), HANG_SECONDS)
    if "error" in found:
        found = {"end": end, "message": found["error"], "peak": 0}
    return {**found, "seconds": time.perf_counter() - before}


def _outcome(path: Path, asked: tuple[str, ...]) -> dict[str, Any]:
    try:
        graphs = read_graphs(path, edge_attributes=asked)
        return {"end": "graphs", "message": f"{len(graphs)} graphs"}
    except GraphscoreError as error:
        return {"end": "refused", "message": str(error)}
