"""Edge lists: one graph per file, one edge per line; isolated nodes can be declared."""

from __future__ import annotations

import ast
import re
from array import array
from collections.abc import Iterator, Sequence
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from graphscore.errors import GraphDataError
from graphscore.graphs.attributes import chosen
from graphscore.graphs.formats.table import is_header, of_molecules, smiles_column
from graphscore.graphs.formats.text import check_name, lines_of
from graphscore.graphs.limits import BYTES_PER_VALUE, Bytes, Reading
from graphscore.graphs.repairs import LIGHT
from graphscore.graphs.simple import (
    Ends,
    Kind,
    SimpleEdges,
    edge_codes,
    first_repeated,
    other_way,
    simple_edges,
)
from graphscore.graphs.validation import Candidate

_NODES_HEADER = re.compile(r"#\s*nodes:\s*([0-9]+)\s*", re.IGNORECASE)
_NUMBER = re.compile(r"-?[0-9]{1,18}")
_INDEX = re.compile(r"0|[1-9][0-9]{0,17}")
_TEXT = re.compile(r"""(['"])(?:weight\1\s*+:([^,]*)|(?:(?!\1)[^\\]|\\.?)*+(\1)?)""")
_BRACKETS = (("(", ")"), ("[", "]"), ("{", "}"))
_JOINED = re.compile(r"\w+[^\w\s]+\w+")
_SEPARATORS = "Separate the two nodes of an edge by a space, a tab or a comma."
_MAX_DATA = 10_000  # characters of the attributes of an edge
_LINE_ADVICE = "A line holds one node, or two nodes and optionally a weight."


def decode_edge_list(data: Bytes, source: str, reading: Reading) -> Iterator[Candidate]:
    """Read one graph from lines `u v`, `u,v`, `u v 1` (an edge) or `u` (a node).

    Lines that begin with `#`, `%` or `//` are comments. Attributes that networkx writes behind an
    edge, `{...}`, are kept if they are asked for, and so is a weight; otherwise it must be 1.

    One comment `# nodes: 7` declares the nodes 0..6. Without it the nodes are those named, in
    numeric order if all are integers and in order of appearance otherwise. Each edge may be listed
    once, or all edges in both directions; if only some are, the graph counts as directed.

    Raises:
        GraphDataError: a malformed line, a second `# nodes:` comment, a weight other than 1, a
            repeated edge, a node outside the declared range, or more than the limits allow.

    Example:
        >>> from graphscore.graphs.limits import Reading
        >>> lines, reading = b"# nodes: 4\\n0 1\\n1 2\\n", Reading()
        >>> next(decode_edge_list(lines, "g.edges", reading)).graph.number_of_nodes()
        4
    """
    declared: int | None = None
    nodes: dict[str, int] = {}  # number in order of appearance
    named_in, lines = array("q"), array("I")
    ends = array("i"), array("i")
    carried = _Carried(data, source, reading)
    changes: dict[str, None] = {}
    for number, start, line in lines_of(data, source, reading):
        if line.lstrip().startswith(("#", "%", "//", "*")):
            _check_comment(line.strip(), f"{source} line {number}")
            header = _NODES_HEADER.fullmatch(line.strip())
            if header:
                if declared is not None:
                    raise GraphDataError(
                        f"{source} line {number}: a second '# nodes:' comment; the first declares "
                        f"{declared} nodes. Keep one of them."
                    )
                declared = int(header[1].lstrip("0")[:19] or "0")
                reading.check_nodes(f"{source} line {number}", declared)
            continue
        whole = line
        if "#" in line:  # it may also be in a text behind the edge, such as a colour
            line = _without_data(line).partition("#")[0]
        tokens = (_without_data(line) if "{" in line else line).replace(",", " ").split()
        for token in tokens[:2]:
            if token not in nodes:
                reading.add_name(source, _checked_name(f"{source} line {number}", token))
                nodes[token] = len(nodes)
                named_in.append(number)
                reading.check_growing(source, len(nodes))
        if len(tokens) > 1:
            if len(tokens) > 2 and not carried.has_weight:
                change = _weight_change(tokens, f"{source} line {number}", reading)
                if change:
                    changes[change] = None
                if change == LIGHT:
                    continue
            if carried.is_asked:
                carried.check(number, start, whole)
            for column, token in zip(ends, tokens):
                column.append(nodes[token])
            lines.append(number)
            reading.check_edges(source, len(lines) // 2)  # each may be listed twice
    if declared is None:
        _check_first_line(source, list(nodes), named_in, ends)
    place, names = _places(nodes, named_in, declared, source)
    num_nodes = len(names)
    tails, heads = (np.frombuffer(column, dtype=np.intc) for column in ends)
    for numbers in (tails, heads):  # in place, because there may be millions
        numbers[:] = place[numbers]
    edges = _edges(source, names, tails, heads, lines, reading)
    reading.add_graph(source, num_nodes, len(edges.rows))

    def candidate() -> Candidate:
        graph = edges.graph(num_nodes)
        carried.attach(graph, tails, heads)
        return Candidate(source, graph, True, (*changes, *edges.changes))

    return (candidate() for _ in range(1))


class _Carried:
    """What lines say of edges besides their ends, where it is asked for."""

    def __init__(self, data: Bytes, source: str, reading: Reading) -> None:
        self._data, self._source, self._reading = data, source, reading
        self.is_asked = bool(reading.edge_attributes)
        self.has_weight = "weight" in reading.edge_attributes
        self._lines, self._starts = array("q"), array("q")  # of every edge

    def check(self, number: int, start: int, line: str) -> None:
        """Check and count the attributes of an edge; they are read again when it is built."""
        self._lines.append(number)
        self._starts.append(start)
        size = len(self._values(number, line))
        self._reading.add_bytes(self._source, size * BYTES_PER_VALUE)

    def attach(self, graph: nx.Graph[Any], tails: Ends, heads: Ends) -> None:
        """Give the edges their attributes.

        Raises:
            GraphDataError: the two directions of an edge have different attributes.
        """
        for number, start, tail, head in zip(
            self._lines, self._starts, tails.tolist(), heads.tolist()
        ):
            stop = self._data.find(b"\n", start)
            line = self._data[start : None if stop == -1 else stop].decode()
            values = self._values(number, line)
            if tail == head:  # loops may have been dropped
                continue
            edge = graph.edges[tail, head]
            if edge and values and edge != values:
                raise other_way(self._source, tail, head)
            edge.update(values)

    def _values(self, number: int, line: str) -> dict[str, Any]:
        """Return the attributes of one line."""
        where = f"{self._source} line {number}"
        ends, brace, data = line.rstrip().partition("{")
        if brace and data.endswith("}") and len(ends.replace(",", " ").split()) == 2:
            try:
                found = ast.literal_eval(brace + data) if len(data) < _MAX_DATA else None
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                found = None
            if not isinstance(found, dict) or not all(isinstance(n, str) for n in found):
                raise GraphDataError(
                    f"{where}: attributes that are not read: {data[:40]!r}. Names and values are "
                    f"expected as networkx writes them, such as {{'bond': 'single'}}, of at most "
                    f"{_MAX_DATA} characters."
                )
            known = {n: v for n, v in found.items() if isinstance(v, bool | int | float | str)}
        else:
            tokens = line.partition("#")[0].replace(",", " ").split()
            if len(tokens) > 3:
                raise GraphDataError(f"{where}: {len(tokens)} columns. {_LINE_ADVICE}")
            known = {"weight": _weight(where, tokens[2])} if len(tokens) == 3 else {}
        return chosen(known, self._reading.edge_attributes)


def _weight(where: str, token: str) -> float:
    try:
        return float(token)
    except ValueError as error:
        raise GraphDataError(
            f"{where}: {token[:40]!r} where a weight is expected. {_LINE_ADVICE}"
        ) from error


def encode_edge_list(graph: nx.Graph[Any]) -> bytes:
    """Return a graph on nodes 0..n-1 as a `# nodes: n` comment and one line per edge.

    >>> encode_edge_list(nx.path_graph(2))
    b'# nodes: 2\\n0 1\\n'
    """
    lines = [f"# nodes: {graph.number_of_nodes()}"]
    lines += [f"{u} {v}" for u, v in graph.edges()]
    return "\n".join([*lines, ""]).encode()


def _check_comment(line: str, where: str) -> None:
    """Refuse the first lines of formats that are no edge lists.

    Raises:
        GraphDataError: they are those of Pajek or Matrix Market.
    """
    known = ("*", "Pajek", ".net"), ("%%MatrixMarket", "Matrix Market", ".mtx")
    for start, name, suffix in known:
        if line.startswith(start):
            raise GraphDataError(
                f"{where}: {line[:40]!r}, as in the format {name}, but an edge list is expected. "
                f"Let its name end in {suffix}."
            )


def _without_data(line: str) -> str:
    """Leave out what networkx writes behind an edge, `{...}`, except a weight."""
    ends, _, data = line.partition("{")
    data = data.rstrip()
    if not ends.strip() or "{" in data or data.find("}") != len(data) - 1:
        return line
    weights = []
    for text in _TEXT.finditer(data):  # so that what texts hold is no weight
        if text[2] is not None:
            weights.append(text[2].rstrip("}"))
        elif text[3] is None:  # without an end
            return line
    return " ".join([ends, *weights])


def _checked_name(where: str, name: str) -> str:
    """Return the name of a node, unless it shows that nodes are separated in another way."""
    if name.endswith(";") or any(name.count(a) != name.count(b) for a, b in _BRACKETS):
        raise GraphDataError(f"{where}: {name[:40]!r} where a node is expected. {_SEPARATORS}")
    return check_name(where, name)


def _check_first_line(
    source: str, names: list[str], named_in: array[int], ends: tuple[array[int], array[int]]
) -> None:
    """Refuse names of columns that would be two nodes, and lines that would be nodes only.

    Raises:
        GraphDataError: they are that, to all appearance.
    """
    if names and not ends[0] and all(map(_JOINED.fullmatch, names)):
        raise GraphDataError(
            f"{source} line {named_in[0]}: {names[0][:40]!r} where an edge is expected. "
            f"{_SEPARATORS}"
        )
    on_first = [name for name, line in zip(names, named_in) if line == named_in[0]]
    where = f"{source} line {named_in[0]}" if names else source
    column = smiles_column(on_first)
    if column is not None:
        raise of_molecules(where, column)
    are_numbers = [bool(_NUMBER.fullmatch(name)) for name in names]
    is_named = is_header(on_first) or all(are_numbers[2:])
    if are_numbers[:2] == [False, False] and is_named and len(names) > 2:
        once = all(column.count(k) == (k == place) for k in (0, 1) for place, column in
                   enumerate(ends))  # fmt: skip
        if once and named_in[0] == named_in[1]:
            raise GraphDataError(
                f"{source} line {named_in[0]}: {names[0]!r} and {names[1]!r} look like the names "
                "of columns. Remove that line, or let the name of the file end in .csv or .tsv."
            )


def _weight_change(tokens: list[str], where: str, reading: Reading) -> str | None:
    """Return the repair that the weight behind an edge needs."""
    tail, head, *rest = tokens
    if len(rest) > 1:
        raise GraphDataError(f"{where}: {len(tokens)} columns. {_LINE_ADVICE}")
    return reading.weigh(where, tail, head, _weight(where, rest[0]))


def _edges(
    source: str,
    names: Sequence[object],
    tails: Ends,
    heads: Ends,
    lines: array[int],
    reading: Reading,
) -> SimpleEdges:
    """Check the edges between nodes of these names; a repeated one is named by its lines."""
    num_nodes = len(names)
    repeated = first_repeated(edge_codes(num_nodes, tails, heads), num_nodes)
    if repeated is not None:
        tail, head = divmod(repeated, num_nodes)
        first, second = np.flatnonzero((tails == tail) & (heads == head))[:2].tolist()
        raise GraphDataError(
            f"{source} line {lines[second]}: parallel edge, {names[tail]!r} - {names[head]!r} was "
            f"listed in line {lines[first]} already. List each edge once, or all edges in both "
            "directions."
        )
    pairs = edge_codes(num_nodes, tails, heads, undirected=True)
    kind: Kind = "edges" if first_repeated(pairs, num_nodes) is None else "arcs"
    del pairs
    return simple_edges(source, num_nodes, tails, heads, reading.repairs, kind, names)


def _places(
    nodes: dict[str, int], named_in: array[int], declared: int | None, source: str
) -> tuple[NDArray[np.intc], Sequence[object]]:
    """Return the numbers of the names, in order of their appearance, and the names by number."""
    place = np.arange(len(nodes), dtype=np.intc)
    if declared is not None:
        for name, k in nodes.items():
            if not _INDEX.fullmatch(name) or int(name) >= declared:
                raise GraphDataError(
                    f"{source} line {named_in[k]}: node {name}, but '# nodes: {declared}' declares "
                    "the nodes 0 to n-1. Correct the node or that comment."
                )
            place[k] = int(name)
        return place, range(declared)
    names = list(nodes)
    if all(_NUMBER.fullmatch(name) for name in names):
        names.sort(key=int)
        place[[nodes[name] for name in names]] = np.arange(len(names), dtype=np.intc)
    return place, names
