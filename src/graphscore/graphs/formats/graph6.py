"""graph6 and sparse6: one graph per line of printable characters.

A character holds six bits, offset by 63. graph6 lists the upper triangle of the adjacency matrix
column by column: (0,1), (0,2), (1,2), (0,3), ... See https://users.cecs.anu.edu.au/~bdm/data/formats.txt
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from graphscore.errors import GraphDataError
from graphscore.graphs.formats.text import check_declared
from graphscore.graphs.validation import Candidate

_HEADERS = (b">>graph6<<", b">>sparse6<<")
_UNSUPPORTED = {b"&": "digraph6 (directed)", b";": "incremental sparse6"}


def decode_lines(data: bytes, source: str) -> Iterator[Candidate]:
    """Read lines of graph6 and sparse6, in any mixture; blank lines are skipped.

    Raises:
        GraphDataError: a line with invalid characters, or with too few or too many.

    Example:
        >>> [c.graph.number_of_edges() for c in decode_lines(b">>graph6<<Bw", "g.g6")]
        [3]
    """
    for number, line in enumerate(data.split(b"\n"), start=1):
        record = line.strip(b" \t\r")
        for header in _HEADERS:
            record = record.removeprefix(header)
        if not record:
            continue
        where = f"{source} line {number}"
        if record[:1] in _UNSUPPORTED:
            raise GraphDataError(
                f"{where}: {_UNSUPPORTED[record[:1]]}, but graph6 or sparse6 is expected. "
                "Convert the file, for instance with nauty's copyg."
            )
        if record[:1] == b":":
            yield Candidate(where, _decode_sparse6(record, where))
        else:
            yield Candidate(where, _decode_graph6(record, where), clean=True)


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


def _sextets(record: bytes, where: str) -> NDArray[np.uint8]:
    """Return the six-bit values of a line, refusing other characters."""
    characters = np.frombuffer(record, dtype=np.uint8)
    invalid = (characters < 63) | (characters > 126)
    if invalid.any():
        k = int(np.flatnonzero(invalid)[0])
        raise GraphDataError(
            f"{where}: character {record[k : k + 1]!r} at position {k + 1}, but graph6 and sparse6 "
            "use only the characters '?' to '~'. Check that the file is not of another format."
        )
    return characters - np.uint8(63)


def _read_size(values: NDArray[np.uint8], where: str) -> tuple[int, NDArray[np.uint8]]:
    """Split off the number of nodes: 1 character, '~' and 3, or '~~' and 6."""
    start, stop = 0, 1
    if len(values) and values[0] == 63:
        start, stop = (2, 8) if len(values) > 1 and values[1] == 63 else (1, 4)
    if len(values) < stop:
        raise GraphDataError(
            f"{where}: the line ends within the number of nodes. The file may be truncated."
        )
    size = 0
    for value in values[start:stop].tolist():
        size = size << 6 | value
    check_declared(where, size)
    return size, values[stop:]


def _decode_graph6(record: bytes, where: str) -> nx.Graph[Any]:
    size, values = _read_size(_sextets(record, where), where)
    expected = (size * (size - 1) // 2 + 5) // 6
    if len(values) != expected:
        hint = "The line may be truncated." if len(values) < expected else "The line is too long."
        raise GraphDataError(
            f"{where}: {size} nodes need {expected} characters of edges, found {len(values)}. "
            f"{hint}"
        )
    bits = np.unpackbits((values << np.uint8(2))[:, None], axis=1, count=6).ravel()
    # Bits after the last pair pad the last character; they are ignored, as by other readers.
    position = np.flatnonzero(bits[: size * (size - 1) // 2])
    row, column = _pairs_at(position)
    graph: nx.Graph[Any] = nx.Graph()
    graph.add_nodes_from(range(size))
    graph.add_edges_from(zip(row.tolist(), column.tolist()))
    return graph


def _pairs_at(position: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return row and column of the pairs at these positions of the upper triangle."""
    # Column j starts at position j(j-1)/2. Up to MAX_DECLARED_NODES the root differs from an
    # integer by zero or by far more than rounding, so truncation is exact.
    column = ((1 + np.sqrt(8 * position + 1)) / 2).astype(np.int64)
    return position - column * (column - 1) // 2, column


def _decode_sparse6(record: bytes, where: str) -> nx.Graph[Any]:
    # The size is checked first, because networkx allocates whatever a line declares.
    _read_size(_sextets(record[1:], where), where)
    try:
        graph: nx.Graph[Any] = nx.from_sparse6_bytes(record)  # type: ignore[call-overload]
    except Exception as error:  # networkx lets index errors of damaged lines through
        raise GraphDataError(f"{where}: not a valid sparse6 line ({error}).") from error
    return graph


def _encode_graph6(graph: nx.Graph[Any]) -> bytes:
    size = graph.number_of_nodes()
    bits = np.zeros((size * (size - 1) // 2 + 5) // 6 * 6, dtype=np.uint8)
    ends = np.array(graph.edges(), dtype=np.int64).reshape(-1, 2)
    row, column = ends.min(1), ends.max(1)
    bits[column * (column - 1) // 2 + row] = 1
    body = (np.packbits(bits.reshape(-1, 6), axis=1) >> 2).ravel() + np.uint8(63)
    return _encode_size(size) + body.tobytes()


def _encode_size(size: int) -> bytes:
    if size <= 62:
        return bytes([size + 63])
    prefix, count = (b"~", 3) if size <= 258_047 else (b"~~", 6)
    return prefix + bytes((size >> 6 * k & 63) + 63 for k in reversed(range(count)))
