"""TU folders: all graphs of a data set in a few parallel text files, nodes and graphs from 1.

NAME_A.txt holds one arc `u, v` per line (an undirected edge fills two lines), line k of
NAME_graph_indicator.txt the graph of node k; NAME_node_labels.txt and NAME_node_attributes.txt are
optional and have one line per node; NAME_edge_labels.txt and NAME_edge_attributes.txt are too and
have one line per arc.
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
from graphscore.graphs.attributes import is_asked
from graphscore.graphs.carried import (
    EDGE_FEATURE,
    FEATURE,
    attach_features,
    attach_to_edges,
    check_finite,
    columns_of,
    feature_row,
    values_of_edges,
)
from graphscore.graphs.formats.text import MAX_LINE, lines_of
from graphscore.graphs.limits import BYTES_PER_VALUE, Bytes, Reading
from graphscore.graphs.simple import SimpleEdges, simple_edges
from graphscore.graphs.validation import Candidate

ARCS, INDICATOR = "_A.txt", "_graph_indicator.txt"
LABELS, ATTRIBUTES = "_node_labels.txt", "_node_attributes.txt"
LABEL = "label"
OF_EDGES = {"_edge_labels.txt": LABEL, "_edge_attributes.txt": EDGE_FEATURE}
"""The edge attributes that files hold, which are read if they are asked for."""
_BLOCK = 2**16  # arcs that are looked at together, since there may be millions
_TOO_LARGE = 2**62  # for a whole number
PARTS = (ARCS, INDICATOR, LABELS, ATTRIBUTES, *OF_EDGES)

_Row = Sequence[float]
_ToNumber = Callable[[str], float]


def decode_tu(contents: Mapping[str, Bytes], source: str, reading: Reading) -> Iterator[Candidate]:
    """Read the graphs of one data set from the contents of its files, keyed by file name.

    Labels become the attribute "label" of nodes or edges (an integer, or a list where a line has
    several), node attributes the vector "x", and edge attributes "edge_attr" (a number, or a list
    where a line has several). A graph with an arc whose reverse is missing is directed.

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
    carried = {
        attribute: _per_arc(files, name, ending, len(arcs), source, reading)
        for ending, attribute in OF_EDGES.items()
        if ending in files and is_asked(attribute, reading.edge_attributes)
    }
    columns = columns_of(carried, reading.edge_attributes)
    graphs = _Graphs(source, indicator, arcs, columns, reading)
    for g in range(num_graphs):
        reading.tick(source)
        where, nodes, edges = graphs.checked(g)
        reading.add_graph(where, len(nodes), len(edges.rows))
        graphs.values(g, edges)
    return (graphs.candidate(g, tables) for g in range(num_graphs))


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
    """Nodes and arcs of all graphs, sorted by graph; the arcs given are overwritten.

    Args:
        columns: values of the arcs by the names of attributes.
    """

    def __init__(
        self,
        source: str,
        indicator: NDArray[np.int64],
        arcs: NDArray[np.intc],
        columns: Mapping[str, NDArray[Any]],
        reading: Reading,
    ) -> None:
        self._source = source
        self._columns = columns
        self._repairs = reading.repairs
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
        if columns:
            self._lines = np.argsort(codes).astype(np.intc)  # of the file, for each arc
        codes.sort()  # arcs of one code are refused, whichever comes first
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

    def values(self, g: int, edges: SimpleEdges) -> dict[str, list[Any]]:
        """Return the values of the edges of one graph by the names of attributes.

        Raises:
            GraphDataError: the two directions of an edge have different values.
        """
        if not self._columns:
            return {}
        mine = slice(self._arc_starts[g], self._arc_starts[g + 1])
        tails, heads = self._arcs[mine].T
        columns = {name: values[self._lines[mine]] for name, values in self._columns.items()}
        number = int(self._starts[g + 1] - self._starts[g])
        where = f"{self._source} graph {g + 1}"
        return values_of_edges(where, number, edges, (tails, heads), columns)

    def candidate(self, g: int, tables: Mapping[str, _Table]) -> Candidate:
        """Build one graph, which has been checked."""
        where, nodes, edges = self.checked(g)
        graph = edges.graph(len(nodes))
        if LABELS in tables:
            for k, node in enumerate(nodes):
                row = tables[LABELS].row(node)
                graph.nodes[k][LABEL] = row[0] if len(row) == 1 else row
        if ATTRIBUTES in tables:
            attach_features(graph, (list(tables[ATTRIBUTES].row(node)) for node in nodes))
        attach_to_edges(graph, edges, self.values(g, edges))
        return Candidate(where, graph, True, edges.changes)


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
    """Return file names and contents; labels, "x" and "edge_attr" if all nodes or edges have them.

    Raises:
        GraphDataError: an "x", "edge_attr" or label that `decode_tu` would refuse.

    >>> sorted(encode_tu("P", [nx.path_graph(2)]))
    ['P_A.txt', 'P_graph_indicator.txt']
    """
    arcs: list[str] = []
    owners: list[str] = []
    of_nodes, of_arcs = _Lines(LABEL, FEATURE), _Lines(LABEL, EDGE_FEATURE)
    offset = 1
    for number, graph in enumerate(graphs, start=1):
        for node, data in graph.nodes(data=True):
            owners.append(str(number))
            of_nodes.add(f"graph {number}, node {node}", data)
            for other, carried in graph[node].items():
                arcs.append(f"{offset + node}, {offset + other}")
                of_arcs.add(f"graph {number}, edge {node} - {other}", carried)
        offset += graph.number_of_nodes()
    parts = {ARCS: arcs, INDICATOR: owners}
    parts |= of_nodes.complete((LABELS, ATTRIBUTES), len(owners))
    parts |= of_arcs.complete(tuple(OF_EDGES), len(arcs))
    return {
        name + ending: "".join(f"{line}\n" for line in lines).encode()
        for ending, lines in parts.items()
    }


class _Lines:
    """Lines of the labels and of the numbers of nodes or edges."""

    def __init__(self, label: str, feature: str) -> None:
        self._label, self._feature = label, feature
        self._labels: list[str] = []
        self._features: list[str] = []

    def add(self, where: str, data: Mapping[str, Any]) -> None:
        """Add the lines of a node or edge."""
        label, feature = data.get(self._label), data.get(self._feature)
        labels: list[Any] = label if isinstance(label, list) and label else [label]
        if all(isinstance(each, int | np.integer) for each in labels):
            self._labels.append(", ".join(_label_text(int(each), where) for each in labels))
        if self._feature in data:
            self._features.append(_feature_line(self._feature, feature, where))

    def complete(self, endings: tuple[str, ...], number: int) -> dict[str, list[str]]:
        """Return the lines by the endings of their files, where there is one for each."""
        found = zip(endings, (self._labels, self._features))
        return {ending: lines for ending, lines in found if number and len(lines) == number}


def _feature_line(name: str, value: Any, where: str) -> str:
    line = ", ".join(map(repr, feature_row(where, name, value).ravel().tolist()))
    if not 0 < len(line) <= MAX_LINE:
        raise GraphDataError(
            f"{where}: attribute {name!r} takes {len(line)} characters, but 1 to {MAX_LINE} are "
            "expected in a line. Write npz instead, or remove the attribute."
        )
    return line


def _label_text(label: int, where: str) -> str:
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


def _given_rows(
    files: Mapping[str, Bytes],
    name: str,
    ending: str,
    number: int,
    source: str,
    reading: Reading,
) -> Iterator[tuple[int, int, _Row]]:
    """Check a file of so many lines of numbers, and yield number, position and values of each."""
    file, found = f"{source}: {name}{ending}", 0
    of_edges = ending in OF_EDGES
    feature = EDGE_FEATURE if of_edges else FEATURE
    for k, start, row in _rows(files[ending], file, _number_of(ending), reading):
        if not all(map(math.isfinite, row)):
            check_finite(f"{file} line {k}", row, feature)
        reading.add_bytes(file, BYTES_PER_VALUE * len(row))
        found += 1
        if found <= number:
            yield k, start, row
    if found != number:
        listed = f"{ARCS} has {number} edges" if of_edges else f"{INDICATOR} lists {number} nodes"
        raise GraphDataError(
            f"{source}: {name}{ending} has {found} lines, but {name}{listed}. The two files do not "
            "belong together."
        )


def _number_of(ending: str) -> _ToNumber:
    return _whole if ending.endswith("_labels.txt") else float


def _per_node(
    files: Mapping[str, Bytes], name: str, ending: str, number: int, source: str, reading: Reading
) -> _Table:
    """Check a file with one line per node, and note where its lines start."""
    rows = _given_rows(files, name, ending, number, source, reading)
    return _Table(files[ending], array("q", (start for _, start, _ in rows)), _number_of(ending))


def _per_arc(
    files: Mapping[str, Bytes], name: str, ending: str, number: int, source: str, reading: Reading
) -> NDArray[Any]:
    """Return the numbers of a file with one line per arc, (E,) or (E,D)."""
    is_label, width = OF_EDGES[ending] == LABEL, 0
    values: array[Any] = array("q" if is_label else "d")
    for k, _, row in _given_rows(files, name, ending, number, source, reading):
        width = width or len(row)
        if len(row) != width:
            raise GraphDataError(
                f"{source}: {name}{ending} line {k}: {len(row)} numbers, but {width} as in the "
                "first line are expected. Correct the line."
            )
        values.extend(row)
    numbers: NDArray[Any] = np.frombuffer(values, dtype=np.int64 if is_label else np.float64)
    return numbers.reshape(-1, width) if width > 1 else numbers
