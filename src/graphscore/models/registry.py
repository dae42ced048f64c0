"""Which models there are, and how settings that a user left open are completed, once and here."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from graphscore.config import RunSettings, merge
from graphscore.errors import SettingsError, did_you_mean
from graphscore.models.base import Model
from graphscore.models.diffusion import DenoiserModel, EDPGNNModel
from graphscore.models.erdos_renyi import ErdosRenyi
from graphscore.networks import EDPGNNSettings
from graphscore.settings import Settings, quoted


@dataclass(frozen=True)
class ModelEntry:
    """A name by which users ask for a model.

    Attributes:
        model: the class.
        preset: settings that the name stands for.
    """

    model: type[Model]
    preset: dict[str, Any] = field(default_factory=dict)


def _edp_gnn(settings: EDPGNNSettings) -> dict[str, Any]:
    # With its kind: a section of another kind would replace the preset as a whole.
    return {"network": {"kind": settings.kind, **settings.model_dump(exclude_unset=True)}}


MODELS: dict[str, ModelEntry] = {
    "denoiser": ModelEntry(DenoiserModel),
    "edp-gnn": ModelEntry(EDPGNNModel),
    "edp-gnn-released": ModelEntry(EDPGNNModel, _edp_gnn(EDPGNNSettings.released())),
    "gin": ModelEntry(
        EDPGNNModel,
        _edp_gnn(EDPGNNSettings.ablation(learnable_adjacency=False, multi_channel=False)),
    ),
    "erdos-renyi": ModelEntry(ErdosRenyi),
}
"""All models by name."""

ADDED = ("attributes",)
"""Sections of settings that older models do not have; without them nothing is different."""

DEFAULT_MODEL = "denoiser"
"""What a user gets without naming a model, in Python and on the command line."""


def find_entry(name: str) -> ModelEntry:
    """Return the model of a name.

    Raises:
        SettingsError: there is none.
    """
    if not isinstance(name, str) or name not in MODELS:
        hint = did_you_mean(str(name), MODELS)
        raise SettingsError(f"unknown model {quoted(name)}.{hint} Use one of: {', '.join(MODELS)}.")
    return MODELS[name]


def resolve_settings(given: Mapping[str, Any], *, nodes: int, on_cpu: bool) -> RunSettings:
    """Return complete settings: those given, over those of the model's name, over its defaults.

    Args:
        given: `model`, `seed` and sections, each a settings object, which is complete, or a
            dictionary of the values that differ from the defaults.
        nodes: of the largest training graph.
        on_cpu: choose what a CPU can train in minutes, or in hours for large graphs.

    Raises:
        SettingsError: the model or a setting is unknown, or a value is out of range.

    >>> resolve_settings({}, nodes=12, on_cpu=True).model
    'denoiser'
    >>> resolve_settings({"model": "gin"}, nodes=12, on_cpu=True).network.learnable_adjacency
    False
    """
    name = given.get("model", DEFAULT_MODEL)
    entry = find_entry(name)
    sections = {key: _plain(value) for key, value in given.items() if key != "model"}
    if sections.get("attributes") and "attributes" not in entry.model.Settings.model_fields:
        raise SettingsError(
            f"{min(sections['attributes'])}: the model {name!r} learns edges only. Leave it out, "
            f"or use the model {DEFAULT_MODEL!r}."
        )
    defaults = merge(entry.model.defaults(nodes, on_cpu=on_cpu), entry.preset)
    return entry.model.Settings(**merge(defaults, sections), model=name)


def check_settings(given: Mapping[str, Any], *, on_cpu: bool) -> RunSettings:
    """Return the settings for small graphs or, if they are wrong for those, for large ones.

    So settings that are wrong for graphs of every size are refused before there are any graphs.

    Raises:
        SettingsError: as `resolve_settings`.
    """
    try:
        return resolve_settings(given, nodes=1, on_cpu=on_cpu)
    except SettingsError as error:
        with suppress(SettingsError):
            return resolve_settings(given, nodes=1000, on_cpu=on_cpu)
        raise error


def learnable(name: str, attributes: Mapping[str, str]) -> dict[str, str]:
    """Return those attributes, by their names in `AttributeSettings`, that a model can learn.

    Raises:
        SettingsError: there is no such model.

    >>> learnable("edp-gnn", {"node_type": "element", "edge_type": "bond"})
    {'node_type': 'element'}
    """
    find_entry(name)
    learned = {}
    for kind, attribute in attributes.items():
        with suppress(SettingsError):
            resolve_settings({"model": name, "attributes": {kind: attribute}}, nodes=1, on_cpu=True)
            learned[kind] = attribute
    return learned


def learnable_kinds(name: str) -> list[str]:
    """Return the kinds of attributes with a name that a model can learn, or take.

    >>> learnable_kinds("erdos-renyi"), learnable_kinds("edp-gnn")
    ([], ['node_type', 'edge_weight'])
    """
    every = ("node_type", "edge_type", "edge_weight")
    return list(learnable(name, dict(zip(every, every))))


def stored_settings(values: Mapping[str, Any]) -> RunSettings:
    """Return the settings of a stored model, which are complete.

    Raises:
        SettingsError: they are not, or the model is unknown.
    """
    settings = find_entry(values.get("model", "")).model.Settings
    missing = [name for name in settings.model_fields if name not in values and name not in ADDED]
    if missing:
        raise SettingsError(f"stored settings without {', '.join(missing)}.")
    return settings(**values)


def _plain(value: Any) -> Any:
    return value.model_dump() if isinstance(value, Settings) else value
