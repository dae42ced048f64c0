"""The base class of all settings: frozen, validated when made, unknown keys refused.

The settings themselves live beside what they set; a model composes those of a run.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic.fields import FieldInfo

from graphscore.errors import SettingsError

# Bounds of settings. A run may be started, and a model come, from somebody else, so no setting may
# ask for any amount of memory or time. Each bound lies far beyond what networks of graphs have had
# (tens of blocks, widths of hundreds, thousands of noise levels, millions of steps), and together
# they keep the description of a network small enough to be read in seconds. How large the network
# itself may be is `models.resources.MOST_PARAMETERS`, checked before it is built.
LARGEST_SEED = 2**63 - 1
MOST_STEPS = 100_000_000
"""Of training; a step takes a millisecond at least, so these take a day or more."""
MOST_BLOCKS = 256
"""Blocks of a denoiser."""
MOST_LAYERS = 16
"""Layers of an EDP-GNN, and message-passing steps in each."""
WIDEST = 4096
"""Features of a node, of a pair or of a hidden layer."""
LONGEST_WALK = 64
MOST_LEVELS = 1000
"""Fixed noise levels."""
MOST_SAMPLING_STEPS = 10_000
"""Of a sampler that steps through a range of noise levels."""
MOST_LANGEVIN_STEPS = 1_000_000
"""At all noise levels together."""
SMALLEST_SIGMA, LARGEST_SIGMA = 1e-6, 1e6
MOST_ERRORS = 10
"""That a message names."""
LONGEST_VALUE = 200
"""Characters of a wrong value that a message repeats."""


class _NoNumber:
    """What pydantic would take for a number, and is none."""

    def __init__(self, value: bool | str) -> None:
        self._value = value

    def __repr__(self) -> str:
        return repr(self._value)


class Settings(BaseModel):
    """Frozen settings; anything wrong raises `SettingsError` naming the key and the remedy."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def __init__(self, /, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise SettingsError(_describe(error, type(self))) from None

    # pydantic calls an overridden __init__ for nested models too, and their errors would then lose
    # the path; this mark, which pydantic puts on its own, says that validation may go around it.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @model_validator(mode="before")
    @classmethod
    def _truth_values_and_texts_are_no_numbers(cls, values: Any) -> Any:
        if not isinstance(values, Mapping):
            return values
        return {name: _marked(value, cls.model_fields.get(name)) for name, value in values.items()}

    def replaced(self, **changes: Any) -> Any:
        """Return a copy with some fields changed, validated like a new one."""
        return type(self)(**{**self.model_dump(), **changes})


def names_in(settings: type[BaseModel], section: str) -> list[str]:
    """Return the names of the settings in a section, of every kind that it may have."""
    field = settings.model_fields.get(section)
    models = [] if field is None else _models_in(field.annotation)
    return [name for model in models for name in model.model_fields]


def in_one_line(values: Mapping[str, Any]) -> str:
    """Return settings, as plain values, for people to read.

    >>> in_one_line({"loss": "squared", "sigma_range": {"sigma_min": 0.1}, "sigmas": [2, 1]})
    'loss squared, sigma_range (sigma_min 0.1), sigmas 2 1'
    """
    return ", ".join(f"{name} {_text(value)}" for name, value in values.items())


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"({in_one_line(value)})"
    return " ".join(str(item) for item in value) if isinstance(value, list) else str(value)


def _marked(value: Any, field: FieldInfo | None) -> Any:
    """Mark truth values and texts where a field has numbers only."""
    if isinstance(value, list | tuple):
        return [_marked(item, field) for item in value]
    types = set() if field is None else _types_in(field.annotation)
    is_other = isinstance(value, bool | str) and types & {int, float} and type(value) not in types
    return _NoNumber(value) if is_other else value


def _types_in(annotation: Any) -> set[type]:
    """The types that a field may have, those of the items of its lists included."""
    if get_origin(annotation) is Literal:
        return {type(value) for value in get_args(annotation)}
    parts = get_args(annotation)
    if get_origin(annotation) is Annotated:
        parts = parts[:1]
    return set().union(*map(_types_in, parts)) if parts else {annotation}


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    """The settings that a field may hold."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models_in(part)]


def quoted(value: Any) -> str:
    """Return a value as a message repeats it: cut where it is long.

    >>> quoted("a")
    "'a'"
    """
    try:
        text = repr(value)
    except ValueError:  # Python writes no number of thousands of digits
        return "(a number of thousands of digits)"
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."


def _names_its_kind(model: type[BaseModel], tag: str) -> bool:
    return any(field.default == tag for field in model.model_fields.values())


def _place(model: type[BaseModel], path: tuple[int | str, ...]) -> tuple[list[str], list[str]]:
    """The keys that lead to a place, and the names that are allowed there.

    Where a field holds one of several settings, pydantic's path names which; a user's does not.
    """
    names: list[str] = []
    models = [model]
    for key in map(str, path):
        tagged = [one for one in models if _names_its_kind(one, key)]
        if len(models) > 1 and tagged:
            models = tagged
            continue
        names.append(key)
        fields = [one.model_fields[key] for one in models if key in one.model_fields]
        models = [found for field in fields for found in _models_in(field.annotation)]
    return names, [name for one in models for name in one.model_fields]


def _describe(error: ValidationError, model: type[BaseModel]) -> str:
    lines = []
    for item in error.errors(include_url=False)[:MOST_ERRORS]:
        where = ".".join(_place(model, item["loc"])[0])
        if item["type"] == "extra_forbidden":
            allowed = _place(model, item["loc"][:-1])[1]
            near = difflib.get_close_matches(str(item["loc"][-1]), allowed, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known here: {', '.join(allowed)}."
            lines.append(f"unknown setting {where!r}; {hint}")
        elif item["type"] == "union_tag_invalid":
            known = item["ctx"]["expected_tags"]
            tag = quoted(item["ctx"]["tag"])
            lines.append(f"setting {where!r}: unknown kind {tag}. Use {known}.")
        elif item["type"] == "missing":
            lines.append(f"setting {where!r} is missing.")
        else:
            no_section = item["type"] in ("model_type", "model_attributes_type")
            message = (
                "expected a section of settings, by their names" if no_section else item["msg"]
            )
            message = message.removeprefix("Value error, ")
            # Of several settings together, the message says which ones it is about.
            given = "" if isinstance(item["input"], Mapping) else f" = {quoted(item['input'])}"
            lines.append(f"setting {where!r}{given}: {message}." if where else f"{message}.")
    if error.error_count() > MOST_ERRORS:
        lines.append(f"... and {error.error_count() - MOST_ERRORS} more.")
    return "\n".join(lines)
