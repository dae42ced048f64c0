"""Plans of the experiments: TOML files under `reproduce/plans`, merged for one scale."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from graphscore.config import merge
from graphscore.errors import SettingsError

FOLDER = Path(__file__).parent / "plans"
OFFERED = ("full", "quick")
"""Scales that the command line offers; "tiny" is for tests."""


def load_plan(name: str, scale: str) -> dict[str, Any]:
    """Return the plan of an experiment at a scale.

    Later values replace earlier ones: `scales.toml`, the experiment's own file, and the table
    `[scale.SCALE]` of that file.

    Raises:
        SettingsError: the scale is unknown.

    >>> load_plan("table2", "full")["samples"], load_plan("table2", "quick")["samples"]
    (1024, 64)
    """
    common = _read("scales")
    own = {} if name == "scales" else dict(_read(name))
    if scale not in common:
        raise SettingsError(f"unknown scale {scale!r}. Use one of: {', '.join(OFFERED)}.")
    by_scale = own.pop("scale", {})
    return merge(merge(common[scale], own), by_scale.get(scale, {}))


@cache
def _read(name: str) -> Mapping[str, Any]:
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
