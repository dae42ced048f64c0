"""Writes docs/settings.md from the classes of settings: `python -m scripts.settings_page`."""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

from graphscore.diffusion import DenoisingSettings, GuidanceSettings, SigmaLevels, SigmaRange
from graphscore.diffusion.samplers import AncestralSettings, HeunSettings, LangevinSettings
from graphscore.graphs import AttributeSettings
from graphscore.networks import DenoiserSettings, EDPGNNSettings
from graphscore.settings import Settings
from graphscore.training import TrainingSettings

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"
SECTIONS: dict[str, type[Settings]] = {
    "training": TrainingSettings,
    "noise of a denoiser": SigmaRange,
    "noise of an EDP-GNN": SigmaLevels,
    "objective": DenoisingSettings,
    "attributes": AttributeSettings,
    "sampling: heun": HeunSettings,
    "sampling: ancestral": AncestralSettings,
    "sampling: langevin": LangevinSettings,
    "guide": GuidanceSettings,
    "network: denoiser": DenoiserSettings,
    "network: edp-gnn": EDPGNNSettings,
}
_SIGMA = "from 0.000001 to 1000000"
CHECKED_BESIDES = {
    (SigmaRange, "sigma_max"): f"above `sigma_min`, {_SIGMA}",
    (GuidanceSettings, "sigma_max"): f"above `sigma_min`, {_SIGMA}",
    (SigmaLevels, "sigmas"): f"at most 1000, falling, each {_SIGMA}",
    (LangevinSettings, "sigmas"): f"at most 1000, falling, each {_SIGMA}",
    (AttributeSettings, "node_features"): "at most 1000 names",
}
"""Values of settings that validators check, in words."""
INTRODUCTION = """\
# Settings

<!-- made by python -m scripts.settings_page -->

All settings of models that are trained, with the defaults of their kind. They are given as the
sections of a TOML file ([command line](command-line.md#settings)), or in Python:
`GraphGenerator(training={"steps": 500})`. For the denoiser, settings of the network, the training
and the sampler that are left out are chosen from the sizes of the graphs instead. Langevin dynamics
takes at most 1,000,000 steps at all levels together.
"""


def page() -> str:
    """Return the text of the page."""
    return "\n".join([INTRODUCTION, *(_section(*section) for section in SECTIONS.items())])


def _section(title: str, settings: type[Settings]) -> str:
    properties, meanings = settings.model_json_schema()["properties"], _meanings(settings)
    rows = [
        f"| `{name}` | {_default(schema['default'])} | {_values(settings, name, schema)} "
        f"| {meanings[name]} |"
        for name, schema in properties.items()
    ]
    head = "| setting | default | values | meaning |\n|---|---|---|---|"
    return "\n".join([f"## {title}", head, *rows, ""])


def _meanings(settings: type[Settings]) -> dict[str, str]:
    """Return the docstrings below the fields of a class and of those it is made from."""
    found = {"kind": "Which sampler or network these settings belong to."}
    for each in reversed(settings.__mro__):
        if not (issubclass(each, Settings) and each is not Settings):
            continue
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(each))).body
        assert isinstance(tree, ast.ClassDef)
        for field, below in pairwise(tree.body):
            match field, below:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(text)):
                    found[name] = " ".join(str(text).split())
    return found


def _default(value: Any) -> str:
    return "none" if value is None else f"`{_number(value)}`"


def _number(value: Any) -> str:
    """Return a value as in TOML, numbers without exponents."""
    return f"{Decimal(repr(value)):f}" if isinstance(value, float) else json.dumps(value)


def _bound(value: float) -> str:
    return _number(int(value) if value == int(value) else float(value))


def _values(settings: type[Settings], name: str, schema: dict[str, Any]) -> str:
    """Say which values a setting may have."""
    if words := CHECKED_BESIDES.get((settings, name)):
        return words
    schema = {**schema, **schema.get("anyOf", [{}])[0]}
    kind = schema["type"]
    if "const" in schema or "enum" in schema:
        choices = schema.get("enum", [schema.get("const")])
        return ", ".join(f"`{json.dumps(choice)}`" for choice in choices)
    if kind == "array":
        return f"at most {schema['maxItems']}, each {_range(schema['items'])}"
    return {"boolean": "`true`, `false`", "string": "a name"}.get(kind) or _range(schema)


def _range(schema: dict[str, Any]) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        return f"from {_bound(low)} to {_bound(high)}"
    ends = {"minimum": "at least", "exclusiveMinimum": "above", "exclusiveMaximum": "below"}
    words = [f"{word} {_bound(schema[end])}" for end, word in ends.items() if end in schema]
    return ", ".join([*words, *([f"to {_bound(high)}"] if high is not None else [])])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
