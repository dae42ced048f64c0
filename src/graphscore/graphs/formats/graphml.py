"""GraphML: one graph per file, with attributes, parsed by expat without building a tree."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from typing import Any

import networkx as nx

from graphscore.errors import GraphDataError
from graphscore.graphs.carried import FEATURE
from graphscore.graphs.formats.markup import (
    NamedGraph,
    check_texts,
    places_of,
    reason,
    with_scalars,
)
from graphscore.graphs.formats.text import MAX_LINE, check_name
from graphscore.graphs.formats.xml_elements import (
    MAX_NAMES,
    TYPES,
    converted,
    parse_xml,
    truth_value,
)
from graphscore.graphs.limits import Bytes, Reading
from graphscore.graphs.validation import Candidate

# A carriage return would be read as a new line.
_NOT_XML = re.compile("[^\t\n\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MAX_DEPTH = 100
_NEEDED = {FEATURE, "weight"}  # they are checked before anything is kept
_WITH_DATA = (["graph", "node"], ["graph", "edge"])


def decode_graphml(data: Bytes, source: str, reading: Reading) -> Iterator[Candidate]:
    """Read one graph from GraphML; node keys become node attributes, nested data is left out.

    Raises:
        GraphDataError: XML that is not well-formed, a document type declaration (it could define
            entities that expand without limit), not exactly one graph, undeclared nodes, a graph
            that is refused, or more than the limits allow.
    """
    _parsed(data, source, reading, keep=False).count()
    return (_parsed(data, source, reading, keep=True).candidate() for _ in range(1))


def encode_graphml(graph: nx.Graph[Any]) -> bytes:
    """Return a graph with its number and text node attributes as GraphML.

    Raises:
        GraphDataError: an attribute that XML cannot hold or `decode_graphml` would refuse.

    Example:
        >>> from graphscore.graphs.limits import Reading
        >>> reading = Reading()
        >>> data = encode_graphml(nx.path_graph(3))
        >>> next(decode_graphml(data, "p.graphml", reading)).graph.number_of_edges()
        2
    """
    plain = with_scalars(graph)
    check_texts(plain, "GraphML")
    _check_attributes(plain)
    buffer = io.BytesIO()
    try:
        nx.write_graphml_xml(plain, buffer)
    except MemoryError:
        raise
    except Exception as error:
        raise GraphDataError(f"cannot write GraphML: {reason(error)}.") from error
    return buffer.getvalue()


def _check_attributes(plain: nx.Graph[Any]) -> None:
    """Refuse characters and numbers of keys that could not be read again."""
    keys = set()  # networkx writes one for each type of the values of a name
    for where, attributes in places_of(plain):
        for name, value in attributes.items():
            keys.add((where[:4], name, type(value)))
            if _NOT_XML.search(name) or (isinstance(value, str) and _NOT_XML.search(value)):
                raise GraphDataError(
                    f"{where}: attribute {name!r} holds a character that GraphML cannot. "
                    "Remove it or write another format."
                )
    if len(keys) > MAX_NAMES:
        raise GraphDataError(
            f"nodes and edges have {len(keys)} different attributes, but at most {MAX_NAMES} are "
            "expected in GraphML. Remove some or write another format."
        )


def _parsed(data: Bytes, source: str, reading: Reading, *, keep: bool) -> NamedGraph:
    graph = NamedGraph("GraphML", source, reading, keep=keep)
    elements = _Elements(graph)
    parse_xml("GraphML", data, source, reading, elements)
    if elements.graphs != 1:
        raise _number_of_graphs(source, elements.graphs, elements.is_nested)
    return graph


def _number_of_graphs(source: str, number: int, is_nested: bool) -> GraphDataError:
    if is_nested:
        return GraphDataError(
            f"{source}: a <graph> within a <graph>, as groups of nodes are written, but one graph "
            "without groups is expected. Ungroup the nodes first."
        )
    return GraphDataError(
        f"{source}: {number} <graph> elements, but one graph per GraphML file is expected. Put "
        "each graph in a file of its own, all in one folder."
    )


class _Elements:
    """The elements of a file, as expat meets them."""

    def __init__(self, graph: NamedGraph) -> None:
        self.graphs = 0
        self.is_nested = False
        self._graph = graph
        self._open: list[str] = []
        self._keys: dict[tuple[str, str], tuple[str, Callable[[str], Any]]] = {}  # by id and "for"
        self._for: dict[str, str] = {}  # of the first key of an id
        self._tag: dict[str, str] = {}  # of the open key, node or edge
        self._values: dict[str, Any] = {}
        self._given: set[str] = set()  # of the values, those that are no defaults
        self._defaults: dict[str, dict[str, Any]] = {"node": {}, "edge": {}}
        self._key: str | None = None
        self._text: io.StringIO  # set with the key

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Meet the start of an element."""
        self._graph.reading.tick(self._graph.source)
        within = self._open[1:]
        self._open.append(name)
        if len(self._open) > _MAX_DEPTH:
            raise ValueError(f"more than {_MAX_DEPTH} elements within each other")
        if name == "gexf" and not within and len(self._open) == 1:
            raise ValueError("it is GEXF; let its name end in .gexf")
        if name == "graph":
            self.graphs += 1
            self.is_nested = self.is_nested or "graph" in within[:1]
            if self.graphs > 1:
                return
            if len(self._open) != 2:
                raise ValueError("<graph> is not directly within the outermost element")
            self._graph.directed_by_default = attributes.get("edgedefault") == "directed"
        elif name == "key" and len(self._open) == 2:
            self._tag = attributes
            self._add_key(attributes)
        elif name == "default" and within == ["key"]:
            if self.graphs:
                raise ValueError("a <default> after the <graph>")
            self._key, self._text = self._tag["id"], io.StringIO()
        elif within == ["graph"]:
            if name == "hyperedge":
                raise ValueError("hyperedges are not supported")
            self._tag, self._given = attributes, set()
            self._values = dict(self._defaults.get(name, {}))
            if name == "node":
                self._graph.count_attributes(len(self._values))
        elif name == "data" and within in _WITH_DATA:
            self._key, self._text = attributes.get("key"), io.StringIO()
            if self._key is None or self._key_of(self._key, within[1]) is None:
                raise ValueError(
                    f"no key {self._key!r:.40}; a <key> is expected before the <graph>"
                )
            if within[1] == "node":
                self._graph.count_attributes(1)
        else:
            if (
                name in ("node", "edge") and within.count("graph") == 1 and "data" not in within
            ):  # of several graphs, their number is the error
                article = "a" if name == "node" else "an"
                raise ValueError(f"{article} <{name}> that is not directly within <graph>")
            if self._key is not None and self._text.getvalue().strip():
                raise ValueError("text beside elements within one value")
            self._key = None  # nested: no number and no text

    def text(self, text: str) -> None:
        """Meet text; expat may cut it into pieces."""
        if self._key is not None:
            self._text.write(text)
            if self._text.tell() > MAX_LINE:
                raise ValueError(f"a text of more than {MAX_LINE} characters")
        elif self._open[-1] == "data" and self._open[1:-1] in _WITH_DATA and text.strip():
            raise ValueError("text beside elements within one value")

    def end(self, _: str) -> None:
        """Meet the end of an element."""
        name = self._open.pop()
        if self.graphs > 1:
            return
        if self._key is not None:
            self._end_value(self._key)
            self._key = None
        elif self._open[1:] == ["graph"] and name == "node":
            self._graph.add_node(self._required("id"), self._values)
        elif self._open[1:] == ["graph"] and name == "edge":
            said = self._tag.get("directed")
            ends = self._required("source"), self._required("target")
            is_directed = None if said is None else truth_value(said)
            self._graph.add_edge(*ends, self._values, is_directed)

    def _end_value(self, key: str) -> None:
        """Keep what was between <data> or <default> and its end; an empty default is none."""
        within_key = self._open[1:] == ["key"]
        element = self._tag.get("for", "all") if within_key else self._open[-1]
        found = self._key_of(key, element)
        assert found is not None
        name, convert = found
        text = self._text.getvalue()
        value = converted(text, convert)
        if self._graph.attributes is None and name not in _NEEDED:
            value = None
        if not within_key:
            if name in self._given and self._values[name] != value:
                name = self._other_name(name, key)
            self._given.add(name)
            self._values[name] = value
        elif text:
            for kind, values in self._defaults.items():
                if element in (kind, "all"):
                    values[name] = value

    def _other_name(self, name: str, key: str) -> str:
        """Return the id of a key in place of its name, which another value has."""
        if name in _NEEDED or key in self._given:
            raise ValueError(f"two values of {name!r:.40} in one <{self._open[-1]}>")
        return key

    def _key_of(self, key: str, element: str) -> tuple[str, Callable[[str], Any]] | None:
        """Return name and type of a key: the element's own, that of all, or the first of its id."""
        kinds = (element, "all", self._for.get(key, ""))
        return next((self._keys[key, kind] for kind in kinds if (key, kind) in self._keys), None)

    def _required(self, name: str) -> str:
        if name not in self._tag:
            raise ValueError(f"no {name!r} in a <node> or <edge>")
        return self._tag[name]

    def _add_key(self, attributes: dict[str, str]) -> None:
        if "id" not in attributes:
            raise ValueError("a <key> without id")
        if len(self._keys) >= MAX_NAMES:
            raise ValueError(f"more than {MAX_NAMES} keys")
        source, key = self._graph.source, attributes["id"]
        yfiles = attributes.get("yfiles.type")
        name = yfiles or attributes.get("attr.name") or key
        convert = TYPES.get("" if yfiles else attributes.get("attr.type", "").lower(), str)
        place = check_name(source, key), check_name(source, attributes.get("for", "all"))
        known, before = self._keys.get(place, (name, convert))
        if known != name:
            raise ValueError(f"two keys {key!r:.40}")
        self._for.setdefault(*place)
        self._keys[place] = check_name(source, name), convert if before is convert else str
