"""Adjacency matrices in files: `.npy` of numpy and sparse `.npz` of scipy.

Entries other than 0 are edges. They have to be 1, unless an attribute of edges is asked for: then
they are its values (see `graphscore.graphs.matrices`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.sparse import coo_matrix

from graphscore.errors import GraphDataError
from graphscore.graphs.formats.markup import reason
from graphscore.graphs.formats.stored_arrays import Array, read_array
from graphscore.graphs.limits import BYTES_PER_VALUE, Bytes, Reading
from graphscore.graphs.matrices import matrix_arcs, matrix_attribute, matrix_graph
from graphscore.graphs.simple import simple_edges
from graphscore.graphs.validation import Candidate

SPARSE_KEYS = ("format", "shape", "data", "row", "col", "indices", "indptr")
"""Arrays that `scipy.sparse.save_npz` writes."""


def decode_npy(data: Bytes, source: str, reading: Reading) -> Iterator[Candidate]:
    """Read one adjacency matrix (N,N), or many (B,N,N), of which all N nodes exist.

    Raises:
        GraphDataError: no such array, a graph that is refused, or more than the limits allow.

    Example:
        >>> import io
        >>> file = io.BytesIO()
        >>> np.save(file, np.array([[0, 1], [1, 0]]))
        >>> [c.graph.edges for c in decode_npy(file.getvalue(), "a.npy", Reading())]
        [EdgeView([(0, 1)])]
    """
    array = read_array(data, source, reading)
    del data  # no longer needed; the array is as large
    if array.ndim not in (2, 3) or array.shape[-1] != array.shape[-2] or not array.size:
        raise GraphDataError(
            f"{source}: array of shape {array.shape}, but one adjacency matrix (N,N) or a stack of "
            "them (B,N,N) is expected."
        )
    if array.ndim == 2:
        return matrix_candidates({source: array}, reading)
    return matrix_candidates(
        {f"{source}, graph {b}": matrix for b, matrix in enumerate(array, start=1)}, reading
    )


def is_sparse_matrix(names: Collection[str]) -> bool:
    """Return whether these are the names of the arrays of a sparse matrix.

    >>> is_sparse_matrix(["format", "shape", "data", "row", "col"])
    True
    """
    return {"format", "shape", "data"} <= set(names)


def sparse_candidate(
    arrays: Mapping[str, Array], source: str, reading: Reading
) -> Iterator[Candidate]:
    """Return the graph of a sparse matrix that is given by the arrays of its file.

    Raises:
        GraphDataError: arrays that do not fit each other, a layout other than CSR, CSC and COO, a
            graph that is refused, or more than the limits allow.
    """
    try:
        kind = bytes(arrays["format"].item()).decode()
        size, other = (int(number) for number in arrays["shape"])
        ends = _ends(arrays, kind)
    except (KeyError, TypeError, ValueError, UnicodeDecodeError) as error:
        raise GraphDataError(
            f"{source}: not a readable sparse matrix ({reason(error)}). Write it with "
            "scipy.sparse.save_npz(path, matrix.tocsr())."
        ) from error
    if size != other or size < 1:
        raise GraphDataError(
            f"{source}: matrix of shape {(size, other)}, but a square adjacency matrix is expected."
        )
    reading.check_nodes(source, size)
    values = arrays["data"]
    right = all(each.shape == values.shape and each.dtype.kind in "iu" for each in ends)
    if values.dtype.kind not in "buif":
        raise GraphDataError(
            f"{source}: a sparse matrix of type {values.dtype}, but numbers are expected."
        )
    if values.ndim != 1 or not right or any(((e < 0) | (e >= size)).any() for e in ends):
        raise GraphDataError(
            f"{source}: the arrays of this sparse matrix do not fit its shape {(size, size)}. "
            "Write it again."
        )
    reading.check_edges(source, (len(values) - size) // 2)
    rows, columns = (each.astype(np.int32) for each in ends)
    values = values.astype(np.float64 if values.dtype.kind == "f" else np.int64)
    return matrix_candidates({source: coo_matrix((values, (rows, columns)), (size, size))}, reading)


def _ends(arrays: Mapping[str, Array], kind: str) -> tuple[Array, Array]:
    """Return rows and columns of the entries."""
    if kind == "coo":
        return arrays["row"], arrays["col"]
    if kind not in ("csr", "csc"):
        raise ValueError(f"the layout {kind!r:.20}")
    starts, inner = arrays["indptr"], arrays["indices"]
    if starts.ndim != 1 or inner.ndim != 1 or starts.dtype.kind not in "iu" or not len(starts):
        raise ValueError("indptr and indices are no lists of whole numbers")
    counts = np.diff(starts).astype(np.int64)
    if (counts < 0).any() or counts.sum() != len(inner) or starts[0] != 0:
        raise ValueError("indptr does not count indices")
    outer = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    return (outer, inner) if kind == "csr" else (inner, outer)


def matrix_candidates(matrices: Mapping[str, Any], reading: Reading) -> Iterator[Candidate]:
    """Check all matrices, tell the sizes of their graphs, and return the graphs."""
    weighted = matrix_attribute(reading.edge_attributes) is not None
    for where, matrix in matrices.items():
        reading.tick(where)
        number = int(matrix.shape[0])
        reading.check_nodes(where, number)
        repairs = reading.repairs
        tails, heads, *_ = matrix_arcs(where, matrix, weighted=weighted, repairs=repairs)
        reading.check_edges(where, (len(tails) - number) // 2)
        edges = simple_edges(where, number, tails, heads, repairs)
        reading.add_graph(where, number, len(edges.rows))
        reading.add_bytes(where, BYTES_PER_VALUE * len(edges.rows) * weighted)
    return (_built(where, matrix, reading) for where, matrix in matrices.items())


def _built(where: str, matrix: Any, reading: Reading) -> Candidate:
    kept: Sequence[str] = tuple(reading.edge_attributes)
    graph, changes = matrix_graph(where, matrix, reading.repairs, kept)
    return Candidate(where, graph, True, changes)
