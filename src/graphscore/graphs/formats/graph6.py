"""graph6 and sparse6: one graph per line of printable characters.

A character holds six bits, offset by 63. graph6 lists the upper triangle of the adjacency matrix
column by column: (0,1), (0,2), (1,2), (0,3), ... See https://users.cecs.anu.edu.au/~bdm/data/formats.txt
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from graphscore.errors import GraphDataError
from graphscore.graphs.formats.text import BYTE_ORDER_MARK
from graphscore.graphs.limits import Bytes, Reading
from graphscore.graphs.repairs import Repairs
from graphscore.graphs.simple import SimpleEdges, no_nodes, simple_edges
from graphscore.graphs.validation import Candidate

_CHUNK = 2**20  # characters that are unpacked at a time
_LINE = re.compile(rb"\S(?:[^\n]*\S)?")  # without the spaces around it
_INVALID = re.compile(rb"[^?-~]")
_SEXTETS = bytes(max(0, k - 63) for k in range(256))
_NONE = np.array([], dtype=np.int64)
_HEADERS = (b">>graph6<<", b">>sparse6<<")
_UNSUPPORTED = {b"&": "digraph6 (directed)", b";": "incremental sparse6"}


def decode_lines(data: Bytes, source: str, reading: Reading) -> Iterator[Candidate]:
    """Read lines of graph6 and sparse6, in any mixture; blank lines are skipped.

    Raises:
        GraphDataError: a line with invalid characters, with too few or too many, or with what
            the repairs do not repair, or more than the limits allow.

    Example:
        >>> from graphscore.graphs.limits import Reading
        >>> lines = decode_lines(b">>graph6<<Bw", "g.g6", Reading())
        >>> [c.graph.number_of_edges() for c in lines]
        [3]
    """
    for where, record in _records(data, source, reading):
        if record[:1] in _UNSUPPORTED:
            raise GraphDataError(
                f"{where}: {_UNSUPPORTED[record[:1]]}, but graph6 or sparse6 is expected. "
                "Convert the file, for instance with nauty's copyg."
            )
        _check_characters(record, where)
        sparse = record[:1] == b":"
        size, start = _read_size(record, int(sparse), where)
        reading.check_nodes(where, size)
        if sparse:
            number = _number_of_pairs(record, size, start)
            reading.check_edges(where, number - size - 1)  # so many of the pairs are edges
            number_of_edges = len(_sparse6_edges(record, where, reading.repairs)[1].rows)
        else:
            number_of_edges = _count_graph6_edges(record, size, start, where)
        reading.add_graph(where, size, number_of_edges)
    return (_candidate(where, record, reading) for where, record in _records(data, source, reading))


def _records(data: Bytes, source: str, reading: Reading) -> Iterator[tuple[str, bytes]]:
    """Yield the place and the characters of every line, without headers and blank lines."""
    number, counted = 1, 0
    for found in _LINE.finditer(data):
        reading.tick(source)
        number += data.count(b"\n", counted, found.start())
        counted = found.start()
        start, stop = found.span()
        if start == 0 and data.startswith(BYTE_ORDER_MARK):
            start = len(BYTE_ORDER_MARK)
        for header in _HEADERS:
            start += len(header) if data.startswith(header, start, stop) else 0
        if start < stop:  # sliced once, because a line may be as long as the file
            yield f"{source} line {number}", bytes(memoryview(data)[start:stop])


def _candidate(where: str, record: bytes, reading: Reading) -> Candidate:
    """Build the graph of a line that has been checked."""
    if record[:1] == b":":
        size, edges = _sparse6_edges(record, where, reading.repairs)
    else:
        size, start = _read_size(record, 0, where)
        position = _set_bits(record, start, size * (size - 1) // 2)
        edges = SimpleEdges(*_pairs_at(position)) if len(position) else SimpleEdges(_NONE, _NONE)
    return Candidate(where, edges.graph(size), True, edges.changes)


def encode_graph6(graphs: Iterable[nx.Graph[Any]]) -> bytes:
    """Return one graph6 line per graph on nodes 0..n-1, without header.

    >>> encode_graph6([nx.complete_graph(3)])
    b'Bw\\n'
    """
    return b"".join(_encode_graph6(graph) + b"\n" for graph in graphs)


def encode_sparse6(graphs: Iterable[nx.Graph[Any]]) -> bytes:
    """Return one sparse6 line per graph on nodes 0..n-1, without header.

    >>> encode_sparse6([nx.path_graph(2)])
    b':An\\n'
    """
    return b"".join(nx.to_sparse6_bytes(graph, header=False) for graph in graphs)


def _check_characters(record: bytes, where: str) -> None:
    wrong = _INVALID.search(record, int(record[:1] == b":"))
    if wrong:
        raise GraphDataError(
            f"{where}: character {wrong[0]!r} at position {wrong.start() + 1}, but graph6 and "
            "sparse6 use only the characters '?' to '~'. Check that the file is not of another "
            "format."
        )


def _read_size(record: bytes, start: int, where: str) -> tuple[int, int]:
    """Return the number of nodes (1 character, '~' and 3, or '~~' and 6) and where it ends."""
    stop = start + 1
    if record[start:stop] == b"~":
        long = record[stop : stop + 1] == b"~"
        start, stop = (stop + 1, stop + 7) if long else (stop, stop + 3)
    if len(record) < stop:
        raise GraphDataError(
            f"{where}: the line ends within the number of nodes. The file may be truncated."
        )
    size = 0
    for character in record[start:stop]:
        size = size << 6 | character - 63
    if size == 0:
        raise no_nodes(where)
    return size, stop


def _count_graph6_edges(record: bytes, size: int, start: int, where: str) -> int:
    """Check the length of a line and return its number of edges, without unpacking it."""
    expected, found = (size * (size - 1) // 2 + 5) // 6, len(record) - start
    lengths = f"{where}: {size} nodes need {expected} characters of edges, found {found}."
    if found < expected:
        raise GraphDataError(f"{lengths} The line may be truncated.")
    if found > expected:
        raise GraphDataError(f"{lengths} The line is too long.")
    return sum(
        int.from_bytes(characters.translate(_SEXTETS), "big").bit_count()
        for _, characters in _chunks(record, start)
    )


def _set_bits(record: bytes, start: int, number: int) -> NDArray[np.int64]:
    """Return the positions of ones among the first `number` bits of characters of six bits."""
    # Bits after these pad the last character; they are ignored, as by other readers.
    parts = (
        np.flatnonzero(_bits(characters)[: number - first]) + first
        for first, characters in _chunks(record, start)
    )
    return np.concatenate([_NONE, *parts])


def _chunks(record: bytes, start: int) -> Iterator[tuple[int, bytes]]:
    """Yield the characters of edges in pieces, each with the position of its first bit."""
    for k in range(start, len(record), _CHUNK):
        yield 6 * (k - start), record[k : k + _CHUNK]


def _bits(characters: bytes) -> NDArray[np.uint8]:
    values = np.frombuffer(characters, np.uint8) - np.uint8(63)
    return np.unpackbits((values << np.uint8(2))[:, None], axis=1, count=6).ravel()


def _pairs_at(position: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return row and column of the pairs at these positions of the upper triangle."""
    # Column j holds the positions p from j(j-1)/2 to j(j+1)/2 - 1, where (j - 1/2)^2 < 2p + 2 <
    # (j + 1/2)^2. Up to a million nodes the root is far enough from j + 1/2 for rounding.
    column = np.rint(np.sqrt(2 * position + 2)).astype(np.int64)
    return position - column * (column - 1) // 2, column


def _number_of_pairs(record: bytes, size: int, start: int) -> int:
    return 6 * (len(record) - start) // _width(size)


def _width(size: int) -> int:
    return 1 + max(1, (size - 1).bit_length())


def _sparse6_edges(record: bytes, where: str, repairs: Repairs) -> tuple[int, SimpleEdges]:
    """Return the number of nodes and the checked edges of a line.

    After the size come pairs of one bit b and k bits x. A current node v starts at 0; a pair adds
    b to v, then x > v makes x the current node, and otherwise there is an edge x - v.
    """
    size, start = _read_size(record, 1, where)
    number, width = _number_of_pairs(record, size, start), _width(size)
    if not number:
        return size, SimpleEdges(_NONE, _NONE)
    # Small types and early ends of arrays: there can be two million pairs.
    pairs = _bits(record[start:])[: number * width].reshape(number, width)
    steps = np.cumsum(pairs[:, 0], dtype=np.int32)
    target = np.zeros(number, dtype=np.int32)
    for k in range(1, width):
        target <<= 1
        target |= pairs[:, k]
    del pairs
    # v after a pair is max(v before + b, x), so v less the steps so far is a running maximum.
    lead = np.maximum.accumulate(np.maximum(target - steps, 0))
    current = steps
    current[1:] += lead[:-1]
    del lead
    # Padding makes v at least n, by b or by an x that is no node; from then on there are no edges.
    edge = (target <= current) & (current < size)
    tails, heads = target[edge], current[edge]
    del target, current, steps
    return size, simple_edges(where, size, tails, heads, repairs, "edges")


def _encode_graph6(graph: nx.Graph[Any]) -> bytes:
    size = graph.number_of_nodes()
    bits = np.zeros((size * (size - 1) // 2 + 5) // 6 * 6, dtype=bool)
    ends = np.array(graph.edges(), dtype=np.int64).reshape(-1, 2)
    row, column = ends.min(1), ends.max(1)
    bits[column * (column - 1) // 2 + row] = True
    body = (np.packbits(bits.reshape(-1, 6), axis=1) >> 2).ravel() + np.uint8(63)
    return _encode_size(size) + body.tobytes()


def _encode_size(size: int) -> bytes:
    if size <= 62:
        return bytes([size + 63])
    prefix, count = (b"~", 3) if size <= 258_047 else (b"~~", 6)
    return prefix + bytes((size >> 6 * k & 63) + 63 for k in reversed(range(count)))
