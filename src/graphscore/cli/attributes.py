"""Options for what nodes and edges carry, and what is said of attributes that are not named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cyclopts import Group, Parameter

from graphscore.streams import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import networkx as nx

    from graphscore.graphs import AttributeSettings

MOST_TYPES = 20
"""Values of an attribute that looks like a type."""


@Parameter(name="*", group=Group("Attributes of nodes and edges", sort_key=1))
@dataclass(frozen=True)
class AttributeOptions:
    """Names of attributes; files of GraphML and GML have them."""

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


def by_default(carried: Mapping[str, str], model: str) -> dict[str, str]:
    """Return what a model learns of what a dataset's nodes and edges carry, and say so."""
    from graphscore.models.registry import learnable

    learned = learnable(model, carried)
    left_out = {kind: name for kind, name in carried.items() if kind not in learned}
    if learned:
        say(f"learned too: {_in_words(learned)} (--structure-only: edges only)")
    if left_out:
        say(f"ignored: {_in_words(left_out)}, which the model {model!r} does not learn")
    return learned


def _in_words(attributes: Mapping[str, str]) -> str:
    return ", ".join(f"{kind.replace('_', ' ')} {name!r}" for kind, name in attributes.items())


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
        for name, value in _values_of_nodes(graphs):
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


def _values_of_nodes(graphs: Sequence[nx.Graph[Any]]) -> Iterator[tuple[str, Any]]:
    """Yield names and values of the attributes of nodes, of packed graphs each value once."""
    from graphscore.graphs import PackedGraphs

    if isinstance(graphs, PackedGraphs):
        for name, coded in graphs.node_types.items():
            yield from ((name, value) for value in coded.used())
        return
    for graph in graphs:
        for _, attributes in graph.nodes(data=True):
            yield from attributes.items()
