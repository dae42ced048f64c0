"""Check graphs that have been read, repair them on request, and renumber their nodes."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import networkx as nx

from graphscore.errors import GraphDataError
from graphscore.graphs.attributes import MOST_IGNORED, is_asked
from graphscore.graphs.carried import FEATURE, check_finite
from graphscore.graphs.limits import check_size
from graphscore.graphs.repairs import Repairs, is_one, without_weights
from graphscore.graphs.simple import DIRECTED, LOOPS, check_simple, no_nodes, renumbered

COMMUNITY = "community"
"""Node attribute that holds a node's community."""


class GraphList(list["nx.Graph[Any]"]):
    """A list of clean graphs with the number of graphs that each repair changed (`repaired`), and
    the first edge attributes that they or their file had and that were not asked for (`ignored`).

    >>> GraphList([nx.path_graph(2)], {"self-loops dropped": 1}).repaired
    {'self-loops dropped': 1}
    """

    def __init__(
        self, graphs: Iterable[nx.Graph[Any]] = (), repaired: Mapping[str, int] | None = None
    ) -> None:
        super().__init__(graphs)
        self.repaired: dict[str, int] = dict(repaired or {})
        self.ignored: list[str] = []


@dataclass(frozen=True)
class Candidate:
    """A graph that has been read but not checked.

    Attributes:
        where: its file and line or its number, for error messages.
        graph: the graph.
        clean: whether it is known to be a new simple nx.Graph on nodes 0..n-1; then its edges are
            neither checked nor copied.
        changes: the repairs that made it clean.
        ignored: names of edge attributes that it had and were not kept.
    """

    where: str
    graph: nx.Graph[Any]
    clean: bool = False
    changes: tuple[str, ...] = ()
    ignored: Sequence[str] = ()


def prepare_candidates(
    candidates: Iterable[Candidate],
    *,
    repairs: Repairs,
    max_nodes: int | None,
    source: str,
    edge_attributes: Collection[str] | None = (),
) -> GraphList:
    """Check, repair and renumber graphs that carry their own names for error messages.

    Raises:
        GraphDataError: as `prepare_graphs`.
    """
    kept = (edge_attributes,) if isinstance(edge_attributes, str) else edge_attributes
    result = GraphList()
    with _garbage_collection_paused():
        for given in candidates:
            candidate = _without_weights(given, repairs)
            graph, changes = _prepared(candidate, repairs, kept)
            _note_ignored(result.ignored, candidate, kept)
            check_size(candidate.where, graph.number_of_nodes(), max_nodes)
            for change in changes:
                result.repaired[change] = result.repaired.get(change, 0) + 1
            result.append(graph)
    if not result:
        raise GraphDataError(f"{source}: no graphs. Give at least one graph.")
    return result


def _note_ignored(ignored: list[str], candidate: Candidate, kept: Collection[str] | None) -> None:
    """Note edge attributes that are not kept; the first ones are enough."""
    if kept is None or len(ignored) >= MOST_IGNORED:
        return
    names: Iterable[str] = candidate.ignored
    if not candidate.clean:
        edges = candidate.graph.edges(data=True)
        found = dict.fromkeys(
            str(name)
            for *_, data in edges
            for name, value in data.items()
            if name != "weight" or (value is not None and not is_one(value))
        )
        names = [name for name in found if not is_asked(name, kept)]
    ignored += [name for name in names if name not in ignored][: MOST_IGNORED - len(ignored)]


@contextlib.contextmanager
def _garbage_collection_paused() -> Iterator[None]:
    # Graphs are dictionaries of dictionaries. The garbage collector would visit all of them again
    # and again while a file is read, which takes much of the time and frees nothing.
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _without_weights(candidate: Candidate, repairs: Repairs) -> Candidate:
    """Drop weights of a graph that was not built by a reader, which drops them by itself."""
    if candidate.clean or not repairs.drops_weights:
        return candidate
    graph, changes = without_weights(candidate.where, candidate.graph, repairs)
    return replace(candidate, graph=graph, changes=(*candidate.changes, *changes))


def _prepared(
    candidate: Candidate, repairs: Repairs, edge_attributes: Collection[str] | None
) -> tuple[nx.Graph[Any], list[str]]:
    where, source = candidate.where, candidate.graph
    changes = list(candidate.changes)
    if source.number_of_nodes() == 0:
        raise no_nodes(where)
    graph = source
    if not candidate.clean:
        # where other attributes of edges are asked for, a weight is one that is ignored
        weighted = edge_attributes is None or len(edge_attributes) > 0
        loops = check_simple(where, source, repairs, weighted=weighted)
        graph = renumbered(where, source, edge_attributes)
        if source.is_directed():
            changes.append(DIRECTED)
        if loops:
            changes.append(LOOPS)
    if repairs.largest_component and not nx.is_connected(graph):
        largest = max(nx.connected_components(graph), key=len)
        graph.remove_nodes_from([node for node in graph if node not in largest])
        graph = renumbered(where, graph, edge_attributes)
        changes.append("reduced to largest component")
    for node, attributes in graph.nodes(data=True):
        if FEATURE in attributes:
            check_finite(f"{where}, node {node}", attributes[FEATURE])
    return graph, changes
