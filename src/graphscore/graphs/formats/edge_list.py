"""Edge lists: one graph per file, one edge per line; isolated nodes can be declared."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import networkx as nx

from graphscore.errors import GraphDataError
from graphscore.graphs.formats.text import check_declared, decoded
from graphscore.graphs.validation import Candidate

_NODES_HEADER = re.compile(r"#\s*nodes:\s*([0-9]{1,18})\s*")
_LINE_ADVICE = "A line holds one node, or two nodes and optionally the weight 1."


def decode_edge_list(data: bytes, source: str) -> Candidate:
    """Read one graph from lines `u v`, `u,v`, `u v 1` (an edge) or `u` (a node); `#` comments.

    A comment `# nodes: 7` declares the nodes 0..6. Without it the nodes are those named, in
    numeric order if all are integers and in order of appearance otherwise. Each edge may be listed
    once, or all edges in both directions; if only some are, the graph counts as directed.

    Raises:
        GraphDataError: a malformed line, a weight other than 1, a repeated edge, or a node outside
            the declared range.

    Example:
        >>> decode_edge_list(b"# nodes: 4\\n0 1\\n1 2\\n", "g.edges").graph.number_of_nodes()
        4
    """
    declared: int | None = None
    nodes: dict[str, int] = {}
    arcs: dict[tuple[str, str], int] = {}
    for number, line in enumerate(decoded(data, source).split("\n"), start=1):
        where = f"{source} line {number}"
        header = _NODES_HEADER.fullmatch(line.strip())
        if header:
            declared = int(header[1])
            check_declared(where, declared)
            continue
        tokens = line.partition("#")[0].replace(",", " ").split()
        for token in tokens[:2]:
            nodes.setdefault(token, number)
        if len(tokens) > 1:
            _check_weight(tokens[2:], where)
            arc = (tokens[0], tokens[1])
            if arc in arcs:
                raise GraphDataError(
                    f"{where}: parallel edge, {arc[0]} - {arc[1]} was listed in line {arcs[arc]} "
                    "already. List each edge once, or all edges in both directions."
                )
            arcs[arc] = number
    order = _node_order(nodes, declared, source)
    graph: nx.Graph[Any] = nx.Graph() if _is_undirected(arcs) else nx.DiGraph()
    graph.add_nodes_from(order.values())
    graph.add_edges_from((order[u], order[v]) for u, v in arcs)
    return Candidate(source, graph)


def encode_edge_list(graph: nx.Graph[Any]) -> bytes:
    """Return a graph on nodes 0..n-1 as a `# nodes: n` comment and one line per edge.

    >>> encode_edge_list(nx.path_graph(2))
    b'# nodes: 2\\n0 1\\n'
    """
    lines = [f"# nodes: {graph.number_of_nodes()}"]
    lines += [f"{u} {v}" for u, v in graph.edges()]
    return "\n".join([*lines, ""]).encode()


def _check_weight(rest: list[str], where: str) -> None:
    """Accept no weight, `{}` (written by networkx for an edge without data) or the weight 1."""
    if not rest or rest == ["{}"]:
        return
    if len(rest) > 1:
        raise GraphDataError(f"{where}: {len(rest) + 2} columns. {_LINE_ADVICE}")
    try:
        weight = float(rest[0])
    except ValueError as error:
        raise GraphDataError(
            f"{where}: {rest[0]!r} where a weight is expected. {_LINE_ADVICE}"
        ) from error
    if weight != 1:
        kind = "NaN weight" if weight != weight else f"non-binary weight {rest[0]}"
        raise GraphDataError(
            f"{where}: {kind}, but only weight 1 is expected. Remove the edges below your "
            "threshold and the weight column from the others."
        )


def _is_undirected(arcs: Collection[tuple[str, str]]) -> bool:
    """Return whether all edges or none are listed in both directions."""
    both = [(head, tail) in arcs for tail, head in arcs if tail != head]
    return all(both) or not any(both)


def _node_order(nodes: dict[str, int], declared: int | None, source: str) -> dict[str, int]:
    """Return the new number of every node name, in the order of the numbers."""
    if declared is not None:
        order = {str(k): k for k in range(declared)}
        for node, line in nodes.items():
            if node not in order:
                raise GraphDataError(
                    f"{source} line {line}: node {node}, but '# nodes: {declared}' declares the "
                    "nodes 0 to n-1. Correct the node or that comment."
                )
        return order
    names = list(nodes)
    if all(re.fullmatch(r"-?[0-9]{1,18}", name) for name in names):
        names.sort(key=int)
    return {name: k for k, name in enumerate(names)}
