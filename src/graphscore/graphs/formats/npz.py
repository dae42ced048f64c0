""".npz stacks: the arrays of a GraphBatch, `adj` and `node_mask` (or `sizes`), `node_feat`."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Iterator, Sequence
from typing import IO, Any

import networkx as nx
import numpy as np
import torch
from numpy.lib import format as npy

from graphscore.errors import GraphDataError
from graphscore.graphs.batch import GraphBatch
from graphscore.graphs.limits import BYTES_PER_VALUE, Bytes, Reading
from graphscore.graphs.validation import (
    FEATURE,
    Candidate,
    attach_features,
    check_finite,
    matrix_edges,
)

_NUMBERS, _INTEGERS, _TRUTH = "buif", "iu", "bui"  # kinds of types of numpy
_KEYS = ("adj", "node_mask", "sizes", "node_feat")
_EXPECTED = (
    "Expected are adj (B,N,N) and optionally node_mask (B,N) or sizes (B,), and node_feat (B,N,F)."
)
_MAX_MEMBERS = 100
_MAX_HEADER = 10_000
_CHUNK = 2**20  # bytes that are decompressed at a time
_Array = np.ndarray[Any, Any]


def decode_npz(data: Bytes, source: str, reading: Reading) -> Iterator[Candidate]:
    """Read a stack of graphs; without `node_mask` and `sizes`, all N nodes exist.

    Raises:
        GraphDataError: not an .npz file, wrong names, shapes or types, Python objects inside, or
            more than the limits allow.
    """
    reading.add_bytes(source, -len(data))  # what counts are the arrays
    arrays = _load(data, source, reading)
    del data  # no longer needed; the arrays are as large
    adj, feat = arrays["adj"], arrays.get("node_feat")
    if adj.ndim != 3 or adj.shape[1] != adj.shape[2] or adj.dtype.kind not in _NUMBERS:
        raise GraphDataError(
            f"{source}: adj of type {adj.dtype} and shape {adj.shape}. {_EXPECTED}"
        )
    if not len(adj):  # its other sizes take no bytes, so nothing bounds them
        raise GraphDataError(f"{source}: no graphs in adj of shape {adj.shape}. {_EXPECTED}")
    reading.check_total_nodes(source, len(adj))  # every graph has one at least
    node_mask = _node_mask(arrays, source)
    if feat is not None and (
        feat.ndim != 3 or feat.shape[:2] != adj.shape[:2] or feat.dtype.kind not in _NUMBERS
    ):
        raise GraphDataError(
            f"{source}: node_feat of type {feat.dtype} and shape {feat.shape} beside adj of shape "
            f"{adj.shape}. {_EXPECTED}"
        )
    if feat is not None:
        reading.add_bytes(source, BYTES_PER_VALUE * feat.size)
    for b, matrix in enumerate(adj):
        where = f"{source}, graph {b + 1}"
        reading.tick(source)
        reading.check_edges(where, (int(np.count_nonzero(matrix)) - len(matrix)) // 2)
        edges = matrix_edges(where, matrix, reading.repairs, node_mask[b])
        reading.add_graph(where, int(node_mask[b].sum()), len(edges.rows))
        if feat is not None:
            check_finite(where, feat[b][node_mask[b]])
    return (
        _candidate(f"{source}, graph {b + 1}", matrix, node_mask[b], feat, b, reading)
        for b, matrix in enumerate(adj)
    )


def _candidate(
    where: str, matrix: _Array, present: _Array, feat: _Array | None, b: int, reading: Reading
) -> Candidate:
    """Build the graph of a matrix that has been checked."""
    edges = matrix_edges(where, matrix, reading.repairs, present)
    graph = edges.graph(int(present.sum()))
    if feat is not None:
        attach_features(graph, feat[b][present].astype(np.float64).tolist())
    return Candidate(where, graph, True, edges.changes)


def encode_npz(graphs: Sequence[nx.Graph[Any]]) -> bytes:
    """Return the graphs as a compressed stack; node attribute "x" becomes `node_feat`.

    Raises:
        GraphDataError: only some nodes have the attribute "x", or with different lengths.

    Example:
        >>> stack = encode_npz([nx.path_graph(3)])
        >>> from graphscore.graphs.limits import Reading
        >>> reading = Reading()
        >>> [c.graph.number_of_edges() for c in decode_npz(stack, "p.npz", reading)]
        [2]
    """
    has_feat = any(FEATURE in data for g in graphs for _, data in g.nodes(data=True))
    batch = GraphBatch.from_networkx(
        graphs, node_feat=FEATURE if has_feat else None, dtype=torch.float64
    )
    arrays = {"adj": batch.adj.to(torch.uint8).numpy(), "node_mask": batch.node_mask.numpy()}
    if batch.node_feat is not None:
        arrays["node_feat"] = batch.node_feat.numpy()
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def _load(data: Bytes, source: str, reading: Reading) -> dict[str, _Array]:
    # Each member takes memory when the archive is opened, and has this mark.
    if data.count(b"PK\x01\x02") > _MAX_MEMBERS:
        raise GraphDataError(f"{source}: more than {_MAX_MEMBERS} arrays. {_EXPECTED}")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            names = [member.filename.removesuffix(".npy") for member in members]
            if len(set(names)) < len(names):
                raise GraphDataError(f"{source}: two arrays of one name. {_EXPECTED}")
            arrays = {
                name: _read_array(archive, member, source, reading)
                for name, member in zip(names, members)
                if name in _KEYS
            }
    except (GraphDataError, MemoryError):
        raise
    except Exception as error:  # zipfile, zlib and numpy raise many types on damaged files
        raise GraphDataError(
            f"{source}: not a readable .npz file ({type(error).__name__}). It may be truncated, of "
            "another format, or hold Python objects, which are never loaded."
        ) from error
    if "adj" not in arrays or ("node_mask" in arrays and "sizes" in arrays):
        listed = ", ".join(sorted(name[:40] for name in names[:10]))
        raise GraphDataError(f"{source}: found the arrays {listed or '(none)'}. {_EXPECTED}")
    return arrays


def _read_array(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, source: str, reading: Reading
) -> _Array:
    """Read an array whose header has been checked against the limits."""
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError("a compression that numpy does not write")
    with archive.open(member) as stream:
        shape, fortran, dtype = _header(stream)
        size = math.prod(shape) * dtype.itemsize
        reading.add_bytes(source, size)
        content = bytearray(size)
        view = memoryview(content)
        while len(view):
            reading.tick(source)
            piece = stream.read(min(_CHUNK, len(view)))
            if not piece:
                raise ValueError("shorter than its header says")
            view[: len(piece)] = piece
            view = view[len(piece) :]
        if stream.read(_CHUNK):  # this also compares the checksum
            raise ValueError("longer than its header says")
    array = np.frombuffer(content, dtype)  # refuses Python objects and types of no size
    return array.reshape(shape[::-1]).T if fortran else array.reshape(shape)


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read shape, order and type; numpy would first read a header of any length."""
    major, _ = npy.read_magic(stream)
    field = stream.read(2 if major == 1 else 4)
    length = int.from_bytes(field, "little")
    if length > _MAX_HEADER:
        raise ValueError("a header longer than any shape needs")
    header = io.BytesIO(field + stream.read(length))
    read = npy.read_array_header_1_0 if major == 1 else npy.read_array_header_2_0
    return read(header, max_header_size=length)  # which is not too long, see above


def _node_mask(arrays: dict[str, _Array], source: str) -> _Array:
    shape = arrays["adj"].shape[:2]
    if "sizes" in arrays:
        sizes = arrays["sizes"]
        if sizes.shape != shape[:1] or sizes.dtype.kind not in _INTEGERS:
            raise GraphDataError(
                f"{source}: sizes of type {sizes.dtype} and shape {sizes.shape}, but integers of "
                f"shape {shape[:1]} are expected beside adj of shape {arrays['adj'].shape}."
            )
        if ((sizes < 0) | (sizes > shape[1])).any():
            raise GraphDataError(
                f"{source}: sizes between {sizes.min()} and {sizes.max()}, but adj has 0 to "
                f"{shape[1]} nodes. {_EXPECTED}"
            )
        return np.arange(shape[1]) < sizes[:, None]
    mask = arrays.get("node_mask", np.ones(shape, dtype=bool))
    if (
        mask.shape != shape
        or mask.dtype.kind not in _TRUTH
        or not ((mask == 0) | (mask == 1)).all()
    ):
        raise GraphDataError(
            f"{source}: node_mask of type {mask.dtype} and shape {mask.shape}, but true/false of "
            f"shape {shape} is expected beside adj of shape {arrays['adj'].shape}."
        )
    return mask.astype(bool)
