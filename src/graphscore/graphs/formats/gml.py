"""GML: one graph per file, with attributes, parsed token by token."""

from __future__ import annotations

import io
import math
import re
import sys
from collections.abc import Iterator
from html.entities import name2codepoint
from typing import Any

import networkx as nx

from graphscore.errors import GraphDataError
from graphscore.graphs.carried import FEATURE
from graphscore.graphs.formats.markup import NamedGraph, check_texts, reason, with_scalars
from graphscore.graphs.formats.text import MAX_LINE, MAX_NAME
from graphscore.graphs.limits import Bytes, Reading
from graphscore.graphs.validation import Candidate

_TOKEN = re.compile(
    rb"\xef\xbb\xbf|\s+|#[^\n]*"  # a byte order mark, spaces and comments
    rb"|(?:(?P<key>[A-Za-z_][^\s\[\]\"#]*)"  # more than GML allows, because programs write it
    rb"|(?P<whole>[+-]?[0-9]+)"
    rb"|(?P<real>[+-]?(?:[0-9]*\.[0-9]+|[0-9]+\.?)(?:[Ee][+-]?[0-9]+)?"
    rb"|[+-](?i:inf|infinity|nan))"
    rb')(?=[\s\[\]"#]|\Z)'  # their end, so that none is taken for two
    rb'|"(?P<text>[^"]*)"'
    rb"|(?P<open>\[)|(?P<close>\])"
)
_PIECE = re.compile("[^&]{1,65536}|&(?:([0-9A-Za-z]{1,8});|#([0-9]{1,8});|#x([0-9A-Fa-f]{1,8});)?")
_LONGEST_REFERENCE = len("&#x0010FFFF;")
_MAX_DEPTH = 100
_MAX_DIGITS = 40
_ONCE = {"node": {"id", "label"}, "edge": {"source", "target", "weight", "directed"}}
_LIST_OF_ONE = "_networkx_list_start"


def decode_gml(data: Bytes, source: str, reading: Reading) -> Iterator[Candidate]:
    """Read one graph from GML; node keys become node attributes, nested lists are left out.

    Raises:
        GraphDataError: no valid GML, a graph that is refused, or more than the limits allow.
    """
    _parsed(data, source, reading, keep=False).count()
    return (_parsed(data, source, reading, keep=True).candidate() for _ in range(1))


def encode_gml(graph: nx.Graph[Any]) -> bytes:
    """Return a graph with its number and text node attributes as GML.

    GML names nodes by a unique `label`; the node's number is written there, so a node attribute of
    that name is not kept.

    Raises:
        GraphDataError: an attribute whose name GML does not allow or `decode_gml` would refuse.

    Example:
        >>> from graphscore.graphs.limits import Reading
        >>> reading = Reading()
        >>> data = encode_gml(nx.path_graph(3))
        >>> next(decode_gml(data, "p.gml", reading)).graph.number_of_edges()
        2
    """
    plain = with_scalars(graph)
    check_texts(plain, "GML")
    try:
        lines = list(nx.generate_gml(plain))
    except MemoryError:
        raise
    except Exception as error:
        raise GraphDataError(f"cannot write GML: {reason(error)}.") from error
    return "\n".join([*lines, ""]).encode("ascii", "xmlcharrefreplace")


def _parsed(data: Bytes, source: str, reading: Reading, *, keep: bool) -> NamedGraph:
    graph = NamedGraph("GML", source, reading, keep=keep)
    lists = _Lists(graph)
    position = 0
    try:
        while (token := _TOKEN.match(data, position)) is not None:
            reading.tick(source)
            if token.lastgroup is not None:
                lists.take(token.lastgroup, token[token.lastgroup])
            position = token.end()
        if position < len(data):
            raise ValueError(f"unexpected {bytes(data[position : position + 20])!r}")
        lists.finish()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, position) + error.object.count(b"\n", 0, error.start) + 1
        raise GraphDataError(
            f"{source} line {line}: byte {error.object[error.start]:#04x} is not UTF-8 text. "
            "Check that this is a text file of the named format."
        ) from error
    except ValueError as error:
        line = data.count(b"\n", 0, position) + 1
        raise GraphDataError(
            f"{source} line {line}: not valid GML ({reason(error)}). Write it again with the "
            "program it came from."
        ) from error
    return graph


class _Lists:
    """The lists `key [ ... ]` of a file, as their tokens come."""

    def __init__(self, graph: NamedGraph) -> None:
        self._graph = graph
        self._open: list[str] = []
        self._key: str | None = None
        self._has_graph = False
        self._is_said = False  # whether the graph is directed
        self._values: dict[str, Any] = {}  # of the open node or edge

    def take(self, group: str, content: bytes) -> None:
        """Take the next token."""
        if self._key is None and group == "key":
            if len(content) > 4 * MAX_NAME or len(name := content.decode()) > MAX_NAME:
                raise ValueError(f"a key of more than {MAX_NAME} characters")
            self._key = name
        elif self._key is None and group == "close" and self._open:
            self._close()
        elif self._key is not None and group == "open":
            self._enter(self._key)
            self._key = None
        elif self._key is not None and group != "close":
            self._set(self._key, group, content)
            self._key = None
        else:
            raise ValueError(f"unexpected {content[:20].decode(errors='replace')!r}")

    def finish(self) -> None:
        """Check that nothing is open and that there was one graph."""
        if self._open or self._key is not None:
            raise ValueError("the file ends within a list; it may be truncated")
        if not self._has_graph:
            raise ValueError("no graph, but one graph per file is expected")

    def _enter(self, key: str) -> None:
        self._open.append(key)
        if len(self._open) > _MAX_DEPTH:
            raise ValueError(f"more than {_MAX_DEPTH} lists within each other")
        if self._open == ["graph"]:
            if self._has_graph:
                raise ValueError("a second graph, but one graph per file is expected")
            self._has_graph = True
        elif self._in_element():
            self._values = {}

    def _close(self) -> None:
        if self._in_element():
            if self._open[1] == "node":
                name = self._required("id")
                # A label that only repeats the id carries no information.
                if self._values.get("label") == str(name):
                    del self._values["label"]
                self._graph.add_node(name, self._values)
            else:
                ends = self._required("source"), self._required("target")
                said = self._values.get("directed")
                is_directed = None if said is None else bool(said)
                self._graph.add_edge(*ends, self._values, is_directed)
        self._open.pop()

    def _in_element(self) -> bool:
        return len(self._open) == 2 and self._open[0] == "graph" and self._open[1] in _ONCE

    def _required(self, key: str) -> object:
        if key not in self._values:
            raise ValueError(f"a {self._open[1]} without {key!r}")
        return self._values.pop(key)

    def _set(self, key: str, group: str, content: bytes) -> None:
        if self._open == ["graph"] and key == "directed":
            if self._is_said:
                raise ValueError("two 'directed' in one graph")
            self._is_said = True
            self._graph.directed_by_default = bool(_value(key, group, content))
        elif self._in_element():
            element, value = self._open[1], _value(key, group, content)
            if (once := key in _ONCE[element]) and key in self._values:
                raise ValueError(f"two {key!r} in one {element}")
            if element == "node":
                self._graph.count_attributes(1)
            if element == "node" and self._graph.attributes is not None:
                self._add(key, value)
            elif once or (element == "edge" and key in self._graph.reading.edge_attributes):
                self._values[key] = value
            elif element == "edge" and key not in ("id", "key"):  # which programs number edges with
                self._graph.reading.ignore(key)
            elif key == FEATURE and _is_not_finite(value):
                self._values[key] = value  # of a feature, what makes it wrong is enough

    def _add(self, key: str, value: object) -> None:
        """Keep a value; those of a key that comes again are a list, as networkx writes lists."""
        before = self._values.get(key)
        if key not in self._values:
            self._values[key] = value
        elif isinstance(before, list):
            before.append(value)
        else:
            self._values[key] = [value] if before == _LIST_OF_ONE else [before, value]


def _value(key: str, group: str, content: bytes) -> object:
    if group == "text":
        return _unescaped(content)
    if group == "whole" and len(content.lstrip(b"+-")) > _MAX_DIGITS:
        raise ValueError(f"a whole number of more than {_MAX_DIGITS} digits")
    if len(content) > MAX_LINE:
        raise ValueError(f"a value of {len(content)} characters")
    text = content.decode()
    if group == "whole":
        return int(text)
    if (word := text.lower()) in ("true", "false"):
        return word == "true"
    if group == "real" or word in ("nan", "inf", "infinity"):
        return float(text)
    if key in ("id", "label", "source", "target"):
        return text
    raise ValueError(f"unexpected {text[:40]!r} after {key}")


def _is_not_finite(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _unescaped(content: bytes) -> str:
    """Return a text with characters in place of `&#228;`, `&#xe4;` and `&auml;`.

    They are put together piece by piece, which takes less memory than a list of them.
    """
    if len(content) > _LONGEST_REFERENCE * MAX_LINE:
        raise ValueError(f"a text of more than {MAX_LINE} characters")
    text, result = content.decode(), io.StringIO()
    if "&" not in text and len(text) <= MAX_LINE:
        return text
    for piece in _PIECE.finditer(text):
        result.write(_character(*piece.groups()) or piece[0])
        if result.tell() > MAX_LINE:
            raise ValueError(f"a text of more than {MAX_LINE} characters")
    return result.getvalue()


def _character(name: str | None, decimal: str | None, hexadecimal: str | None) -> str:
    """Return the character of a reference, or no text if there is none."""
    if name:
        code = name2codepoint.get(name, -1)
    else:
        code = int(decimal or hexadecimal or "-1", 10 if decimal else 16)
    return chr(code) if 0 <= code <= sys.maxunicode else ""
