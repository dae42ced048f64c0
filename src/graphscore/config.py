"""The settings of a run, composed from those that live beside each part."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Discriminator, Field, Tag, model_validator

from graphscore.errors import SettingsError
from graphscore.networks import DenoiserSettings, EDPGNNSettings, GuidanceSettings
from graphscore.noise import NoiseSettings
from graphscore.sampling import (
    HeunSettings,
    LangevinSettings,
    RenoisingSettings,
    started_at,
)
from graphscore.settings import Settings
from graphscore.training import DenoisingSettings, TrainingSettings

NETWORKS: dict[str, EDPGNNSettings | DenoiserSettings] = {
    "edp-gnn": EDPGNNSettings(),
    "edp-gnn-released": EDPGNNSettings.released(),
    "gin": EDPGNNSettings.ablation(learnable_adjacency=False, multi_channel=False),
    "denoiser": DenoiserSettings(),
}
"""Networks by name, as the command line offers them."""


def _tag(name: str, models: Sequence[type[Settings]], value: Any) -> str:
    """Tell settings apart by a field of theirs or, where that is missing, by the others.

    That is the one that knows most of them; the first where nothing tells: settings of before there
    was a choice.
    """
    tags = [str(model.model_fields[name].default) for model in models]
    if not isinstance(value, Mapping):
        return str(getattr(value, name, tags[0]))
    known = [len(set(value) & set(model.model_fields)) for model in models]
    return str(value.get(name, tags[known.index(max(known))]))


def _network_tag(value: Any) -> str:
    return _tag("kind", (EDPGNNSettings, DenoiserSettings), value)


def _sampling_tag(value: Any) -> str:
    return _tag("sampler", (LangevinSettings, HeunSettings, RenoisingSettings), value)


NetworkSettings = Annotated[
    Annotated[EDPGNNSettings, Tag("edp-gnn")] | Annotated[DenoiserSettings, Tag("denoiser")],
    Discriminator(_network_tag),
]
SamplingSettings = Annotated[
    Annotated[LangevinSettings, Tag("langevin")]
    | Annotated[HeunSettings, Tag("heun")]
    | Annotated[RenoisingSettings, Tag("renoising")],
    Discriminator(_sampling_tag),
]


class GuideSettings(GuidanceSettings):
    """A weaker network that guides the network of a model, and how far."""

    network: NetworkSettings


class RunSettings(Settings):
    """Everything that decides what a run computes, apart from the graphs."""

    seed: int = Field(default=0, ge=0)
    noise: NoiseSettings = NoiseSettings()
    """Noise levels of the paper's objective and of annealed Langevin dynamics."""
    denoising: DenoisingSettings | None = None
    """Cross-entropy at every noise level of a range as the objective; without it, the paper's."""
    network: NetworkSettings = EDPGNNSettings()
    training: TrainingSettings = TrainingSettings()
    sampling: SamplingSettings = LangevinSettings()
    guide: GuideSettings | None = None
    """A model has one if it was put together from two, see `GraphGenerator.guided_by`."""

    @property
    def tells_communities(self) -> bool:
        """Whether the network is told which nodes belong together."""
        return isinstance(self.network, DenoiserSettings) and self.network.communities

    @model_validator(mode="before")
    @classmethod
    def _what_was_meant(cls, values: Any) -> Any:
        if not isinstance(values, Mapping):
            return values
        network = values.get("network")
        if isinstance(network, str):
            network = named_network(network)
            values = {**values, "network": network}
        if isinstance(network, Settings):
            # Who gives an object has chosen all of it.
            values = {**values, "network": network.replaced()}
        kind = _network_tag(network)
        if isinstance(network, Mapping) and network.get("communities") and kind == "edp-gnn":
            raise ValueError(
                "an EDP-GNN cannot be told communities: leave out network.communities "
                "(--communities), or use network kind 'denoiser'"
            )
        if kind == "denoiser" and values.get("denoising") is None:
            values = {**values, "denoising": DenoisingSettings()}
        sampling = values.get("sampling")
        if isinstance(sampling, Settings):
            # Who gives an object has chosen the sampler, which its own default does not tell.
            named = {"sampler": _sampling_tag(sampling), **sampling.model_dump(exclude_unset=True)}
            values = {**values, "sampling": named}
        return values

    @model_validator(mode="after")
    def _can_be_guided(self) -> Self:
        if self.guide is not None and self.denoising is None:
            raise ValueError(
                "a guide wants networks that were trained to denoise at every noise level: use "
                "network kind 'denoiser', or set [denoising]"
            )
        return self

    @model_validator(mode="after")
    def _sampler_suits(self) -> Self:
        # Where no network was chosen yet, it will be a denoiser.
        chosen = "network" in self.model_fields_set and self.denoising is None
        if chosen and not isinstance(self.sampling, LangevinSettings):
            raise ValueError(
                f"the sampler {self.sampling.sampler!r} wants a network that was trained to "
                "denoise at every noise level: train with network kind 'denoiser', or with "
                "[denoising] set, or use the sampler 'langevin'"
            )
        if self.denoising is not None and not isinstance(self.sampling, LangevinSettings):
            # Before training, rather than when graphs are wanted.
            started_at(self.denoising.sigma_range, self.sampling.sigma_max)
        return self


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


def named_network(name: str) -> dict[str, Any]:
    """Return what a name says of a network; the rest is left to defaults, or to the graphs.

    Raises:
        SettingsError: there is no such network.
    """
    if name not in NETWORKS:
        raise SettingsError(f"unknown network {name!r}. Use one of: {', '.join(NETWORKS)}.")
    network = NETWORKS[name]
    return {"kind": network.kind, **network.model_dump(exclude_unset=True)}


def changed_settings(stored: RunSettings, wanted: RunSettings) -> list[str]:
    """Describe the settings that may not change when a run is continued but did."""
    before, after = stored.model_dump(), wanted.model_dump()
    for settings in (before, after):
        del settings["sampling"], settings["training"]["steps"], settings["training"]["log_every"]
    changed = []
    for part, value in before.items():
        both = isinstance(value, dict) and isinstance(after[part], dict)
        values, others = (value, after[part]) if both else ({"": value}, {"": after[part]})
        for name, old in values.items():
            if others.get(name) != old:
                key = f"{part}.{name}" if name else part
                changed.append(f"{key} was {old!r} and is now {others.get(name)!r}")
    return changed
