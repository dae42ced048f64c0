"""Options for what nodes and edges carry, and what is said of attributes that are not named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cyclopts import Group, Parameter

from graphscore.streams import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import networkx as nx

    from graphscore.graphs import AttributeSettings

MOST_TYPES = 20
"""Values of an attribute that looks like a type."""


@Parameter(name="*", group=Group("Attributes of nodes and edges", sort_key=1))
@dataclass(frozen=True)
class AttributeOptions:
    """Names of attributes; files of GraphML and GML have them, SMILES and SDF need no names."""

    node_type: str | None = None
    """Node attribute with one of several values, such as an element."""
    edge_type: str | None = None
    """Edge attribute with one of several values, such as a kind of bond."""
    edge_weight: str | None = None
    """Edge attribute that is a number."""
    node_features: str | None = None
    """Node attributes that are numbers: names with commas between them."""

    def given(self) -> dict[str, Any]:
        """Return those that were given, as settings."""
        values: dict[str, Any] = {k: v for k, v in vars(self).items() if v is not None}
        if self.node_features is not None:
            values["node_features"] = [name.strip() for name in self.node_features.split(",")]
        return values


NO_ATTRIBUTES = AttributeOptions()
"""Which edges there are, and nothing else."""


def in_words(names: AttributeSettings) -> str:
    """Name attributes for people to read."""
    of_nodes = [f"node attribute {name!r}" for name in names.of_nodes]
    return " and ".join([*of_nodes, *(f"edge attribute {name!r}" for name in names.of_edges)])


def say_ignored(graphs: Sequence[nx.Graph[Any]], learned: AttributeSettings) -> None:
    """Name the attributes that are not learned."""
    _say_others([graphs], learned, "ignored", "learn")


def say_not_compared(lists: Iterable[Sequence[nx.Graph[Any]]], compared: AttributeSettings) -> None:
    """Name the attributes of some lists of graphs that are not compared, each once."""
    _say_others(lists, compared, "not compared", "compare")


def _say_others(
    lists: Iterable[Sequence[nx.Graph[Any]]], named: AttributeSettings, what: str, verb: str
) -> None:
    values: dict[str, set[tuple[bool, str]]] = {}
    of_edges: dict[str, None] = {}
    for graphs in lists:
        of_edges.update(dict.fromkeys(getattr(graphs, "ignored", ())))
        for graph in graphs:
            for _, attributes in graph.nodes(data=True):
                for name, value in attributes.items():
                    if name not in named.of_nodes:
                        may_be_type = isinstance(value, int | str)
                        values.setdefault(str(name), set()).add((may_be_type, str(value)))
    for name, found in values.items():
        is_type = len(found) <= MOST_TYPES and all(may_be for may_be, _ in found)
        remedy = f"; to {verb} it, --node-type {name}" if is_type else ""
        values_of_it = "1 value" if len(found) == 1 else f"{len(found)} values"
        say(f"{what}: node attribute {name!r} ({values_of_it}{remedy})")
    for name in of_edges:
        say(f"{what}: edge attribute {name!r}; to {verb} it, --edge-type or --edge-weight {name}")
