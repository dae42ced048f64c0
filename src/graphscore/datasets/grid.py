"""Grid: the 100 two-dimensional grids with sides of 10 to 19 nodes, in random order."""

from __future__ import annotations

import itertools
from typing import Any

import networkx as nx

from graphscore.datasets.dataset import GENERATED, DatasetInfo
from graphscore.seeding import numpy_generator

MIN_SIDE, MAX_SIDE = 10, 19

INFO = DatasetInfo(
    name="grid",
    description="The 100 two-dimensional grids of 10 to 19 by 10 to 19 nodes. Grids of a by b and "
    "b by a nodes are the same graph, so there are 55 different ones.",
    num_graphs=(MAX_SIDE - MIN_SIDE + 1) ** 2,
    min_nodes=MIN_SIDE**2,
    max_nodes=MAX_SIDE**2,
    source="generated; You et al. 2018 (GraphRNN, ICML)",
    licence=GENERATED,
    seeded=True,
)


def load(seed: int) -> list[nx.Graph[Any]]:
    """Return all 100 grids; the seed determines their order, and so the splits.

    Example:
        >>> sorted(len(graph) for graph in load(0))[:4]
        [100, 110, 110, 120]
    """
    sides = range(MIN_SIDE, MAX_SIDE + 1)
    # Without shuffling, the test graphs would be the narrowest grids only.
    shapes = list(itertools.product(sides, sides))
    order = numpy_generator(seed, "dataset", INFO.name).permutation(len(shapes))
    return [
        nx.convert_node_labels_to_integers(nx.grid_2d_graph(*shapes[index]))
        for index in order.tolist()
    ]
