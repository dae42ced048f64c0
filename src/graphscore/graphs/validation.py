"""Check graphs from outside, repair them on request, and renumber their nodes."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
import torch

from graphscore.errors import GraphDataError
from graphscore.graphs.attributes import MOST_IGNORED, is_asked
from graphscore.graphs.batch import GraphBatch
from graphscore.graphs.carried import FEATURE, attach_features, check_finite
from graphscore.graphs.limits import check_size
from graphscore.graphs.matrices import is_sparse, matrix_edges, matrix_graph
from graphscore.graphs.packed import PackedGraphs
from graphscore.graphs.pyg import graph_of_data, is_data
from graphscore.graphs.simple import (
    DIRECTED,
    LOOPS,
    Repairs,
    check_simple,
    no_nodes,
    renumbered,
)

COMMUNITY = "community"
"""Node attribute that holds a node's community."""


class GraphList(list["nx.Graph[Any]"]):
    """A list of clean graphs with the number of graphs that each repair changed (`repaired`), and
    the first edge attributes that they or their file had and that were not asked for (`ignored`).

    >>> loop = nx.Graph([(0, 0), (0, 1)])
    >>> prepare_graphs([loop], repairs=Repairs(drop_self_loops=True)).repaired
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


def prepare_graphs(
    graphs: Iterable[object] | GraphBatch,
    *,
    repairs: Repairs = Repairs(),  # noqa: B008  (frozen, so one shared default is safe)
    max_nodes: int | None = None,
    source: str = "graphs",
    edge_attributes: Collection[str] | None = (),
) -> GraphList | PackedGraphs:
    """Return copies of `graphs` as simple undirected networkx graphs on nodes 0..n-1.

    `PackedGraphs` are that already and stay packed.

    Node order, node attributes and isolated nodes are kept, and of edge attributes those named.

    Args:
        graphs: networkx graphs of any class and labels, (N,N) adjacency matrices of numpy, torch or
            scipy, PyTorch Geometric `Data` objects, or a `GraphBatch`. Rows of `node_feat` and of
            `Data.x` become the node attribute "x", a list of floats. Entries of matrices become the
            edge attribute that is kept, or "weight" of several or all.
        repairs: the defects to repair; any other defect is refused.
        max_nodes: largest number of nodes allowed, counted after repairs.
        source: name of the collection in error messages; its graphs are numbered from 1.
        edge_attributes: names of those that are kept, None for all; with "weight" among them, any
            weight is.

    Raises:
        GraphDataError: no graphs at all, or a graph that is directed, asymmetric, weighted,
            without nodes or too large, or has self-loops, parallel edges or NaN entries.

    Example:
        >>> path = nx.path_graph(["a", "b", "c"])
        >>> prepare_graphs([path, np.array([[0, 1], [1, 0]])])[0].edges
        EdgeView([(0, 1), (1, 2)])
    """
    kept = (edge_attributes,) if isinstance(edge_attributes, str) else edge_attributes
    if isinstance(graphs, PackedGraphs) and not repairs.largest_component:
        if not len(graphs):
            raise GraphDataError(f"{source}: no graphs. Give at least one graph.")
        largest = int(np.argmax(graphs.nodes))
        check_size(f"{source}, graph {largest + 1}", int(graphs.nodes[largest]), max_nodes)
        return graphs if kept is None else graphs.keeping(kept)
    result = prepare_candidates(
        _candidates(graphs, source, repairs, kept),
        repairs=repairs,
        max_nodes=max_nodes,
        source=source,
        edge_attributes=kept,
    )
    result.ignored = list(dict.fromkeys([*getattr(graphs, "ignored", ()), *result.ignored]))
    return result


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
        for candidate in candidates:
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
        found = dict.fromkeys(str(name) for *_, data in edges for name in data)
        # a weight that is not kept is 1
        names = [name for name in found if name != "weight" and not is_asked(name, kept)]
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


def _candidates(
    graphs: Iterable[object] | GraphBatch,
    source: str,
    repairs: Repairs,
    kept: Collection[str] | None,
) -> Iterator[Candidate]:
    if isinstance(graphs, GraphBatch):
        yield from batch_candidates(graphs, source, repairs)
        return
    if isinstance(graphs, nx.Graph) or not isinstance(graphs, Iterable) or is_data(graphs):
        raise GraphDataError(
            f"{source}: expected a list of graphs, got one {type(graphs).__name__}. "
            "Put a single graph in a list: [graph]."
        )
    for number, graph in enumerate(graphs, start=1):
        yield candidate_of(graph, f"{source}, graph {number}", repairs, kept)


def candidate_of(
    graph: object, where: str, repairs: Repairs, kept: Collection[str] | None = ()
) -> Candidate:
    """Read one object of any accepted kind; networkx graphs are not checked here.

    Args:
        graph: the object.
        where: its name, for errors.
        repairs: the defects to repair.
        kept: names of the edge attributes that are kept, None for all.

    Raises:
        GraphDataError: the object is not a graph, or its entries do not describe one.
    """
    if isinstance(graph, nx.Graph):
        return Candidate(where, graph)
    if isinstance(graph, torch.Tensor):
        dense = graph.detach().cpu().to_dense()
        # numpy has no bfloat16
        graph = (dense.double() if dense.is_floating_point() else dense).numpy()
    if isinstance(graph, np.ndarray) or is_sparse(graph):
        found, changes = matrix_graph(where, graph, repairs, kept)
        return Candidate(where, found, True, changes)
    if is_data(graph):
        found, changes, ignored = graph_of_data(where, graph, repairs, kept)
        return Candidate(where, found, True, changes, ignored)
    raise GraphDataError(
        f"{where}: cannot read a {type(graph).__name__} as a graph. Give a networkx graph, a "
        "square adjacency matrix (numpy, torch or scipy) or a PyTorch Geometric Data object."
    )


def batch_candidates(batch: GraphBatch, source: str, repairs: Repairs) -> Iterator[Candidate]:
    """Read the existing nodes of each graph of a batch, with features as node attribute "x".

    Raises:
        GraphDataError: entries other than 0 and 1, edges at nodes that do not exist, or what
            `repairs` does not repair.
    """
    adj = batch.adj.detach().cpu().double().numpy()
    node_mask = batch.node_mask.cpu().numpy()
    feat = None if batch.node_feat is None else batch.node_feat.detach().cpu().double().numpy()
    for b in range(len(batch)):
        where = f"{source}, graph {b + 1}"
        edges = matrix_edges(where, adj[b], repairs, node_mask[b])
        candidate = Candidate(where, edges.graph(int(node_mask[b].sum())), True, edges.changes)
        if feat is not None:
            attach_features(candidate.graph, feat[b][node_mask[b]].tolist())
        yield candidate


def _prepared(
    candidate: Candidate, repairs: Repairs, edge_attributes: Collection[str] | None
) -> tuple[nx.Graph[Any], list[str]]:
    where, source = candidate.where, candidate.graph
    changes = list(candidate.changes)
    if source.number_of_nodes() == 0:
        raise no_nodes(where)
    graph = source
    if not candidate.clean:
        weighted = edge_attributes is None or is_asked("weight", edge_attributes)
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
