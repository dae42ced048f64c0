"""Matrix Market files, `.mtx`: one adjacency matrix; they are only read.

scipy's reader is not used, because damaged files can end the process.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix

from graphscore.errors import GraphDataError
from graphscore.graphs.formats.matrix_files import matrix_candidates
from graphscore.graphs.formats.text import lines_of
from graphscore.graphs.limits import Bytes, Reading
from graphscore.graphs.validation import Candidate

_FIRST = re.compile(
    r"%%MatrixMarket\s+matrix\s+(coordinate|array)\s+(real|double|integer|pattern)\s+"
    r"(general|symmetric)\s*",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[0-9]{1,18}")


def decode_matrix_market(data: Bytes, source: str, reading: Reading) -> Iterator[Candidate]:
    """Read one adjacency matrix.

    Raises:
        GraphDataError: no such file, a matrix that is not square, not real or neither general nor
            symmetric, a graph that is refused, or more than the limits allow.

    Example:
        >>> text = b"%%MatrixMarket matrix coordinate pattern symmetric\\n2 2 1\\n2 1\\n"
        >>> next(decode_matrix_market(text, "a.mtx", Reading())).graph.edges
        EdgeView([(0, 1)])
    """
    lines = _Lines(data, source, reading)
    kind = _FIRST.fullmatch(next(lines.all, ""))
    if kind is None:
        raise lines.unexpected(
            "'%%MatrixMarket matrix', 'coordinate' or 'array', 'real', 'integer' or 'pattern', and "
            "'general' or 'symmetric' are expected"
        )
    layout, field, symmetry = (each.lower() for each in kind.groups())
    is_symmetric = symmetry == "symmetric"
    sizes = lines.numbers(3 if layout == "coordinate" else 2)
    if sizes[0] != sizes[1] or not sizes[0]:
        raise GraphDataError(
            f"{source}: matrix of shape {(sizes[0], sizes[1])}, but a square adjacency matrix is "
            "expected."
        )
    reading.check_nodes(source, sizes[0])
    matrix: Any
    if layout == "array":
        matrix = _dense(lines, sizes[0], is_symmetric, reading)
    else:
        matrix = _sparse(lines, sizes[0], sizes[2], field == "pattern", is_symmetric)
    return matrix_candidates({source: matrix}, reading)


class _Lines:
    """The lines of a file, without comments and blank ones."""

    def __init__(self, data: Bytes, source: str, reading: Reading) -> None:
        self.source = source
        self.reading = reading
        self.number = 1
        self._line = ""
        self.all = self._read(data)

    def _read(self, data: Bytes) -> Iterator[str]:
        for number, _, line in lines_of(data, self.source, self.reading):
            self.number, self._line = number, line.strip()
            if number == 1 or not (self._line.startswith("%") or not self._line):
                yield self._line
        self._line = ""

    def numbers(self, length: int) -> list[int]:
        """Return the whole numbers of the next line."""
        return self.whole(next(self.all, "").split(), length)

    def whole(self, words: list[str], length: int) -> list[int]:
        """Return whole numbers, which are to be so many."""
        if len(words) != length or not all(map(_NUMBER.fullmatch, words)):
            raise self.unexpected(f"{length} whole numbers are expected")
        return [int(word) for word in words]

    def value(self, words: list[str]) -> float:
        """Return an entry, the only word that is left."""
        try:
            (word,) = words
            return float(word)
        except ValueError:
            raise self.unexpected("an entry that is a number is expected") from None

    def unexpected(self, expected: str) -> GraphDataError:
        """Return the error for the line that was read last."""
        found = repr(self._line[:40]) if self._line else "the file ends"
        return GraphDataError(
            f"{self.source} line {self.number}: not a readable Matrix Market file ({found}, but "
            f"{expected}). Write it again, for instance with scipy.io.mmwrite."
        )


def _sparse(lines: _Lines, size: int, entries: int, is_pattern: bool, is_symmetric: bool) -> Any:
    """Return a matrix of which the entries are listed."""
    rows, columns, values = array("i"), array("i"), array("d")
    for line in lines.all:
        words = line.split()
        row, column = lines.whole(words[:2], 2)
        if not (1 <= row <= size and 1 <= column <= size):
            raise lines.unexpected(f"rows and columns from 1 to {size} are expected")
        value = lines.value(["1"] if is_pattern and len(words) == 2 else words[2:])
        rows.append(row - 1)
        columns.append(column - 1)
        values.append(value)
        # All edges may be listed in both directions, and self-loops besides.
        lines.reading.check_edges(lines.source, (len(rows) - size) // 2)
    if len(rows) != entries:
        raise GraphDataError(
            f"{lines.source}: {len(rows)} entries, but {entries} are stated. The file may be cut "
            "off."
        )
    ends = [np.frombuffer(each, dtype=np.intc) for each in (rows, columns)]
    numbers = np.frombuffer(values, dtype=np.float64)
    if is_symmetric:
        off = ends[0] != ends[1]
        both = [np.concatenate([ends[k], ends[1 - k][off]]) for k in (0, 1)]
        ends, numbers = both, np.concatenate([numbers, numbers[off]])
    return coo_matrix((numbers, (ends[0], ends[1])), (size, size))


def _dense(lines: _Lines, size: int, is_symmetric: bool, reading: Reading) -> NDArray[np.float64]:
    """Return a matrix of which all entries are listed, a column at a time."""
    reading.add_bytes(lines.source, 8 * size * size)
    expected = size * (size + 1) // 2 if is_symmetric else size * size
    values = array("d")
    for line in lines.all:
        values.append(lines.value(line.split()))
        if len(values) > expected:
            break
    if len(values) != expected:
        raise GraphDataError(
            f"{lines.source}: not as many entries as a matrix of {size} rows has ({expected}). The "
            "file may be cut off."
        )
    numbers = np.frombuffer(values, dtype=np.float64)
    if not is_symmetric:
        return numbers.reshape(size, size).T
    matrix = np.zeros((size, size))
    upper = np.triu_indices(size)  # row by row, which is the lower part column by column
    matrix[upper] = numbers
    matrix.T[upper] = numbers
    return matrix
