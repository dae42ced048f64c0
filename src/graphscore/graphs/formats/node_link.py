"""Node-link JSON, as networkx and D3 write it, parsed token by token without building a tree.

A file holds one object for a graph, a list of them, or one after the other (JSON lines):
`{"directed": false, "nodes": [{"id": 0, "element": "C"}], "edges": [{"source": 0, "target": 1}]}`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import networkx as nx
import numpy as np

from graphscore.errors import GraphDataError
from graphscore.graphs.attributes import is_asked
from graphscore.graphs.carried import FEATURE
from graphscore.graphs.formats.markup import NamedGraph, places_of, reason
from graphscore.graphs.formats.text import BYTE_ORDER_MARK, MAX_LINE, MAX_NAME, is_text
from graphscore.graphs.limits import Bytes, Reading
from graphscore.graphs.validation import Candidate
from graphscore.settings import quoted

_SPACE = rb"[ \t\r\n]*+"
_SCALAR = (
    rb"(?P<whole>-?(?:0|[1-9][0-9]*+))(?P<real>(?:\.[0-9]++)?(?:[Ee][+-]?[0-9]++)?)"
    rb"|(?P<word>true|false|null)"
)
_TOKEN = re.compile(
    _SPACE
    + rb'(?:(?P<mark>[\[\]{},:])|(?P<text>"(?:[^"\\\x00-\x1f]++|\\.)*+")|'
    + _SCALAR
    + rb"|(?P<no_number>-?(?:NaN|Infinity))|(?P<end>\Z))"
)
_PLAIN = rb'"(?P<%b>[^"\\\x00-\x1f]{0,200}+)"'
_MEMBER = re.compile(  # most members of objects, at once
    _SPACE
    + _PLAIN % b"name"
    + _SPACE
    + b":"
    + _SPACE
    + rb"(?:"
    + _PLAIN % b"text"
    + rb"|"
    + _SCALAR
    + rb")"
    + _SPACE
    + rb"(?P<mark>[,}])"
)
_WORDS = {b"true": True, b"false": False, b"null": None}
_LONGEST_CHARACTER = len(r"\ud83d\ude00")
_MAX_DEPTH = 100
_MAX_DIGITS = 4300
_MAX_NAMES = 10_000  # different names of attributes
_EDGES = ("edges", "links")
_NAMES = {"node": ("id",), "edge": ("source", "target")}
_LATER = object()  # a value that has not been taken
_KEPT = ("id", FEATURE)  # of nodes, in the first pass
_Value = Any


def decode_json(data: Bytes, source: str, reading: Reading) -> Iterator[Candidate]:
    """Read all graphs; keys of nodes become node attributes, nested objects are left out.

    Raises:
        GraphDataError: no valid JSON, objects that are no graphs, a graph that is refused, or more
            than the limits allow.
    """
    for graph in _Graphs(data, source, reading, keep=False):
        graph.count()
    return (graph.candidate() for graph in _Graphs(data, source, reading, keep=True))


def encode_json(graphs: Sequence[nx.Graph[Any]]) -> bytes:
    """Return graphs with their number, text and vector attributes as JSON, several as a list.

    Raises:
        GraphDataError: an attribute that JSON cannot hold or `decode_json` would refuse.

    Example:
        >>> from graphscore.graphs.limits import Reading
        >>> data = encode_json([nx.path_graph(3)])
        >>> next(decode_json(data, "p.json", Reading())).graph.number_of_edges()
        2
    """
    lines = [_line(k, graph) for k, graph in enumerate(graphs, start=1)]
    return lines[0] + b"\n" if len(lines) == 1 else b"[\n" + b",\n".join(lines) + b"\n]\n"


def encode_lines(graphs: Sequence[nx.Graph[Any]]) -> bytes:
    """Return graphs as `encode_json`, one in each line."""
    return b"".join(_line(k, graph) + b"\n" for k, graph in enumerate(graphs, start=1))


def _line(number: int, graph: nx.Graph[Any]) -> bytes:
    kept: nx.Graph[Any] = nx.Graph()
    kept.add_nodes_from((node, _storable(data)) for node, data in graph.nodes(data=True))
    kept.add_edges_from((u, v, _storable(data)) for u, v, data in graph.edges(data=True))
    for where, attributes in places_of(kept):
        _check_names(f"graph {number}, {where}", attributes, _NAMES[where[:4]])
    found = {
        "directed": False,
        "multigraph": False,
        "graph": {},
        "nodes": [{"id": node, **data} for node, data in kept.nodes(data=True)],
        "edges": [{"source": u, "target": v, **data} for u, v, data in kept.edges(data=True)],
    }
    try:
        return json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:
        raise GraphDataError(f"graph {number}: cannot write JSON: {reason(error)}.") from error


def _storable(attributes: dict[Any, Any]) -> dict[str, Any]:
    """Return the attributes that are numbers, truth values, texts or lists of these."""
    plain = {}
    for name, given in attributes.items():
        value = given.tolist() if hasattr(given, "tolist") else given
        items = value if isinstance(value, list | tuple) else [value]
        items = [item.item() if isinstance(item, np.generic) else item for item in items]
        if all(isinstance(item, bool | int | float | str) for item in items):
            plain[str(name)] = items if isinstance(value, list | tuple) else items[0]
    return plain


def _check_names(where: str, attributes: dict[str, Any], taken: tuple[str, ...]) -> None:
    """Refuse names and texts that could not be read again."""
    for name, value in attributes.items():
        texts = value if isinstance(value, list) else [value]
        longest = max([len(text) for text in texts if isinstance(text, str)], default=0)
        if name in taken or len(name) > MAX_NAME or longest > MAX_LINE:
            raise GraphDataError(
                f"{where}: attribute {name[:40]!r} has a name that JSON keeps for the graph "
                f"({', '.join(taken)}) or of more than {MAX_NAME} characters, or a text of more "
                f"than {MAX_LINE}. Rename or shorten it."
            )
        if not all(is_text(text) for text in (name, *texts) if isinstance(text, str)):
            raise GraphDataError(
                f"{where}: attribute {name!r} holds half a pair of surrogates, which is no text. "
                "Remove it."
            )


class _Tokens:
    """The tokens of JSON text: marks as they are, values converted."""

    def __init__(self, data: Bytes, source: str, reading: Reading) -> None:
        self._data = data
        self._source = source
        self._reading = reading
        self._ahead: tuple[str, _Value] | None = None
        self._names: dict[str, str] = {}
        self.position = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0

    def next(self, *kinds: str) -> tuple[str, _Value]:
        """Return the next token, a mark, "value" or "end", which is of one of these kinds."""
        kind, value = self._ahead or self._read()
        self._ahead = None
        if kind not in kinds:
            found = quoted(value) if kind == "value" else kind
            raise ValueError(f"{found[:40]} where {' or '.join(kinds)} is expected")
        return kind, value

    def _read(self) -> tuple[str, _Value]:
        self._reading.tick(self._source)
        match = _TOKEN.match(self._data, self.position)
        if match is None:
            raise ValueError(
                f"unexpected {bytes(self._data[self.position : self.position + 20])!r}"
            )
        self.position = match.end()
        group = str(match.lastgroup)
        if group == "mark":
            return match[group].decode(), None
        return ("end", None) if group == "end" else ("value", _converted(match, group))

    def items(self, end: str) -> Iterator[None]:
        """Stop before every item of a list or object that has begun."""
        self._ahead = self._read()
        kind = "," if self._ahead[0] != end else self.next(end)[0]
        while kind == ",":
            yield
            kind, _ = self.next(",", end)

    def members(self) -> Iterator[tuple[str, _Value]]:
        """Yield the members of an object that has begun; `_LATER` is a value still to be taken."""
        ends: tuple[str, ...] = ("value", "}")
        while True:
            if match := _MEMBER.match(self._data, self.position):
                self._reading.tick(self._source)
                self.position = match.end()
                name, text, _, _, word, mark = match.groups()
                group = "whole" if text is None and word is None else "word"
                value = _converted(match, group) if text is None else text.decode()
                yield self._known(name.decode()), value
                if mark == b"}":
                    return
            else:
                kind, found = self.next(*ends)
                if kind == "}":
                    return
                if not isinstance(found, str):
                    raise ValueError(f"{quoted(found):.40} where a name is expected")
                self.next(":")
                yield self._known(found), _LATER
                if self.next(",", "}")[0] == "}":
                    return
            ends = ("value",)

    def _known(self, name: str) -> str:
        """Return a name, of which the file has not too many."""
        if name not in self._names:
            if len(name) > MAX_NAME:
                raise ValueError(f"a name of more than {MAX_NAME} characters")
            if len(self._names) >= _MAX_NAMES:
                raise ValueError(f"more than {_MAX_NAMES} different names")
            self._names[name] = name
        return self._names[name]

    def value(self, count: Callable[[], None]) -> _Value:
        """Return a value, or a list of some, each of which is counted."""
        kind, value = self.next("value", "[", "{")
        if kind == "value":
            return value
        if kind == "{":
            self.skip(kind)
            return None
        items, is_nested = [], False
        for _ in self.items("]"):
            kind, item = self.next("value", "[", "{")
            if kind != "value":
                self.skip(kind)
            is_nested = is_nested or item is None
            if not is_nested:
                count()
                items.append(item)
        return None if is_nested else items

    def skip(self, kind: str | None = None, depth: int = 1) -> None:
        """Pass over a value; of a list or an object its mark may have been taken."""
        kind = kind or self.next("value", "[", "{")[0]
        if depth > _MAX_DEPTH:
            raise ValueError(f"more than {_MAX_DEPTH} lists within each other")
        if kind == "value":
            return
        if kind == "[":
            for _ in self.items("]"):
                self.skip(depth=depth + 1)
            return
        for _, value in self.members():
            if value is _LATER:
                self.skip(depth=depth + 1)


def _converted(match: re.Match[bytes], group: str) -> _Value:
    if group == "word":
        return _WORDS[match[group]]
    start, end = match.span(group)
    if group == "text":
        if end - start > _LONGEST_CHARACTER * MAX_LINE:
            raise ValueError(f"a text of more than {MAX_LINE} characters")
        text = match[group].decode()
        text = json.loads(text) if "\\" in text else text[1:-1]
        if len(text) > MAX_LINE or not is_text(text):
            raise ValueError(f"a text of more than {MAX_LINE} characters, or half a character")
        return text
    if group == "no_number":
        raise ValueError(f"{match[group].decode()}, which is no number of JSON; leave it out")
    if match.end("real") - match.start("whole") > _MAX_DIGITS:
        raise ValueError(f"a number of more than {_MAX_DIGITS} digits")
    if not match["real"]:
        return int(match["whole"])
    number = float(match["whole"] + match["real"])
    if math.isinf(number):
        raise ValueError("a number that is too large")
    return number


class _Graphs:
    """The graphs of a file; those of one pass are checked, those of another are kept."""

    def __init__(self, data: Bytes, source: str, reading: Reading, *, keep: bool) -> None:
        self._data = data
        self._source = source
        self._reading = reading
        self._keep = keep
        self._tokens = _Tokens(data, source, reading)

    def __iter__(self) -> Iterator[NamedGraph]:
        number = 0
        try:
            kind, _ = self._tokens.next("{", "[")
            for _ in self._tokens.items("]") if kind == "[" else self._lines():
                number += 1
                if kind == "[":
                    self._tokens.next("{")
                yield self._graph(f"{self._source}, graph {number}")
            if kind == "[":
                self._tokens.next("end")
        except UnicodeDecodeError as error:
            line = self._data.count(b"\n", 0, self._tokens.position) + 1
            raise GraphDataError(
                f"{self._source} line {line}: byte {error.object[error.start]:#04x} is not UTF-8 "
                "text. Save it as UTF-8."
            ) from error
        except ValueError as error:
            line = self._data.count(b"\n", 0, self._tokens.position) + 1
            raise GraphDataError(
                f"{self._source} line {line}: not valid node-link JSON ({reason(error)}). Write it "
                "with graphscore, or with networkx.node_link_data."
            ) from error

    def _lines(self) -> Iterator[None]:
        """Stop in every object of a file of some."""
        kind = "{"
        while kind == "{":
            yield
            kind, _ = self._tokens.next("{", "end")

    def _graph(self, where: str) -> NamedGraph:
        tokens, given = self._tokens, set()
        graph = NamedGraph("JSON", where, self._reading, keep=self._keep)
        for name, value in tokens.members():
            key = "edges" if name in _EDGES else name
            if key in given:
                raise ValueError(f"two {key!r} in one graph")
            if key in ("directed", "nodes", "edges"):
                given.add(key)
            if key == "directed":
                value = tokens.next("value")[1] if value is _LATER else value
                if not isinstance(value, bool):
                    raise ValueError("'directed' is neither true nor false")
                graph.directed_by_default = value
            elif key in given:
                if value is not _LATER:
                    raise ValueError(f"{key!r} is no list")
                tokens.next("[")
                for place, _ in enumerate(tokens.items("]")):
                    tokens.next("{")
                    (self._node if key == "nodes" else self._edge)(graph, place)
            elif value is _LATER:
                tokens.skip()
        if not {"nodes", "edges"} <= given:
            raise ValueError("an object without lists 'nodes' and 'edges' (or 'links')")
        return graph

    def _node(self, graph: NamedGraph, place: int) -> None:
        values = self._values(graph, "node")
        name = _name(values.pop("id", place))  # as networkx does
        graph.add_node(name, values)

    def _edge(self, graph: NamedGraph, _: int) -> None:
        values = self._values(graph, "edge")
        if "source" not in values or "target" not in values:
            raise ValueError("an edge without 'source' or 'target'")
        ends = _name(values.pop("source")), _name(values.pop("target"))
        graph.add_edge(*ends, values)

    def _values(self, graph: NamedGraph, element: str) -> dict[str, _Value]:
        """Return the values of a node or edge that are needed now."""
        values, given = {}, set()
        for name, value in self._tokens.members():
            if name in given:
                raise ValueError(f"two {name!r} in one {element}")
            given.add(name)
            is_later = value is _LATER
            if element == "edge" and not self._is_needed(name):
                if is_later:
                    self._tokens.skip()
                continue
            if is_later:
                value = self._tokens.value(lambda: graph.count_attributes(1))
            if element == "node" and name != "id":
                graph.count_attributes(1)
            if value is not None and (element == "edge" or self._keep or name in _KEPT):
                values[name] = value
        return values

    def _is_needed(self, name: str) -> bool:
        """Return whether an attribute of edges is; another one is noted."""
        if name in ("source", "target", "weight") or is_asked(name, self._reading.edge_attributes):
            return True
        if name not in ("id", "key"):  # which programs number edges with
            self._reading.ignore(name)
        return False


def _name(value: _Value) -> object:
    """Return the name of a node, which may be a list, as networkx writes tuples."""
    if value is None or isinstance(value, bool):
        raise ValueError(f"{quoted(value)} where the name of a node is expected")
    return json.dumps(value) if isinstance(value, list) else value
