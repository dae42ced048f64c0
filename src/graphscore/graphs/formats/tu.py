"""TU folders: all graphs of a data set in a few parallel text files, nodes and graphs from 1.

NAME_A.txt holds one arc `u, v` per line (an undirected edge fills two lines), line k of
NAME_graph_indicator.txt the graph of node k; NAME_node_labels.txt and NAME_node_attributes.txt are
optional and have one line per node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from graphscore.errors import GraphDataError
from graphscore.graphs.arcs import graph_of_arcs
from graphscore.graphs.formats.text import decoded
from graphscore.graphs.validation import FEATURE, Candidate, attach_features

ARCS, INDICATOR = "_A.txt", "_graph_indicator.txt"
LABELS, ATTRIBUTES = "_node_labels.txt", "_node_attributes.txt"
PARTS = (ARCS, INDICATOR, LABELS, ATTRIBUTES)

_Number = TypeVar("_Number", int, float)


def decode_tu(contents: Mapping[str, bytes], source: str) -> Iterator[Candidate]:
    """Read the graphs of one data set from the contents of its files, keyed by file name.

    Labels become node attribute "label" (an integer, or a list where a line has several),
    attributes become the vector "x". A graph with an arc whose reverse is missing is directed.

    Raises:
        GraphDataError: a missing file, a malformed line, files of different lengths, an edge
            between two graphs, or graph numbers with gaps.
    """
    name, files = _data_set(contents, source)
    indicator = _column(files, name, INDICATOR, source)
    num_nodes = len(indicator)
    num_graphs = int(indicator.max(initial=0))
    if num_nodes and (indicator.min() < 1 or num_graphs > num_nodes):
        raise GraphDataError(
            f"{source}: {name}{INDICATOR} numbers graphs {indicator.min()} to {num_graphs} over "
            f"{num_nodes} nodes, but 1, 2, 3, ... without gaps is expected."
        )
    arcs = _arcs(files, name, num_nodes, source)
    owner = indicator[arcs - 1]
    across = owner[:, 0] != owner[:, 1]
    if across.any():
        k = int(np.flatnonzero(across)[0])
        raise GraphDataError(
            f"{source}: {name}{ARCS} joins node {arcs[k, 0]} of graph {owner[k, 0]} to node "
            f"{arcs[k, 1]} of graph {owner[k, 1]}, but edges stay within one graph. "
            f"The file does not fit {name}{INDICATOR}."
        )
    labels = _per_node(files, name, LABELS, num_nodes, int, source)
    features = _per_node(files, name, ATTRIBUTES, num_nodes, float, source)
    by_graph = np.argsort(indicator, kind="stable")
    starts = np.searchsorted(indicator[by_graph], np.arange(1, num_graphs + 2))
    place = np.empty(num_nodes, dtype=np.int64)
    place[by_graph] = np.arange(num_nodes) - starts[indicator[by_graph] - 1]
    arc_order = np.argsort(owner[:, 0], kind="stable")
    arc_starts = np.searchsorted(owner[arc_order, 0], np.arange(1, num_graphs + 2))
    for g in range(num_graphs):
        where = f"{source} graph {g + 1}"
        nodes = by_graph[starts[g] : starts[g + 1]].tolist()
        mine = place[arcs[arc_order[arc_starts[g] : arc_starts[g + 1]]] - 1]
        graph = graph_of_arcs(where, len(nodes), mine[:, 0], mine[:, 1])
        if labels is not None:
            for k, node in enumerate(nodes):
                row = labels[node]
                graph.nodes[k]["label"] = row[0] if len(row) == 1 else row
        if features is not None:
            attach_features(graph, (features[node] for node in nodes))
        yield Candidate(where, graph)


def _data_set(contents: Mapping[str, bytes], source: str) -> tuple[str, dict[str, bytes]]:
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
                labels.append(str(int(data["label"])))
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
    try:
        row = np.atleast_1d(np.asarray(value, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise GraphDataError(f"{where}: attribute 'x' is not a vector of numbers.") from error
    return ", ".join(repr(entry) for entry in row.ravel().tolist())


def _rows(data: bytes, file: str, number: Callable[[str], _Number]) -> list[list[_Number]]:
    """Parse lines of comma-separated numbers; blank lines are allowed at the end only."""
    rows = []
    for k, line in enumerate(decoded(data, file).rstrip().split("\n"), start=1):
        try:
            rows.append([number(token) for token in line.split(",")])
        except ValueError as error:
            if not line.strip() and k == 1:
                return []  # an empty file: no edges at all
            raise GraphDataError(
                f"{file} line {k}: {line.strip()[:40]!r}, but numbers separated by commas are "
                "expected. Correct the line."
            ) from error
    return rows


def _column(files: Mapping[str, bytes], name: str, ending: str, source: str) -> NDArray[np.int64]:
    rows = _rows(files[ending], f"{source}: {name}{ending}", int)
    return _table(rows, 1, f"{source}: {name}{ending}")[:, 0]


def _arcs(files: Mapping[str, bytes], name: str, num_nodes: int, source: str) -> NDArray[np.int64]:
    file = f"{source}: {name}{ARCS}"
    arcs = _table(_rows(files[ARCS], file, int), 2, file)
    outside = ((arcs < 1) | (arcs > num_nodes)).any(1)
    if outside.any():
        k = int(np.flatnonzero(outside)[0])
        raise GraphDataError(
            f"{file} line {k + 1}: edge {arcs[k, 0]}, {arcs[k, 1]}, but {name}{INDICATOR} lists "
            f"the nodes 1 to {num_nodes}. The two files do not belong together."
        )
    return arcs


def _table(rows: list[list[int]], width: int, file: str) -> NDArray[np.int64]:
    for k, row in enumerate(rows, start=1):
        if len(row) != width or any(abs(entry) >= 2**62 for entry in row):
            raise GraphDataError(
                f"{file} line {k}: {len(row)} numbers, but {width} of ordinary size expected. "
                "Correct the line."
            )
    return np.array(rows, dtype=np.int64).reshape(-1, width)


def _per_node(
    files: Mapping[str, bytes],
    name: str,
    ending: str,
    num_nodes: int,
    number: Callable[[str], _Number],
    source: str,
) -> list[list[_Number]] | None:
    if ending not in files:
        return None
    rows = _rows(files[ending], f"{source}: {name}{ending}", number)
    if len(rows) != num_nodes:
        raise GraphDataError(
            f"{source}: {name}{ending} has {len(rows)} lines, but {name}{INDICATOR} lists "
            f"{num_nodes} nodes. The two files do not belong together."
        )
    return rows
