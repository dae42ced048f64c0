"""GEXF, as Gephi and networkx write it: one graph per file, with attributes; it is only read."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

from graphscore.errors import GraphDataError
from graphscore.graphs.formats.markup import NamedGraph
from graphscore.graphs.formats.text import MAX_LINE, check_name
from graphscore.graphs.formats.xml_elements import MAX_NAMES, TYPES, converted, parse_xml
from graphscore.graphs.limits import Bytes, Reading
from graphscore.graphs.validation import Candidate

_MAX_DEPTH = 100
_PLACES = {"node": ["gexf", "graph", "nodes"], "edge": ["gexf", "graph", "edges"]}
_KEY = ["gexf", "graph", "attributes", "attribute"]


def decode_gexf(data: Bytes, source: str, reading: Reading) -> Iterator[Candidate]:
    """Read one graph; labels that differ from the name of a node or edge are attributes "label".

    Raises:
        GraphDataError: XML that is not well-formed or declares a document type, not exactly one
            graph, groups of nodes, undeclared nodes or attributes, values that change over time, a
            graph that is refused, or more than the limits allow.
    """
    _parsed(data, source, reading, keep=False).count()
    return (_parsed(data, source, reading, keep=True).candidate() for _ in range(1))


def _parsed(data: Bytes, source: str, reading: Reading, *, keep: bool) -> NamedGraph:
    graph = NamedGraph("GEXF", source, reading, keep=keep)
    elements = _Elements(graph)
    parse_xml("GEXF", data, source, reading, elements)
    if elements.graphs != 1:
        raise GraphDataError(
            f"{source}: {elements.graphs} <graph> elements, but one graph per GEXF file is "
            "expected. Put each graph in a file of its own, all in one folder."
        )
    return graph


class _Elements:
    """The elements of a file, as expat meets them."""

    def __init__(self, graph: NamedGraph) -> None:
        self.graphs = 0
        self._graph = graph
        self._open: list[str] = []
        self._class = ""  # of the open <attributes>
        self._key = ""  # of the open <attribute>
        self._keys: dict[tuple[str, str], tuple[str, Callable[[str], Any]]] = {}
        self._defaults: dict[str, dict[str, Any]] = {"node": {}, "edge": {}}
        self._tag: dict[str, str] = {}  # of the open node or edge
        self._values: dict[str, Any] = {}
        self._given: set[str] = set()
        self._text: io.StringIO | None = None  # of the open <default>

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Meet the start of an element."""
        self._graph.reading.tick(self._graph.source)
        within = self._open[:]
        self._open.append(name)
        if len(self._open) > _MAX_DEPTH:
            raise ValueError(f"more than {_MAX_DEPTH} elements within each other")
        if not within and name != "gexf":
            raise ValueError(f"<{name:.40}> where <gexf> is expected")
        if name == "graph" and within == ["gexf"]:
            self.graphs += 1
            self._graph.directed_by_default = attributes.get("defaultedgetype") == "directed"
        elif name == "attributes":
            self._class = attributes.get("class", "")
        elif within == _KEY[:-1] and name == "attribute":
            self._add_key(attributes)
        elif within == _KEY and name == "default":
            self._text = io.StringIO()
        elif within == _PLACES.get(name):
            self._begin(name, attributes)
        elif name == "attvalue" and within[:-2] in _PLACES.values() and within[-1] == "attvalues":
            self._add_value(within[-2], attributes)
        elif name in _PLACES:
            raise ValueError(f"a <{name}> within another one, as groups are written; ungroup them")

    def text(self, text: str) -> None:
        """Meet text; only that of a default is kept."""
        if self._text is not None:
            self._text.write(text)
            if self._text.tell() > MAX_LINE:
                raise ValueError(f"a text of more than {MAX_LINE} characters")

    def end(self, _: str) -> None:
        """Meet the end of an element."""
        name = self._open.pop()
        if self._text is not None:
            found, convert = self._keys[self._class, self._key]
            self._defaults.get(self._class, {})[found] = converted(self._text.getvalue(), convert)
            self._text = None
        elif self._open != _PLACES.get(name):
            return
        elif name == "node":
            self._graph.add_node(self._required("id"), self._values)
        else:
            said = self._tag.get("type")
            is_directed = None if said is None else said.lower() == "directed"
            ends = self._required("source"), self._required("target")
            self._graph.add_edge(*ends, self._values, is_directed)

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        """Begin a node or edge."""
        self._tag, self._given = attributes, set()
        self._values = dict(self._defaults[name])
        label = attributes.get("label")
        if label and label != attributes.get("id"):
            self._values["label"] = label
        if name == "edge":
            if "kind" in attributes:
                self._values["kind"] = attributes["kind"]
            if "weight" in attributes:
                self._values["weight"] = converted(attributes["weight"], float)
        else:
            self._graph.count_attributes(len(self._values))

    def _add_key(self, attributes: dict[str, str]) -> None:
        if len(self._keys) >= MAX_NAMES:
            raise ValueError(f"more than {MAX_NAMES} attributes")
        source = self._graph.source
        self._key = check_name(source, attributes.get("id", ""))
        name = check_name(source, attributes.get("title", self._key))
        place = check_name(source, self._class), self._key
        if place in self._keys:
            raise ValueError(f"two attributes {self._key!r:.40}")
        self._keys[place] = name, TYPES.get(attributes.get("type", "").lower(), str)

    def _add_value(self, element: str, attributes: dict[str, str]) -> None:
        key = attributes.get("for", attributes.get("id", ""))  # as in older versions
        if (element, key) not in self._keys:
            raise ValueError(f"no <attribute> {key!r:.40} of {element}s")
        name, convert = self._keys[element, key]
        if name in self._given:
            raise ValueError(f"two values of {name!r:.40} in one {element}, as of changing graphs")
        text = attributes.get("value", "")
        if len(text) > MAX_LINE:
            raise ValueError(f"a text of more than {MAX_LINE} characters")
        self._given.add(name)
        self._values[name] = converted(text, convert)
        if element == "node":
            self._graph.count_attributes(1)

    def _required(self, name: str) -> str:
        if name not in self._tag:
            raise ValueError(f"no {name!r} in a <node> or <edge>")
        return self._tag[name]
