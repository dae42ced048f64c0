"""Communities of nodes: those that graphs tell, or those found in them, where there are any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import networkx as nx

from graphscore.graphs import COMMUNITY

CLEAR = 1.2
"""Modularity, in shares of that of random graphs, from which on communities are shown."""


def communities(graph: nx.Graph[Any]) -> dict[Any, int]:
    """Return the community of each node: the node attribute "community" if all nodes have it.

    Otherwise communities are found by greedy modularity and numbered from the largest.
    """
    if are_told(graph):
        given = nx.get_node_attributes(graph, COMMUNITY)
        number_of = {value: number for number, value in enumerate(dict.fromkeys(given.values()))}
        return {node: number_of[value] for node, value in given.items()}
    if graph.number_of_edges() == 0:
        return dict.fromkeys(graph, 0)
    names = list(graph)
    # networkx compares node labels, which fails for mixed types, so nodes are numbered first.
    numbered = nx.relabel_nodes(graph, {name: number for number, name in enumerate(names)})
    parts = nx.community.greedy_modularity_communities(numbered)
    return {names[node]: number for number, part in enumerate(parts) for node in part}


def are_told(graph: nx.Graph[Any]) -> bool:
    """Whether all nodes have the attribute "community"."""
    return len(nx.get_node_attributes(graph, COMMUNITY)) == len(graph)


def have_communities(graphs: Sequence[nx.Graph[Any]]) -> bool:
    """Whether more than half of the graphs that have nodes have communities worth a colour."""
    shown = [graph for graph in graphs if len(graph)]
    return 2 * sum(are_told(graph) or _are_clear(graph) for graph in shown) > len(shown)


def _are_clear(graph: nx.Graph[Any]) -> bool:
    """Whether the modularity of communities that are found is above that of random graphs.

    That is about 0.97 sqrt((1 - p) / (p N)) at N nodes and density p (Reichardt & Bornholdt 2006).
    Planar graphs have parts of high modularity wherever they are cut, which mean nothing.
    """
    density = nx.density(graph)
    if not 0 < density < 1 or nx.check_planarity(graph)[0]:
        return False
    community = communities(graph)
    parts: dict[int, set[Any]] = {}
    for node, number in community.items():
        parts.setdefault(number, set()).add(node)
    random = 0.97 * ((1 - density) / (density * len(graph))) ** 0.5
    return bool(nx.community.modularity(graph, parts.values(), weight=None) > CLEAR * random)
