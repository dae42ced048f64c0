"""Where a number comes from: machine, versions, commit, date."""

from __future__ import annotations

import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from graphscore.version import __version__

ROOT = Path(__file__).resolve().parents[2]
"""The repository, where this file lies in a checkout."""


def processor() -> str:
    """Name of the processor, from the system."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def commit(root: Path = ROOT) -> str | None:
    """Short name of the commit of this code, None if unknown.

    Where files are copied to a machine without their history, a file `COMMIT` at the root of the
    repository holds it (git-ignored; `git rev-parse --short HEAD > COMMIT` before copying).
    """
    try:
        known = (root / "COMMIT").read_text(encoding="utf-8").strip()
    except OSError:
        known = ""
    if known or not (root / ".git").exists():
        return known or None
    try:
        # Not the current folder, which may belong to another repository.
        command = ["git", "-C", str(root), "rev-parse", "--short", "HEAD"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None


def provenance(device: str = "cpu") -> dict[str, Any]:
    """Describe the machine and the code for a results file."""
    return {
        "graphscore": __version__,
        "commit": commit(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "device": torch.cuda.get_device_name(device) if device.startswith("cuda") else "CPU",
        "processor": processor(),
        "threads": torch.get_num_threads(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }
