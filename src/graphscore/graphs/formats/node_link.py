"""Node-link JSON, as networkx and D3 write it, parsed token by token without building a tree.

A file holds one object for a graph, a list of them, or one after the other (JSON lines):
`{"directed": false, "nodes": [{"id": 0, "element": "C"}], "edges": [{"source": 0, "target": 1}]}`.
Cytoscape's JSON is read too: `{"elements": {"nodes": [{"data": {"id": "0"}}], "edges": []}}`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import networkx as nx
import numpy as np

from graphscore.errors import GraphDataError
from graphscore.graphs.attributes import is_asked
from graphscore.graphs.carried import FEATURE
from graphscore.graphs.formats.json_tokens import LATER, Tokens
from graphscore.graphs.formats.markup import NamedGraph, places_of, reason
from graphscore.graphs.formats.text import MAX_LINE, MAX_NAME, is_text
from graphscore.graphs.limits import Bytes, Reading
from graphscore.graphs.validation import Candidate
from graphscore.settings import quoted

_EDGES = ("edges", "links")
_NAMES = {"node": ("id",), "edge": ("source", "target")}
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


class _Graphs:
    """The graphs of a file; those of one pass are checked, those of another are kept."""

    def __init__(self, data: Bytes, source: str, reading: Reading, *, keep: bool) -> None:
        self._data = data
        self._source = source
        self._reading = reading
        self._keep = keep
        self._tokens = Tokens(data, source, reading)

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
                value = tokens.next("value")[1] if value is LATER else value
                if not isinstance(value, bool):
                    raise ValueError("'directed' is neither true nor false")
                graph.directed_by_default = value
            elif key in given:
                if value is not LATER:
                    raise ValueError(f"{key!r} is no list")
                tokens.next("[")
                for place, _ in enumerate(tokens.items("]")):
                    tokens.next("{")
                    if key == "nodes":
                        _add_node(graph, self._values(graph, "node"), place, _name)
                    else:
                        _add_edge(graph, self._values(graph, "edge"), _name)
            elif name == "elements" and value is LATER:
                if given & {"nodes", "edges"}:
                    raise ValueError("both lists of node-link JSON and 'elements' of Cytoscape")
                self._elements(graph)
                given |= {"nodes", "edges"}
            elif value is LATER:
                tokens.skip()
        if not {"nodes", "edges"} <= given:
            raise ValueError(
                "an object without lists 'nodes' and 'edges' (or 'links'), and without 'elements' "
                "of Cytoscape"
            )
        return graph

    def _elements(self, graph: NamedGraph) -> None:
        """Take the lists of nodes and edges as Cytoscape writes them: the data of each is within.

        Ends of edges are texts there, also of nodes that have numbers.
        """
        tokens, given = self._tokens, set()
        tokens.next("{")
        for key, value in tokens.members():
            if key not in ("nodes", "edges") or key in given or value is not LATER:
                raise ValueError(f"{key!r:.40} where lists 'nodes' and 'edges' are expected")
            given.add(key)
            tokens.next("[")
            for place, _ in enumerate(tokens.items("]")):
                values = self._element_data(graph, key.removesuffix("s"))
                if key == "nodes":
                    _add_node(graph, values, place, _text_name)
                else:
                    _add_edge(graph, values, _text_name)

    def _element_data(self, graph: NamedGraph, element: str) -> dict[str, _Value]:
        """Return the values of an element; its position and style are left out."""
        values: dict[str, _Value] | None = None
        self._tokens.next("{")
        for name, value in self._tokens.members():
            if name == "data":
                if value is not LATER or values is not None:
                    raise ValueError("'data' is no object, or there are two")
                self._tokens.next("{")
                values = self._values(graph, element)
            elif value is LATER:
                self._tokens.skip()
        if values is None:
            raise ValueError(f"a {element} without 'data'")
        return values

    def _values(self, graph: NamedGraph, element: str) -> dict[str, _Value]:
        """Return the values of a node or edge that are needed now."""
        values, given = {}, set()
        for name, value in self._tokens.members():
            if name in given:
                raise ValueError(f"two {name!r} in one {element}")
            given.add(name)
            is_later = value is LATER
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


def _add_node(
    graph: NamedGraph, values: dict[str, _Value], place: int, named: Callable[[_Value], object]
) -> None:
    graph.add_node(named(values.pop("id", place)), values)  # as networkx does


def _add_edge(
    graph: NamedGraph, values: dict[str, _Value], named: Callable[[_Value], object]
) -> None:
    if "source" not in values or "target" not in values:
        raise ValueError("an edge without 'source' or 'target'")
    graph.add_edge(named(values.pop("source")), named(values.pop("target")), values)


def _text_name(value: _Value) -> object:
    return str(_name(value))


def _name(value: _Value) -> object:
    """Return the name of a node, which may be a list, as networkx writes tuples."""
    if value is None or isinstance(value, bool):
        raise ValueError(f"{quoted(value)} where the name of a node is expected")
    return json.dumps(value) if isinstance(value, list) else value
