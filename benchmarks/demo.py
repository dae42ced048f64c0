"""How long `graphscore demo` takes, and what its samples score."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from graphscore.artifacts import read_document
from graphscore.provenance import provenance


def measure() -> dict[str, Any]:
    """Run the demo in a temporary folder and return its metrics and its time."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "demo"
        started = time.perf_counter()
        command = [sys.executable, "-m", "graphscore", "demo", "--out", str(run)]
        subprocess.run(command, check=True)
        made = provenance() | {
            "seconds": time.perf_counter() - started,
            "training_seconds": read_document(run).seconds,
        }
        metrics = json.loads((run / "metrics.json").read_text())["metrics"]
    return {"provenance": made, "metrics": metrics}


def show(record: dict[str, Any]) -> None:
    """Print the time; the demo printed the rest."""
    made = record["provenance"]
    print(f"{made['seconds']:.0f} s, of which training {made['training_seconds']:.0f} s")
