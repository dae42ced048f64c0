"""Run `graphscore demo` in a temporary folder and keep its metrics and its time.

python benchmarks/demo.py [--json results/demo.json]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from graphscore.atomic import write_file
from graphscore.provenance import provenance


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, default=Path("results/demo.json"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "demo"
        started = time.perf_counter()
        command = [sys.executable, "-m", "graphscore.cli.main", "demo", "--out", str(run)]
        subprocess.run(command, check=True)
        made = provenance() | {
            "seconds": time.perf_counter() - started,
            "training_seconds": json.loads((run / "checkpoint.json").read_text())["seconds"],
        }
        metrics = json.loads((run / "metrics.json").read_text())["metrics"]
    record = {"provenance": made, "metrics": metrics}
    write_file(arguments.json, (json.dumps(record, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
