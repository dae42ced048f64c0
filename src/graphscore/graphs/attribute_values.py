"""The attributes of all nodes, or of all edges, of graphs: which values there are, and where."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Any, Literal

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from graphscore.errors import GraphDataError
from graphscore.graphs.attributes import (
    LARGEST,
    LONGEST,
    MOST_FEATURES,
    MOST_VALUES,
    WIDEST,
    Scale,
    Types,
    Value,
    value_of,
)
from graphscore.graphs.packed import Coded, PackedGraphs
from graphscore.settings import quoted

Column = tuple[int | None, NDArray[np.float64]]
"""Place in an attribute that is a vector, None of one that is a number, and its numbers (M,)."""


def attributes_of(graphs: Sequence[nx.Graph[Any]], kind: str) -> Attributes:
    """Return the attributes of all nodes, or of all edges."""
    if isinstance(graphs, PackedGraphs):
        return PackedAttributes(graphs, kind)
    return Attributes(graphs, kind)


@dataclass(frozen=True)
class Attributes:
    """The attributes of all nodes, or of all edges, of graphs, by name; `x_0` is the first number
    of a vector `x`.

    Attributes:
        graphs: the graphs.
        kind: "node" or "edge".
        purpose: what errors say of attributes: they are to be "learned", "compared" or "shown".
        lists: if the graphs are those of several lists, one after the other, names and lengths of
            these, for errors.

    Example:
        >>> graph = nx.Graph([(0, 1, {"bond": "single"}), (1, 2, {"bond": "double"})])
        >>> Attributes([graph], "edge").numbered("bond")
        (['single', 'double'], array([0, 1]))
    """

    graphs: Sequence[nx.Graph[Any]]
    kind: str
    purpose: Literal["learned", "compared", "shown"] = "learned"
    lists: Mapping[str, int] = field(default_factory=dict)

    def places(self) -> tuple[NDArray[np.int64], ...]:
        """Return the graph and the node of every node, or the graph and both ends of every edge.

        Nodes are 0..n-1.
        """
        of_nodes = self.kind == "node"
        each = [list(graph.nodes if of_nodes else graph.edges) for graph in self.graphs]
        graph_of = np.repeat(np.arange(len(each)), [len(places) for places in each])
        places = np.array([place for places in each for place in places], dtype=np.int64)
        return (graph_of, *places.reshape(-1, 1 if of_nodes else 2).T)

    def _each(self, name: str) -> Iterator[tuple[int, Any, Any]]:
        """Yield graph, place and value of an attribute."""
        for b, graph in enumerate(self.graphs):
            items: Iterable[tuple[Any, dict[str, Any]]] = graph.nodes(data=True)
            if self.kind == "edge":
                items = (((u, v), data) for u, v, data in graph.edges(data=True))
            for place, data in items:
                try:
                    value = value_of(data, name)
                except KeyError:
                    known = ""
                    if self.kind == "node":  # of edges only those that are asked for are there
                        names = ", ".join(map(quoted, sorted(map(str, data)))) or "none"
                        known = f" (attributes here: {names})"
                    raise GraphDataError(
                        f"{self._where(b, place)}: no attribute {quoted(name)}, which is to be "
                        f"{self.purpose}{known}. Give every {self.kind} that attribute, or name "
                        "another one."
                    ) from None
                yield b, place, value

    def _where(self, b: int, place: Any) -> str:
        source = ""
        for name, length in self.lists.items():
            if b < length:
                source = f"{name}, "
                break
            b -= length
        return f"{source}graph {b + 1}, {self.kind} {place}"

    @property
    def _verb(self) -> str:
        return {"learned": "learn", "compared": "compare", "shown": "show"}[self.purpose]

    def types(self, name: str) -> Types:
        """Return the values of an attribute.

        Raises:
            GraphDataError: as `numbered`, or there is no node or edge.
        """
        values, _ = self.numbered(name)
        if not values:
            raise self._nothing(name)
        return Types(name=name, values=tuple(sorted(values)))

    def numbered(self, name: str) -> tuple[list[Value], NDArray[np.int64]]:
        """Return the values of an attribute, and the number among them of every node's or edge's.

        Raises:
            GraphDataError: values that are neither texts, whole numbers nor vectors, of several
                kinds, or too many different ones.
        """
        numbers: dict[Value, int] = {}
        kind: Any = None
        found: list[int] = []
        for b, place, given in self._each(name):
            is_known_kind = type(given) is kind and kind is not tuple  # its members are unknown
            number = numbers.get(given) if is_known_kind else None
            if number is None:
                value = _plain(given)
                self._check_type(name, value, numbers, partial(self._where, b, place))
                kind = type(value)
                number = numbers.setdefault(value, len(numbers))
            found.append(number)
        return list(numbers), np.array(found, dtype=np.int64)

    def _check_type(
        self, name: str, value: Any, known: Mapping[Value, int], where: Callable[[], str]
    ) -> None:
        """Refuse a value that cannot be one of several with those known."""
        parts = value if isinstance(value, tuple) else (value,)
        is_real = any(isinstance(part, float) for part in parts)
        if is_real or not _is_type(value):
            advice = f" {self._advice(name, value)}" if is_real else ""
            raise GraphDataError(
                f"{where()}: attribute {quoted(name)} is {quoted(value)}, but a "
                f"type is a text of at most {LONGEST} characters, a whole number, a truth "
                f"value or a vector of at most {WIDEST} whole numbers.{advice}"
            )
        first = next(iter(known), value)
        if type(first) is not type(value):
            raise GraphDataError(
                f"{where()}: attribute {quoted(name)} is {quoted(value)}, and "
                f"{quoted(first)} elsewhere. Write all of them as texts, or all as numbers."
            )
        if len(known) >= MOST_VALUES and value not in known:
            raise GraphDataError(
                f"{where()}: attribute {quoted(name)} has more than "
                f"{MOST_VALUES} different values, but a type has so many at most. Join rare "
                "values, or leave it out."
            )

    def _advice(self, name: str, value: Any) -> str:
        """Say how real numbers are learned."""
        if self.kind == "node":
            how = f"--node-features {name} (in Python: node_features=[{name!r}])"
        else:
            one = f"{name}_0" if isinstance(value, tuple) else name
            how = f"--edge-weight {one} (in Python: edge_weight={one!r})"
        return f"{self._verb.capitalize()} real numbers with {how}."

    def _nothing(self, name: str) -> GraphDataError:
        return GraphDataError(
            f"no graph has {self.kind}s, so their attribute {quoted(name)} cannot be "
            f"{self.purpose}. Leave it out (--{self.kind}-type, in Python {self.kind}_type, and so "
            "on). Of molecules without bonds, name the elements only: --node-type element."
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
            if not _is_type(value) or value not in numbers:
                known = ", ".join(map(quoted, types.values[:10]))
                raise GraphDataError(
                    f"{self._where(b, place)}: attribute {quoted(types.name)} is {quoted(value)}, "
                    f"which is none of the types known: {known}."
                )
            found.append(numbers[value])
        return np.array(found, dtype=np.int64)

    def columns(self, name: str, width: int | None = None) -> list[Column]:
        """Return place and numbers of each column of an attribute that is a number or a vector.

        Args:
            width: how many there must be.

        Raises:
            GraphDataError: one is no finite number, or vectors are not all of one length.
        """
        found: list[Any] = []
        for b, place, value in self._each(name):
            plain = _plain(value)
            self._check_numbers(name, plain, found[0] if found else plain, (b, place))
            found.append(plain)
        if not found:
            return [(None, np.empty(0))] * (1 if width is None else width)
        columns = np.array(found, dtype=np.float64).reshape(len(found), -1).T
        if width not in (None, len(columns)):
            advice = "are expected."
            if width == 1:
                advice = f"is expected. Name one of them, such as {quoted(name + '_0')}."
            some = "a number" if len(columns) == 1 else f"{len(columns)} numbers"
            raise GraphDataError(
                f"{self.kind} attribute {quoted(name)} has {some}, but {width} {advice}"
            )
        is_vector = isinstance(found[0], tuple)
        return [(k if is_vector else None, numbers) for k, numbers in enumerate(columns)]

    def _check_numbers(self, name: str, value: Any, first: Any, at: tuple[int, Any]) -> None:
        """Refuse what is no number, or no vector of as many as the first one has."""
        numbers = value if isinstance(value, tuple) else (value,)
        others = first if isinstance(first, tuple) else (first,)
        if not numbers or (numbers is value, len(numbers)) != (others is first, len(others)):
            raise GraphDataError(
                f"{self._where(*at)}: attribute {quoted(name)} is {quoted(value)}, and "
                f"{quoted(first)} elsewhere. Give every {self.kind} as many numbers."
            )
        if not all(map(_is_number, numbers)):
            advice = ""
            if isinstance(value, str):
                advice = f", or {self._verb} it with --{self.kind}-type ({self.kind}_type=)"
            raise GraphDataError(
                f"{self._where(*at)}: attribute {quoted(name)} is {quoted(value)}, but a "
                f"finite number, at most {LARGEST:g}, is expected. Correct it{advice}."
            )

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Return the values of an attribute that is one number, or a vector of one.

        Raises:
            GraphDataError: as `columns`, or there are vectors of several.
        """
        ((_, numbers),) = self.columns(name, 1)
        return numbers

    def scale(self, name: str) -> Scale:
        """Return the units of an attribute that is one number, or a vector of one.

        Raises:
            GraphDataError: as `numbers`, or there is no node or edge.
        """
        ((place, numbers),) = self._some(name, 1)
        return Scale.of(name, numbers, place)

    def scales(self, names: Sequence[str]) -> tuple[Scale, ...]:
        """Return the units of attributes that are numbers or vectors, one for each number.

        Raises:
            GraphDataError: as `columns`, there is no node or edge, or there are too many numbers.
        """
        found = [Scale.of(name, n, place) for name in names for place, n in self._some(name)]
        if len(found) > MOST_FEATURES:
            raise GraphDataError(
                f"{', '.join(map(quoted, names))}: {len(found)} numbers of each {self.kind}, but "
                f"at most {MOST_FEATURES} can be learned. Name some of them, such as "
                f"{quoted(names[0] + '_0')}."
            )
        return tuple(found)

    def matrix_scale(self, name: str) -> Scale:
        """Return the scale of weights that are entries of a matrix.

        Raises:
            GraphDataError: as `scale`, or a weight is 0 there, which would be no edge.
        """
        ((column, numbers),) = self._some(name, 1)
        lost = numbers == 0
        if not lost.all():
            scale = Scale.of_matrix(name, numbers, column)
            lost = scale.standard(numbers).astype(np.float32) == 0
        if lost.any():
            first = int(lost.argmax())
            b, place, value = list(self._each(name))[first]
            nothing = "" if numbers[first] == 0 else ", beside the other weights as good as 0"
            raise GraphDataError(
                f"{self._where(b, place)}: attribute {quoted(name)} is {quoted(value)}{nothing}, "
                "but in a weighted adjacency matrix 0 is a missing edge. Leave out such edges, or "
                "use the model 'denoiser', which learns apart whether there is an edge."
            )
        return scale

    def _some(self, name: str, width: int | None = None) -> list[Column]:
        """Return `columns` of at least one node or edge."""
        found = self.columns(name, width)
        if not len(found[0][1]):
            raise self._nothing(name)
        return found


@dataclass(frozen=True)
class PackedAttributes(Attributes):
    """The same of packed graphs, whose types are numbers already."""

    graphs: PackedGraphs

    def places(self) -> tuple[NDArray[Any], ...]:
        """Return the graph and the node of every node, or the graph and both ends of every edge."""
        return self.graphs.node_places() if self.kind == "node" else self.graphs.edge_places()

    def _coded(self, name: str) -> Coded | None:
        kinds = self.graphs.node_types if self.kind == "node" else self.graphs.edge_types
        return kinds.get(name)

    def numbered(self, name: str) -> tuple[list[Value], NDArray[np.int64]]:
        """Return the values of an attribute, and the number of every node or edge among them."""
        coded = self._coded(name)
        if coded is None:
            return super().numbered(name)
        used = coded.used()
        return used, coded.among(used)

    def indices(self, types: Types) -> NDArray[np.int64]:
        """Return the number of every value among those of a type."""
        coded = self._coded(types.name)
        if coded is None or not set(coded.used()) <= set(types.values):
            return super().indices(types)
        return coded.among(types.values)


def _plain(value: Any) -> Any:
    """Return what a number or a member of an enumeration stands for; a vector as a tuple.

    Matrices hold whole numbers as real ones.
    """
    value = value.value if isinstance(value, Enum) else value
    value = value.tolist() if hasattr(value, "tolist") else value  # of numpy or torch
    if isinstance(value, float) and value.is_integer() and abs(value) <= 2**62:
        return int(value)
    return tuple(map(_plain, value)) if isinstance(value, list | tuple) else value


def _is_type(value: Any) -> bool:
    """Return whether a value can be one of several, and be stored."""
    if isinstance(value, str):
        return len(value) <= LONGEST and not any("\ud800" <= c <= "\udfff" for c in value)
    if isinstance(value, tuple):
        return 0 < len(value) <= WIDEST and all(map(_is_number_of_type, value))
    return isinstance(value, int) and abs(value) <= 2**62


def _is_number_of_type(value: Any) -> bool:
    return (
        _is_number(value)
        if isinstance(value, float)
        else isinstance(value, int) and _is_type(value)
    )


def _is_number(value: Any) -> bool:
    """Return whether a value is a finite number of ordinary size."""
    try:
        return not isinstance(value, str | tuple) and abs(float(value)) <= LARGEST
    except (TypeError, ValueError, OverflowError):
        return False
