"""Options for what nodes and edges carry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cyclopts import Group, Parameter

from graphscore.streams import say

if TYPE_CHECKING:
    from collections.abc import Mapping


@Parameter(name="*", group=Group("Attributes of nodes and edges", sort_key=1))
@dataclass(frozen=True)
class AttributeOptions:
    """Names of attributes of JSON, npz, GraphML, GML or TU; x_0 is the first number of a vector.
    SMILES and SDF need no names."""

    node_type: str | None = None
    """Node attribute with one of several values, such as an element."""
    edge_type: str | None = None
    """Edge attribute with one of several values, such as a kind of bond."""
    edge_weight: str | None = None
    """Edge attribute that is a number."""
    node_features: str | None = None
    """Node attributes that are numbers or vectors of them: names with commas between them."""

    def given(self) -> dict[str, Any]:
        """Return those that were given, as settings."""
        values: dict[str, Any] = {k: v for k, v in vars(self).items() if v is not None}
        if self.node_features is not None:
            values["node_features"] = [name.strip() for name in self.node_features.split(",")]
        return values


NO_ATTRIBUTES = AttributeOptions()
"""Which edges there are, and nothing else."""


def by_default(carried: Mapping[str, str], model: str) -> dict[str, str]:
    """Return what a model learns of what a dataset's nodes and edges carry, and say so."""
    from graphscore.models.registry import learnable

    learned = learnable(model, carried)
    if learned:
        say(f"learned too: {in_words(learned)} (--structure-only: edges only)")
    return learned


def in_words(attributes: Mapping[str, str]) -> str:
    """Name attributes for people to read."""
    return ", ".join(f"{kind.replace('_', ' ')} {name!r}" for kind, name in attributes.items())
