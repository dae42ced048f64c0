"""TU folders: all graphs of a data set in a few parallel text files, nodes and graphs from 1.

NAME_A.txt holds one arc `u, v` per line (an undirected edge fills two lines), line k of
NAME_graph_indicator.txt the graph of node k; NAME_node_labels.txt and NAME_node_attributes.txt are
optional and have one line per node.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from graphscore.errors import GraphDataError
from graphscore.graphs.formats.text import MAX_LINE, lines_of
from graphscore.graphs.limits import BYTES_PER_VALUE, Bytes, Reading
from graphscore.graphs.simple import Repairs, SimpleEdges, simple_edges
from graphscore.graphs.validation import (
    FEATURE,
    Candidate,
    attach_features,
    check_finite,
    feature_row,
)

ARCS, INDICATOR = "_A.txt", "_graph_indicator.txt"
LABELS, ATTRIBUTES = "_node_labels.txt", "_node_attributes.txt"
_BLOCK = 2**16  # arcs that are looked at together, since there may be millions
_TOO_LARGE = 2**62  # for a whole number
PARTS = (ARCS, INDICATOR, LABELS, ATTRIBUTES)

_Row = Sequence[float]
_ToNumber = Callable[[str], float]


def decode_tu(contents: Mapping[str, Bytes], source: str, reading: Reading) -> Iterator[Candidate]:
    """Read the graphs of one data set from the contents of its files, keyed by file name.

    Labels become node attribute "label" (an integer, or a list where a line has several),
    attributes become the vector "x". A graph with an arc whose reverse is missing is directed.

    Raises:
        GraphDataError: a missing file, a malformed line, files of different lengths, an edge
            between two graphs, graph numbers with gaps, a graph that is refused, or more than the
            limits allow.
    """
    name, files = _data_set(contents, source)
    indicator = _column(files, name, source, reading)
    num_nodes = len(indicator)
    num_graphs = int(indicator.max(initial=0))
    if num_nodes and (indicator.min() < 1 or num_graphs > num_nodes):
        raise GraphDataError(
            f"{source}: {name}{INDICATOR} numbers graphs {indicator.min()} to {num_graphs} over "
            f"{num_nodes} nodes, but 1, 2, 3, ... without gaps is expected."
        )
    arcs = _arcs(files, name, num_nodes, source, reading)
    _check_owners(arcs, indicator, name, source)
    tables = {
        ending: _per_node(files, name, ending, num_nodes, source, reading)
        for ending in (LABELS, ATTRIBUTES)
        if ending in files
    }
    graphs = _Graphs(source, indicator, arcs, reading.repairs)
    for g in range(num_graphs):
        reading.tick(source)
        where, nodes, edges = graphs.checked(g)
        reading.add_graph(where, len(nodes), len(edges.rows))
    return (_candidate(*graphs.checked(g), tables) for g in range(num_graphs))


def _check_owners(
    arcs: NDArray[np.intc], indicator: NDArray[np.int64], name: str, source: str
) -> None:
    for start in range(0, len(arcs), _BLOCK):
        some = arcs[start : start + _BLOCK]
        across = np.flatnonzero(np.diff(indicator[some - 1]))
        if not len(across):
            continue
        tail, head = some[across[0]].tolist()
        raise GraphDataError(
            f"{source}: {name}{ARCS} joins node {tail} of graph {indicator[tail - 1]} to node "
            f"{head} of graph {indicator[head - 1]}, but edges stay within one graph. "
            f"The file does not fit {name}{INDICATOR}."
        )


class _Graphs:
    """Nodes and arcs of all graphs, sorted by graph; the arcs given are overwritten."""

    def __init__(
        self, source: str, indicator: NDArray[np.int64], arcs: NDArray[np.intc], repairs: Repairs
    ) -> None:
        self._source = source
        self._repairs = repairs
        self._arcs = arcs
        counts = np.bincount(indicator)[1:]
        self._starts = np.concatenate([[0], np.cumsum(counts)])
        self._by_graph = np.argsort(indicator, kind="stable").astype(np.intc)
        position = np.empty(len(indicator) + 1, dtype=np.intc)  # of a node, counted from 1
        position[self._by_graph + 1] = np.arange(len(indicator))
        # An arc is one number, so that sorting takes no memory.
        codes = position[arcs[:, 0]].astype(np.int64)
        codes <<= 32
        codes |= position[arcs[:, 1]]
        codes.sort()
        self._arc_starts = np.searchsorted(codes, self._starts << 32)
        place = np.arange(len(indicator)) - np.repeat(self._starts[:-1], counts)
        for start in range(0, len(codes), _BLOCK):
            some = codes[start : start + _BLOCK]
            arcs[start : start + _BLOCK, 0] = place[some >> 32]
            arcs[start : start + _BLOCK, 1] = place[some & 0xFFFFFFFF]

    def checked(self, g: int) -> tuple[str, list[int], SimpleEdges]:
        """Return the name, nodes and edges of one graph, after checks and repairs."""
        where = f"{self._source} graph {g + 1}"
        nodes = self._by_graph[self._starts[g] : self._starts[g + 1]].tolist()
        mine = self._arcs[self._arc_starts[g] : self._arc_starts[g + 1]]
        return where, nodes, simple_edges(where, len(nodes), mine[:, 0], mine[:, 1], self._repairs)


class _Table:
    """A file with one line of numbers per node; a line is parsed again when it is asked for."""

    def __init__(self, data: Bytes, starts: array[int], number: _ToNumber) -> None:
        self._data = data
        self._starts = starts
        self._number = number

    def row(self, node: int) -> _Row:
        """Return the numbers of one node."""
        start = self._starts[node]
        stop = self._data.find(b"\n", start)
        line = self._data[start : None if stop == -1 else stop].decode()
        return [self._number(token) for token in line.split(",")]


def _candidate(
    where: str, nodes: list[int], edges: SimpleEdges, tables: Mapping[str, _Table]
) -> Candidate:
    graph = edges.graph(len(nodes))
    if LABELS in tables:
        for k, node in enumerate(nodes):
            row = tables[LABELS].row(node)
            graph.nodes[k]["label"] = row[0] if len(row) == 1 else row
    if ATTRIBUTES in tables:
        attach_features(graph, (list(tables[ATTRIBUTES].row(node)) for node in nodes))
    return Candidate(where, graph, True, edges.changes)


def _data_set(contents: Mapping[str, Bytes], source: str) -> tuple[str, dict[str, Bytes]]:
    """Return the name of the one data set and its files by the endings in `PARTS`."""
    names = [file.removesuffix(ARCS) for file in contents if file.endswith(ARCS)]
    if len(names) != 1 or f"{names[0]}{INDICATOR}" not in contents:
        raise GraphDataError(
            f"{source}: a TU folder holds one NAME{ARCS} and its NAME{INDICATOR}, found "
            f"{', '.join(contents) or 'neither'}. Add the missing file, or give another format "
            "with --format (in Python: format=...)."
        )
    files = {ending: contents.get(f"{names[0]}{ending}") for ending in PARTS}
    return names[0], {ending: data for ending, data in files.items() if data is not None}


def encode_tu(name: str, graphs: Sequence[nx.Graph[Any]]) -> dict[str, bytes]:
    """Return file names and contents; labels and "x" are written if every node has them.

    Raises:
        GraphDataError: an "x" or a label that `decode_tu` would refuse.

    >>> sorted(encode_tu("P", [nx.path_graph(2)]))
    ['P_A.txt', 'P_graph_indicator.txt']
    """
    arcs, owners, labels, features = [], [], [], []
    offset = 1
    for number, graph in enumerate(graphs, start=1):
        for node, data in graph.nodes(data=True):
            owners.append(str(number))
            arcs += [f"{offset + node}, {offset + other}" for other in graph[node]]
            if isinstance(data.get("label"), int | np.integer):
                labels.append(_label_line(int(data["label"]), f"graph {number}, node {node}"))
            if FEATURE in data:
                features.append(_feature_line(data[FEATURE], f"graph {number}, node {node}"))
        offset += graph.number_of_nodes()
    parts = {ARCS: arcs, INDICATOR: owners, LABELS: labels, ATTRIBUTES: features}
    return {
        name + ending: "".join(f"{line}\n" for line in lines).encode()
        for ending, lines in parts.items()
        if ending in (ARCS, INDICATOR) or len(lines) == len(owners)
    }


def _feature_line(value: Any, where: str) -> str:
    line = ", ".join(map(repr, feature_row(where, FEATURE, value).ravel().tolist()))
    if not 0 < len(line) <= MAX_LINE:
        raise GraphDataError(
            f"{where}: attribute {FEATURE!r} takes {len(line)} characters, but 1 to {MAX_LINE} are "
            "expected in a line. Write npz instead, or remove the attribute."
        )
    return line


def _label_line(label: int, where: str) -> str:
    if abs(label) >= _TOO_LARGE:
        raise GraphDataError(
            f"{where}: a label of {label.bit_length()} bits, but a whole number below 2^62 is "
            "expected. Number the labels from 0."
        )
    return str(label)


def _rows(
    data: Bytes, file: str, number: _ToNumber, reading: Reading
) -> Iterator[tuple[int, int, _Row]]:
    """Yield number, position and values of every line; blank lines are allowed at the end only."""
    blank = 0
    for k, start, line in lines_of(data, file, reading):
        if not line.strip():
            blank = blank or k
            continue
        try:
            if blank:
                k, line = blank, ""
            values = [number(token) for token in line.split(",")]
        except ValueError as error:
            raise GraphDataError(
                f"{file} line {k}: {line.strip()[:40]!r}, but numbers separated by commas are "
                "expected. Correct the line."
            ) from error
        yield k, start, values


def _whole(token: str) -> int:
    if len(token) >= 40 or abs(value := int(token)) >= _TOO_LARGE:
        raise ValueError("more digits than any number of nodes has")
    return value


def _column(
    files: Mapping[str, Bytes], name: str, source: str, reading: Reading
) -> NDArray[np.int64]:
    file, values = f"{source}: {name}{INDICATOR}", array("q")
    for k, _, row in _rows(files[INDICATOR], file, _whole, reading):
        values.extend(_wide(row, 1, file, k))
        reading.check_total_nodes(file, len(values))
    return np.frombuffer(values, dtype=np.int64)


def _arcs(
    files: Mapping[str, Bytes], name: str, num_nodes: int, source: str, reading: Reading
) -> NDArray[np.intc]:
    file, values = f"{source}: {name}{ARCS}", array("i")
    for k, _, row in _rows(files[ARCS], file, _whole, reading):
        tail, head = _wide(row, 2, file, k)
        if not (1 <= tail <= num_nodes and 1 <= head <= num_nodes):
            raise GraphDataError(
                f"{file} line {k}: edge {tail}, {head}, but {name}{INDICATOR} lists the nodes 1 "
                f"to {num_nodes}. The two files do not belong together."
            )
        values.extend((tail, head))
        reading.check_edges(file, len(values) // 4)  # each in both directions
    return np.frombuffer(values, dtype=np.intc).reshape(-1, 2)


def _wide(row: _Row, width: int, file: str, k: int) -> list[int]:
    if len(row) != width:
        raise GraphDataError(
            f"{file} line {k}: {len(row)} numbers, but {width} of ordinary size expected. "
            "Correct the line."
        )
    return [int(entry) for entry in row]


def _per_node(
    files: Mapping[str, Bytes],
    name: str,
    ending: str,
    num_nodes: int,
    source: str,
    reading: Reading,
) -> _Table:
    """Check a file with one line per node, and note where its lines start."""
    file, starts, found = f"{source}: {name}{ending}", array("q"), 0
    number: _ToNumber = _whole if ending == LABELS else float
    for k, start, row in _rows(files[ending], file, number, reading):
        if not all(map(math.isfinite, row)):
            check_finite(f"{file} line {k}", row)
        reading.add_bytes(file, BYTES_PER_VALUE * len(row))
        found += 1
        if found <= num_nodes:
            starts.append(start)
    if found != num_nodes:
        raise GraphDataError(
            f"{source}: {name}{ending} has {found} lines, but {name}{INDICATOR} lists "
            f"{num_nodes} nodes. The two files do not belong together."
        )
    return _Table(files[ending], starts, number)
