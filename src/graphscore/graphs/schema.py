"""Schema: what nodes and edges carry, found in graphs, and the numbers that a model learns for it.

A type of K values is K numbers, 1 at its value; real numbers are in standard units.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from graphscore.errors import GraphDataError
from graphscore.graphs.attributes import (
    LARGEST,
    LONGEST,
    MOST_VALUES,
    AttributeSettings,
    Scale,
    Types,
    Value,
)
from graphscore.settings import Settings, quoted


class Schema(Settings):
    """What the nodes and edges of some graphs carry.

    Example:
        >>> graph = nx.Graph([(0, 1, {"bond": "single"})])
        >>> schema = Schema.of([graph], AttributeSettings(edge_type="bond"))
        >>> schema.edge_type.values
        ('single',)
    """

    node_type: Types | None = None
    edge_type: Types | None = None
    edge_weight: Scale | None = None
    node_features: tuple[Scale, ...] = Field(default=(), max_length=1000)

    @classmethod
    def of(cls, graphs: Sequence[nx.Graph[Any]], names: AttributeSettings) -> Schema:
        """Find the values of the named attributes.

        Raises:
            GraphDataError: a node or edge without a named attribute, or with another kind of value.
        """
        nodes, edges = Attributes(graphs, "node"), Attributes(graphs, "edge")
        weight = names.edge_weight
        return cls(
            node_type=None if names.node_type is None else nodes.types(names.node_type),
            edge_type=None if names.edge_type is None else edges.types(names.edge_type),
            edge_weight=None if weight is None else Scale.of(weight, edges.numbers(weight)),
            node_features=tuple(
                Scale.of(name, nodes.numbers(name)) for name in names.node_features
            ),
        )

    @property
    def names(self) -> AttributeSettings:
        """The names of all attributes."""
        types, weight = (self.node_type, self.edge_type), self.edge_weight
        node_type, edge_type = (None if each is None else each.name for each in types)
        return AttributeSettings(
            node_type=node_type,
            edge_type=edge_type,
            edge_weight=None if weight is None else weight.name,
            node_features=tuple(scale.name for scale in self.node_features),
        )

    @property
    def edge_types(self) -> int:
        """Types of edges; 1 if they have none."""
        return 1 if self.edge_type is None else len(self.edge_type.values)

    @property
    def node_types(self) -> int:
        """Types of nodes; 0 if they have none."""
        return 0 if self.node_type is None else len(self.node_type.values)

    @property
    def edge_width(self) -> int:
        """Numbers that an edge is in a state; 0 if edges carry nothing."""
        if self.edge_type is None and self.edge_weight is None:
            return 0
        return self.edge_types + (self.edge_weight is not None)

    @property
    def node_width(self) -> int:
        """Numbers that a node is in a state; 0 if nodes carry nothing."""
        return self.node_types + len(self.node_features)

    def in_words(self) -> list[list[str]]:
        """Return what is carried, and its values, for people to read."""
        types = (("node types", self.node_type), ("edge types", self.edge_type))
        rows = [
            [title, f"{each.name}: {', '.join(map(str, each.values))}"]
            for title, each in types
            if each is not None
        ]
        weights = () if self.edge_weight is None else (self.edge_weight,)
        for title, scales in (("edge weight", weights), ("node features", self.node_features)):
            if scales:
                rows.append([title, ", ".join(map(Scale.in_words, scales))])
        return rows

    def edge_entries(self, graphs: Sequence[nx.Graph[Any]], width: int) -> NDArray[Any] | None:
        """Return (B,N,N,C) numbers of the edges of graphs on nodes 0..n-1, or None."""
        if not self.edge_width:
            return None
        kind = np.uint8 if self.edge_weight is None else np.float32
        entries = np.zeros((len(graphs), width, width, self.edge_width), dtype=kind)
        attributes = Attributes(graphs, "edge")
        graph_of, tails, heads = attributes.places()
        number = np.zeros(len(tails), dtype=np.int64)
        if self.edge_type is not None:
            number = attributes.indices(self.edge_type)
        entries[graph_of, tails, heads, number] = 1
        if self.edge_weight is not None:
            numbers = attributes.numbers(self.edge_weight.name)
            entries[graph_of, tails, heads, -1] = self.edge_weight.standard(numbers)
        entries[graph_of, heads, tails] = entries[graph_of, tails, heads]
        return entries

    def node_entries(self, graphs: Sequence[nx.Graph[Any]], width: int) -> NDArray[Any] | None:
        """Return (B,N,C) numbers of the nodes of graphs on nodes 0..n-1, or None."""
        if not self.node_width:
            return None
        kind = np.float32 if self.node_features else np.uint8
        entries = np.zeros((len(graphs), width, self.node_width), dtype=kind)
        attributes = Attributes(graphs, "node")
        graph_of, nodes = attributes.places()
        if self.node_type is not None:
            entries[graph_of, nodes, attributes.indices(self.node_type)] = 1
        first = self.node_width - len(self.node_features)
        for column, scale in enumerate(self.node_features, start=first):
            numbers = attributes.numbers(scale.name)
            entries[graph_of, nodes, column] = scale.standard(numbers)
        return entries

    def attach(
        self,
        graph: nx.Graph[Any],
        edges: NDArray[np.float64] | None,
        nodes: NDArray[np.float64] | None,
    ) -> None:
        """Give the nodes and edges of a graph the attributes of clean entries (N,N,C) and (N,C)."""
        if edges is not None:
            ends = np.array(graph.edges(), dtype=np.int64).reshape(-1, 2)
            of_edges = edges[ends[:, 0], ends[:, 1]]
            self._attach(graph.edges, ends.tolist(), of_edges, self.edge_type, self._weights())
        if nodes is not None:
            self._attach(graph.nodes, list(graph), nodes, self.node_type, self.node_features)

    def _weights(self) -> tuple[Scale, ...]:
        return () if self.edge_weight is None else (self.edge_weight,)

    @staticmethod
    def _attach(
        view: Any, keys: list[Any], entries: Any, types: Types | None, scales: Sequence[Scale]
    ) -> None:
        first = entries.shape[1] - len(scales)
        columns: dict[str, list[Any]] = {}
        if types is not None:
            columns[types.name] = [types.values[k] for k in entries[:, :first].argmax(1)]
        for column, scale in enumerate(scales, start=first):
            numbers = scale.original(entries[:, column].astype(np.float64))
            columns[scale.name] = [int(x) if scale.whole else x for x in numbers.tolist()]
        for name, values in columns.items():
            for key, value in zip(keys, values):
                view[tuple(key) if isinstance(key, list) else key][name] = value


@dataclass(frozen=True)
class Attributes:
    """The attributes of all nodes, or of all edges, of graphs on nodes 0..n-1.

    Attributes:
        graphs: the graphs.
        kind: "node" or "edge".
    """

    graphs: Sequence[nx.Graph[Any]]
    kind: str

    def places(self) -> tuple[NDArray[np.int64], ...]:
        """Return the graph and the node of every node, or the graph and both ends of every edge."""
        of_nodes = self.kind == "node"
        each = [list(graph.nodes if of_nodes else graph.edges) for graph in self.graphs]
        graph_of = np.repeat(np.arange(len(each)), [len(places) for places in each])
        places = np.array([place for places in each for place in places], dtype=np.int64)
        return (graph_of, *places.reshape(len(graph_of), -1).T)

    def _each(self, name: str) -> Iterator[tuple[int, Any, Any]]:
        """Yield graph, place and value of an attribute."""
        for b, graph in enumerate(self.graphs):
            items: Iterable[tuple[Any, dict[str, Any]]] = graph.nodes(data=True)
            if self.kind == "edge":
                items = (((u, v), data) for u, v, data in graph.edges(data=True))
            for place, data in items:
                if name not in data:
                    known = ""
                    if self.kind == "node":  # of edges only those that are asked for are there
                        names = ", ".join(map(quoted, sorted(map(str, data)))) or "none"
                        known = f" (attributes here: {names})"
                    raise GraphDataError(
                        f"{self._where(b, place)}: no attribute {quoted(name)}{known}. Give every "
                        f"{self.kind} that attribute, or name another one."
                    )
                yield b, place, data[name]

    def _where(self, b: int, place: Any) -> str:
        return f"graph {b + 1}, {self.kind} {place}"

    def types(self, name: str) -> Types:
        """Return the values of an attribute.

        Raises:
            GraphDataError: values that are neither texts nor whole numbers, of both kinds, or too
                many different ones.
        """
        values: dict[Value, None] = {}
        for b, place, found in self._each(name):
            value = _plain(found)
            if not _is_type(value):
                advice = ""
                if isinstance(value, float):
                    other = "--edge-weight" if self.kind == "edge" else "--node-features"
                    advice = f" Learn real numbers with {other}."
                raise GraphDataError(
                    f"{self._where(b, place)}: attribute {quoted(name)} is {quoted(value)}, but a "
                    f"type is a text of at most {LONGEST} characters, a whole number or a truth "
                    f"value.{advice}"
                )
            first = next(iter(values), value)
            if type(first) is not type(value):
                raise GraphDataError(
                    f"{self._where(b, place)}: attribute {quoted(name)} is {quoted(value)}, and "
                    f"{quoted(first)} elsewhere. Write all of them as texts, or all as numbers."
                )
            values[value] = None
            if len(values) > MOST_VALUES:
                raise GraphDataError(
                    f"{self._where(b, place)}: attribute {quoted(name)} has more than "
                    f"{MOST_VALUES} different values, but a type has so many at most. Join rare "
                    "values, or leave it out."
                )
        if not values:
            raise self._nothing(name)
        return Types(name=name, values=tuple(sorted(values)))

    def _nothing(self, name: str) -> GraphDataError:
        return GraphDataError(
            f"no {self.kind} has an attribute {quoted(name)}, because there is no {self.kind}. "
            "Leave it out."
        )

    def indices(self, types: Types) -> NDArray[np.int64]:
        """Return the number of every value among those of a type.

        Raises:
            GraphDataError: a value that is none of them.
        """
        numbers = {value: k for k, value in enumerate(types.values)}
        found = []
        for b, place, given in self._each(types.name):
            value = _plain(given)
            if value not in numbers:
                known = ", ".join(map(quoted, types.values[:10]))
                raise GraphDataError(
                    f"{self._where(b, place)}: attribute {quoted(types.name)} is {quoted(value)}, "
                    f"which is none of the types known: {known}."
                )
            found.append(numbers[value])
        return np.array(found, dtype=np.int64)

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Return the values of an attribute that is a number.

        Raises:
            GraphDataError: one is no finite number.
        """
        found = []
        for b, place, value in self._each(name):
            try:
                number = math.nan if isinstance(value, str) else float(value)
            except (TypeError, ValueError, OverflowError):
                number = math.nan
            if not abs(number) <= LARGEST:
                advice = ""
                if isinstance(value, str):
                    advice = f", or learn it with --{self.kind}-type ({self.kind}_type=)"
                raise GraphDataError(
                    f"{self._where(b, place)}: attribute {quoted(name)} is {quoted(value)}, but a "
                    f"finite number, at most {LARGEST:g}, is expected. Correct it{advice}."
                )
            found.append(number)
        if not found:
            raise self._nothing(name)
        return np.array(found, dtype=np.float64)


def _plain(value: Any) -> Any:
    """Return what a numpy number or a member of an enumeration stands for."""
    value = value.value if isinstance(value, Enum) else value
    return value.item() if isinstance(value, np.generic) else value


def _is_type(value: Any) -> bool:
    """Return whether a value can be one of several, and be stored."""
    if isinstance(value, str):
        return len(value) <= LONGEST and not any("\ud800" <= c <= "\udfff" for c in value)
    return isinstance(value, int) and abs(value) <= 2**62


def structure_of(graph: nx.Graph[Any]) -> nx.Graph[Any]:
    """Return the nodes and edges of a graph without what they carry.

    >>> structure_of(nx.Graph([(0, 1, {"weight": 2})])).edges(data=True)
    EdgeDataView([(0, 1, {})])
    """
    structure: nx.Graph[Any] = nx.Graph()
    structure.add_nodes_from(graph)
    structure.add_edges_from(graph.edges())
    return structure
