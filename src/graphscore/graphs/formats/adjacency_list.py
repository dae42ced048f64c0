"""Adjacency lists, `.adjlist`: a line names a node and then its neighbours; it is only read."""

from __future__ import annotations

from collections.abc import Iterator

from graphscore.graphs.formats.named_edges import NamedEdges
from graphscore.graphs.formats.text import lines_of
from graphscore.graphs.limits import Bytes, Reading
from graphscore.graphs.validation import Candidate


def decode_adjacency_list(data: Bytes, source: str, reading: Reading) -> Iterator[Candidate]:
    """Read one graph, whose edges are listed once, as networkx does, or in both directions.

    Raises:
        GraphDataError: a graph that is refused, or more than the limits allow.

    Example:
        >>> next(decode_adjacency_list(b"0 1 2\\n3\\n", "g.adjlist", Reading())).graph.edges
        EdgeView([(0, 1), (0, 2)])
    """
    edges = NamedEdges(source, reading)
    for number, _, line in lines_of(data, source, reading):
        names = line.partition("#")[0].replace(",", " ").replace(":", " ", 1).split()
        where = f"{source} line {number}"
        if len(names) == 1:
            edges.add(where, names[0], None)
        for head in names[1:]:
            edges.add(where, names[0], head)
    edges.complete()
    return edges.candidates()
