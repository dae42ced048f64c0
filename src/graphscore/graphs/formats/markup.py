"""What GraphML, GML and others have in common: nodes with names and attributes, and their edges."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from graphscore.errors import GraphDataError
from graphscore.graphs.attributes import chosen
from graphscore.graphs.carried import FEATURE, check_finite
from graphscore.graphs.formats.text import MAX_LINE, MAX_NAME, check_name
from graphscore.graphs.limits import BYTES_PER_VALUE, Reading
from graphscore.graphs.repairs import LIGHT
from graphscore.graphs.simple import Kind, SimpleEdges, other_way, simple_edges
from graphscore.graphs.validation import Candidate

_SCALARS = (bool, int, float, str, np.bool_, np.integer, np.floating)


class NamedGraph:
    """The nodes and edges of one graph, as they appear in a file.

    A file is parsed twice. The first time attributes are checked and forgotten; the second time,
    when everything is known to be right, they are kept.
    """

    def __init__(self, form: str, source: str, reading: Reading, *, keep: bool) -> None:
        self.form = form
        self.source = source
        self.reading = reading
        self.directed_by_default = False
        self.directed_kind: Kind = "directed"  # how edges are listed that are directed
        self.attributes: dict[int, dict[str, Any]] | None = {} if keep else None
        self._names: dict[object, int] = {}
        self._place = array("i")  # among the declared nodes, of each name; -1 before that
        self._declared = 0
        self._tails, self._heads = array("i"), array("i")
        self._carried: dict[
            tuple[int, int], dict[str, Any]
        ] = {}  # by edges, by their names' numbers
        self._changes: dict[str, None] = {}  # repairs of weights
        self._directions: set[bool | None] = set()  # that edges say; None is as the graph's

    def count_attributes(self, number: int) -> None:
        """Count attributes of a node, the first time."""
        if self.attributes is None:
            self.reading.add_bytes(self.source, number * BYTES_PER_VALUE)

    def add_node(self, name: object, attributes: dict[str, Any]) -> None:
        """Add a node.

        Raises:
            GraphDataError: a node of that name exists, its feature "x" holds NaN, or there are too
                many nodes.
        """
        k = self._number(name)
        if self._place[k] >= 0:
            raise GraphDataError(
                f"{self.source}: two nodes named {name!r}. Give every node a name of its own."
            )
        place = self._place[k] = self._declared
        self._declared += 1
        if FEATURE in attributes:
            check_finite(f"{self.source}, node {name!r}", attributes[FEATURE])
        if self.attributes is not None and attributes:
            self.attributes[place] = attributes

    def add_edge(
        self,
        tail: object,
        head: object,
        attributes: dict[str, Any],
        is_directed: bool | None = None,
    ) -> None:
        """Add an edge between nodes, which may be declared later.

        Args:
            attributes: of the edge, its weight among them.
            is_directed: whether it is, if it says so; otherwise as the graph's, which the file
                may say later.

        Raises:
            GraphDataError: a weight other than 1, or too many edges.
        """
        wanted = self.reading.edge_attributes
        weight = attributes.get("weight")
        weight = _number(weight) if isinstance(weight, str) else weight
        ends = self._number(tail), self._number(head)
        if weight is not None:
            change = self.reading.weigh(self.source, tail, head, weight)
            if change:
                self._changes[change] = None
            if change == LIGHT:
                return
        self._directions.add(is_directed)
        self._tails.append(ends[0])
        self._heads.append(ends[1])
        kept = chosen(attributes, wanted)
        if self.attributes is None:
            for name in attributes:
                if name != "weight":
                    self.reading.ignore(name)
            self.reading.check_edges(self.source, len(self._tails) // 2)
            self.reading.add_bytes(self.source, len(kept) * BYTES_PER_VALUE)
        elif kept:
            if self._carried.get(ends[::-1], kept) != kept:
                raise other_way(self.source, tail, head)
            self._carried[ends] = kept

    def _number(self, name: object) -> int:
        k = self._names.get(name)
        if k is None:
            k = len(self._place)
            if isinstance(name, str):
                check_name(self.source, name)
                if self.attributes is None:
                    self.reading.add_name(self.source, name)
            self._names[name] = k
            self._place.append(-1)
            if self.attributes is None:
                self.reading.check_growing(self.source, k + 1)
        return k

    def edges(self) -> SimpleEdges:
        """Return the checked edges; nodes are numbered in the order of their declarations.

        Raises:
            GraphDataError: an edge of a node that is not declared, or a graph that is not simple.
        """
        if self._declared < len(self._names):
            name = next(n for n, k in self._names.items() if self._place[k] < 0)
            raise GraphDataError(
                f"{self.source}: not valid {self.form} (an edge of node {name!r}, which is not "
                "declared). Declare every node once."
            )
        names = list(self._names)
        place, tails, heads = (
            np.frombuffer(values, dtype=np.intc)
            for values in (self._place, self._tails, self._heads)
        )
        if (np.diff(place) != 1).any():  # edges named nodes in another order
            names = [names[k] for k in np.argsort(place)]
            tails, heads = place[tails], place[heads]
        said = (self.directed_by_default if d is None else d for d in self._directions)
        kind: Kind = self.directed_kind if any(said) else "edges"
        return simple_edges(
            self.source, len(names), tails, heads, self.reading.repairs, kind, names
        )

    def count(self) -> None:
        """Tell the sizes before anything is built."""
        self.reading.add_graph(self.source, len(self._names), len(self.edges().rows))

    def candidate(self) -> Candidate:
        """Build the graph."""
        edges = self.edges()
        graph = edges.graph(len(self._names))
        for k, attributes in (self.attributes or {}).items():
            graph.nodes[k].update(attributes)
        for (tail, head), attributes in self._carried.items():
            if tail != head:  # loops may have been dropped
                graph.edges[self._place[tail], self._place[head]].update(attributes)
        return Candidate(self.source, graph, True, (*self._changes, *edges.changes))


def with_scalars(graph: nx.Graph[Any]) -> nx.Graph[Any]:
    """Copy without attributes that these formats have no type for, such as vectors."""

    def scalars(attributes: dict[str, Any]) -> dict[str, Any]:
        return {str(k): _plain(v) for k, v in attributes.items() if isinstance(v, _SCALARS)}

    plain: nx.Graph[Any] = nx.Graph()
    plain.add_nodes_from((node, scalars(data)) for node, data in graph.nodes(data=True))
    plain.add_edges_from((u, v, scalars(data)) for u, v, data in graph.edges(data=True))
    return plain


def places_of(plain: nx.Graph[Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the attributes of every node and edge."""
    yield from ((f"node {node}", data) for node, data in plain.nodes(data=True))
    yield from ((f"edge {u} - {v}", data) for u, v, data in plain.edges(data=True))


def check_texts(plain: nx.Graph[Any], form: str) -> None:
    """Refuse names and texts of attributes that are too long to be read again.

    Raises:
        GraphDataError: there is one.
    """
    for where, attributes in places_of(plain):
        for name, value in attributes.items():
            for text, longest in ((name, MAX_NAME), (value, MAX_LINE)):
                if isinstance(text, str) and len(text) > longest:
                    raise GraphDataError(
                        f"{where}: the name or text of attribute {name[:40]!r} has "
                        f"{len(text)} characters, but at most {longest} are expected in {form}. "
                        "Shorten it or write another format."
                    )


def _number(text: str) -> object:
    """Return a weight that is written as text; None if there is none."""
    try:
        return float(text) if text.strip() else None
    except ValueError:
        return text


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def reason(error: Exception) -> str:
    """Return one line of bounded length about a foreign error."""
    text = str(error).strip().rstrip(".") or type(error).__name__
    return text.splitlines()[0][:200]
