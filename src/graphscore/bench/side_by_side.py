"""The plain and the accelerated path beside each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphscore.acceleration import Accelerate
from graphscore.bench.arithmetic import Work
from graphscore.bench.ceilings import Ceilings

SWITCH: dict[str, Accelerate] = {"plain": "off", "accelerated": "auto"}
"""How each of the two is asked for."""


def shares_of(ceilings: Ceilings, work: Work, seconds: float, path: str) -> dict[str, float | None]:
    """Which shares of the ceilings a path reaches.

    The traffic of operators is that of the plain path; others have less, and nothing counts it.
    """
    shares: dict[str, float | None] = {**ceilings.shares(work, seconds)}
    if path != "plain":
        shares["share_of_copy_ceiling"] = None
    return shares


def both(paths: Mapping[str, Any]) -> dict[str, Any]:
    """Where nothing faster works here, the accelerated path is the plain one, measured once."""
    return {"plain": paths["plain"], "accelerated": paths.get("accelerated", paths["plain"])}
