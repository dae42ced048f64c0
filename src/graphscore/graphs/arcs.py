"""Graphs from lists of arcs, in which an undirected edge is stored once per direction."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from graphscore.errors import GraphDataError

MERGE_ADVICE = "Keep one edge per pair, for instance with nx.Graph(g) on a networkx multigraph."


def graph_of_arcs(
    where: str, num_nodes: int, tails: NDArray[np.int64], heads: NDArray[np.int64]
) -> nx.Graph[Any]:
    """Return the graph on nodes 0..n-1 whose arcs are `tails[k] -> heads[k]`.

    The result is an undirected `nx.Graph` when every arc has its reverse and an `nx.DiGraph`
    otherwise, so that the caller's checks can refuse or repair it. Self-loops are kept and may be
    stored once or twice.

    Raises:
        GraphDataError: an arc leaves the range of nodes or is stored twice in one direction.

    Example:
        >>> graph_of_arcs("g", 3, np.array([0, 1]), np.array([1, 0])).edges
        EdgeView([(0, 1)])
        >>> graph_of_arcs("g", 3, np.array([0]), np.array([1])).is_directed()
        True
    """
    outside = (tails < 0) | (tails >= num_nodes) | (heads < 0) | (heads >= num_nodes)
    if outside.any():
        k = int(np.flatnonzero(outside)[0])
        raise GraphDataError(
            f"{where}: edge between nodes {int(tails[k])} and {int(heads[k])}, but the graph has "
            f"{num_nodes} nodes, numbered from 0. Correct the edge or the number of nodes."
        )
    codes, counts = np.unique(tails * num_nodes + heads, return_counts=True)
    rows, columns = np.divmod(codes, max(num_nodes, 1))
    repeated = (counts > 1) & (rows != columns)
    if repeated.any():
        k = int(np.flatnonzero(repeated)[0])
        raise GraphDataError(
            f"{where}: parallel edges between nodes {int(rows[k])} and {int(columns[k])}, but "
            f"a simple graph is expected. {MERGE_ADVICE}"
        )
    symmetric = np.array_equal(np.sort(columns * num_nodes + rows), codes)
    graph: nx.Graph[Any] = nx.Graph() if symmetric else nx.DiGraph()
    graph.add_nodes_from(range(num_nodes))
    if symmetric:
        upper = rows <= columns
        rows, columns = rows[upper], columns[upper]
    graph.add_edges_from(zip(rows.tolist(), columns.tolist()))
    return graph
