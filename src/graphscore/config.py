"""Settings of a run: the base class of every model's settings, TOML files, merging.

A model's own settings live beside it, in `models/`; `models/registry.py` completes what a user left
open.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from graphscore.errors import SettingsError
from graphscore.regular import open_regular
from graphscore.settings import LARGEST_SEED, Settings

MAX_BYTES = 2**16
MAX_DEPTH = 10
"""Of a TOML file of settings; real ones have some hundred bytes and two levels."""
_MOST_DOTS = 1000
"""In one line; a list of numbers may have some hundred."""


class RunSettings(Settings):
    """Everything that decides what a run computes, apart from the graphs.

    A model adds the sections that mean something to it.
    """

    model: str = Field(max_length=100)
    """Name of the model in the registry, `models.MODELS`."""
    seed: int = Field(default=0, ge=0, le=LARGEST_SEED)
    """Fixes everything random."""

    @property
    def steps(self) -> int:
        """Optimiser steps in all; 0 for models that are not trained by gradients."""
        return 0


def read_config(path: Path) -> dict[str, Any]:
    """Read a TOML file of settings as nested dictionaries.

    Raises:
        SettingsError: the file cannot be read, is not TOML, or is larger or nested deeper than any
            settings are.
    """
    advice = "Give the path of a TOML file with sections such as [training]."
    try:
        with open_regular(path) as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise SettingsError(
            f"{path}: cannot read the settings ({error.strerror}). {advice}"
        ) from None
    except ValueError as error:
        raise SettingsError(
            f"{str(path)!r}: no file can have this name ({error}). {advice}"
        ) from None
    if len(data) > MAX_BYTES:
        raise SettingsError(f"{path}: larger than the {MAX_BYTES} bytes that settings may have.")
    try:
        text = data.decode("utf-8")
        # Memory and time of tomllib grow with the square of the parts of a key, `a.b.c`.
        dotted = max((line.count(".") for line in text.splitlines()), default=0) > _MOST_DOTS
        values = None if dotted else tomllib.loads(text)
    except ValueError as error:
        raise SettingsError(f"{path}: not valid TOML: {error}") from None
    except RecursionError:
        values = None
    if values is None or _deeper_than(MAX_DEPTH, values):
        raise SettingsError(
            f"{path}: nested deeper than the {MAX_DEPTH} levels that settings may have. {advice}"
        )
    return values


def _deeper_than(levels: int, values: Mapping[str, Any]) -> bool:
    """Whether tables and lists contain each other more than `levels` times."""
    layer: list[Any] = [values]
    for _ in range(levels):
        layer = [
            inner
            for outer in layer
            for inner in (outer.values() if isinstance(outer, Mapping) else outer)
            if isinstance(inner, Mapping | list)
        ]
    return bool(layer)


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` with the values of `over` on top, section by section.

    A section of another kind replaces the one below as a whole.

    >>> merge({"seed": 1, "training": {"steps": 5}}, {"training": {"batch_size": 2}})
    {'seed': 1, 'training': {'steps': 5, 'batch_size': 2}}
    >>> merge({"sampling": {"kind": "heun", "churn": 1}}, {"sampling": {"kind": "ancestral"}})
    {'sampling': {'kind': 'ancestral'}}
    """
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            same = value.get("kind", below.get("kind")) == below.get("kind")
            merged[key] = merge(below, value) if same else value
        else:
            merged[key] = value
    return merged


def changed_settings(stored: RunSettings, asked: RunSettings) -> list[str]:
    """Describe the settings that may not change when a run is continued but did."""
    before, after = stored.model_dump(), asked.model_dump()
    for settings in (before, after):
        settings.pop("sampling", None)
        for name in ("steps", "log_every"):
            settings.get("training", {}).pop(name, None)
    changed = []
    for part, value in before.items():
        both = isinstance(value, dict) and isinstance(after.get(part), dict)
        values, others = (value, after[part]) if both else ({"": value}, {"": after.get(part)})
        for name, old in values.items():
            if others.get(name) != old:
                key = f"{part}.{name}" if name else part
                changed.append(f"{key} was {old!r} and is now {others.get(name)!r}")
    return changed
