"""Tables of edges, .csv and .tsv: one row per edge, columns found by name, many graphs in one file.

Two columns name the ends of an edge, a column `graph` its graph, and the others are attributes of
edges. A row without a second end is a node, as isolated nodes are written.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from graphscore.errors import GraphDataError
from graphscore.graphs.edge_tables import ENDS, GRAPH_COLUMNS
from graphscore.graphs.formats.markup import reason, with_scalars
from graphscore.graphs.formats.named_edges import INTEGER, NamedEdges
from graphscore.graphs.formats.text import MAX_NAME, is_text, lines_of
from graphscore.graphs.limits import BYTES_PER_VALUE, Bytes, Reading
from graphscore.graphs.repairs import LIGHT
from graphscore.graphs.validation import Candidate
from graphscore.settings import quoted

_WEIGHT = "weight"
_WRITTEN = ("graph", "source", "target")
_EXPECTED = (
    "An edge table has two columns named source and target, from and to, u and v, src and dst, or "
    "node1 and node2; a column graph, if there are several graphs; and columns of edge attributes."
)
_MAX_COLUMNS = 1000
_MOST_BITS = 10_000  # of a whole number that is written
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,4299})")
_REAL = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[Ee][+-]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
_TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


def decode_table(data: Bytes, source: str, reading: Reading) -> Iterator[Candidate]:
    """Read all graphs of a table of edges; a first row of two whole numbers is an edge itself.

    Raises:
        GraphDataError: no columns for the ends of edges, a row of another length than the first,
            a weight other than 1 that is not asked for, a graph that is refused, or more than the
            limits allow.

    Example:
        >>> rows = b"graph,source,target,bond\\n1,a,b,single\\n2,a,b,double\\n"
        >>> found = decode_table(rows, "t.csv", Reading(edge_attributes=["bond"]))
        >>> [candidate.graph.edges[0, 1]["bond"] for candidate in found]
        ['single', 'double']
    """
    edges = NamedEdges(source, reading)
    columns, rows = _opened(data, source, reading)
    asked = {name: k for name, k in columns.attributes.items() if name in reading.edge_attributes}
    for name in columns.attributes:
        if name != _WEIGHT:
            reading.ignore(name)
    weight = columns.attributes.get(_WEIGHT) if _WEIGHT not in asked else None
    light: set[int] = set()
    said = next((k for name, k in columns.attributes.items() if _plain(name) == "type"), None)
    for number, cells in rows:
        where = f"{source} line {number}"
        tail, head = cells[columns.tail], cells[columns.head]
        if not tail:
            raise GraphDataError(f"{where}: no node in the first column of an edge. Fill it in.")
        graph = "" if columns.graph is None else cells[columns.graph]
        if columns.graph is not None and not graph:
            raise GraphDataError(f"{where}: no graph is named. Fill in the column of graphs.")
        change = None
        if said is not None and cells[said].lower() == "directed":  # as Gephi writes it
            edges.directed = True
        if head and weight is not None and cells[weight]:
            change = reading.weigh(where, tail, head, _value(cells[weight]))
        if change:
            edges.note(change, graph)
        if change == LIGHT:
            light.add(number)
            edges.add(where, tail, None, graph)
            edges.add(where, head, None, graph)
            continue
        edges.add(where, tail, head or None, graph)
        reading.add_bytes(where, BYTES_PER_VALUE * len(asked) if head else 0)
    edges.complete()
    return _built(edges, data, source, reading, asked, light)


def encode_csv(graphs: Sequence[nx.Graph[Any]]) -> bytes:
    """Return the edges of graphs as a table with commas, with attributes of edges.

    Raises:
        GraphDataError: an attribute that would not be read again as it is.

    Example:
        >>> encode_csv([nx.path_graph(2)])
        b'graph,source,target\\n1,0,1\\n'
    """
    return _encoded(graphs, ",")


def encode_tsv(graphs: Sequence[nx.Graph[Any]]) -> bytes:
    """Return the same with tabs."""
    return _encoded(graphs, "\t")


@dataclass(frozen=True)
class _Columns:
    """Places of the columns of a table.

    Attributes:
        tail: of one end of an edge.
        head: of the other.
        graph: of the graph, if there are several.
        attributes: of edge attributes, by name.
    """

    tail: int
    head: int
    graph: int | None
    attributes: dict[str, int]

    @classmethod
    def of_names(cls, where: str, header: Sequence[str]) -> _Columns:
        """Find the columns by their names.

        Raises:
            GraphDataError: there are none for the ends of edges, or two of one name.
        """
        plain = [_plain(name) for name in header]
        ends = next((pair for pair in ENDS if set(pair) <= set(plain)), None)
        if ends is None:
            raise _no_columns(where, header)
        tail, head = map(plain.index, ends)
        graph = next((k for k, name in enumerate(plain) if name in GRAPH_COLUMNS), None)
        attributes: dict[str, int] = {}
        for k, name in enumerate(header):
            if k in (tail, head, graph) or not name:  # pandas writes an index without name
                continue
            name = _WEIGHT if name.lower() == _WEIGHT else name
            if name in attributes or plain[k] in ends:
                raise GraphDataError(
                    f"{where}: two columns named {quoted(name)}. Rename or remove one of them."
                )
            attributes[name] = k
        return cls(tail, head, graph, attributes)


def smiles_column(header: Sequence[str]) -> str | None:
    """Return the name of a column of molecules.

    >>> smiles_column(["id", "Canonical_SMILES"])
    'Canonical_SMILES'
    """
    return next((name for name in header if "smiles" in _plain(name)), None)


def is_header(names: Sequence[str]) -> bool:
    """Return whether two names are those that columns of edges have.

    >>> is_header(["From", "To"])
    True
    """
    return tuple(map(_plain, names)) in ENDS


def of_molecules(where: str, column: str) -> GraphDataError:
    """Return the error for a table of molecules."""
    return GraphDataError(
        f"{where}: a column {quoted(column)}, so this is a table of molecules, but edges are "
        "expected. Write that column to a file ending in .smi, one SMILES in each line, and give "
        f"that. With pandas: table[{quoted(column)}].to_csv('molecules.smi', index=False, "
        "header=False)."
    )


def _no_columns(where: str, header: Sequence[str]) -> GraphDataError:
    column = smiles_column(header)
    if column is not None:
        return of_molecules(where, column)
    names = ", ".join(quoted(name) for name in header[:10])
    return GraphDataError(
        f"{where}: the columns {names}{', ...' * (len(header) > 10)} name no ends of edges. "
        f"{_EXPECTED} Rename the columns in the first line, or add that line if it is missing."
    )


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _opened(
    data: Bytes, source: str, reading: Reading
) -> tuple[_Columns, Iterator[tuple[int, list[str]]]]:
    """Return the columns of a table and its rows with their line numbers."""
    rows = _rows(data, source, reading)
    number, first = next(rows, (1, []))
    where = f"{source} line {number}"
    if len(first) > _MAX_COLUMNS or any(len(name) > MAX_NAME for name in first):
        raise GraphDataError(
            f"{where}: more than {_MAX_COLUMNS} columns, or a name of more than {MAX_NAME} "
            f"characters. {_EXPECTED}"
        )
    if not all(INTEGER.fullmatch(name) for name in first[:2]) or len(first) < 2:
        return _Columns.of_names(where, first), _of_length(rows, source, len(first))
    if len(first) > 3 or (len(first) == 3 and not _REAL.fullmatch(first[2])):
        raise GraphDataError(
            f"{where}: {len(first)} columns without names. {_EXPECTED} Add a first line with the "
            "names of the columns."
        )
    columns = _Columns(0, 1, None, {_WEIGHT: 2} if len(first) == 3 else {})
    return columns, _of_length(_rows(data, source, reading), source, len(first))


def _of_length(
    rows: Iterator[tuple[int, list[str]]], source: str, length: int
) -> Iterator[tuple[int, list[str]]]:
    for number, cells in rows:
        if len(cells) != length:
            raise GraphDataError(
                f"{source} line {number}: {len(cells)} cells, but the first line has {length}. "
                'Correct the row, and put texts with a comma in quotes ("...").'
            )
        yield number, cells


def _rows(data: Bytes, source: str, reading: Reading) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and cells of every row; comments at the top and blank rows are skipped."""
    at, delimiter = 0, ""

    def lines() -> Iterator[str]:
        nonlocal at
        for number, _, line in lines_of(data, source, reading):
            at = number
            if delimiter or (line.strip() and not line.startswith("#")):
                yield line + "\n"

    source_lines = lines()
    first = next(source_lines, "")
    delimiter = max(",\t;", key=first.count)

    def all_lines() -> Iterator[str]:
        yield first
        yield from source_lines

    try:
        for cells in csv.reader(
            all_lines(), delimiter=delimiter, skipinitialspace=delimiter != "\t", strict=True
        ):
            if any(map(str.strip, cells)):
                yield at, [cell.strip() for cell in cells]
    except csv.Error as error:
        raise GraphDataError(
            f"{source} line {at}: not a readable table ({reason(error)}). Check the quotes "
            "around texts."
        ) from error


def _built(
    edges: NamedEdges,
    data: Bytes,
    source: str,
    reading: Reading,
    asked: dict[str, int],
    light: set[int],
) -> Iterator[Candidate]:
    """Build the graphs; the table is read again for the attributes that are asked for.

    Args:
        light: lines whose edges were dropped.
    """
    values: dict[str, NDArray[Any]] = {}
    if asked:
        columns, rows = _opened(data, source, reading)
        texts: dict[str, list[str]] = {name: [] for name in asked}
        for number, cells in rows:
            if cells[columns.head] and number not in light:
                for name, place in asked.items():
                    texts[name].append(cells[place])
        for name, column in texts.items():
            values[name] = np.empty(len(column), dtype=object)
            values[name][:] = _typed(f"{source}: column {quoted(name)}", column)
    yield from edges.candidates(values)


def _typed(where: str, cells: Sequence[str]) -> list[Any]:
    """Return the values of a column: whole numbers, numbers, truth values, or texts.

    Raises:
        GraphDataError: NaN, infinity or a number that is too large, among numbers.

    >>> _typed("t", ["1", "", "2.5"]), _typed("t", ["1", "a"])
    ([1.0, None, 2.5], ['1', 'a'])
    """
    given = [cell for cell in cells if cell]
    convert: Any = str
    if all(map(_WHOLE.fullmatch, given)):
        convert = int
    elif all(cell in _TRUTH for cell in given):
        convert = _TRUTH.__getitem__
    elif all(_REAL.fullmatch(cell) or _NOT_FINITE.fullmatch(cell) for cell in given):
        convert = float
    values = [convert(cell) if cell else None for cell in cells]
    if convert is float and not all(v is None or np.isfinite(v) for v in values):
        raise GraphDataError(
            f"{where} holds NaN or infinity, but finite numbers are expected. Leave the cell empty "
            "where there is no value."
        )
    return values


def _value(cell: str) -> object:
    """Return a weight as a number if it is one."""
    try:
        return float(cell)
    except ValueError:
        return cell


def _encoded(graphs: Sequence[nx.Graph[Any]], delimiter: str) -> bytes:
    plain = [with_scalars(graph) for graph in graphs]
    found: dict[str, None] = {}
    for graph in plain:
        for _, _, data in graph.edges(data=True):
            found.update(dict.fromkeys(data))
    names = list(found)
    header = [*_WRITTEN, *names]
    columns: dict[str, list[Any]] = {name: [] for name in names}
    rows: list[list[str]] = []
    for number, graph in enumerate(plain, start=1):
        rows += [[str(number), str(node), "", *[""] * len(names)] for node in nx.isolates(graph)]
        for u, v, data in graph.edges(data=True):
            values = [data.get(name) for name in names]
            rows.append([str(number), str(u), str(v), *map(_cell, values)])
            for name, value in zip(names, values):
                columns[name].append(value)
    _check_header(header, names)
    for k, name in enumerate(names, start=len(_WRITTEN)):
        _check_column(name, columns[name], [row[k] for row in rows if row[2]])
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\n")
    writer.writerows([header, *rows])
    return buffer.getvalue().encode()


def _cell(value: Any) -> str:
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise GraphDataError(
            f"an edge attribute is a whole number of more than {_MOST_BITS} bits. Shorten it."
        )
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


def _check_header(header: Sequence[str], names: Sequence[str]) -> None:
    """Refuse names of attributes that could not be read again."""
    for name in names:
        if name != name.strip() or not 0 < len(name) <= MAX_NAME or not is_text(name):
            raise _unwritable(name, f"has no name of 1 to {MAX_NAME} characters")
        if _plain(name) in (*_WRITTEN, *GRAPH_COLUMNS) or (
            name.lower() == _WEIGHT and name != _WEIGHT
        ):
            raise _unwritable(name, "has a name that such tables keep for something else")
    if len(header) > _MAX_COLUMNS:
        raise GraphDataError(
            f"edges have {len(names)} attributes, but a table has at most {_MAX_COLUMNS} columns. "
            "Write json instead, or remove some."
        )


def _check_column(name: str, values: list[Any], cells: list[str]) -> None:
    """Refuse values that would be read as others, such as the text '1'."""
    longest = csv.field_size_limit()
    if any(len(cell) > longest or "\r" in cell or not is_text(cell) for cell in (name, *cells)):
        raise _unwritable(name, "holds a text that is too long, or a character that it cannot")
    read = _typed(f"edge attribute {quoted(name)}", [cell.strip() for cell in cells])
    if any(type(a) is not type(b) or a != b for a, b in zip(read, values)):
        raise _unwritable(name, "has values of several kinds, or texts that look like others")


def _unwritable(name: str, what: str) -> GraphDataError:
    return GraphDataError(
        f"edge attribute {quoted(name)} {what}, so a table would not be read again as it is. Write "
        "json instead, or change or remove it."
    )
