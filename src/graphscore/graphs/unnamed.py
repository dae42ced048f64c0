"""Which attributes graphs have besides those that are named, in words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Literal

import networkx as nx

from graphscore.graphs.attributes import AttributeSettings, is_asked
from graphscore.graphs.packed import PackedGraphs
from graphscore.settings import quoted

OPTIONS = {"node_type": "--node-type", "edge_type": "--edge-type", "edge_weight": "--edge-weight"}
"""What names the attributes of one kind."""
FEW_VALUES = 20
"""Values of an attribute that looks like a type."""


def unnamed_attributes(
    lists: Iterable[Sequence[nx.Graph[Any]]],
    named: AttributeSettings,
    purpose: Literal["learned", "compared"] = "learned",
    kinds: Collection[str] = OPTIONS,
) -> str:
    """Return one line with the attributes that are not named; empty if all are.

    Args:
        lists: lists of graphs; their `ignored` are names of edge attributes that were not kept.
        named: what is.
        purpose: what is done with it.
        kinds: those of attributes that can be named, as in `AttributeSettings`.

    Example:
        >>> graph = nx.Graph()
        >>> graph.add_node(0, element="C", charge=1)
        >>> unnamed_attributes([[graph]], AttributeSettings(node_type="element"))
        "ignored: node attribute 'charge' (1 value; to learn it, --node-type charge, \
in Python node_type='charge')"
    """
    what, verb = {"learned": ("ignored", "learn"), "compared": ("not compared", "compare")}[purpose]
    values: dict[str, set[tuple[bool, str]]] = {}
    of_edges: dict[str, None] = {}
    for graphs in lists:
        of_edges.update(dict.fromkeys(getattr(graphs, "ignored", ())))
        for name, value in _of_nodes(graphs):
            found = values.setdefault(name, set())
            if len(found) <= FEW_VALUES:
                found.add((isinstance(value, int | str), str(value)))
    nodes = [
        _counted(name, found, verb if "node_type" in kinds else "")
        for name, found in values.items()
        if not is_asked(name, named.of_nodes)
    ]
    parts = [f"node attribute{'s' * (len(nodes) > 1)} {', '.join(nodes)}"] if nodes else []
    edges = [quoted(name) for name in of_edges if not is_asked(name, named.of_edges)]
    if edges:
        words = f"edge attribute{'s' * (len(edges) > 1)} {', '.join(edges)}"
        options = [option for kind, option in OPTIONS.items() if kind in kinds and "edge" in kind]
        remedy = f" (to {verb} one, {' or '.join(options)}" if options else ""
        if remedy and purpose == "learned":
            in_python = [f"{option.removeprefix('--').replace('-', '_')}=" for option in options]
            remedy += f", in Python {' or '.join(in_python)}"
        remedy += ")" if remedy else ""
        parts.append(f"{words}{remedy}")
    return f"{what}: {'; '.join(parts)}" if parts else ""


def _of_nodes(graphs: Sequence[nx.Graph[Any]]) -> Iterator[tuple[str, Any]]:
    """Yield name and value of every attribute of every node; of packed graphs each value once."""
    if isinstance(graphs, PackedGraphs):
        for name, coded in graphs.node_types.items():
            for value in coded.used():
                yield name, value
        return
    for graph in graphs:
        for _, attributes in graph.nodes(data=True):
            for name, value in attributes.items():
                yield str(name), value


def _counted(name: str, found: set[tuple[bool, str]], verb: str) -> str:
    if len(found) > FEW_VALUES:
        return f"{quoted(name)} (more than {FEW_VALUES} values)"
    is_type = all(may_be for may_be, _ in found)
    remedy = f"; to {verb} it, --node-type {name}" if is_type and verb else ""
    if remedy and verb == "learn":
        remedy += f", in Python node_type={name!r}"
    return f"{quoted(name)} ({len(found)} value{'s' * (len(found) > 1)}{remedy})"
