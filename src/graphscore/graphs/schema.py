"""Schema: what nodes and edges carry, found in graphs, and the numbers that a model learns for it.

A type of K values is K numbers, 1 at its value; real numbers are in standard units.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from graphscore.graphs.attribute_values import attributes_of
from graphscore.graphs.attributes import (
    AttributeSettings,
    Scale,
    Types,
)
from graphscore.graphs.packed import sizes_of
from graphscore.settings import Settings


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
    def of(
        cls, graphs: Sequence[nx.Graph[Any]], names: AttributeSettings, *, matrix: bool = False
    ) -> Schema:
        """Find the values of the named attributes.

        Args:
            matrix: weights are entries of the adjacency matrix, in which 0 is no edge.

        Raises:
            GraphDataError: a node or edge without a named attribute, or with another kind of value;
                or a weight of 0 in a matrix.
        """
        nodes, edges = attributes_of(graphs, "node"), attributes_of(graphs, "edge")
        weight, scale = names.edge_weight, edges.matrix_scale if matrix else edges.scale
        return cls(
            node_type=None if names.node_type is None else nodes.types(names.node_type),
            edge_type=None if names.edge_type is None else edges.types(names.edge_type),
            edge_weight=None if weight is None else scale(weight),
            node_features=tuple(map(nodes.scale, names.node_features)),
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
        attributes = attributes_of(graphs, "edge")
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
        rows = self.rows_of_nodes(*self.node_values(graphs))
        entries = np.zeros((len(graphs), width, self.node_width), dtype=rows.dtype)
        graph_of, nodes = attributes_of(graphs, "node").places()
        entries[graph_of, nodes] = rows
        return entries

    def node_values(
        self, graphs: Sequence[nx.Graph[Any]]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the attributes of all nodes of graphs, one graph after the other.

        Returns:
            The number of each node's type (nodes,), empty without types, and its features as they
            are (nodes,F).
        """
        attributes = attributes_of(graphs, "node")
        types = np.empty(0, dtype=np.int64)
        if self.node_type is not None:
            types = attributes.indices(self.node_type)
        features = np.empty((sum(sizes_of(graphs)), len(self.node_features)))
        for column, scale in enumerate(self.node_features):
            features[:, column] = attributes.numbers(scale.name)
        return types, features

    def rows_of_nodes(
        self, types: NDArray[np.int64], features: NDArray[np.float64]
    ) -> NDArray[Any]:
        """Return the numbers (nodes,C) of nodes with these attributes, as `node_values` has them.

        Numbers that single precision does not hold are not finite.
        """
        kind = np.float32 if self.node_features else np.uint8
        rows = np.zeros((len(features), self.node_width), dtype=kind)
        if self.node_type is not None:
            rows[np.arange(len(types)), types] = 1
        with np.errstate(all="ignore"):
            for column, scale in enumerate(self.node_features, start=self.node_types):
                rows[:, column] = scale.standard(features[:, column - self.node_types])
        return rows

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


def structure_of(graph: nx.Graph[Any]) -> nx.Graph[Any]:
    """Return the nodes and edges of a graph without what they carry.

    >>> structure_of(nx.Graph([(0, 1, {"weight": 2})])).edges(data=True)
    EdgeDataView([(0, 1, {})])
    """
    structure: nx.Graph[Any] = nx.Graph()
    structure.add_nodes_from(graph)
    structure.add_edges_from(graph.edges())
    return structure
