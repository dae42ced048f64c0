"""Pajek networks, `.net` and `.paj`: one graph per file, with labels and weights; only read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from graphscore.errors import GraphDataError
from graphscore.graphs.formats.markup import NamedGraph
from graphscore.graphs.formats.text import lines_of
from graphscore.graphs.limits import Bytes, Reading
from graphscore.graphs.validation import Candidate

_TOKEN = re.compile(r'"([^"]*)"|(\S+)')
_NUMBER = re.compile(r"[0-9]{1,18}")
_LISTS = ("*arcs", "*edges", "*arcslist", "*edgeslist", "*matrix")
_LEFT_OUT = ("*partition", "*vector", "*permutation", "*cluster", "*hierarchy")


def decode_pajek(data: Bytes, source: str, reading: Reading) -> Iterator[Candidate]:
    """Read one graph; labels of nodes become the attribute "label", and values of lines weights.

    Positions, colours and other drawing data are left out, and so are partitions and vectors of
    project files. Arcs count as edges if each is listed in both directions.

    Raises:
        GraphDataError: lines that are not Pajek's, several networks, a graph that is refused, or
            more than the limits allow.

    Example:
        >>> text = b"*Vertices 3\\n*Edges\\n1 2\\n"
        >>> next(decode_pajek(text, "g.net", Reading())).graph.edges
        EdgeView([(0, 1)])
    """
    _parsed(data, source, reading, keep=False).count()
    return (_parsed(data, source, reading, keep=True).candidate() for _ in range(1))


def _parsed(data: Bytes, source: str, reading: Reading, *, keep: bool) -> NamedGraph:
    graph = NamedGraph("Pajek", source, reading, keep=keep)
    graph.directed_kind = "arcs"
    sections = _Sections(graph)
    for number, _, line in lines_of(data, source, reading):
        line = line.strip()
        if not line or line.startswith("%"):
            continue
        try:
            sections.take([text or word for text, word in _TOKEN.findall(line)])
        except ValueError as error:
            raise GraphDataError(
                f"{source} line {number}: not valid Pajek ({error}). Write it again with the "
                "program it came from."
            ) from error
    if sections.size is None:
        raise GraphDataError(f"{source}: no line '*Vertices n', which a Pajek file begins with.")
    return graph


class _Sections:
    """The sections of a file, as their lines come."""

    def __init__(self, graph: NamedGraph) -> None:
        self.size: int | None = None
        self._graph = graph
        self._section = ""
        self._labelled = bytearray()
        self._rows = 0  # of a matrix
        self._networks = 0

    def take(self, tokens: list[str]) -> None:
        """Take the words of the next line."""
        if tokens[0].startswith("*"):
            self._begin(tokens[0].lower(), tokens[1:])
        elif self._section == "*vertices":
            self._vertex(tokens)
        elif self._section in ("*arcs", "*edges"):
            if len(tokens) < 2:
                raise ValueError("one number where two nodes are expected")
            self._edge(tokens[0], tokens[1], tokens[2] if len(tokens) > 2 else "1")
        elif self._section in ("*arcslist", "*edgeslist"):
            for head in tokens[1:]:
                self._edge(tokens[0], head, "1")
        elif self._section == "*matrix":
            self._rows += 1
            for column, entry in enumerate(tokens, start=1):
                if entry not in ("0", "0.0"):
                    self._edge(str(self._rows), str(column), entry)
        elif not self._section:
            raise ValueError(f"{tokens[0]!r:.40} where '*Vertices n' is expected")

    def _begin(self, name: str, words: list[str]) -> None:
        """Begin a section, which may be one that is left out."""
        if name == "*network":
            self._networks += 1
            if self._networks > 1 or self.size is not None:
                raise ValueError("several networks; save each in a file of its own")
        elif name in _LEFT_OUT:
            name = _LEFT_OUT[0]
        elif self._section == _LEFT_OUT[0] and name == "*vertices":
            name = _LEFT_OUT[0]  # as many as there are nodes
        elif name == "*vertices":
            if self.size is not None or not words:
                raise ValueError("'*Vertices' without a number, or twice")
            self.size = _number(words[0])
            self._graph.reading.check_nodes(self._graph.source, self.size)
            for node in range(1, self.size + 1):
                self._graph.add_node(node, {})
            self._labelled = bytearray(self.size + 1)
        elif name.partition(":")[0] not in _LISTS:  # networks of several relations number them
            raise ValueError(f"unknown section {name!r:.40}")
        elif self.size is None:
            raise ValueError(f"{name!r:.40} before '*Vertices n'")
        self._section = name.partition(":")[0]

    def _vertex(self, tokens: list[str]) -> None:
        node = self._node(tokens[0])
        if self._labelled[node]:
            raise ValueError(f"node {node} twice")
        self._labelled[node] = 1
        if len(tokens) > 1 and tokens[1] != tokens[0]:
            self._graph.count_attributes(1)
            if self._graph.attributes is not None:
                self._graph.attributes[node - 1] = {"label": tokens[1]}

    def _edge(self, tail: str, head: str, weight: str) -> None:
        ends = self._node(tail), self._node(head)
        is_directed = not self._section.startswith("*edges")
        value = 1.0 if weight.isalpha() else float(weight)  # words are drawing data
        self._graph.add_edge(*ends, {"weight": value}, is_directed)

    def _node(self, word: str) -> int:
        node = _number(word)
        if self.size is None or not 1 <= node <= self.size:
            raise ValueError(f"node {node}, but there are the nodes 1 to {self.size}")
        return node


def _number(word: str) -> int:
    if not _NUMBER.fullmatch(word):
        raise ValueError(f"{word!r:.40} where a whole number is expected")
    return int(word)
