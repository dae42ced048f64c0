"""GraphML and GML: one graph per file, with attributes; checked first, then parsed by networkx."""

from __future__ import annotations

import io
import re
import warnings
from typing import Any
from xml.parsers import expat

import networkx as nx
import numpy as np

from graphscore.errors import GraphDataError
from graphscore.graphs.formats.text import decoded
from graphscore.graphs.validation import Candidate

_SCALARS = (bool, int, float, str, np.bool_, np.integer, np.floating)
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def decode_graphml(data: bytes, source: str) -> Candidate:
    """Read one graph from GraphML; node keys become node attributes.

    Raises:
        GraphDataError: XML that is not well-formed, a document type declaration (it could define
            entities that expand without limit), not exactly one graph, or undeclared nodes.
    """
    num_nodes = _scan_graphml(data, source)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graph: nx.Graph[Any] = nx.read_graphml(io.BytesIO(data))
    except Exception as error:  # networkx lets KeyError, ValueError and others through
        raise GraphDataError(
            f"{source}: not valid GraphML ({_reason(error)}). Write it again with the program it "
            "came from."
        ) from error
    if graph.number_of_nodes() != num_nodes:
        raise GraphDataError(
            f"{source}: {num_nodes} <node> elements but {graph.number_of_nodes()} different nodes "
            "named. Declare every node once."
        )
    return Candidate(source, graph)


def encode_graphml(graph: nx.Graph[Any]) -> bytes:
    """Return a graph with its number and text node attributes as GraphML.

    Raises:
        GraphDataError: an attribute that XML cannot hold.

    Example:
        >>> decode_graphml(encode_graphml(nx.path_graph(3)), "p.graphml").graph.number_of_edges()
        2
    """
    plain = _with_scalars(graph)
    for node, attributes in plain.nodes(data=True):
        for name, value in attributes.items():
            if isinstance(value, str) and _NOT_XML.search(value):
                raise GraphDataError(
                    f"node {node}: attribute {name!r} holds a character that GraphML cannot. "
                    "Remove it or write another format."
                )
    buffer = io.BytesIO()
    try:
        nx.write_graphml_xml(plain, buffer)
    except Exception as error:
        raise GraphDataError(f"cannot write GraphML: {_reason(error)}.") from error
    return buffer.getvalue()


def decode_gml(data: bytes, source: str) -> Candidate:
    """Read one graph from GML; node keys become node attributes.

    Raises:
        GraphDataError: no valid GML.
    """
    text = decoded(data, source)
    try:
        graph: nx.Graph[Any] = nx.parse_gml(text, label="id")
    except Exception as error:  # networkx lets KeyError, TypeError and others through
        raise GraphDataError(
            f"{source}: not valid GML ({_reason(error)}). Write it again with the program it "
            "came from."
        ) from error
    for node, attributes in graph.nodes(data=True):
        # A label that only repeats the id carries no information.
        if attributes.get("label") == str(node):
            del attributes["label"]
    return Candidate(source, graph)


def encode_gml(graph: nx.Graph[Any]) -> bytes:
    """Return a graph with its number and text node attributes as GML.

    GML names nodes by a unique `label`; the node's number is written there, so a node attribute of
    that name is not kept.

    Raises:
        GraphDataError: an attribute whose name GML does not allow.

    Example:
        >>> decode_gml(encode_gml(nx.path_graph(3)), "p.gml").graph.number_of_edges()
        2
    """
    try:
        lines = list(nx.generate_gml(_with_scalars(graph)))
    except Exception as error:
        raise GraphDataError(f"cannot write GML: {_reason(error)}.") from error
    return "\n".join([*lines, ""]).encode("ascii", "xmlcharrefreplace")


def _scan_graphml(data: bytes, source: str) -> int:
    """Parse the XML without building a tree and return the number of <node> elements."""
    counts = {"graph": 0, "node": 0}

    def start(name: str, _: dict[str, str]) -> None:
        local = name.rpartition(":")[2]
        if local in counts:
            counts[local] += 1

    def refuse(*_: object) -> None:
        raise GraphDataError(
            f"{source}: a document type declaration (<!DOCTYPE), which GraphML does not need and "
            "which can be used to exhaust memory. Remove it."
        )

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.StartDoctypeDeclHandler = refuse  # entities can be declared nowhere else
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise GraphDataError(
            f"{source} line {parser.CurrentLineNumber}: not well-formed XML ({_reason(error)}). "
            "The file may be truncated or of another format."
        ) from error
    if counts["graph"] != 1:
        raise GraphDataError(
            f"{source}: {counts['graph']} <graph> elements, but one graph per GraphML file is "
            "expected. Put each graph in a file of its own, all in one folder."
        )
    return counts["node"]


def _with_scalars(graph: nx.Graph[Any]) -> nx.Graph[Any]:
    """Copy without node attributes that these formats have no type for, such as vectors."""
    plain: nx.Graph[Any] = nx.Graph()
    plain.add_nodes_from(
        (node, {str(k): v for k, v in attributes.items() if isinstance(v, _SCALARS)})
        for node, attributes in graph.nodes(data=True)
    )
    plain.add_edges_from(graph.edges())
    return plain


def _reason(error: Exception) -> str:
    text = str(error).strip().rstrip(".") or type(error).__name__
    return text.splitlines()[0][:200]
