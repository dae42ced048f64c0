"""What a campaign tried and what failed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from graphscore.atomic import write_file
from graphscore.provenance import provenance

ROOT = Path(__file__).resolve().parents[1]


def require_fork() -> None:
    """Stop where processes cannot be forked."""
    if not hasattr(os, "fork"):
        raise SystemExit("This campaign needs fork, so it does not run on Windows.")


@dataclass(frozen=True)
class Outcome:
    """The result of one campaign.

    Attributes:
        what: what was counted, in words: "fuzzed inputs", "kills".
        tried: how many.
        failures: one line for each that did not hold.
        seconds: wall-clock time.
        rows: numbers of the parts, by name; each part has the same keys.
        settings: what repeats the campaign, and anything else worth knowing.
        allowed: so many failures do not fail the command.
    """

    what: str
    tried: int
    failures: list[str]
    seconds: float
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    allowed: int = 0

    def write(self, path: Path, command: str) -> None:
        """Write the record of this campaign, with the command that repeats it."""
        record = {**asdict(self), "command": command, "provenance": provenance("cpu")}
        write_file(path, (json.dumps(record, indent=1) + "\n").encode())
