"""PackedGraphs: many small graphs held as arrays; each is made when it is asked for.

A million molecules fit in a few hundred megabytes so, where as many networkx graphs take twenty
gigabytes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from graphscore.graphs.attributes import Value

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Coded:
    """An attribute with one of several values.

    Attributes:
        codes: (M,) numbers of the values of all nodes, or all edges, one graph after the other.
        values: what they stand for, all of one kind.
    """

    codes: NDArray[np.unsignedinteger[Any]]
    values: tuple[Value, ...]

    @classmethod
    def of(cls, values: Sequence[Value]) -> Self:
        """Return values as numbers of sorted ones."""
        known = sorted(set(values))
        numbers = {value: k for k, value in enumerate(known)}
        kind = np.min_scalar_type(len(known))
        codes = np.fromiter((numbers[value] for value in values), dtype=kind, count=len(values))
        return cls(codes, tuple(known))

    def among(self, values: Sequence[Value]) -> Ints:
        """Return the number of every value among these."""
        numbers = {value: k for k, value in enumerate(values)}
        of_code = np.array([numbers.get(value, 0) for value in self.values], dtype=np.int64)
        found: Ints = of_code[self.codes]
        return found

    def used(self) -> list[Value]:
        """Return the values that occur, sorted."""
        counts = np.bincount(self.codes, minlength=len(self.values))
        present = [value for value, count in zip(self.values, counts) if count]
        return sorted(present)


@dataclass(frozen=True, eq=False)
class PackedGraphs(Sequence["nx.Graph[Any]"]):
    """Simple undirected graphs on nodes 0..n-1 whose attributes are types.

    Attributes:
        nodes: (B,) how many each graph has.
        edges: (B,) how many each graph has.
        ends: (E,2) nodes of every edge, one graph after the other.
        node_types, edge_types: attributes by name.

    Example:
        >>> kinds = {"kind": Coded(np.array([0, 1], dtype=np.uint8), ("a", "b"))}
        >>> one = np.array([2]), np.array([1]), np.array([[0, 1]])
        >>> PackedGraphs(*one, node_types=kinds)[0].nodes(data=True)
        NodeDataView({0: {'kind': 'a'}, 1: {'kind': 'b'}})
    """

    nodes: Ints
    edges: Ints
    ends: NDArray[Any]
    node_types: Mapping[str, Coded] = field(default_factory=dict)
    edge_types: Mapping[str, Coded] = field(default_factory=dict)
    repaired: Mapping[str, int] = field(default_factory=dict)
    ignored: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.nodes)

    def __getitem__(self, index: Any) -> Any:
        """Return one graph, or those of a slice or of an array of numbers as packed graphs."""
        if isinstance(index, int | np.integer):
            number = range(len(self))[int(index)]
            return self._graph(number)
        chosen = np.arange(len(self))[index]
        of_nodes, of_edges = _places(self.nodes, chosen), _places(self.edges, chosen)
        return replace(
            self,
            nodes=self.nodes[chosen],
            edges=self.edges[chosen],
            ends=self.ends[of_edges],
            node_types=_taken(self.node_types, of_nodes),
            edge_types=_taken(self.edge_types, of_edges),
        )

    def __iter__(self) -> Iterator[nx.Graph[Any]]:
        return map(self._graph, range(len(self)))

    @cached_property
    def _bounds(self) -> tuple[Ints, Ints]:
        """Where the nodes and the edges of every graph begin, and where the last ones end."""
        return tuple(np.concatenate([[0], np.cumsum(n)]) for n in (self.nodes, self.edges))  # type: ignore[return-value]

    def _graph(self, number: int) -> nx.Graph[Any]:
        of_nodes, of_edges = (slice(*bounds[number : number + 2]) for bounds in self._bounds)
        graph: nx.Graph[Any] = nx.empty_graph(int(self.nodes[number]))
        ends = self.ends[of_edges].tolist()
        graph.add_edges_from(ends)
        for name, coded in self.node_types.items():
            for node, code in enumerate(coded.codes[of_nodes].tolist()):
                graph.nodes[node][name] = coded.values[code]
        for name, coded in self.edge_types.items():
            for (tail, head), code in zip(ends, coded.codes[of_edges].tolist()):
                graph.edges[tail, head][name] = coded.values[code]
        return graph

    def node_places(self) -> tuple[NDArray[Any], ...]:
        """Return the graph and the number of every node."""
        graph_of = np.repeat(np.arange(len(self)), self.nodes)
        return graph_of, np.arange(len(graph_of)) - self._bounds[0][graph_of]

    def edge_places(self) -> tuple[NDArray[Any], ...]:
        """Return the graph and both ends of every edge."""
        return np.repeat(np.arange(len(self)), self.edges), self.ends[:, 0], self.ends[:, 1]

    def keeping(self, edge_attributes: Collection[str]) -> PackedGraphs:
        """Return the graphs with no other edge attributes than these."""
        kept = {name: c for name, c in self.edge_types.items() if name in edge_attributes}
        ignored = [name for name in self.edge_types if name not in kept]
        return replace(self, edge_types=kept, ignored=[*self.ignored, *ignored])

    def adjacency(self, width: int) -> NDArray[np.uint8]:
        """Return (B,width,width) adjacency matrices."""
        adj = np.zeros((len(self), width, width), dtype=np.uint8)
        graph_of, tails, heads = self.edge_places()
        adj[graph_of, tails, heads] = adj[graph_of, heads, tails] = 1
        return adj

    @classmethod
    def of(
        cls, graphs: Sequence[nx.Graph[Any]], node_types: Sequence[str], edge_types: Sequence[str]
    ) -> Self:
        """Pack graphs on nodes 0..n-1 that have the named attributes everywhere."""
        ends = [edge for graph in graphs for edge in graph.edges()]
        of_nodes = [data for graph in graphs for _, data in graph.nodes(data=True)]
        of_edges = [data for graph in graphs for *_, data in graph.edges(data=True)]
        return cls(
            np.array([len(graph) for graph in graphs], dtype=np.int64),
            np.array([graph.number_of_edges() for graph in graphs], dtype=np.int64),
            np.array(ends, dtype=np.int32).reshape(-1, 2),
            node_types={name: Coded.of([data[name] for data in of_nodes]) for name in node_types},
            edge_types={name: Coded.of([data[name] for data in of_edges]) for name in edge_types},
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays by name, which `of_arrays` makes the same graphs of."""
        found: dict[str, NDArray[Any]] = {"nodes": self.nodes, "edges": self.edges}
        found["ends"] = self.ends
        for place, kinds in (("node", self.node_types), ("edge", self.edge_types)):
            for name, coded in kinds.items():
                found[f"{place} codes {name}"] = coded.codes
                found[f"{place} values {name}"] = np.array(coded.values)
        return found

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the graphs that `arrays` was called on."""

        def kinds(place: str) -> dict[str, Coded]:
            first = f"{place} codes "
            names = [key.removeprefix(first) for key in arrays if key.startswith(first)]
            return {
                name: Coded(
                    arrays[f"{first}{name}"], tuple(arrays[f"{place} values {name}"].tolist())
                )
                for name in names
            }

        plain = arrays["nodes"], arrays["edges"], arrays["ends"]
        return cls(*plain, node_types=kinds("node"), edge_types=kinds("edge"))


def _places(counts: Ints, chosen: Ints) -> Ints:
    """Return the places of the items of chosen graphs among the items of all graphs."""
    ends = np.cumsum(counts)
    of_chosen = counts[chosen]
    before = np.repeat(np.cumsum(of_chosen) - of_chosen, of_chosen)
    first = np.repeat(ends[chosen] - of_chosen, of_chosen)
    return np.arange(len(before)) - before + first


def _taken(kinds: Mapping[str, Coded], places: Ints) -> dict[str, Coded]:
    return {name: Coded(coded.codes[places], coded.values) for name, coded in kinds.items()}


def sizes_of(graphs: Sequence[nx.Graph[Any]]) -> list[int]:
    """Return the numbers of nodes of graphs."""
    if isinstance(graphs, PackedGraphs):
        return [int(nodes) for nodes in graphs.nodes]
    return [len(graph) for graph in graphs]
