""".npz stacks: the arrays of a GraphBatch, `adj` and `node_mask` (or `sizes`), `node_feat`.

The values of an attribute NAME are the array `node:NAME` or `edge:NAME`, (M,) or (M,D) for vectors:
one row for each node of all graphs, in order, or for each edge u < v in order of graph, u and v,
as `values[node_mask]` and `values[np.triu(adj) == 1]` give them. Where some have none,
`node?NAME` or `edge?NAME` says which have one.

One sparse matrix, as `scipy.sparse.save_npz` writes it, is read too.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import networkx as nx
import numpy as np
import torch

from graphscore.errors import GraphDataError
from graphscore.graphs.attributes import is_asked
from graphscore.graphs.batch import GraphBatch
from graphscore.graphs.carried import FEATURE, attach_features, check_finite, columns_of
from graphscore.graphs.formats.columns import Column, arrays_of, checked_column
from graphscore.graphs.formats.matrix_files import SPARSE_KEYS, is_sparse_matrix, sparse_candidate
from graphscore.graphs.formats.stored_arrays import MAX_MEMBERS, Array, read_archive
from graphscore.graphs.formats.text import MAX_NAME
from graphscore.graphs.limits import BYTES_PER_VALUE, Bytes, Reading
from graphscore.graphs.matrices import matrix_edges
from graphscore.graphs.repairs import LIGHT
from graphscore.graphs.schema import Schema
from graphscore.graphs.simple import SimpleEdges
from graphscore.graphs.validation import Candidate

_NUMBERS, _INTEGERS, _TRUTH = "buif", "iu", "bui"  # kinds of types of numpy
_KEYS = ("adj", "node_mask", "sizes", "node_feat")
_EXPECTED = (
    "Expected are adj (B,N,N) and optionally node_mask (B,N) or sizes (B,), node_feat (B,N,F), and "
    "node:NAME and edge:NAME."
)


def decode_npz(data: Bytes, source: str, reading: Reading) -> Iterator[Candidate]:
    """Read a stack of graphs, or one sparse matrix of scipy.

    Without `node_mask` and `sizes`, all N nodes of a stack exist.

    Raises:
        GraphDataError: not an .npz file, wrong names, shapes or types, Python objects inside, or
            more than the limits allow.
    """
    reading.add_bytes(source, -len(data))  # what counts are the arrays
    arrays = _load(data, source, reading)
    del data  # no longer needed; the arrays are as large
    if "adj" not in arrays:
        return sparse_candidate(arrays, source, reading)
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
    carried = {kind: _columns(kind, arrays, source, reading) for kind in ("node", "edge")}
    has_weights = "weight" in carried["edge"]
    stack = _Stack(source, reading, adj, node_mask, feat, carried, has_weights)
    stack.check()
    return stack.candidates()


def _columns(
    kind: str, arrays: dict[str, Array], source: str, reading: Reading
) -> dict[str, Column]:
    """Return the columns of nodes, or those of edges that are asked for, by name."""
    columns: dict[str, Column] = {}
    for key, values in arrays.items():
        given, _, name = key.partition(":")
        if given != kind:
            continue
        if len(name) > MAX_NAME or key == f"node:{FEATURE}":
            raise GraphDataError(
                f"{source}: an array named {key[:40]!r}, but attributes have names of at most "
                f"{MAX_NAME} characters, and vectors {FEATURE!r} are node_feat."
            )
        where = f"{source}: {key}"
        reading.add_bytes(where, BYTES_PER_VALUE * values.size)
        column = checked_column(where, values, arrays.get(f"{kind}?{name}"))
        parts = {name: column.values}
        if kind == "edge":
            parts = columns_of(parts, reading.edge_attributes)
            if name == "weight":  # if it is not asked for, it has to be 1
                parts.setdefault(name, column.values)
        columns |= {n: replace(column, values=part) for n, part in parts.items()}
    return columns


@dataclass(frozen=True)
class _Stack:
    """The arrays of a file, each of the right shape and type."""

    source: str
    reading: Reading
    adj: Array
    node_mask: Array
    feat: Array | None
    carried: dict[str, dict[str, Column]]
    has_weights: bool
    changes: dict[int, dict[str, list[tuple[int, int]]]] = field(default_factory=dict)
    """Edges that are dropped for their weights, by graph and repair."""

    def _where(self, b: int) -> str:
        return f"{self.source}, graph {b + 1}"

    def _edges(self, b: int) -> SimpleEdges:
        repairs = self.reading.repairs
        if self.has_weights:  # then entries of adj are none
            repairs = replace(repairs, ignore_weights=False, weight_threshold=None)
        return matrix_edges(self._where(b), self.adj[b], repairs, self.node_mask[b])

    def check(self) -> None:
        """Check all graphs and tell their sizes.

        Raises:
            GraphDataError: a graph is refused, or columns of another length than the graphs'.
        """
        totals = {"node": 0, "edge": 0}
        is_asked_for = is_asked("weight", self.reading.edge_attributes)
        weights = None if is_asked_for else self.carried["edge"].get("weight")
        for b, matrix in enumerate(self.adj):
            where = self._where(b)
            self.reading.tick(self.source)
            self.reading.check_edges(where, (int(np.count_nonzero(matrix)) - len(matrix)) // 2)
            edges = self._edges(b)
            size = int(self.node_mask[b].sum())
            self.reading.add_graph(where, size, len(edges.rows))
            if self.feat is not None:
                check_finite(where, self.feat[b][self.node_mask[b]])
            if weights is not None:
                first = totals["edge"]
                for k, weight in weights.part(first, first + len(edges.rows)):
                    ends = int(edges.rows[k]), int(edges.columns[k])
                    if change := self.reading.weigh(where, *ends, weight):
                        dropped = self.changes.setdefault(b, {}).setdefault(change, [])
                        if change == LIGHT:
                            dropped.append(ends)
            totals["node"] += size
            totals["edge"] += len(edges.rows)
        for kind, columns in self.carried.items():
            for name, column in columns.items():
                if len(column) != totals[kind]:
                    raise GraphDataError(
                        f"{self.source}: {kind}:{name} is of {len(column)} {kind}s, but the graphs "
                        f"have {totals[kind]} in all. {_EXPECTED}"
                    )
        if not is_asked_for:
            self.carried["edge"].pop("weight", None)

    def candidates(self) -> Iterator[Candidate]:
        """Build the graphs, which have been checked."""
        nodes_before = edges_before = 0
        for b in range(len(self.adj)):
            edges, present = self._edges(b), self.node_mask[b]
            graph = edges.graph(int(present.sum()))
            if self.feat is not None:
                attach_features(graph, self.feat[b][present].astype(np.float64).tolist())
            for name, column in self.carried["node"].items():
                for k, value in column.part(nodes_before, nodes_before + len(graph)):
                    graph.nodes[k][name] = value
            for name, column in self.carried["edge"].items():
                for k, value in column.part(edges_before, edges_before + len(edges.rows)):
                    graph.edges[int(edges.rows[k]), int(edges.columns[k])][name] = value
            nodes_before += len(graph)
            edges_before += len(edges.rows)
            changes = self.changes.get(b, {})
            graph.remove_edges_from(changes.get(LIGHT, ()))
            yield Candidate(self._where(b), graph, True, (*changes, *edges.changes))


def encode_npz(graphs: Sequence[nx.Graph[Any]]) -> bytes:
    """Return the graphs as a compressed stack; node attribute "x" becomes `node_feat`.

    Raises:
        GraphDataError: only some nodes have the attribute "x", or with different lengths, or an
            attribute that an array cannot hold.

    Example:
        >>> stack = encode_npz([nx.path_graph(3)])
        >>> from graphscore.graphs.limits import Reading
        >>> reading = Reading()
        >>> [c.graph.number_of_edges() for c in decode_npz(stack, "p.npz", reading)]
        [2]
    """
    has_feat = any(FEATURE in data for g in graphs for _, data in g.nodes(data=True))
    batch = GraphBatch.from_networkx(
        graphs, node_feat=FEATURE if has_feat else None, schema=Schema(), dtype=torch.float64
    )
    arrays = {"adj": batch.adj.to(torch.uint8).numpy(), "node_mask": batch.node_mask.numpy()}
    if batch.node_feat is not None:
        arrays["node_feat"] = batch.node_feat.numpy()
    nodes = [data for graph in graphs for _, data in graph.nodes(data=True)]
    edges = [
        graph.edges[ends]
        for graph in graphs
        for ends in sorted((min(edge), max(edge)) for edge in graph.edges)
    ]
    arrays |= arrays_of("node", nodes, without=FEATURE) | arrays_of("edge", edges)
    if len(arrays) > MAX_MEMBERS:
        raise GraphDataError(
            f"nodes and edges have so many attributes that npz would hold {len(arrays)} arrays, "
            f"but at most {MAX_MEMBERS} are expected. Remove some or write json instead."
        )
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def _load(data: Bytes, source: str, reading: Reading) -> dict[str, Array]:
    names, arrays = read_archive(
        data, source, reading, _EXPECTED, lambda name: _is_wanted(name, reading)
    )
    is_stack = "adj" in arrays and not ("node_mask" in arrays and "sizes" in arrays)
    if not (is_stack or is_sparse_matrix(names)):
        listed = ", ".join(sorted(name[:40] for name in names[:10]))
        raise GraphDataError(f"{source}: found the arrays {listed or '(none)'}. {_EXPECTED}")
    return arrays


def _is_wanted(name: str, reading: Reading) -> bool:
    """Return whether an array is read; an attribute of edges that is not asked for is noted."""
    kind, mark, attribute = name[:4], name[4:5], name[5:]
    if mark not in (":", "?") or kind not in ("node", "edge"):
        return name in _KEYS or name in SPARSE_KEYS
    if kind == "node" or attribute == "weight" or is_asked(attribute, reading.edge_attributes):
        return True
    reading.ignore(attribute)
    return False


def _node_mask(arrays: dict[str, Array], source: str) -> Array:
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
