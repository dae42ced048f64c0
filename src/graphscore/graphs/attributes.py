"""What an attribute is that a model learns: its name, and its types or its units."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from graphscore.settings import Settings, quoted

MOST_VALUES = 200
"""Different values of a type; a state holds as many numbers for each node or edge."""
LARGEST = 1e100
"""Number that is read or generated; what would be larger is this."""
LONGEST = 200
"""Characters of a type."""
WIDEST = 200
"""Numbers of a type that is a vector."""
MOST_IGNORED = 20
"""Names of ignored attributes that are noted."""
MOST_FEATURES = 1000
"""Numbers of a node that are learned."""
Whole = Annotated[int, Field(ge=-(2**62), le=2**62)]
Text = Annotated[str, Field(max_length=LONGEST)]
Vector = Annotated[tuple[bool | Whole | float, ...], Field(max_length=WIDEST)]
Value = bool | Whole | Text | Vector


class AttributeSettings(Settings):
    """What nodes and edges carry that is learned, by the names of the attributes."""

    node_type: str | None = Field(default=None, max_length=200)
    """Node attribute with one of several values, such as an element."""
    edge_type: str | None = Field(default=None, max_length=200)
    """Edge attribute with one of several values, such as a kind of bond."""
    edge_weight: str | None = Field(default=None, max_length=200)
    """Edge attribute that is a number."""
    node_features: tuple[str, ...] = Field(default=(), max_length=1000)
    """Node attributes that are numbers."""

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        for names in (self.of_nodes, self.of_edges):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ValueError(f"{quoted(twice[0])} is named twice; learn it in one way")
        return self

    @property
    def of_nodes(self) -> tuple[str, ...]:
        """Names of the node attributes."""
        return (*filter(None, [self.node_type]), *self.node_features)

    @property
    def of_edges(self) -> tuple[str, ...]:
        """Names of the edge attributes."""
        return tuple(filter(None, [self.edge_type, self.edge_weight]))


def given_names(
    node_type: str | None,
    edge_type: str | None,
    edge_weight: str | None,
    node_features: str | Sequence[str],
) -> dict[str, Any]:
    """Return the names that were given, as settings; one feature may be given by itself.

    >>> given_names("element", None, None, "charge")
    {'node_type': 'element', 'node_features': ['charge']}
    """
    asked = {"node_type": node_type, "edge_type": edge_type, "edge_weight": edge_weight}
    named: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    features = [node_features] if isinstance(node_features, str) else [*node_features]
    return {**named, "node_features": features} if features else named


def value_of(attributes: Mapping[str, Any], name: str) -> Any:
    """Return an attribute, or one number of a vector: `x_0` is the first of `x`.

    Raises:
        KeyError: there is none of that name.

    >>> value_of({"x": [0.5, 2.0]}, "x_1")
    2.0
    """
    if name in attributes:
        return attributes[name]
    vector, place = _part(name)
    whole = attributes[vector]
    if isinstance(whole, str | Mapping):
        raise KeyError(name)
    try:
        return whole[place]
    except (TypeError, IndexError) as error:  # a number, or a shorter vector
        raise KeyError(name) from error


def _part(name: str) -> tuple[str, int]:
    """Return the name of the vector that a name may be a number of, and its place."""
    vector, _, place = name.rpartition("_")
    if vector and len(place) < 5 and place.isascii() and place.isdecimal():
        return vector, int(place)
    raise KeyError(name)


def chosen(attributes: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the named attributes, those that there are.

    >>> chosen({"bond": 1, "w": [0.5, 2.0]}, ["bond", "w_0", "type"])
    {'bond': 1, 'w_0': 0.5}
    """
    found = {}
    for name in names:
        try:
            found[name] = value_of(attributes, name)
        except KeyError:
            continue
    return found


def is_asked(attribute: str, names: Collection[str]) -> bool:
    """Return whether an attribute is among names, or a number of it is."""
    if attribute in names:
        return True
    for name in names:
        try:
            if _part(name)[0] == attribute:
                return True
        except KeyError:
            continue
    return False


NOTHING = AttributeSettings()
"""Edges are there or not, and no more is learned."""


class Types(Settings):
    """An attribute with one of several values."""

    name: str = Field(max_length=200)
    values: tuple[Value, ...] = Field(min_length=1, max_length=MOST_VALUES)

    @model_validator(mode="after")
    def _of_one_kind(self) -> Self:
        kinds = {type(value) for value in self.values}
        if len(kinds) > 1 or len(set(self.values)) < len(self.values):
            raise ValueError("types must be different values of one kind")
        return self


class Scale(Settings):
    """An attribute that is a number, and its standard units: (x - mean) / deviation.

    >>> Scale(name="w", mean=1.0, deviation=2.0).standard(np.array([3.0]))
    array([1.])
    """

    name: str = Field(max_length=200)
    mean: float = 0.0
    deviation: float = Field(default=1.0, ge=0)
    """0 if all numbers are equal, and so are those that are generated."""
    log: bool = False
    """The units are those of the logarithm, for numbers above 0 that are better spread so."""
    whole: bool = False
    """All numbers were whole, and those that are generated are rounded."""
    column: int | None = Field(default=None, ge=0, le=1000)
    """Place in the attribute if that is a vector."""
    matrix: bool = False
    """They are entries of a matrix in which 0 is no edge: not centred, and none that is generated
    is rounded to 0."""

    @model_validator(mode="after")
    def _keeps_zero(self) -> Self:
        if self.matrix and (self.mean or self.log or not self.deviation):
            raise ValueError("weights of a matrix are in units of their root mean square")
        return self

    @classmethod
    def of(cls, name: str, numbers: NDArray[np.float64], column: int | None = None) -> Scale:
        """Return the scale of the numbers of all graphs."""
        same = numbers.min() == numbers.max()
        log = bool(numbers.min() > 0) and not same
        log = log and _skewness(np.log(numbers)) < _skewness(numbers)
        units = np.log(numbers) if log else numbers
        mean = float(units[0] if same else units.mean())
        return cls(
            name=name,
            mean=mean,
            deviation=0.0 if same else _root_mean_square(units - mean),
            log=log,
            whole=_are_whole(numbers),
            column=column,
        )

    @classmethod
    def of_matrix(cls, name: str, numbers: NDArray[np.float64], column: int | None = None) -> Scale:
        """Return the scale of weights of a matrix: in units of their root mean square.

        >>> Scale.of_matrix("w", np.array([-3.0, 3.0])).standard(np.array([6.0, 0.0]))
        array([2., 0.])
        """
        return cls(
            name=name,
            deviation=_root_mean_square(numbers),
            whole=_are_whole(numbers),
            column=column,
            matrix=True,
        )

    @property
    def title(self) -> str:
        """The name; of a number of a vector, that with its place."""
        return self.name if self.column is None else f"{self.name}_{self.column}"

    def in_words(self) -> str:
        """Return name, mean and deviation for people to read."""
        if self.matrix:
            return f"{self.title}, root mean square {self.deviation:.3g}"
        of = "log " if self.log else ""
        return f"{of}{self.title} {self.mean:.3g} ± {self.deviation:.3g}"

    def standard(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return numbers in standard units."""
        return ((np.log(numbers) if self.log else numbers) - self.mean) / (self.deviation or 1.0)

    def original(self, units: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the numbers that standard units stand for."""
        with np.errstate(over="ignore"):
            numbers = units * self.deviation + self.mean
            numbers = np.exp(numbers) if self.log else numbers
        numbers = np.clip(numbers, -LARGEST, LARGEST)
        if not self.whole:
            return numbers
        rounded = np.round(numbers)
        if self.matrix:
            return np.where(rounded == 0, np.sign(numbers), rounded)
        return np.maximum(1, rounded) if self.log else rounded


def _are_whole(numbers: NDArray[np.float64]) -> bool:
    return bool((numbers == np.round(numbers)).all())


def _root_mean_square(numbers: NDArray[np.float64]) -> float:
    """Return it without squares of very large or very small numbers."""
    largest = float(np.abs(numbers).max())
    return 0.0 if largest == 0 else largest * float(np.sqrt(((numbers / largest) ** 2).mean()))


def _skewness(numbers: NDArray[np.float64]) -> float:
    deviation = numbers - numbers.mean()
    spread = _root_mean_square(deviation)
    return 0.0 if spread == 0 else abs(float(((deviation / spread) ** 3).mean()))
