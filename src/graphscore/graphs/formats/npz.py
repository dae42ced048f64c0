""".npz stacks: the arrays of a GraphBatch, `adj` and `node_mask` (or `sizes`), `node_feat`."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any

import networkx as nx
import numpy as np
import torch

from graphscore.errors import GraphDataError
from graphscore.graphs.batch import GraphBatch
from graphscore.graphs.validation import FEATURE, Candidate, batch_candidates

_KEYS = ("adj", "node_mask", "sizes", "node_feat")
_EXPECTED = (
    "Expected are adj (B,N,N) and optionally node_mask (B,N) or sizes (B,), and node_feat (B,N,F)."
)
_Array = np.ndarray[Any, Any]


def decode_npz(data: bytes, source: str) -> Iterator[Candidate]:
    """Read a stack of graphs; without `node_mask` and `sizes`, all N nodes exist.

    Raises:
        GraphDataError: not an .npz file, wrong names, shapes or types, or Python objects inside.
    """
    arrays = _load(data, source)
    adj = arrays["adj"]
    if adj.ndim != 3 or adj.shape[1] != adj.shape[2] or adj.dtype.kind not in "buif":
        raise GraphDataError(
            f"{source}: adj of type {adj.dtype} and shape {adj.shape}. {_EXPECTED}"
        )
    node_mask = _node_mask(arrays, source)
    feat = arrays.get("node_feat")
    if feat is not None and (
        feat.ndim != 3 or feat.shape[:2] != adj.shape[:2] or feat.dtype.kind not in "buif"
    ):
        raise GraphDataError(
            f"{source}: node_feat of type {feat.dtype} and shape {feat.shape} beside adj of shape "
            f"{adj.shape}. {_EXPECTED}"
        )
    batch = GraphBatch(
        torch.from_numpy(adj.astype(np.float64)),
        torch.from_numpy(node_mask),
        None if feat is None else torch.from_numpy(feat.astype(np.float64)),
    )
    return batch_candidates(batch, source)


def encode_npz(graphs: Sequence[nx.Graph[Any]]) -> bytes:
    """Return the graphs as a compressed stack; node attribute "x" becomes `node_feat`.

    Raises:
        GraphDataError: only some nodes have the attribute "x", or with different lengths.

    Example:
        >>> stack = encode_npz([nx.path_graph(3)])
        >>> [c.graph.number_of_edges() for c in decode_npz(stack, "p.npz")]
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


def _load(data: bytes, source: str) -> dict[str, _Array]:
    try:
        # allow_pickle=False: a graph file must not be able to run code.
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            names = list(archive.files)
            arrays = {name: np.asarray(archive[name]) for name in names if name in _KEYS}
    except Exception as error:  # zipfile, zlib and numpy raise many types on damaged files
        raise GraphDataError(
            f"{source}: not a readable .npz file ({type(error).__name__}). It may be truncated, of "
            "another format, or hold Python objects, which are never loaded."
        ) from error
    if "adj" not in arrays or {"node_mask", "sizes"} <= arrays.keys():
        raise GraphDataError(
            f"{source}: found the arrays {', '.join(sorted(names)) or '(none)'}. {_EXPECTED}"
        )
    return arrays


def _node_mask(arrays: dict[str, _Array], source: str) -> _Array:
    shape = arrays["adj"].shape[:2]
    if "sizes" in arrays:
        sizes = arrays["sizes"]
        if sizes.shape != shape[:1] or sizes.dtype.kind not in "iu":
            raise GraphDataError(
                f"{source}: sizes of type {sizes.dtype} and shape {sizes.shape}, but integers of "
                f"shape {shape[:1]} are expected beside adj of shape {arrays['adj'].shape}."
            )
        if len(sizes) and (int(sizes.min()) < 0 or int(sizes.max()) > shape[1]):
            raise GraphDataError(
                f"{source}: sizes between {sizes.min()} and {sizes.max()}, but adj has 0 to "
                f"{shape[1]} nodes. {_EXPECTED}"
            )
        return np.arange(shape[1]) < sizes[:, None]
    mask = arrays.get("node_mask", np.ones(shape, dtype=bool))
    if mask.shape != shape or mask.dtype.kind not in "bui" or not np.isin(mask, (0, 1)).all():
        raise GraphDataError(
            f"{source}: node_mask of type {mask.dtype} and shape {mask.shape}, but true/false of "
            f"shape {shape} is expected beside adj of shape {arrays['adj'].shape}."
        )
    return mask.astype(bool)
