"""Edges between named nodes of any number of graphs, as rows of a table or lines of text list them.

Nothing declares the nodes: they are those named, in numeric order if all names are integers and in
order of appearance otherwise; graphs are ordered in the same way.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphscore.graphs.carried import values_of_edges
from graphscore.graphs.formats.text import check_name
from graphscore.graphs.limits import Reading
from graphscore.graphs.simple import Kind, SimpleEdges, edge_codes, first_repeated, simple_edges
from graphscore.graphs.validation import Candidate

INTEGER = re.compile(r"-?[0-9]{1,18}")
"""A name that is a number."""
_Codes = NDArray[np.int64]


class NamedEdges:
    """Rows, each an edge or a node of a graph; `complete` ends them."""

    def __init__(self, source: str, reading: Reading) -> None:
        self._source = source
        self._reading = reading
        self._names: dict[str, int] = {}
        self._graphs: dict[str, int] = {}
        self._rows = array("i"), array("i"), array("i")  # graph, tail, and head or -1
        self._changes: dict[str, dict[str, None]] = {}
        self._alone = 0
        self.directed = False
        """Whether the edges are said to be directed."""

    def add(self, where: str, tail: str, head: str | None, graph: str = "") -> None:
        """Add an edge, or a node if there is no head.

        Raises:
            GraphDataError: a name that is too long, or more nodes or edges than allowed.
        """
        numbers = [
            self._number(self._graphs, where, graph),
            self._number(self._names, where, tail),
            -1 if head is None else self._number(self._names, where, head),
        ]
        for column, number in zip(self._rows, numbers):
            column.append(number)
        self._alone += head is None
        self._reading.check_total_nodes(where, self._alone)
        # Each edge may be listed twice.
        self._reading.check_edges(where, (len(self._rows[0]) - self._alone) // 2)

    def note(self, change: str, graph: str = "") -> None:
        """Note a repair of a graph."""
        self._changes.setdefault(graph, {})[change] = None

    def _number(self, known: dict[str, int], where: str, name: str) -> int:
        number = known.get(name)
        if number is None:
            self._reading.add_name(where, check_name(where, name))
            number = known[name] = len(known)
            self._reading.check_total_nodes(where, len(known))
        return number

    def complete(self) -> None:
        """Sort the rows by graph, check all graphs and tell their sizes.

        Raises:
            GraphDataError: a graph is refused, or more than the limits allow.
        """
        self._node_names, rank = _ordered(self._names)
        self._graph_names, order = _ordered(self._graphs)
        graphs, tails, heads = (np.frombuffer(column, dtype=np.intc) for column in self._rows)
        owners = order[graphs]
        is_edge = heads >= 0
        first = (owners << 32) | rank[tails]
        second = (owners[is_edge] << 32) | rank[heads[is_edge]]
        self._nodes = np.unique(np.concatenate([first, second]))
        number = len(self._graph_names)
        self._starts = self._nodes.searchsorted(np.arange(number + 1) << 32)
        first, owners = first[is_edge], owners[is_edge]
        self._by_graph = np.argsort(owners, kind="stable")  # of the rows that are edges
        self._edge_starts = owners[self._by_graph].searchsorted(np.arange(number + 1))
        self._ends = np.stack(
            [self._nodes.searchsorted(codes[self._by_graph]) for codes in (first, second)]
        )
        for k in range(number):
            self._reading.tick(self._source)
            where, size, edges, _ = self._checked(k)
            self._reading.add_graph(where, size, len(edges.rows))

    def _checked(self, k: int) -> tuple[str, int, SimpleEdges, _Codes]:
        """Return name, size and edges of a graph, and the ends as its rows list them."""
        name = self._graph_names[k]
        where = f"{self._source}, graph {name}" if name else self._source
        start, size = int(self._starts[k]), int(self._starts[k + 1] - self._starts[k])
        ends = self._ends[:, slice(*self._edge_starts[k : k + 2])] - start
        once = first_repeated(edge_codes(size, ends[0], ends[1], undirected=True), size) is None
        kind: Kind = "directed" if self.directed else "edges" if once else "arcs"
        names = _Names(self._node_names, self._nodes[start : start + size])
        edges = simple_edges(where, size, ends[0], ends[1], self._reading.repairs, kind, names)
        return where, size, edges, ends

    def candidates(self, values: Mapping[str, NDArray[Any]] | None = None) -> Iterator[Candidate]:
        """Build the graphs, with the values of the rows that are edges; None is no value.

        Raises:
            GraphDataError: the two directions of an edge have different values.
        """
        columns = values or {}
        for k in range(len(self._graph_names)):
            where, size, edges, ends = self._checked(k)
            graph = edges.graph(size)
            rows = self._by_graph[slice(*self._edge_starts[k : k + 2])]
            mine = {name: column[rows] for name, column in columns.items()}
            found = values_of_edges(where, size, edges, (ends[0], ends[1]), mine) if mine else {}
            for name, column in found.items():
                for u, v, value in zip(edges.rows.tolist(), edges.columns.tolist(), column):
                    if value is not None:
                        graph.edges[u, v][name] = value
            changes = self._changes.get(self._graph_names[k], ())
            yield Candidate(where, graph, True, (*changes, *edges.changes))


class _Names(Sequence[object]):
    """The names of the nodes of one graph, for errors."""

    def __init__(self, names: Sequence[str], codes: _Codes) -> None:
        self._names, self._codes = names, codes

    def __getitem__(self, place: Any) -> Any:
        return self._names[int(self._codes[place]) & 0xFFFFFFFF]

    def __len__(self) -> int:
        return len(self._codes)


def _ordered(numbers: dict[str, int]) -> tuple[list[str], _Codes]:
    """Return names in their order, and the place in it of each number."""
    names = list(numbers)
    if all(INTEGER.fullmatch(name) for name in names):
        names.sort(key=int)
    place = np.empty(len(names), dtype=np.int64)
    place[[numbers[name] for name in names]] = np.arange(len(names))
    return names, place
