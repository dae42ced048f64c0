"""Check graphs from outside, repair them on request, and renumber their nodes."""

from __future__ import annotations

import contextlib
import gc
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
import torch

from graphscore.errors import GraphDataError
from graphscore.graphs.arcs import MERGE_ADVICE, graph_of_arcs
from graphscore.graphs.batch import GraphBatch

FEATURE = "x"
"""Node attribute that holds a node's feature vector."""
COMMUNITY = "community"
"""Node attribute that holds a node's community."""


@dataclass(frozen=True)
class Repairs:
    """Which defects to repair instead of refusing the graph.

    Attributes:
        drop_self_loops: drop edges from a node to itself (`--drop-self-loops`).
        undirected: read a directed edge as an undirected one (`--undirected`).
        largest_component: keep only the largest connected component (`--largest-component`);
            of several equally large, the one with the earliest node.
    """

    drop_self_loops: bool = False
    undirected: bool = False
    largest_component: bool = False


class GraphList(list["nx.Graph[Any]"]):
    """A list of clean graphs with the number of graphs that each repair changed.

    >>> loop = nx.Graph([(0, 0), (0, 1)])
    >>> prepare_graphs([loop], repairs=Repairs(drop_self_loops=True)).repaired
    {'self-loops dropped': 1}
    """

    def __init__(
        self, graphs: Iterable[nx.Graph[Any]] = (), repaired: Mapping[str, int] | None = None
    ) -> None:
        super().__init__(graphs)
        self.repaired: dict[str, int] = dict(repaired or {})


@dataclass(frozen=True)
class Candidate:
    """A graph that has been read but not checked.

    Attributes:
        where: its file and line or its number, for error messages.
        graph: the graph.
        clean: whether it is known to be a new simple nx.Graph on nodes 0..n-1; then it is neither
            checked nor copied.
    """

    where: str
    graph: nx.Graph[Any]
    clean: bool = False


def prepare_graphs(
    graphs: Iterable[object] | GraphBatch,
    *,
    repairs: Repairs = Repairs(),  # noqa: B008  (frozen, so one shared default is safe)
    max_nodes: int | None = None,
    source: str = "graphs",
) -> GraphList:
    """Return copies of `graphs` as simple undirected networkx graphs on nodes 0..n-1.

    Node order, node attributes and isolated nodes are kept; edge attributes are not.

    Args:
        graphs: networkx graphs of any class and labels, (N,N) numpy or torch adjacency matrices,
            PyTorch Geometric `Data` objects, or a `GraphBatch`. Rows of `node_feat` and of
            `Data.x` become the node attribute "x", a list of floats.
        repairs: the defects to repair; any other defect is refused.
        max_nodes: largest number of nodes allowed, counted after repairs.
        source: name of the collection in error messages; its graphs are numbered from 1.

    Raises:
        GraphDataError: no graphs at all, or a graph that is directed, asymmetric, weighted,
            without nodes or too large, or has self-loops, parallel edges or NaN entries.

    Example:
        >>> path = nx.path_graph(["a", "b", "c"])
        >>> prepare_graphs([path, np.array([[0, 1], [1, 0]])])[0].edges
        EdgeView([(0, 1), (1, 2)])
    """
    return prepare_candidates(
        _candidates(graphs, source), repairs=repairs, max_nodes=max_nodes, source=source
    )


def prepare_candidates(
    candidates: Iterable[Candidate], *, repairs: Repairs, max_nodes: int | None, source: str
) -> GraphList:
    """Check, repair and renumber graphs that carry their own names for error messages.

    Raises:
        GraphDataError: as `prepare_graphs`.
    """
    result = GraphList()
    with _garbage_collection_paused():
        for candidate in candidates:
            graph, changes = _prepared(candidate, repairs)
            _check_size(candidate.where, graph.number_of_nodes(), max_nodes)
            for change in changes:
                result.repaired[change] = result.repaired.get(change, 0) + 1
            result.append(graph)
    if not result:
        raise GraphDataError(f"{source}: no graphs. Give at least one graph.")
    return result


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


def _candidates(graphs: Iterable[object] | GraphBatch, source: str) -> Iterator[Candidate]:
    if isinstance(graphs, GraphBatch):
        yield from batch_candidates(graphs, source)
        return
    if isinstance(graphs, nx.Graph) or not isinstance(graphs, Iterable) or _is_pyg(graphs):
        raise GraphDataError(
            f"{source}: expected a list of graphs, got one {type(graphs).__name__}. "
            "Put a single graph in a list: [graph]."
        )
    for number, graph in enumerate(graphs, start=1):
        yield candidate_of(graph, f"{source}, graph {number}")


def candidate_of(graph: object, where: str) -> Candidate:
    """Read one object of any accepted kind as a networkx graph; only matrices are checked here.

    Raises:
        GraphDataError: the object is not a graph, or its entries do not describe one.
    """
    if isinstance(graph, nx.Graph):
        return Candidate(where, graph)
    if isinstance(graph, torch.Tensor):
        dense = graph.detach().cpu().to_dense()
        # numpy has no bfloat16
        return matrix_candidate(
            where, (dense.double() if dense.is_floating_point() else dense).numpy()
        )
    if isinstance(graph, np.ndarray):
        return matrix_candidate(where, graph)
    if _is_pyg(graph):
        return _pyg_candidate(where, graph)
    raise GraphDataError(
        f"{where}: cannot read a {type(graph).__name__} as a graph. Give a networkx graph, a "
        "square adjacency matrix (numpy or torch) or a PyTorch Geometric Data object."
    )


def matrix_candidate(where: str, matrix: np.ndarray[Any, Any]) -> Candidate:
    """Read an (N,N) matrix of zeros and ones; an asymmetric one becomes a directed graph.

    Raises:
        GraphDataError: not square, not numeric, NaN, or entries other than 0 and 1.
    """
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise GraphDataError(
            f"{where}: array of shape {matrix.shape}, but a square adjacency matrix (N,N) is "
            "expected. Give a list of such matrices."
        )
    if matrix.dtype.kind not in "buif":
        raise GraphDataError(
            f"{where}: adjacency matrix of type {matrix.dtype}, but numbers 0 and 1 are expected. "
            "Convert it, for instance with matrix.astype(float)."
        )
    wrong = (matrix != 0) & (matrix != 1)
    if wrong.any():
        row, column = (int(axis[0]) for axis in np.nonzero(wrong))
        value = matrix[row, column].item()
        kind = "NaN" if value != value else f"non-binary weight {value}"
        raise GraphDataError(
            f"{where}: {kind} at row {row}, column {column}, but only 0 and 1 are expected. "
            "Threshold the matrix first, for instance (matrix > 0.5)."
        )
    tails, heads = np.nonzero(matrix)
    return Candidate(where, graph_of_arcs(where, len(matrix), tails, heads))


def batch_candidates(batch: GraphBatch, source: str) -> Iterator[Candidate]:
    """Read the existing nodes of each graph of a batch, with features as node attribute "x".

    Raises:
        GraphDataError: entries other than 0 and 1, or edges at nodes that do not exist.
    """
    adj = batch.adj.detach().cpu().double().numpy()
    node_mask = batch.node_mask.cpu().numpy()
    feat = None if batch.node_feat is None else batch.node_feat.detach().cpu().double().numpy()
    for b in range(len(batch)):
        where = f"{source}, graph {b + 1}"
        present = np.flatnonzero(node_mask[b])
        matrix = adj[b][np.ix_(present, present)]
        if np.count_nonzero(adj[b]) != np.count_nonzero(matrix):
            raise GraphDataError(
                f"{where}: an edge at a node that node_mask marks as absent. "
                "Set adj to zero on padding, or mark the node as present."
            )
        candidate = matrix_candidate(where, matrix)
        if feat is not None:
            attach_features(candidate.graph, feat[b][present].tolist())
        yield candidate


def attach_features(graph: nx.Graph[Any], rows: Iterable[list[float]]) -> None:
    """Store one feature vector per node, in node order, as node attribute "x"."""
    for attributes, row in zip((data for _, data in graph.nodes(data=True)), rows):
        attributes[FEATURE] = row


def _is_pyg(graph: object) -> bool:
    # Recognised by attributes, so that torch_geometric need not be installed.
    return hasattr(graph, "edge_index") and hasattr(graph, "num_nodes")


def _pyg_candidate(where: str, data: Any) -> Candidate:
    num_nodes, edge_index = data.num_nodes, data.edge_index
    if num_nodes is None or edge_index is None:
        raise GraphDataError(
            f"{where}: Data object without num_nodes or edge_index. Set both; edge_index of a "
            "graph without edges has shape (2, 0)."
        )
    arcs = np.asarray(torch.as_tensor(edge_index).detach().cpu())
    if arcs.ndim != 2 or arcs.shape[0] != 2 or arcs.dtype.kind not in "iu":
        raise GraphDataError(
            f"{where}: edge_index of type {arcs.dtype} and shape {arcs.shape}, "
            "but integers of shape (2,E) are expected."
        )
    weight = getattr(data, "edge_weight", None)
    if weight is not None and not bool((torch.as_tensor(weight) == 1).all()):
        raise GraphDataError(
            f"{where}: edge_weight holds non-binary weights, but only 1 is expected. "
            "Remove the edges below your threshold and delete edge_weight."
        )
    arcs = arcs.astype(np.int64)
    graph = graph_of_arcs(where, int(num_nodes), arcs[0], arcs[1])
    features = getattr(data, "x", None)
    if features is not None:
        rows = torch.as_tensor(features).detach().cpu()
        rows = rows.unsqueeze(-1) if rows.ndim == 1 else rows
        if rows.ndim != 2 or len(rows) != num_nodes:
            raise GraphDataError(
                f"{where}: x of shape {tuple(rows.shape)}, but ({num_nodes}, F) is expected."
            )
        attach_features(graph, rows.tolist())
    return Candidate(where, graph)


def _prepared(candidate: Candidate, repairs: Repairs) -> tuple[nx.Graph[Any], list[str]]:
    where, source = candidate.where, candidate.graph
    changes = []
    if source.number_of_nodes() == 0:
        raise GraphDataError(
            f"{where}: no nodes, but a graph needs at least one. Remove the empty graph."
        )
    graph = source
    if not candidate.clean:
        loops = check_simple(where, source, repairs)
        graph = _renumbered(source)
        if source.is_directed():
            changes.append("made undirected")
        if loops:
            changes.append("self-loops dropped")
    if repairs.largest_component and not nx.is_connected(graph):
        largest = max(nx.connected_components(graph), key=len)
        graph = _renumbered(graph.subgraph(largest))
        changes.append("reduced to largest component")
    return graph, changes


def check_simple(where: str, graph: nx.Graph[Any], repairs: Repairs) -> int:
    """Refuse what `repairs` does not repair and return the number of self-loops.

    Raises:
        GraphDataError: parallel edges, weights other than 1, directed edges or self-loops.
    """
    if graph.is_multigraph():
        edges = set()
        for tail, head in graph.edges():
            if tail == head:
                continue  # counted below as self-loops
            key = (tail, head) if graph.is_directed() else frozenset((tail, head))
            if key in edges:
                raise GraphDataError(
                    f"{where}: parallel edges between nodes {tail!r} and {head!r}, but a simple "
                    f"graph is expected. {MERGE_ADVICE}"
                )
            edges.add(key)
    weight: object
    for tail, head, weight in graph.edges(data="weight"):
        if weight is not None and not _is_one(weight):
            raise GraphDataError(
                f"{where}: {_weight_name(weight)} on edge {tail!r} - {head!r}, but only weight 1 "
                "is expected. Remove edges below your threshold and the 'weight' attribute from "
                "the others."
            )
    if graph.is_directed() and not repairs.undirected:
        raise GraphDataError(
            f"{where}: directed{_one_way_edge(graph)}, but an undirected graph is expected. To "
            "read every edge as undirected, use --undirected (in Python: prepare_graphs(graphs, "
            "repairs=Repairs(undirected=True)), both from graphscore.graphs)."
        )
    loops = nx.number_of_selfloops(graph)
    if loops and not repairs.drop_self_loops:
        node = next(iter(nx.nodes_with_selfloops(graph)))
        raise GraphDataError(
            f"{where}: {loops} self-loop{'s' * (loops > 1)}, the first at node {node!r}, but none "
            "is expected. To drop them, use --drop-self-loops (in Python: prepare_graphs(graphs, "
            "repairs=Repairs(drop_self_loops=True)), both from graphscore.graphs)."
        )
    return loops


def _one_way_edge(graph: nx.Graph[Any]) -> str:
    for tail, head in graph.edges():
        if not graph.has_edge(head, tail):
            return f" (asymmetric: edge {tail!r} -> {head!r} has no reverse)"
    return ""


def _is_one(weight: object) -> bool:
    if isinstance(weight, torch.Tensor | np.ndarray):
        return weight.ndim == 0 and _is_one(weight.item())
    return isinstance(weight, bool | int | float | np.number | np.bool_) and bool(weight == 1)


def _weight_name(weight: object) -> str:
    is_nan = isinstance(weight, float | np.floating) and math.isnan(weight)
    return "NaN weight" if is_nan else f"non-binary weight {weight!r}"


def _renumbered(source: nx.Graph[Any]) -> nx.Graph[Any]:
    """Copy onto nodes 0..n-1 in node order, without self-loops, directions or edge attributes."""
    number = {node: k for k, node in enumerate(source)}
    graph: nx.Graph[Any] = nx.Graph()
    graph.add_nodes_from((number[node], data) for node, data in source.nodes(data=True))
    graph.add_edges_from((number[u], number[v]) for u, v in source.edges() if u != v)
    return graph


def _check_size(where: str, num_nodes: int, max_nodes: int | None) -> None:
    if max_nodes is not None and num_nodes > max_nodes:
        raise GraphDataError(
            f"{where}: {num_nodes} nodes, but at most {max_nodes} are allowed. Raise the limit "
            f"with --max-nodes {num_nodes} (in Python: max_nodes={num_nodes}), or remove the graph."
        )
