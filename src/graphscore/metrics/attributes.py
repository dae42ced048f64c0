"""Whole numbers for what nodes and edges carry, the same for all lists that are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import networkx as nx
import numpy as np

from graphscore.errors import GraphDataError
from graphscore.graphs import NOTHING, AttributeSettings
from graphscore.graphs.attribute_values import Attributes
from graphscore.metrics.disjoint_union import (
    EDGE_TYPES,
    NODE_TYPES,
    Columns,
    FloatArray,
    GraphUnion,
    IntArray,
    check_kind,
    naming,
    union_of,
)

EDGE_WEIGHTS, NODE_FEATURE = "edge_weights", "node_feature_"
PLACES = 100
"""Places among the numbers of the reference graphs that numbers are told apart by."""

Lists = Mapping[str, Sequence["nx.Graph[Any]"]]
"""Lists of graphs by the names of the arguments that they are."""


def unions_of(
    lists: Lists, names: AttributeSettings = NOTHING, *, drop_isolated: bool = False
) -> list[GraphUnion]:
    """Convert lists of at least one graph each, whose nodes and edges carry what is named.

    Types are numbered from 1, whichever list they occur in. Of numbers it is the place among those
    of the list "reference"; see `places`.

    Args:
        lists: the graphs by the names of their lists.
        names: attributes that every node or edge has.
        drop_isolated: remove nodes without edges.

    Raises:
        GraphDataError: a list is empty, or a graph is not simple and undirected, or lacks an
            attribute.

    Example:
        >>> one, other = nx.Graph([(0, 1, {"bond": "a"})]), nx.Graph([(0, 1, {"bond": "b"})])
        >>> lists = {"samples": [one], "training": [other]}
        >>> unions = unions_of(lists, AttributeSettings(edge_type="bond"))
        >>> [union.of_edges["edge_types"].tolist() for union in unions]
        [[1, 1], [2, 2]]
    """
    return [
        union_of(graphs, name, drop_isolated=drop_isolated, of_nodes=of_nodes, of_edges=of_edges)
        for (name, graphs), (of_nodes, of_edges) in zip(lists.items(), columns_of(lists, names))
    ]


def columns_of(lists: Lists, names: AttributeSettings) -> list[tuple[Columns, Columns]]:
    """Return numbers for what nodes and edges carry, of each list; see `unions_of`."""
    if names == NOTHING:
        return [({}, {}) for _ in lists]
    for name, graphs in lists.items():
        with naming(name):
            for index, graph in enumerate(graphs):
                check_kind(graph, index)
    every = [graph for graphs in lists.values() for graph in graphs]
    lengths = {name: len(graphs) for name, graphs in lists.items()}
    weight = {} if names.edge_weight is None else {EDGE_WEIGHTS: names.edge_weight}
    of_nodes = _columns(
        Attributes(every, "node", "compared", lengths),
        {name: sum(map(len, graphs)) for name, graphs in lists.items()},
        {} if names.node_type is None else {NODE_TYPES: names.node_type},
        {f"{NODE_FEATURE}{name}": name for name in names.node_features},
    )
    of_edges = _columns(
        Attributes(every, "edge", "compared", lengths),
        {name: sum(g.number_of_edges() for g in graphs) for name, graphs in lists.items()},
        {} if names.edge_type is None else {EDGE_TYPES: names.edge_type},
        weight,
    )
    return list(zip(of_nodes, of_edges))


def _columns(
    attributes: Attributes,
    counts: Mapping[str, int],
    types: Mapping[str, str],
    numbers: Mapping[str, str],
) -> list[Columns]:
    """Return the numbers of each list.

    Args:
        attributes: those of all lists, one after the other.
        counts: nodes or edges of each list.
        types: attributes that are types, by the names of their columns.
        numbers: attributes that are numbers, by the names of their columns.
    """
    stops = np.cumsum(list(counts.values()))
    columns = {title: 1 + attributes.numbered(name)[1] for title, name in types.items()}
    for title, name in numbers.items():
        stop = stops[list(counts).index("reference")]
        for place, found in attributes.columns(name, 1 if title == EDGE_WEIGHTS else None):
            of_vector = place is not None and title != EDGE_WEIGHTS
            one = f"{title}_{place}" if of_vector else title
            if one in columns:
                raise GraphDataError(
                    f"{one}: two of the attributes that are compared have this name. Name one of "
                    "them, or rename it."
                )
            columns[one] = places(found, found[stop - counts["reference"] : stop])
    parts = {title: np.split(column, stops[:-1]) for title, column in columns.items()}
    return [{title: part[k] for title, part in parts.items()} for k in range(len(counts))]


def places(numbers: FloatArray, reference: FloatArray) -> IntArray:
    """Return the place of each number among those of the reference graphs.

    A number has the place of the nearest number x of the reference. That place is 1 to 100 for the
    share of the reference below x, half of what equals x included; so small errors of numbers
    change little, also where the reference has few different ones, and units change nothing.
    What is smaller than all of the reference has place 0, what is larger 101: by more than a
    hundredth of its range, or a millionth of its largest number.

    Example:
        >>> places(np.array([-9.0, 1.0, 2.1, 2.0, 9.0]), np.array([1.0, 2.0, 2.0, 5.0])).tolist()
        [0, 13, 51, 51, 101]
    """
    if not len(reference):
        return np.full(len(numbers), PLACES + 1)
    known, counts = np.unique(reference, return_counts=True)
    share = (np.cumsum(counts) - counts / 2) / len(reference)
    nearest = np.searchsorted((known[:-1] + known[1:]) / 2, numbers)
    found = 1 + np.minimum((share * PLACES).astype(np.int64), PLACES - 1)[nearest]
    margin = max((known[-1] - known[0]) / PLACES, 1e-6 * np.abs(known).max())
    found[numbers < known[0] - margin] = 0
    found[numbers > known[-1] + margin] = PLACES + 1
    return found
