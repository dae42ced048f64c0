"""Connected subgraphs that are cut out of one large network, to learn from them."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import networkx as nx
import numpy as np

from graphscore.errors import GraphDataError, SettingsError, warn
from graphscore.graphs.given import prepare_graphs
from graphscore.graphs.validation import GraphList
from graphscore.seeding import numpy_generator

PER_NODE = 10
"""Subgraphs that a node is in, on average, if nobody says how many there are to be."""
FEWEST, MOST = 200, 2000
"""Bounds of that number of subgraphs."""
MOST_ASKED = 1_000_000
"""Bound of a number that somebody asks for."""


def subgraphs(
    graph: object,
    sizes: int | Sequence[int],
    *,
    number: int | None = None,
    seed: int = 0,
) -> GraphList:
    """Cut connected subgraphs out of one large network, with what nodes and edges carry.

    Each begins at a node of its own, as long as there are new ones, and grows link by link: of the
    links from its nodes to others, one is chosen at random, with the same probability each, and
    the node at its end joins. All edges between its nodes are kept.

    That keeps the average clustering nearer to the network's than breadth-first neighbourhoods do.
    Links that lead out are cut, so the mean degree is lower than in the network, and nodes with
    many links are met more often.

    Args:
        graph: the network, of any kind that `prepare_graphs` takes.
        sizes: nodes of each, or numbers to draw from, each with the same probability, such as
            `range(20, 41)`.
        number: how many; by default as many as put each node into about 10, from 200 to 2000.
        seed: same seed, same subgraphs.

    Raises:
        GraphDataError: the network cannot be represented, or no connected part of it is as large.
        SettingsError: sizes or number make no sense.

    Example:
        >>> cut = subgraphs(nx.grid_2d_graph(50, 50), range(20, 41), number=3)
        >>> len(cut), all(map(nx.is_connected, cut)), {20 <= len(one) <= 40 for one in cut}
        (3, True, {True})
    """
    (network,) = prepare_graphs([graph], source="network", edge_attributes=None)
    known = _checked_sizes(sizes)
    number = default_number(len(network), known) if number is None else number
    if not isinstance(number, Integral) or not 1 <= number <= MOST_ASKED:
        raise SettingsError(f"number of subgraphs {number!r:.40}: ask for 1 to {MOST_ASKED}.")
    room = _room(network, known)
    if outside := sum(nodes < min(known) for nodes in room):
        warn(
            f"{outside} of {len(network)} nodes of the network are in connected parts of fewer "
            f"than {min(known)} nodes, so they are in no subgraph."
        )
    random = numpy_generator(seed, "subgraphs")
    starts = random.permutation(len(room))
    neighbours = [list(network[node]) for node in range(len(network))]
    found: list[list[int]] = []
    place = 0
    for size in random.choice(known, number).tolist():
        while room[starts[place % len(starts)]] < size:
            place += 1
        found.append(_grown(neighbours, int(starts[place % len(starts)]), size, random))
        place += 1
    again = number - len(set(map(tuple, found)))
    if again > number / 10:
        warn(
            f"{again} of {number} subgraphs have the same nodes as another one. Ask for fewer, or "
            "for smaller ones."
        )
    return GraphList(_cut(network, nodes) for nodes in found)


def default_number(nodes: int, sizes: Sequence[int]) -> int:
    """Return how many subgraphs of a network are cut out if nobody says it.

    >>> default_number(2000, [40])
    500
    """
    return min(max(round(PER_NODE * nodes * len(sizes) / sum(sizes)), FEWEST), MOST)


def _checked_sizes(sizes: int | Sequence[int]) -> list[int]:
    given = [sizes] if isinstance(sizes, Integral) else sizes
    try:
        known = [int(size) for size in given]  # type: ignore[union-attr]
        fine = min(known) >= 2 and known == list(given)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        fine = False
    if not fine:
        raise SettingsError(
            f"sizes of subgraphs {sizes!r:.60}: give whole numbers of at least 2, such as 40 or "
            "range(20, 41)."
        )
    return known


def _room(network: nx.Graph[Any], sizes: Sequence[int]) -> list[int]:
    """Return how many nodes the connected part of every node has."""
    room = [0] * len(network)
    for part in nx.connected_components(network):
        for node in part:
            room[node] = len(part)
    if max(sizes) > max(room):
        raise GraphDataError(
            f"subgraphs of {max(sizes)} nodes are asked for, but the largest connected part of the "
            f"network has {max(room)} of its {len(network)} nodes. Ask for at most {max(room)}."
        )
    return room


def _grown(
    neighbours: Sequence[list[int]], start: int, size: int, random: np.random.Generator
) -> list[int]:
    """Return the nodes of a connected subgraph, sorted."""
    inside, links = {start}, neighbours[start].copy()
    while len(inside) < size:
        place = int(random.random() * len(links))
        node, links[place] = links[place], links[-1]
        links.pop()
        if node not in inside:
            inside.add(node)
            links += [other for other in neighbours[node] if other not in inside]
    return sorted(inside)


def _cut(network: nx.Graph[Any], nodes: Sequence[int]) -> nx.Graph[Any]:
    """Return the graph of some nodes, on 0..n-1 in their order."""
    number = {node: k for k, node in enumerate(nodes)}
    graph: nx.Graph[Any] = nx.Graph()
    graph.add_nodes_from((k, network.nodes[node]) for node, k in number.items())
    for node, k in number.items():
        links = network.adj[node].items()
        graph.add_edges_from(
            (k, number[other], data) for other, data in links if node < other and other in number
        )
    return graph
