"""Adjacency matrices of numpy and scipy: which edges they have, and what each weighs."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np

from graphscore.errors import GraphDataError
from graphscore.graphs.carried import attach_to_edges, values_of_edges
from graphscore.graphs.repairs import IGNORED_WEIGHTS, LIGHT, WEIGHT_ADVICE, Repairs
from graphscore.graphs.simple import Ends, SimpleEdges, simple_edges

_ROWS = 256  # rows of a matrix that are looked at together, which bounds the memory this takes
_REAL = "buif"  # what numpy calls booleans, integers and floats
_Array = np.ndarray[Any, Any]


def is_sparse(graph: object) -> bool:
    """Return whether an object is a sparse matrix of scipy, which need not be imported."""
    return hasattr(graph, "tocoo") and hasattr(graph, "dtype")


def matrix_attribute(kept: Collection[str] | None) -> str | None:
    """Return the edge attribute that entries of a matrix are; None if they have to be 0 or 1.

    >>> matrix_attribute(["length"]), matrix_attribute(["weight", "bond"]), matrix_attribute([])
    ('length', 'weight', None)
    """
    if kept is None or "weight" in kept:
        return "weight"
    return next(iter(kept)) if len(kept) == 1 else None


def matrix_graph(
    where: str, matrix: Any, repairs: Repairs, kept: Collection[str] | None
) -> tuple[nx.Graph[Any], tuple[str, ...]]:
    """Return the graph of an (N,N) matrix and the repairs that changed it.

    Args:
        where: its name, for errors.
        matrix: of numpy or scipy; entries other than 0 are edges.
        repairs: the defects to repair.
        kept: edge attributes that are kept. Entries are the only one, or "weight" of several or
            of all (None). Without any they have to be 0 or 1.

    Raises:
        GraphDataError: not square, not numeric, NaN or infinity, weights where none are expected,
            or what `repairs` does not repair.

    Example:
        >>> matrix_graph("g", np.array([[0, 0.5], [0.5, 0]]), Repairs(), ["w"])[0].edges(data=True)
        EdgeDataView([(0, 1, {'w': 0.5})])
    """
    name = matrix_attribute(kept)
    if repairs.drops_weights and name in (None, "weight"):
        edges = matrix_edges(where, matrix, repairs)
        return edges.graph(int(matrix.shape[0])), edges.changes
    tails, heads, entries, _ = matrix_arcs(where, matrix, weighted=name is not None)
    number = int(matrix.shape[0])
    edges = simple_edges(where, number, tails, heads, repairs)
    graph = edges.graph(number)
    if name is not None and (kept is not None or (entries != 1).any()):
        values = values_of_edges(where, number, edges, (tails, heads), {name: entries})
        attach_to_edges(graph, edges, values)
    return graph, edges.changes


def matrix_edges(
    where: str,
    matrix: _Array,
    repairs: Repairs,
    present: np.ndarray[Any, np.dtype[np.bool_]] | None = None,
) -> SimpleEdges:
    """Check an (N,N) matrix of zeros and ones, or the part of it at the nodes `present`.

    Raises:
        GraphDataError: not square, not numeric, NaN, entries other than 0 and 1, an edge at a node
            that is not present, or what `repairs` does not repair.
    """
    tails, heads, _, changes = matrix_arcs(where, matrix, repairs=repairs)
    number = int(matrix.shape[0])
    if present is not None:
        if not (present[tails].all() and present[heads].all()):
            raise GraphDataError(
                f"{where}: an edge at a node that node_mask marks as absent. "
                "Set adj to zero on padding, or mark the node as present."
            )
        place = np.cumsum(present, dtype=np.int32) - np.int32(1)
        tails, heads, number = place[tails], place[heads], int(present.sum())
    edges = simple_edges(where, number, tails, heads, repairs)
    return replace(edges, changes=(*changes, *edges.changes))


def matrix_arcs(
    where: str,
    matrix: Any,
    *,
    weighted: bool = False,
    repairs: Repairs = Repairs(),  # noqa: B008  (frozen, so one shared default is safe)
) -> tuple[Ends, Ends, _Array, list[str]]:
    """Return rows, columns and values of entries of a matrix that are not 0, and what was repaired.

    Args:
        where: its name, for errors.
        matrix: of numpy or scipy.
        weighted: whether they may be other than 1; otherwise no values are returned.
        repairs: whether values are dropped as weights are.
    """
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise GraphDataError(
            f"{where}: array of shape {matrix.shape}, but a square adjacency matrix (N,N) is "
            "expected. Give one, a list of them, or one array (B,N,N); edges are given as a list "
            "of tuples, [(0, 1), (1, 2)]."
        )
    if matrix.dtype.kind not in _REAL:
        raise GraphDataError(
            f"{where}: adjacency matrix of type {matrix.dtype}, but numbers 0 and 1 are expected. "
            "Convert it, for instance with matrix.astype(float)."
        )
    tails, heads = [np.array([], dtype=np.int32)], [np.array([], dtype=np.int32)]
    entries = [np.array([], dtype=matrix.dtype)]
    changes: dict[str, None] = {}
    may_be_real = weighted or repairs.drops_weights
    for rows, columns, values in _entries(matrix):
        wrong = ~np.isfinite(values) if may_be_real else values != 1
        if wrong.any():
            k = int(wrong.argmax())
            raise _wrong_entry(where, int(rows[k]), int(columns[k]), values[k].item(), may_be_real)
        if repairs.drops_weights:
            stays, found = kept_weights(values, repairs)
            changes |= dict.fromkeys(found)
            rows, columns, values = rows[stays], columns[stays], values[stays]
        tails.append(rows.astype(np.int32))
        heads.append(columns.astype(np.int32))
        if weighted:
            entries.append(values)
    arcs = np.concatenate(tails), np.concatenate(heads)
    return (*arcs, np.concatenate(entries), list(changes))


def kept_weights(
    values: _Array, repairs: Repairs
) -> tuple[np.ndarray[Any, np.dtype[np.bool_]], list[str]]:
    """Return which edges stay of those with these weights, which are dropped, and the repairs.

    >>> kept_weights(np.array([0.5, 1, 3]), Repairs(weight_threshold=1))[0].tolist()
    [False, True, True]
    """
    threshold = repairs.weight_threshold
    stays = np.ones(len(values), dtype=bool) if threshold is None else values >= threshold
    changes = [] if stays.all() else [LIGHT]
    return stays, [*changes, *([IGNORED_WEIGHTS] if (values[stays] != 1).any() else [])]


def _entries(matrix: Any) -> Iterator[tuple[_Array, _Array, _Array]]:
    """Yield the entries of a matrix that are not 0, a block of rows at a time."""
    if is_sparse(matrix):
        listed = matrix.tocoo(copy=True)
        if listed.dtype.kind in "iu" and listed.dtype.itemsize < 8:  # sums may not fit
            listed = listed.astype(np.int64)
        listed.sum_duplicates()
        listed.eliminate_zeros()
        yield listed.row, listed.col, listed.data
        return
    for start in range(0, len(matrix), _ROWS):
        block = matrix[start : start + _ROWS]
        rows, columns = np.nonzero(block)
        yield rows + start, columns, block[rows, columns]


def _wrong_entry(where: str, row: int, column: int, value: Any, weighted: bool) -> GraphDataError:
    if weighted:
        return GraphDataError(
            f"{where}: {value} at row {row}, column {column}, but finite weights are expected. "
            "Replace or drop it first."
        )
    kind = "NaN" if value != value else f"non-binary weight {value}"
    return GraphDataError(
        f"{where}: {kind} at row {row}, column {column}, but only 0 and 1 are expected. "
        f"{WEIGHT_ADVICE.format(name='weight')}"
    )
