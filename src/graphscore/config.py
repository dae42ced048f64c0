"""The settings of a run, composed from those that live beside each part."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from graphscore.errors import SettingsError
from graphscore.networks import EDPGNNSettings
from graphscore.noise import NoiseSettings
from graphscore.sampling import LangevinSettings
from graphscore.settings import Settings
from graphscore.training import TrainingSettings

NETWORKS = {
    "edp-gnn": EDPGNNSettings(),
    "edp-gnn-released": EDPGNNSettings.released(),
    "gin": EDPGNNSettings.ablation(learnable_adjacency=False, multi_channel=False),
}
"""Networks by name, as the command line offers them."""


class RunSettings(Settings):
    """Everything that decides what a run computes, apart from the graphs."""

    seed: int = Field(default=0, ge=0)
    noise: NoiseSettings = NoiseSettings()
    network: EDPGNNSettings = EDPGNNSettings()
    training: TrainingSettings = TrainingSettings()
    sampling: LangevinSettings = LangevinSettings()


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

    >>> merge({"seed": 1, "training": {"steps": 5}}, {"training": {"batch_size": 2}})
    {'seed': 1, 'training': {'steps': 5, 'batch_size': 2}}
    """
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            merged[key] = merge(below, value)
        else:
            merged[key] = value
    return merged


def named_network(name: str) -> EDPGNNSettings:
    """Return the settings of a network by name.

    Raises:
        SettingsError: there is no such network.
    """
    if name not in NETWORKS:
        raise SettingsError(f"unknown network {name!r}. Use one of: {', '.join(NETWORKS)}.")
    return NETWORKS[name]


def changed_settings(stored: RunSettings, wanted: RunSettings) -> list[str]:
    """Describe the settings that may not change when a run is continued but did."""
    before, after = stored.model_dump(), wanted.model_dump()
    for settings in (before, after):
        del settings["sampling"], settings["training"]["steps"], settings["training"]["log_every"]
    changed = []
    for part, value in before.items():
        values = value if isinstance(value, dict) else {"": value}
        others = after[part] if isinstance(value, dict) else {"": after[part]}
        for name, old in values.items():
            if others[name] != old:
                key = f"{part}.{name}" if name else part
                changed.append(f"{key} was {old!r} and is now {others[name]!r}")
    return changed
