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
from graphscore.settings import Settings


class RunSettings(Settings):
    """Everything that decides what a run computes, apart from the graphs.

    A model adds the sections that mean something to it.
    """

    model: str
    """Name of the model in the registry, `models.MODELS`."""
    seed: int = Field(default=0, ge=0)
    """Fixes everything random."""

    @property
    def steps(self) -> int:
        """Optimiser steps in all; 0 for models that are not trained by gradients."""
        return 0


def read_config(path: Path) -> dict[str, Any]:
    """Read a TOML file of settings as nested dictionaries.

    Raises:
        SettingsError: the file cannot be read or is not TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(
            f"{path}: cannot read the settings ({error.strerror}). "
            "Give the path of a TOML file with sections such as [training]."
        ) from None
    except ValueError as error:
        raise SettingsError(f"{path}: not valid TOML: {error}") from None


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
