"""Convert between GraphBatch, networkx graphs and PyTorch Geometric data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray

from graphscore.errors import GraphDataError
from graphscore.graphs.batch import GraphBatch
from graphscore.graphs.carried import FEATURE, feature_row
from graphscore.graphs.given import batch_candidates, prepare_graphs
from graphscore.graphs.packed import PackedGraphs, sizes_of
from graphscore.graphs.pyg import to_pyg
from graphscore.graphs.repairs import Repairs
from graphscore.graphs.schema import Schema
from graphscore.graphs.simple import check_simple
from graphscore.graphs.state import node_mask_of_sizes


def batch_of_networkx(
    graphs: Sequence[nx.Graph[Any]],
    *,
    max_nodes: int | None,
    node_feat: str | None,
    dtype: torch.dtype,
    schema: Schema | None = None,
) -> GraphBatch:
    """Stack networkx graphs; see `GraphBatch.from_networkx`."""
    if len(graphs) == 0:
        raise GraphDataError("graphs: no graphs to stack. Give at least one graph.")
    sizes = torch.tensor(sizes_of(graphs))
    width = int(sizes.max()) if max_nodes is None else max_nodes
    too_large = (sizes > width).nonzero()
    if len(too_large):
        b = int(too_large[0])
        raise GraphDataError(
            f"graphs, graph {b + 1}: {int(sizes[b])} nodes, but the batch is {width} wide. "
            f"Use --max-nodes {int(sizes.max())} (in Python: max_nodes={int(sizes.max())})."
        )
    if isinstance(graphs, PackedGraphs):
        adj = graphs.adjacency(width)
    else:
        adj = _adjacency(graphs, width, weighted=schema is not None)
    feat = None
    if node_feat is not None:
        feat = torch.from_numpy(_stacked_features(graphs, width, node_feat)).to(dtype)
    batch = GraphBatch(torch.from_numpy(adj).to(dtype), node_mask_of_sizes(sizes, width), feat)
    if schema is None:
        return batch
    edges, nodes = schema.edge_entries(graphs, width), schema.node_entries(graphs, width)
    return replace(
        batch,
        edge_entries=None if edges is None else torch.from_numpy(edges),
        node_entries=None if nodes is None else torch.from_numpy(nodes),
    )


def _adjacency(graphs: Sequence[nx.Graph[Any]], width: int, *, weighted: bool) -> NDArray[np.uint8]:
    """Return (B,width,width) adjacency matrices of graphs that are simple."""
    adj = np.zeros((len(graphs), width, width), dtype=np.uint8)
    for b, graph in enumerate(graphs):
        check_simple(f"graphs, graph {b + 1}", graph, Repairs(), weighted=weighted)
        number = {node: k for k, node in enumerate(graph)}
        ends = np.array([(number[u], number[v]) for u, v in graph.edges()], dtype=np.int64)
        if len(ends):
            adj[b, ends[:, 0], ends[:, 1]] = adj[b, ends[:, 1], ends[:, 0]] = 1
    return adj


def _stacked_features(
    graphs: Sequence[nx.Graph[Any]], width: int, name: str
) -> NDArray[np.float64]:
    """Return node attribute `name` of all graphs as (B,N,F), zero on padding."""
    stacked: NDArray[np.float64] | None = None
    for b, graph in enumerate(graphs):
        for k, (node, attributes) in enumerate(graph.nodes(data=True)):
            where = f"graphs, graph {b + 1}, node {node!r}"
            if name not in attributes:
                raise GraphDataError(
                    f"{where}: no attribute {name!r}, which was named as node feature. "
                    "Give every node that attribute, or leave node_feat out."
                )
            row = feature_row(where, name, attributes[name])
            if stacked is None and row.ndim == 1:
                stacked = np.zeros((len(graphs), width, len(row)))
            if stacked is None or row.shape != stacked.shape[2:]:
                expected = "a vector" if stacked is None else f"length {stacked.shape[2]}"
                raise GraphDataError(
                    f"{where}: attribute {name!r} has shape {row.shape}, but {expected} is "
                    "expected. Give all nodes feature vectors of one length."
                )
            stacked[b, k] = row
    return np.empty((len(graphs), width, 0)) if stacked is None else stacked


def networkx_of_batch(batch: GraphBatch) -> list[nx.Graph[Any]]:
    """Unstack into networkx graphs; see `GraphBatch.to_networkx`."""
    binary = ((batch.adj == 0) | (batch.adj == 1)).flatten(1).all(1)
    if not bool(binary.all()):
        b = int((~binary).nonzero()[0])
        raise GraphDataError(
            f"batch, graph {b + 1}: adj holds values other than 0 and 1. "
            "Quantise it first, for instance with (adj > 0.5)."
        )
    return [candidate.graph for candidate in batch_candidates(batch, "batch", Repairs())]


def batch_of_pyg(data: Iterable[Any], *, max_nodes: int | None, dtype: torch.dtype) -> GraphBatch:
    """Stack PyTorch Geometric graphs; see `GraphBatch.from_pyg`."""
    graphs = prepare_graphs(data, source="data")
    has_feat = {FEATURE in attributes for g in graphs for _, attributes in g.nodes(data=True)}
    if len(has_feat) > 1:
        raise GraphDataError(
            "data: some Data objects have x and some have none; give features to all or none."
        )
    name = FEATURE if has_feat == {True} else None
    return batch_of_networkx(graphs, max_nodes=max_nodes, node_feat=name, dtype=dtype)


def pyg_of_batch(batch: GraphBatch) -> list[Any]:
    """Unstack into PyTorch Geometric graphs; see `GraphBatch.to_pyg`."""
    result = to_pyg(networkx_of_batch(batch))
    for b, data in enumerate(result):
        data.x = None if batch.node_feat is None else batch.node_feat[b][batch.node_mask[b]]
    return result
