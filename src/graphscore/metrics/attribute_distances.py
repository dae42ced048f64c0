"""How far apart two sets of graphs are in what their nodes and edges carry.

Each row describes a graph by the shares of what its nodes or edges carry, whatever their order.
Types have no order, so histograms are compared by total variation, which is the earth mover's
distance if all types are equally far apart; numbers by the earth mover's distance of their places.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from graphscore.metrics.attributes import EDGE_WEIGHTS, NODE_FEATURE, PLACES
from graphscore.metrics.descriptors import counted
from graphscore.metrics.disjoint_union import EDGE_TYPES, NODE_TYPES, GraphUnion, IntArray
from graphscore.metrics.kernels import cumulative, gaussian_emd, gaussian_tv, normalised
from graphscore.metrics.mmd import mmd

TYPED_DEGREE = "typed_degree"
SIGMA_OF_TYPES, SIGMA_OF_NUMBERS = 1.0, 0.3
"""Widths. Total variation is at most 1, and two numbers of the reference are 1/3 apart on average,
so that kernels are not near zero for most pairs, however few edges graphs have."""

_Row = tuple[str, IntArray, IntArray]
"""Name of a row, and graph and value of everything that is counted."""


def attribute_distances(samples: GraphUnion, reference: GraphUnion) -> dict[str, float]:
    """Return the MMD of each row between graphs whose nodes and edges carry the same attributes.

    Args:
        samples, reference: as of `unions_of`, each graph with at least one node.

    Example:
        >>> from graphscore.graphs import AttributeSettings
        >>> from graphscore.metrics.attributes import unions_of
        >>> import networkx as nx
        >>> one, other = (nx.Graph([(0, 1, {"bond": bond})]) for bond in "ab")
        >>> names = AttributeSettings(edge_type="bond")
        >>> unions = unions_of({"samples": [one], "reference": [other]}, names)
        >>> {name: round(value, 4) for name, value in attribute_distances(*unions).items()}
        {'edge_types': 0.7869, 'typed_degree': 0.7869}
    """
    union = GraphUnion.concatenate([samples, reference])
    found = {}
    for name, graph_of, values in _rows(union):
        if _is_of_types(name):
            known, column = np.unique(values, return_inverse=True)
            histograms = normalised(counted(len(union), graph_of, column, len(known)))
            kernel = partial(gaussian_tv, sigma=SIGMA_OF_TYPES)
        else:
            histograms = cumulative(counted(len(union), graph_of, values, PLACES + 2))
            kernel = partial(gaussian_emd, sigma=SIGMA_OF_NUMBERS, spacing=1 / PLACES)
        found[name] = mmd(histograms[: len(samples)], histograms[len(samples) :], kernel)
    return found


def kernels_in_words(rows: list[str]) -> dict[str, list[str]]:
    """Return by kernel what is compared with it and how.

    >>> kernels_in_words(["node_types", "node_feature_a", "node_feature_b"])
    {'gaussian-tv': ['node_types sigma 1'], 'gaussian-emd': ['node_features 100 places, sigma 0.3']}
    """
    names = {"node_features" if name.startswith(NODE_FEATURE) else name: name for name in rows}
    words: dict[str, list[str]] = {}
    for title, name in names.items():
        if _is_of_types(name):
            words.setdefault("gaussian-tv", []).append(f"{title} sigma {SIGMA_OF_TYPES:g}")
        else:
            how = f"{title} {PLACES} places, sigma {SIGMA_OF_NUMBERS:g}"
            words.setdefault("gaussian-emd", []).append(how)
    return words


def _is_of_types(name: str) -> bool:
    return name in (NODE_TYPES, EDGE_TYPES, TYPED_DEGREE)


def _rows(union: GraphUnion) -> Iterator[_Row]:
    if NODE_TYPES in union.of_nodes:
        yield NODE_TYPES, union.graph_of_node, union.of_nodes[NODE_TYPES]
    if EDGE_TYPES in union.of_edges:
        yield EDGE_TYPES, *_of_edges(union, EDGE_TYPES)
    if NODE_TYPES in union.of_nodes or EDGE_TYPES in union.of_edges:
        yield TYPED_DEGREE, *_typed_degrees(union)
    if EDGE_WEIGHTS in union.of_edges:
        yield EDGE_WEIGHTS, *_of_edges(union, EDGE_WEIGHTS)
    for name, numbers in union.of_nodes.items():
        if name.startswith(NODE_FEATURE):
            yield name, union.graph_of_node, numbers


def _of_edges(union: GraphUnion, name: str) -> tuple[IntArray, IntArray]:
    """Return graph and value of every edge; a graph without edges has a single 0."""
    once = union.src < union.dst
    graph_of = union.graph_of_node[union.src[once]]
    without = np.setdiff1d(np.arange(len(union)), graph_of)
    values = np.concatenate([union.of_edges[name][once], np.zeros_like(without)])
    return np.concatenate([graph_of, without]), values


def _typed_degrees(union: GraphUnion) -> tuple[IntArray, IntArray]:
    """Return graph and value for each node and each type of its edges.

    The value stands for the type of the node, that of the edges and their number at the node. A
    node without edges has one, for no type and the number 0.
    """
    nothing = np.zeros(union.node_count, dtype=np.int64)
    own = union.of_nodes.get(NODE_TYPES, nothing)
    kinds = union.of_edges.get(EDGE_TYPES, np.ones_like(union.src))
    width = int(kinds.max(initial=0)) + 1
    pairs, number = np.unique(union.src * width + kinds, return_counts=True)
    alone = np.flatnonzero(union.degrees == 0)
    node = np.concatenate([pairs // width, alone])
    kind = np.concatenate([pairs % width, np.zeros_like(alone)])
    number = np.concatenate([number, np.zeros_like(alone)])
    values = (own[node] * width + kind) * (int(number.max(initial=0)) + 1) + number
    return union.graph_of_node[node], values
