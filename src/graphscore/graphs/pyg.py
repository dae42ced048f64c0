"""PyTorch Geometric data: graphs with what its tensors hold for nodes and edges, and back."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray

from graphscore.errors import GraphDataError, MissingExtraError
from graphscore.graphs.attributes import is_asked
from graphscore.graphs.carried import (
    EDGE_FEATURE,
    FEATURE,
    attach_features,
    attach_to_edges,
    attach_to_nodes,
    columns_of,
    refuse_infinite,
    values_of_edges,
)
from graphscore.graphs.matrices import kept_weights
from graphscore.graphs.repairs import WEIGHT_ADVICE, WEIGHTS, Repairs
from graphscore.graphs.simple import simple_edges

_INTEGER = "iu"  # what numpy calls integers


def is_data(graph: object) -> bool:
    """Return whether an object is Data, by its fields, so that the package need not be there.

    A data set in memory has the same fields, for all its graphs, and methods `len` and `get`.
    """
    has_fields = hasattr(graph, "edge_index") and hasattr(graph, "num_nodes")
    return has_fields and not (callable(getattr(graph, "len", None)) and hasattr(graph, "get"))


def data_of_batch(where: str, batch: Any) -> list[Any] | None:
    """Return the Data objects of a Batch; None of another object.

    Raises:
        GraphDataError: PyTorch Geometric cannot take it apart.
    """
    if not (is_data(batch) and callable(getattr(batch, "to_data_list", None))):
        return None
    try:
        return list(batch.to_data_list())
    except (RuntimeError, KeyError) as error:
        raise GraphDataError(
            f"{where}: PyTorch Geometric cannot take this Batch apart ({str(error)[:200]}). Give "
            "the Data objects that it was made of."
        ) from error


def graph_of_data(
    where: str, data: Any, repairs: Repairs, kept: Collection[str] | None
) -> tuple[nx.Graph[Any], tuple[str, ...], list[str]]:
    """Return the graph of a Data object, the repairs that changed it and the fields left out.

    Fields with one row for each node become node attributes: `x` a list of numbers, others a list
    or, where they have one axis, a number. Those of edges that are asked for become edge
    attributes in the same way.

    Args:
        where: its name, for errors.
        data: the object.
        repairs: the defects to repair.
        kept: names of the fields of edges that are kept; None for all.

    Raises:
        GraphDataError: fields that do not fit together, or a graph that is refused.
    """
    num_nodes, edge_index = data.num_nodes, data.edge_index
    if num_nodes is None or edge_index is None:
        raise GraphDataError(
            f"{where}: Data object without num_nodes or edge_index. Set both; edge_index of a "
            "graph without edges has shape (2, 0)."
        )
    graph_of = getattr(data, "batch", None)
    if isinstance(graph_of, torch.Tensor) and len(graph_of) and bool((graph_of != 0).any()):
        raise GraphDataError(
            f"{where}: one Data object with several graphs, by its field 'batch'. Give the Batch "
            "itself, or a list with one Data object for each graph."
        )
    num_nodes, arcs = int(num_nodes), _array(edge_index)
    if arcs.ndim != 2 or arcs.shape[0] != 2 or arcs.dtype.kind not in _INTEGER:
        raise GraphDataError(
            f"{where}: edge_index of type {arcs.dtype} and shape {arcs.shape}, "
            "but integers of shape (2,E) are expected."
        )
    arcs = arcs.astype(np.int64)
    fields = _edge_fields(where, data, arcs.shape[1], kept, repairs)
    changes: dict[str, None] = {}
    for name in WEIGHTS if repairs.drops_weights else ():
        if name in fields and not is_asked(name, kept or ()):
            weights = fields.pop(name)
            if repairs.weight_threshold is not None:
                weights = _one_number_each(where, name, weights)
            stays, found = kept_weights(weights, repairs)
            changes |= dict.fromkeys(found)
            arcs = arcs[:, stays]
            fields = {other: values[stays] for other, values in fields.items()}
    edges = simple_edges(where, num_nodes, arcs[0], arcs[1], repairs)
    graph = edges.graph(num_nodes)
    _attach_node_fields(where, graph, data)
    wanted = fields if kept is None else columns_of(fields, kept)
    values = values_of_edges(where, num_nodes, edges, (arcs[0], arcs[1]), wanted)
    attach_to_edges(graph, edges, values)
    left_out = [name for name in fields if kept is not None and not is_asked(name, kept)]
    return graph, (*changes, *edges.changes), left_out


def _array(values: Any) -> NDArray[Any]:
    tensor = torch.as_tensor(values).detach().cpu()
    return (tensor.double() if tensor.dtype == torch.bfloat16 else tensor).numpy()


def _fields(data: Any, kind: str, known: Collection[str]) -> Iterator[tuple[str, Any]]:
    """Yield names and values of the fields of nodes or edges."""
    listed = getattr(data, f"{kind}_attrs", None)  # the stand-ins of others have none
    for name in dict.fromkeys([*known, *(listed() if callable(listed) else ())]):
        value = getattr(data, name, None)
        if value is not None and name != "edge_index":
            yield name, value


def _attach_node_fields(where: str, graph: nx.Graph[Any], data: Any) -> None:
    for name, value in _fields(data, "node", (FEATURE,)):
        if name != FEATURE:
            if isinstance(value, torch.Tensor) and value.ndim in (1, 2):
                attach_to_nodes(graph, name, _array(value).tolist())
            continue
        rows = torch.as_tensor(value).detach().cpu()
        rows = rows.unsqueeze(1) if rows.ndim == 1 else rows
        if rows.ndim != 2 or len(rows) != len(graph):
            raise GraphDataError(
                f"{where}: x of shape {tuple(rows.shape)}, but ({len(graph)}, F) is expected."
            )
        attach_features(graph, rows.tolist())


def _edge_fields(
    where: str, data: Any, number: int, kept: Collection[str] | None, repairs: Repairs
) -> dict[str, NDArray[Any]]:
    """Return the fields of edges, weights that are all 1 and not asked for left out.

    Raises:
        GraphDataError: other weights where no field of edges is asked for, or wrong shapes.
    """
    found = {}
    for name, value in _fields(data, "edge", (EDGE_FEATURE, *WEIGHTS)):
        if isinstance(value, list) and any(isinstance(item, str) for item in value):
            values: NDArray[Any] = np.array(value, dtype=object)
        else:
            values = _array(value)
        if name in WEIGHTS and not (kept and is_asked(name, kept)):
            if bool((values == 1).all()):
                continue
            if kept is not None and not kept and not repairs.drops_weights:
                raise GraphDataError(
                    f"{where}: {name} holds non-binary weights, but only 1 is expected. "
                    f"{WEIGHT_ADVICE.format(name=name)}"
                )
        if values.ndim not in (1, 2) or len(values) != number:
            raise GraphDataError(
                f"{where}: {name} of shape {values.shape}, but ({number},) or ({number}, D) is "
                "expected beside edge_index."
            )
        found[name] = values
    return found


def _one_number_each(where: str, name: str, weights: NDArray[Any]) -> NDArray[Any]:
    """Return the weights of edges, which are compared with a threshold.

    Raises:
        GraphDataError: they are no finite numbers, or several of each edge.
    """
    if weights.size != len(weights) or weights.dtype.kind not in "buif":
        raise GraphDataError(
            f"{where}: {name} of type {weights.dtype} and shape {weights.shape}, but one number "
            "for each edge is expected for a threshold."
        )
    refuse_infinite(where, name, weights)
    return weights.reshape(-1)


def to_pyg(graphs: Sequence[nx.Graph[Any]]) -> list[Any]:
    """Return PyTorch Geometric `Data` objects with both directions of every edge.

    Every attribute becomes a field of its name: numbers and vectors a tensor, texts a list. Where
    nodes and edges have an attribute of the same name, that of edges begins with `edge_`.

    Args:
        graphs: clean ones, such as generated graphs.

    Raises:
        MissingExtraError: torch_geometric is not installed.
        GraphDataError: some nodes or edges lack an attribute that others have, or values that
            make no tensor.
    """
    try:
        from torch_geometric.data import Data
    except ImportError as error:
        raise MissingExtraError("torch_geometric", "pyg", "Converting to Data objects") from error
    result = []
    for graph in graphs:
        arcs = [(u, v) for u in graph for v in graph[u]]
        edge_index = torch.tensor(arcs, dtype=torch.long).reshape(-1, 2).T.contiguous()
        result.append(Data(edge_index=edge_index, num_nodes=graph.number_of_nodes()))
    of_nodes = [[graph.nodes[node] for node in graph] for graph in graphs]
    of_edges = [[graph[u][v] for u in graph for v in graph[u]] for graph in graphs]
    nodes, edges = _stacked(of_nodes, "node"), _stacked(of_edges, "edge")
    fields = dict(nodes)
    for name, parts in edges.items():
        field = f"edge_{name}" if name in nodes else name
        if field in fields:
            raise _taken(field)
        fields[field] = parts
    for name, parts in fields.items():
        there = getattr(Data, name, None)
        is_fixed = isinstance(there, property) and there.fset is None
        if name in ("edge_index", "num_nodes") or is_fixed:
            raise _taken(name)
        for data, part in zip(result, parts):
            setattr(data, name, part)
    return result


def _taken(name: str) -> GraphDataError:
    return GraphDataError(
        f"an attribute that would be the field {name!r} of Data, which is there already. Rename it."
    )


def _stacked(graphs: list[list[dict[str, Any]]], kind: str) -> dict[str, Sequence[Any]]:
    """Return the attributes of all nodes or edges, by name, in one part for each graph."""
    every = [attributes for graph in graphs for attributes in graph]
    sizes = [len(graph) for graph in graphs]
    found: dict[str, Sequence[Any]] = {}
    for name in dict.fromkeys(name for attributes in every for name in attributes):
        values = [attributes[name] for attributes in every if name in attributes]
        if len(values) < len(every):
            raise GraphDataError(
                f"some {kind}s have an attribute {name!r} and some have none. Give it to all or "
                "none."
            )
        if all(isinstance(value, str) for value in values):
            ends = np.cumsum(sizes).tolist()
            found[name] = [values[end - size : end] for end, size in zip(ends, sizes)]
            continue
        try:
            found[name] = torch.split(torch.tensor(values), sizes)
        except (TypeError, ValueError, RuntimeError, OverflowError) as error:
            raise GraphDataError(
                f"attribute {name!r} of {kind}s makes no tensor ({str(error)[:200]}). Use numbers, "
                "vectors of one length, or texts."
            ) from error
    return found
