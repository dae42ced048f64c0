"""What nodes and edges of one graph carry: feature vectors and values of edges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray

from graphscore.errors import GraphDataError
from graphscore.graphs.attributes import chosen
from graphscore.graphs.simple import Ends, SimpleEdges, other_way

FEATURE = "x"
"""Node attribute that holds a node's feature vector."""
EDGE_FEATURE = "edge_attr"
"""Edge attribute that holds the numbers of an edge, where a format does not name them."""


def attach_features(graph: nx.Graph[Any], rows: Iterable[list[float]]) -> None:
    """Store one feature vector per node, in node order, as node attribute "x"."""
    attach_to_nodes(graph, FEATURE, rows)


def attach_to_nodes(graph: nx.Graph[Any], name: str, values: Iterable[Any]) -> None:
    """Store one value per node, in node order."""
    for attributes, value in zip((data for _, data in graph.nodes(data=True)), values):
        attributes[name] = value


def attach_to_edges(
    graph: nx.Graph[Any], edges: SimpleEdges, values: Mapping[str, Iterable[Any]]
) -> None:
    """Store one value per edge and name, in the order of the edges."""
    for name, column in values.items():
        for u, v, value in zip(edges.rows.tolist(), edges.columns.tolist(), column):
            graph.edges[u, v][name] = value


def values_of_edges(
    where: str,
    num_nodes: int,
    edges: SimpleEdges,
    arcs: tuple[Ends, Ends],
    columns: Mapping[str, NDArray[Any]],
) -> dict[str, list[Any]]:
    """Return the values of edges from those of directed edges, by name.

    Args:
        where: the graph's name, for errors.
        num_nodes: of the graph.
        edges: what `simple_edges` made of the directed edges.
        arcs: tails and heads of the directed edges.
        columns: an array of values of the directed edges, (E,) or (E,D), by name.

    Raises:
        GraphDataError: NaN, infinity, or the two directions of an edge have different values.

    Example:
        >>> one = SimpleEdges(np.array([0]), np.array([1]))
        >>> both = np.array([0, 1]), np.array([1, 0])
        >>> values_of_edges("g", 2, one, both, {"w": np.array([0.5, 0.5])})
        {'w': [0.5]}
    """
    if not len(edges.rows):
        return {name: [] for name in columns}
    codes = arcs[0].astype(np.int64) * num_nodes + arcs[1]
    order: NDArray[np.int64] | None = None
    if (codes[1:] < codes[:-1]).any():
        order = np.argsort(codes)
        codes = codes[order]

    def places(tails: Ends, heads: Ends) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the places of directed edges, and whether there are any."""
        wanted = tails.astype(np.int64) * num_nodes + heads
        found = codes.searchsorted(wanted).clip(max=len(codes) - 1)
        is_found = codes[found] == wanted
        return found if order is None else order[found], is_found

    there, is_there = places(edges.rows, edges.columns)
    back, is_back = places(edges.columns, edges.rows)
    there, back = np.where(is_there, there, back), np.where(is_back, back, there)
    result = {}
    for name, column in columns.items():
        values = column[there]
        if values.dtype.kind == "f":
            refuse_infinite(where, name, values)
        other = (values != column[back]).reshape(len(there), -1).any(1)
        if other.any():
            k = int(np.flatnonzero(other)[0])
            raise other_way(where, int(edges.rows[k]), int(edges.columns[k]))
        result[name] = values.tolist()
    return result


def columns_of(fields: Mapping[str, NDArray[Any]], names: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Return the named arrays of values; `w_0` is the first column of an array `w`.

    >>> columns_of({"w": np.array([[0.5, 2.0]])}, ["w_1"])
    {'w_1': array([2.])}
    """
    columns = {name: list(a.T) if a.ndim == 2 else None for name, a in fields.items()}
    return {name: fields.get(name, column) for name, column in chosen(columns, names).items()}


def check_finite(where: str, feature: object, name: str = FEATURE) -> None:
    """Refuse NaN and infinity in a vector, such as node attribute "x"; in others they are kept.

    Raises:
        GraphDataError: NaN or infinity.
    """
    if isinstance(feature, str):
        return
    try:
        values = _numbers(feature)
    except _NO_NUMBERS:
        return  # refused where they are used as node features
    refuse_infinite(where, name, values)


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
    refuse_infinite(where, name, values)
    return values


_NO_NUMBERS = (TypeError, ValueError, OverflowError, RuntimeError)


def _numbers(feature: object) -> NDArray[np.float64]:
    if feature is None:
        raise TypeError("None")  # NaN to numpy
    if isinstance(feature, torch.Tensor):
        return feature.detach().cpu().to_dense().double().numpy()
    return np.asarray(feature, dtype=np.float64)


def refuse_infinite(where: str, name: str, values: NDArray[Any]) -> None:
    """Refuse NaN and infinity.

    Raises:
        GraphDataError: there is one.
    """
    if not np.isfinite(values).all():
        raise GraphDataError(
            f"{where}: attribute {name!r} holds NaN or infinity, but finite numbers are "
            "expected. Replace or drop them first."
        )
