"""Check graphs from outside, repair them on request, and renumber their nodes."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray

from graphscore.errors import GraphDataError
from graphscore.graphs.batch import GraphBatch
from graphscore.graphs.limits import check_size
from graphscore.graphs.packed import PackedGraphs
from graphscore.graphs.simple import (
    DIRECTED,
    LOOPS,
    Ends,
    Repairs,
    SimpleEdges,
    check_simple,
    no_nodes,
    renumbered,
    simple_edges,
)

FEATURE = "x"
"""Node attribute that holds a node's feature vector."""
COMMUNITY = "community"
"""Node attribute that holds a node's community."""
_ROWS = 256  # rows of a matrix that are looked at together, which bounds the memory this takes
_REAL, _INTEGER = "buif", "iu"  # what numpy calls booleans, integers and floats


class GraphList(list["nx.Graph[Any]"]):
    """A list of clean graphs with the number of graphs that each repair changed (`repaired`), and
    the edge attributes of their file that were not asked for (`ignored`).

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
    """

    where: str
    graph: nx.Graph[Any]
    clean: bool = False
    changes: tuple[str, ...] = ()


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
        graphs: networkx graphs of any class and labels, (N,N) numpy or torch adjacency matrices,
            PyTorch Geometric `Data` objects, or a `GraphBatch`. Rows of `node_feat` and of
            `Data.x` become the node attribute "x", a list of floats.
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
    if isinstance(graphs, PackedGraphs) and not repairs.largest_component:
        check_size(source, max(graphs.nodes, default=0), max_nodes)
        return graphs if edge_attributes is None else graphs.keeping(edge_attributes)
    return prepare_candidates(
        _candidates(graphs, source, repairs),
        repairs=repairs,
        max_nodes=max_nodes,
        source=source,
        edge_attributes=edge_attributes,
    )


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
            check_size(candidate.where, graph.number_of_nodes(), max_nodes)
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


def _candidates(
    graphs: Iterable[object] | GraphBatch, source: str, repairs: Repairs
) -> Iterator[Candidate]:
    if isinstance(graphs, GraphBatch):
        yield from batch_candidates(graphs, source, repairs)
        return
    if isinstance(graphs, nx.Graph) or not isinstance(graphs, Iterable) or _is_pyg(graphs):
        raise GraphDataError(
            f"{source}: expected a list of graphs, got one {type(graphs).__name__}. "
            "Put a single graph in a list: [graph]."
        )
    for number, graph in enumerate(graphs, start=1):
        yield candidate_of(graph, f"{source}, graph {number}", repairs)


def candidate_of(graph: object, where: str, repairs: Repairs) -> Candidate:
    """Read one object of any accepted kind; networkx graphs are not checked here.

    Raises:
        GraphDataError: the object is not a graph, or its entries do not describe one.
    """
    if isinstance(graph, nx.Graph):
        return Candidate(where, graph)
    if isinstance(graph, torch.Tensor):
        dense = graph.detach().cpu().to_dense()
        # numpy has no bfloat16
        graph = (dense.double() if dense.is_floating_point() else dense).numpy()
    if isinstance(graph, np.ndarray):
        edges = matrix_edges(where, graph, repairs)
        return Candidate(where, edges.graph(len(graph)), True, edges.changes)
    if _is_pyg(graph):
        return _pyg_candidate(where, graph, repairs)
    raise GraphDataError(
        f"{where}: cannot read a {type(graph).__name__} as a graph. Give a networkx graph, a "
        "square adjacency matrix (numpy or torch) or a PyTorch Geometric Data object."
    )


def matrix_edges(
    where: str,
    matrix: np.ndarray[Any, Any],
    repairs: Repairs,
    present: np.ndarray[Any, np.dtype[np.bool_]] | None = None,
) -> SimpleEdges:
    """Check an (N,N) matrix of zeros and ones, or the part of it at the nodes `present`.

    Raises:
        GraphDataError: not square, not numeric, NaN, entries other than 0 and 1, an edge at a node
            that is not present, or what `repairs` does not repair.
    """
    tails, heads = matrix_arcs(where, matrix)
    number = len(matrix)
    if present is not None:
        if not (present[tails].all() and present[heads].all()):
            raise GraphDataError(
                f"{where}: an edge at a node that node_mask marks as absent. "
                "Set adj to zero on padding, or mark the node as present."
            )
        place = np.cumsum(present, dtype=np.int32) - np.int32(1)
        tails, heads, number = place[tails], place[heads], int(present.sum())
    return simple_edges(where, number, tails, heads, repairs)


def matrix_arcs(where: str, matrix: np.ndarray[Any, Any]) -> tuple[Ends, Ends]:
    """Return the rows and columns of the ones of a matrix, a block of rows at a time."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise GraphDataError(
            f"{where}: array of shape {matrix.shape}, but a square adjacency matrix (N,N) is "
            "expected. Give a list of such matrices."
        )
    if matrix.dtype.kind not in _REAL:
        raise GraphDataError(
            f"{where}: adjacency matrix of type {matrix.dtype}, but numbers 0 and 1 are expected. "
            "Convert it, for instance with matrix.astype(float)."
        )
    tails, heads = [np.array([], dtype=np.int32)], [np.array([], dtype=np.int32)]
    for start in range(0, len(matrix), _ROWS):
        block = matrix[start : start + _ROWS]
        wrong = (block != 0) & (block != 1)
        if wrong.any():
            row, column = (int(axis[0]) for axis in np.nonzero(wrong))
            value = block[row, column].item()
            kind = "NaN" if value != value else f"non-binary weight {value}"
            raise GraphDataError(
                f"{where}: {kind} at row {start + row}, column {column}, but only 0 and 1 are "
                "expected. Threshold the matrix first, for instance (matrix > 0.5)."
            )
        rows, columns = np.nonzero(block)
        tails.append((rows + start).astype(np.int32))
        heads.append(columns.astype(np.int32))
    return np.concatenate(tails), np.concatenate(heads)


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


def attach_features(graph: nx.Graph[Any], rows: Iterable[list[float]]) -> None:
    """Store one feature vector per node, in node order, as node attribute "x"."""
    for attributes, row in zip((data for _, data in graph.nodes(data=True)), rows):
        attributes[FEATURE] = row


def _is_pyg(graph: object) -> bool:
    # Recognised by attributes, so that torch_geometric need not be installed.
    return hasattr(graph, "edge_index") and hasattr(graph, "num_nodes")


def _pyg_candidate(where: str, data: Any, repairs: Repairs) -> Candidate:
    num_nodes, edge_index = data.num_nodes, data.edge_index
    if num_nodes is None or edge_index is None:
        raise GraphDataError(
            f"{where}: Data object without num_nodes or edge_index. Set both; edge_index of a "
            "graph without edges has shape (2, 0)."
        )
    arcs = np.asarray(torch.as_tensor(edge_index).detach().cpu())
    if arcs.ndim != 2 or arcs.shape[0] != 2 or arcs.dtype.kind not in _INTEGER:
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
    edges = simple_edges(where, int(num_nodes), arcs[0], arcs[1], repairs)
    graph = edges.graph(int(num_nodes))
    features = getattr(data, "x", None)
    if features is not None:
        rows = torch.as_tensor(features).detach().cpu()
        rows = rows.unsqueeze(1) if rows.ndim == 1 else rows
        if rows.ndim != 2 or len(rows) != num_nodes:
            raise GraphDataError(
                f"{where}: x of shape {tuple(rows.shape)}, but ({num_nodes}, F) is expected."
            )
        attach_features(graph, rows.tolist())
    return Candidate(where, graph, True, edges.changes)


def _prepared(
    candidate: Candidate, repairs: Repairs, edge_attributes: Collection[str] | None
) -> tuple[nx.Graph[Any], list[str]]:
    where, source = candidate.where, candidate.graph
    changes = list(candidate.changes)
    if source.number_of_nodes() == 0:
        raise no_nodes(where)
    graph = source
    if not candidate.clean:
        weighted = edge_attributes is None or "weight" in edge_attributes
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


def check_finite(where: str, feature: object) -> None:
    """Refuse NaN and infinity in node attribute "x"; of other attributes they are kept.

    Raises:
        GraphDataError: NaN or infinity.
    """
    if isinstance(feature, str):
        return
    try:
        values = _numbers(feature)
    except _NO_NUMBERS:
        return  # refused where they are used as node features
    _refuse_infinite(where, FEATURE, values)


def feature_row(where: str, name: str, feature: object) -> NDArray[np.float64]:
    """Return a node attribute as an array of finite numbers, one number as a vector of length 1.

    Raises:
        GraphDataError: it holds something else.

    Example:
        >>> feature_row("node 0", "x", 3)
        array([3.])
    """
    try:
        values = np.atleast_1d(_numbers(feature))
    except _NO_NUMBERS as error:
        raise GraphDataError(
            f"{where}: attribute {name!r} is no vector of numbers ({str(error)[:200]}). Give every "
            "node a list of ordinary numbers."
        ) from error
    _refuse_infinite(where, name, values)
    return values


_NO_NUMBERS = (TypeError, ValueError, OverflowError, RuntimeError)


def _numbers(feature: object) -> NDArray[np.float64]:
    if feature is None:
        raise TypeError("None")  # NaN to numpy
    if isinstance(feature, torch.Tensor):
        return feature.detach().cpu().to_dense().double().numpy()
    return np.asarray(feature, dtype=np.float64)


def _refuse_infinite(where: str, name: str, values: NDArray[np.float64]) -> None:
    if not np.isfinite(values).all():
        raise GraphDataError(
            f"{where}: attribute {name!r} holds NaN or infinity, but finite numbers are "
            "expected. Replace or drop them first."
        )
