"""Plans of the experiments: TOML files under `reproduce/plans`, merged for one scale."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

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
    return merged(merged(common[scale], own), by_scale.get(scale, {}))


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` with `changes`, table by table; everything that is no table is replaced.

    >>> merged({"a": {"b": 1, "c": 2}, "d": [1]}, {"a": {"b": 3}, "d": [2]})
    {'a': {'b': 3, 'c': 2}, 'd': [2]}
    """
    result = dict(base)
    for key, value in changes.items():
        old = result.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        result[key] = merged(old, value) if both else value  # type: ignore[arg-type]
    return result


@cache
def _read(name: str) -> Mapping[str, Any]:
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
