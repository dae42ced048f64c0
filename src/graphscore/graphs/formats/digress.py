"""Samples that DiGress and DeFoG write as text: blocks `N=9`, `X:` and `E:`; they are only read."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from graphscore.errors import GraphDataError
from graphscore.graphs.carried import attach_to_edges, attach_to_nodes, values_of_edges
from graphscore.graphs.formats.text import BYTE_ORDER_MARK, lines_of
from graphscore.graphs.limits import BYTES_PER_VALUE, Bytes, Reading
from graphscore.graphs.matrices import matrix_arcs
from graphscore.graphs.simple import SimpleEdges, simple_edges
from graphscore.graphs.validation import Candidate

TYPE = "type"
"""Attribute of nodes, and of edges, that holds their type, a whole number."""
_START = re.compile(rb"\s*N ?= ?[0-9]")
_SIZE = re.compile(r"N ?= ?([0-9]{1,18})")
_NUMBER = re.compile(r"-?[0-9]{1,9}(?:\.0*)?")


def is_samples(data: Bytes) -> bool:
    """Return whether a file begins as such samples do.

    >>> is_samples(b"N=9\\nX: \\n")
    True
    """
    return _START.match(data, len(BYTE_ORDER_MARK) * data.startswith(BYTE_ORDER_MARK)) is not None


def decode_digress(data: Bytes, source: str, reading: Reading) -> Iterator[Candidate]:
    """Read all graphs; types of nodes and types of edges, if asked for, are attributes "type".

    Raises:
        GraphDataError: lines that are not of such a block, a graph that is refused, or more than
            the limits allow.

    Example:
        >>> text = b"N=2\\nX: \\n0 3 \\nE: \\n0 2 \\n2 0 \\n\\n"
        >>> found = next(decode_digress(text, "s.txt", Reading(edge_attributes=["type"])))
        >>> found.graph.nodes[1], found.graph.edges[0, 1]
        ({'type': 3}, {'type': 2})
    """
    is_asked = TYPE in reading.edge_attributes
    for block in _blocks(data, source, reading):
        edges = block.edges(reading)
        reading.add_graph(block.where, len(block.types), len(edges.rows))
        number = len(block.types) + len(edges.rows) * is_asked
        reading.add_bytes(block.where, BYTES_PER_VALUE * number)
        if (block.matrix > 1).any():
            reading.ignore(TYPE)
    return (block.candidate(reading) for block in _blocks(data, source, reading))


class _Block:
    """The types of one graph."""

    def __init__(self, where: str, types: NDArray[np.int32], matrix: NDArray[np.int32]) -> None:
        self.where = where
        self.types = types
        self.matrix = matrix

    def edges(self, reading: Reading) -> SimpleEdges:
        """Return the checked edges."""
        reading.check_edges(self.where, int(np.count_nonzero(self.matrix) - len(self.types)) // 2)
        tails, heads, *_ = matrix_arcs(self.where, self.matrix, weighted=True)
        return simple_edges(self.where, len(self.types), tails, heads, reading.repairs)

    def candidate(self, reading: Reading) -> Candidate:
        """Build the graph."""
        edges, size = self.edges(reading), len(self.types)
        graph = edges.graph(size)
        attach_to_nodes(graph, TYPE, self.types.tolist())
        if TYPE in reading.edge_attributes:
            *ends, types, _ = matrix_arcs(self.where, self.matrix, weighted=True)
            values = values_of_edges(self.where, size, edges, (ends[0], ends[1]), {TYPE: types})
            attach_to_edges(graph, edges, values)
        return Candidate(self.where, graph, True, edges.changes)


def _blocks(data: Bytes, source: str, reading: Reading) -> Iterator[_Block]:
    """Yield the graphs of a file, each as soon as its last line is read."""
    lines = (
        (number, line.strip())
        for number, _, line in lines_of(data, source, reading)
        if line.strip()
    )
    for count, (number, line) in enumerate(lines, start=1):
        where = f"{source}, graph {count}"
        size = _SIZE.fullmatch(line)
        if size is None:
            raise _unexpected(source, number, line, "'N=' and the number of nodes")
        nodes = int(size[1])
        reading.check_nodes(where, nodes)
        _mark(lines, source, number, "X:")
        types = _numbers(lines, source, number, nodes) if nodes else np.zeros(0, dtype=np.int32)
        _mark(lines, source, number, "E:")
        if nodes**2 > len(data):  # each entry takes a byte at least
            raise GraphDataError(f"{where}: the matrix has less than {nodes} rows. It is cut off.")
        matrix = np.zeros((nodes, nodes), dtype=np.int32)
        for row in matrix:
            row[:] = _numbers(lines, source, number, nodes)
        yield _Block(where, types, matrix)


def _mark(lines: Iterator[tuple[int, str]], source: str, number: int, mark: str) -> None:
    number, line = next(lines, (number, ""))
    if line != mark:
        raise _unexpected(source, number, line, f"'{mark}'")


def _numbers(
    lines: Iterator[tuple[int, str]], source: str, number: int, length: int
) -> NDArray[np.int32]:
    number, line = next(lines, (number, ""))
    words = line.split()
    if len(words) != length or not all(map(_NUMBER.fullmatch, words)):
        raise _unexpected(
            source, number, line, f"a line of as many whole numbers as there are nodes ({length})"
        )
    return np.array([int(word.partition(".")[0]) for word in words], dtype=np.int32)


def _unexpected(source: str, number: int, line: str, expected: str) -> GraphDataError:
    found = repr(line[:40]) if line else "the file ends within this graph"
    return GraphDataError(
        f"{source} line {number}: {found}, but {expected} is expected, as in samples of DiGress. "
        "Check that the file is whole."
    )
