"""Attributes of all nodes, or of all edges, as one array for each name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphscore.errors import GraphDataError
from graphscore.graphs.formats.text import MAX_LINE, MAX_NAME, is_text
from graphscore.graphs.limits import MAX_BYTES
from graphscore.settings import quoted

_KINDS = "buifU"  # what numpy calls truth values, numbers and texts
_CODE_POINTS, _SURROGATES = 0x110000, (0xD800, 0xE000)
_Array = NDArray[Any]


@dataclass(frozen=True)
class Column:
    """The values of an attribute.

    Attributes:
        values: (M,), or (M,D) if each is a vector.
        before: (N,) how many of the nodes or edges up to each one have a value; None if all have.
    """

    values: _Array
    before: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        """Return the number of nodes or edges."""
        return len(self.values) if self.before is None else len(self.before)

    def part(self, start: int, stop: int) -> Iterator[tuple[int, Any]]:
        """Yield place, from `start` on, and value of those nodes or edges that have one."""
        if self.before is None:
            yield from enumerate(_plain(self.values[start:stop]))
            return
        first = int(self.before[start - 1]) if start else 0
        counts = self.before[start:stop]
        places = np.flatnonzero(np.diff(counts, prepend=first)).tolist()
        yield from zip(places, _plain(self.values[first : first + len(places)]))


def _plain(values: _Array) -> list[Any]:
    plain: list[Any] = (values.astype(np.float64) if values.dtype.kind == "f" else values).tolist()
    return plain


def checked_column(where: str, values: _Array, there: _Array | None) -> Column:
    """Return the column of arrays from outside.

    Raises:
        GraphDataError: other shapes or types than those of columns, or what is no text.
    """
    vector = values.ndim == 2 and values.dtype.kind != "U" and values.shape[1] > 0
    if values.dtype.kind not in _KINDS or not (values.ndim == 1 or vector):
        raise GraphDataError(
            f"{where} of type {values.dtype} and shape {values.shape}, but truth values, numbers "
            "or texts of shape (M,), or vectors of shape (M,D), are expected."
        )
    if values.dtype.kind == "U":
        _check_code_points(where, values)
    if there is None:
        return Column(values)
    if there.ndim != 1 or there.dtype != bool or int(there.sum()) != len(values):
        raise GraphDataError(
            f"{where} has {len(values)} values, but the array with ? for : in its name is of type "
            f"{there.dtype} and shape {there.shape}. Truth values are expected, as many true ones "
            "as there are values."
        )
    return Column(values, there.cumsum(dtype=np.int64))


def _check_code_points(where: str, texts: _Array) -> None:
    codes = texts.astype(texts.dtype.newbyteorder("="), copy=False).view(np.uint32)
    low, high = _SURROGATES
    if texts.dtype.itemsize > 4 * MAX_LINE:
        raise GraphDataError(f"{where} holds texts of more than {MAX_LINE} characters.")
    if (codes >= _CODE_POINTS).any() or ((codes >= low) & (codes < high)).any():
        raise GraphDataError(f"{where} holds a character that there is not. Write it again.")


def arrays_of(kind: str, places: Sequence[dict[str, Any]], without: str = "") -> dict[str, _Array]:
    """Return the arrays of attributes that are truth values, numbers, texts or vectors of numbers.

    Args:
        kind: "node" or "edge".
        places: the attributes of every node or edge.
        without: name of one that is left out.

    Raises:
        GraphDataError: values of several kinds under one name, or what an array cannot hold.

    Example:
        >>> arrays_of("node", [{"a": 1}, {}, {"a": 2}])
        {'node:a': array([1, 2]), 'node?a': array([ True, False,  True])}
    """
    found: dict[str, tuple[list[int], list[Any]]] = {}
    for place, attributes in enumerate(places):
        for name, given in attributes.items():
            value = given.tolist() if hasattr(given, "tolist") else given
            value = list(value) if isinstance(value, tuple) else value
            if name != without and _kind(value) is not None:
                at, values = found.setdefault(str(name), ([], []))
                at.append(place)
                values.append(value)
    arrays = {}
    for name, (at, values) in found.items():
        if len(name) > MAX_NAME or not is_text(name) or "\0" in name:
            raise _unwritable(kind, name, f"has no name of at most {MAX_NAME} characters")
        arrays[f"{kind}:{name}"] = _array(kind, name, values)
        if len(at) < len(places):
            there = np.zeros(len(places), dtype=bool)
            there[at] = True
            arrays[f"{kind}?{name}"] = there
    return arrays


def _kind(value: Any) -> tuple[str, int] | None:
    """Return the kind of a value and the length of a vector; None if arrays hold no such value."""
    if isinstance(value, list):
        kinds = {_kind(item) for item in value}
        kind = _common({k[0] if k and not k[1] else "" for k in kinds})
        return (kind, len(value)) if kind in ("b", "i", "f") and value else None
    for known, kind in ((bool, "b"), (int, "i"), (float, "f"), (str, "U")):
        if isinstance(value, known):
            return kind, 0
    return None


def _common(kinds: set[str]) -> str:
    """Return the kind that values of several kinds have together; empty if there is none."""
    if kinds == {"i", "f"}:
        return "f"
    return next(iter(kinds)) if len(kinds) == 1 else ""


def _array(kind: str, name: str, values: list[Any]) -> _Array:
    found = {_kind(value) for value in values} - {None}
    common, lengths = _common({each[0] for each in found if each}), {k[1] for k in found if k}
    if not common or len(lengths) > 1:
        raise _unwritable(kind, name, "has values of several kinds")
    if common == "U":
        longest = max(map(len, values))
        if longest > MAX_LINE or 4 * longest * len(values) > MAX_BYTES:
            raise _unwritable(kind, name, f"has {len(values)} texts of up to {longest} characters")
        if not all(map(is_text, values)) or any(text.endswith("\0") for text in values):
            raise _unwritable(kind, name, "has a text with a character that cannot be kept")
        return np.array(values, dtype=f"U{max(1, longest)}")
    try:
        array: _Array = np.array(
            values, dtype={"b": np.bool_, "i": np.int64, "f": np.float64}[common]
        )
    except OverflowError:
        raise _unwritable(kind, name, "has a whole number of more than 64 bits") from None
    if common == "f" and array.tolist() != values and not np.isnan(array).any():
        raise _unwritable(kind, name, "has a whole number, beside real ones, of more than 53 bits")
    return array


def _unwritable(kind: str, name: str, what: str) -> GraphDataError:
    return GraphDataError(
        f"{kind} attribute {quoted(name)} {what}, which npz does not hold. Write json instead, or "
        "change or remove it."
    )
