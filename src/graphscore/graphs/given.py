"""Whatever graphs are given as in Python becomes a list of clean graphs."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Literal, Protocol

import networkx as nx
import numpy as np
import torch

from graphscore.errors import GraphDataError
from graphscore.graphs.batch import GraphBatch
from graphscore.graphs.carried import attach_features
from graphscore.graphs.edge_tables import (
    edges_of_table,
    graph_of_edges,
    is_edge,
    is_edges,
    is_table,
)
from graphscore.graphs.limits import check_size
from graphscore.graphs.matrices import is_sparse, matrix_edges, matrix_graph
from graphscore.graphs.packed import PackedGraphs
from graphscore.graphs.pyg import data_of_batch, graph_of_data, is_data
from graphscore.graphs.repairs import WEIGHTS, Repairs
from graphscore.graphs.validation import Candidate, GraphList, prepare_candidates

Split = Literal["train", "val", "test"]
_KINDS = (
    "a networkx graph, a square adjacency matrix (numpy, torch or scipy), a PyTorch Geometric Data "
    "object, a list of edges [(0, 1), (1, 2)] or a table with columns 'source' and 'target'"
)


class WithSplits(Protocol):
    """A data set, such as `load_dataset` returns."""

    @property
    def graphs(self) -> Any:
        """All graphs."""

    def split(self, name: str) -> Any:
        """Return the graphs of one split."""


Graphs = Iterable[Any] | os.PathLike[str] | GraphBatch | WithSplits
"""Graphs in Python: see `prepare_graphs`."""


def prepare_graphs(
    graphs: Graphs,
    *,
    repairs: Repairs = Repairs(),  # noqa: B008  (frozen, so one shared default is safe)
    max_nodes: int | None = None,
    source: str = "graphs",
    edge_attributes: Collection[str] | None = (),
    split: Split | None = None,
) -> GraphList | PackedGraphs:
    """Return copies of `graphs` as simple undirected networkx graphs on nodes 0..n-1.

    `PackedGraphs` are that already and stay packed.

    Node order, node attributes and isolated nodes are kept, and of edge attributes those named.

    Args:
        graphs: any iterable of graphs, or one graph. A graph is a networkx graph of any class and
            labels, an (N,N) adjacency matrix of numpy, torch or scipy, a PyTorch Geometric `Data`
            object, a list of edges `[(0, 1), (1, 2)]` (with weights `(0, 1, 0.5)`, or with
            dictionaries of attributes), or a table with columns "source" and "target". Several are
            also a `Batch` or `DataLoader` of PyTorch Geometric, an array (B,N,N), a table with a
            column "graph", a `GraphBatch`, a data set of `load_dataset`, and a path, which
            `read_graphs` reads. Rows of `node_feat` and of `Data.x` become the node attribute "x",
            a list of floats. Entries of matrices become the edge attribute that is kept, or
            "weight" of several or all. Other columns of a table are edge attributes.
        repairs: the defects to repair; any other defect is refused.
        max_nodes: largest number of nodes allowed, counted after repairs.
        source: name of the collection in error messages; its graphs are numbered from 1.
        edge_attributes: names of those that are kept, None for all. If there are none, weights
            have to be 1.
        split: part of a data set; None for all its graphs.

    Raises:
        GraphDataError: no graphs at all, or a graph that is directed, asymmetric, weighted,
            without nodes or too large, or has self-loops, parallel edges or NaN entries.
        SettingsError: `repairs` drop the weights that are asked for.

    Example:
        >>> path = nx.path_graph(["a", "b", "c"])
        >>> prepare_graphs([path, np.array([[0, 1], [1, 0]]), [(0, 1)]])[0].edges
        EdgeView([(0, 1), (1, 2)])
    """
    kept = (edge_attributes,) if isinstance(edge_attributes, str) else edge_attributes
    repairs.check_names(kept)
    if is_dataset(graphs):
        graphs = graphs.graphs if split is None else graphs.split(split)  # type: ignore[union-attr]
    if isinstance(graphs, str | os.PathLike):
        return _read(graphs, repairs, max_nodes, kept)
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


def graphs_to_compare(
    graphs: Graphs, source: str, names: Collection[str], split: Split | None = None
) -> Any:
    """Return lists of networkx graphs as they are, and other graphs prepared.

    Args:
        graphs: what `prepare_graphs` takes.
        source: their name, for errors.
        names: edge attributes that are compared; weights that are not compared are left alone.
        split: part of a data set.
    """
    if isinstance(graphs, PackedGraphs):
        return graphs
    if isinstance(graphs, list | tuple) and all(isinstance(graph, nx.Graph) for graph in graphs):
        return graphs
    return prepare_graphs(graphs, source=source, edge_attributes=names or WEIGHTS, split=split)


def is_dataset(graphs: object) -> bool:
    """Return whether an object is a data set of `load_dataset`, by its fields."""
    return hasattr(graphs, "parts") and callable(getattr(graphs, "split", None))


def _read(
    path: str | os.PathLike[str],
    repairs: Repairs,
    max_nodes: int | None,
    kept: Collection[str] | None,
) -> GraphList:
    """Read a file or folder, with all attributes of edges if none are named."""
    from graphscore.graphs.files import read_graphs  # which imports this module

    names = ["weight"] if kept is None else [*kept]
    while True:
        graphs = read_graphs(path, repairs=repairs, max_nodes=max_nodes, edge_attributes=names)
        if kept is not None or not graphs.ignored:
            return graphs
        names += graphs.ignored


def _candidates(
    graphs: Any, source: str, repairs: Repairs, kept: Collection[str] | None
) -> Iterator[Candidate]:
    if isinstance(graphs, GraphBatch):
        yield from batch_candidates(graphs, source, repairs)
        return
    done = 0
    for item in _items(graphs, source):
        for graph in _parts(f"{source}, graph {done + 1}", item):
            done += 1
            yield candidate_of(graph, f"{source}, graph {done}", repairs, kept)


def _items(graphs: Any, source: str) -> Iterable[object]:
    """Return the items of an iterable, or the only one."""
    if _is_one(graphs):
        return [graphs]
    if isinstance(graphs, Mapping):
        raise GraphDataError(
            f"{source}: an object of type {type(graphs).__name__}, but graphs are expected. If its "
            "values are graphs, give list(graphs.values()); if it has the neighbours of each node, "
            "networkx.Graph(graphs)."
        )
    if not isinstance(graphs, bytes | bytearray):
        if isinstance(graphs, Iterable):
            return graphs
        if hasattr(graphs, "__getitem__") and hasattr(graphs, "__len__"):  # as of torch
            return (graphs[k] for k in range(len(graphs)))
    raise GraphDataError(
        f"{source}: cannot read an object of type {type(graphs).__name__} as graphs. Give a "
        f"path, or a list of graphs, each {_KINDS}."
    )


def _is_one(graphs: Any) -> bool:
    """Return whether it is not to be iterated over: a graph, or something that is split later."""
    if isinstance(graphs, nx.Graph | torch.Tensor) or is_sparse(graphs) or is_table(graphs):
        return True
    if isinstance(graphs, np.ndarray):
        return bool(graphs.dtype != object)
    return is_data(graphs) or is_edges(graphs) or hasattr(graphs, "to_homogeneous")


def _parts(where: str, item: Any) -> Iterable[Any]:
    """Return the graphs of an item that may hold several."""
    if isinstance(item, torch.Tensor | np.ndarray) and item.ndim == 3:
        return (item[k] for k in range(len(item)))
    if is_table(item):
        return edges_of_table(where, item)
    of_batch = data_of_batch(where, item)
    return [item] if of_batch is None else of_batch


def candidate_of(
    graph: object, where: str, repairs: Repairs, kept: Collection[str] | None = ()
) -> Candidate:
    """Read one object of any accepted kind; networkx graphs and edges are not checked here.

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
    if is_edges(graph) or (isinstance(graph, list | set) and not graph):
        return Candidate(where, graph_of_edges(where, graph))  # type: ignore[arg-type]
    raise GraphDataError(
        f"{where}: cannot read a {type(graph).__name__} as a graph. {_advice(graph)}"
    )


def _advice(graph: object) -> str:
    if is_edge(graph):
        return "It looks like one edge: give the edges of a graph as a list, [(0, 1), (1, 2)]."
    if isinstance(graph, str | os.PathLike):
        return "Give one path by itself, or join what read_graphs returns of several."
    if isinstance(graph, list | tuple):
        return (
            "Edges are given as a list of tuples, [(0, 1), (1, 2)], whose nodes are whole numbers "
            "or texts; the rows of a matrix as numpy.array(rows)."
        )
    if hasattr(graph, "to_homogeneous"):
        return "Make it a Data object first, with to_homogeneous()."
    return f"Give {_KINDS}."


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
