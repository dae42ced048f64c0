"""Tree: uniformly random labelled trees of 64 nodes."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from graphscore.datasets.dataset import GENERATED, DatasetInfo, fresh_generator
from graphscore.seeding import numpy_generator

NUM_GRAPHS = 200
NUM_NODES = 64

INFO = DatasetInfo(
    name="tree",
    description="Trees drawn uniformly among all labelled trees of 64 nodes.",
    num_graphs=NUM_GRAPHS,
    min_nodes=NUM_NODES,
    max_nodes=NUM_NODES,
    source="generated; Bergmeister et al. 2024 (ICLR)",
    licence=GENERATED,
    seeded=True,
    validation_held_out=True,
)


def load(seed: int) -> list[nx.Graph[Any]]:
    """Return the 200 graphs of `tree` for a seed.

    Example:
        >>> graphs = load(0)
        >>> len(graphs), {graph.number_of_edges() for graph in graphs}
        (200, {63})
    """
    return draw_trees(NUM_GRAPHS, numpy_generator(seed, "dataset", INFO.name))


def sample_tree(num: int, *, seed: int = 0) -> list[nx.Graph[Any]]:
    """Draw fresh graphs of the same distribution, see `datasets.dataset.fresh_generator`.

    Source: Bergmeister et al. 2024, on synthetic datasets.

    Raises:
        DatasetError: `num` is negative.

    Example:
        >>> all(nx.is_tree(graph) for graph in sample_tree(3, seed=1))
        True
    """
    return draw_trees(num, fresh_generator(num, seed, INFO.name))


def draw_trees(
    num: int, rng: np.random.Generator, num_nodes: int = NUM_NODES
) -> list[nx.Graph[Any]]:
    """Draw uniform labelled trees by their Pruefer sequences of n-2 nodes.

    Example:
        >>> [tree.number_of_edges() for tree in draw_trees(2, np.random.default_rng(0), 5)]
        [4, 4]
    """
    return [
        nx.from_prufer_sequence(rng.integers(num_nodes, size=num_nodes - 2).tolist())
        for _ in range(num)
    ]
