"""The values of attributes of all nodes or edges of graphs, checked to be types or numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

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
from graphscore.settings import quoted


@dataclass(frozen=True)
class Values:
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
                try:
                    value = value_of(data, name)
                except KeyError:
                    known = ""
                    if self.kind == "node":  # of edges only those that are asked for are there
                        names = ", ".join(map(quoted, sorted(map(str, data)))) or "none"
                        known = f" (attributes here: {names})"
                    raise GraphDataError(
                        f"{self._where(b, place)}: no attribute {quoted(name)}, which is to be "
                        f"learned{known}. Give every {self.kind} that attribute, or name another "
                        "one."
                    ) from None
                yield b, place, value

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
                    f"type is a text of at most {LONGEST} characters, a whole number, a truth "
                    f"value or a vector of at most {WIDEST} numbers.{advice}"
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

    def scale(self, name: str) -> Scale:
        """Return the scale of an attribute that is one number, or a vector of one.

        Raises:
            GraphDataError: one is no finite number.
        """
        first, *others = self.scales([name])
        if others:
            raise GraphDataError(
                f"{self.kind} attribute {quoted(name)} is a vector of {len(others) + 1} numbers, "
                f"but one number is expected. Name one of them, such as {quoted(name + '_0')}."
            )
        return first

    def scales(self, names: Sequence[str]) -> tuple[Scale, ...]:
        """Return the scales of attributes that are numbers or vectors, one for each number.

        Raises:
            GraphDataError: one is no finite number, or no vector of the length of the others.
        """
        found: list[Scale] = []
        for name in names:
            numbers, is_vector = self._vectors(name)
            found += (Scale.of(name, n, k if is_vector else None) for k, n in enumerate(numbers.T))
        if len(found) > MOST_FEATURES:
            raise GraphDataError(
                f"{', '.join(map(quoted, names))}: {len(found)} numbers of each {self.kind}, but "
                f"at most {MOST_FEATURES} can be learned. Name some of them, such as "
                f"{quoted(names[0] + '_0')}."
            )
        return tuple(found)

    def numbers(self, name: str, scales: Sequence[Scale]) -> NDArray[np.float64]:
        """Return the numbers of an attribute (M,K), as many as there are scales.

        Raises:
            GraphDataError: one is no finite number, or there are others than so many.
        """
        numbers, _ = self._vectors(name)
        if numbers.shape[1] != len(scales):
            raise GraphDataError(
                f"{self.kind} attribute {quoted(name)} has {numbers.shape[1]} numbers, but "
                f"{len(scales)} are expected."
            )
        return numbers

    def _vectors(self, name: str) -> tuple[NDArray[np.float64], bool]:
        """Return the numbers of an attribute (M,K), and whether they are vectors."""
        found: list[Any] = []
        for b, place, value in self._each(name):
            plain = _plain(value)
            numbers = plain if isinstance(plain, tuple) else (plain,)
            first = found[0] if found else plain
            if isinstance(plain, tuple) != isinstance(first, tuple) or not (
                numbers and len(numbers) == (len(first) if isinstance(first, tuple) else 1)
            ):
                raise GraphDataError(
                    f"{self._where(b, place)}: attribute {quoted(name)} is {quoted(value)}, and "
                    f"{quoted(first)} elsewhere. Give every {self.kind} as many numbers."
                )
            if not all(map(_is_number, numbers)):
                advice = ""
                if isinstance(value, str):
                    advice = f", or learn it with --{self.kind}-type ({self.kind}_type=)"
                raise GraphDataError(
                    f"{self._where(b, place)}: attribute {quoted(name)} is {quoted(value)}, but a "
                    f"finite number, at most {LARGEST:g}, is expected. Correct it{advice}."
                )
            found.append(plain)
        if not found:
            raise self._nothing(name)
        is_vector = isinstance(found[0], tuple)
        return np.array(found, dtype=np.float64).reshape(len(found), -1), is_vector


def _plain(value: Any) -> Any:
    """Return what a number or a member of an enumeration stands for; a vector as a tuple."""
    value = value.value if isinstance(value, Enum) else value
    value = value.tolist() if hasattr(value, "tolist") else value  # of numpy or torch
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
