"""Weighted-community: two communities whose edges are heavy inside and light between them."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from graphscore.datasets.dataset import GENERATED, DatasetInfo, fresh_generator
from graphscore.seeding import numpy_generator

NUM_GRAPHS = 200
MIN_NODES, MAX_NODES = 12, 20
WITHIN, BETWEEN = 0.7, 0.1
"""Probability of an edge."""
LOG_WITHIN, LOG_BETWEEN = 1.0, 0.0
"""Mean of the logarithm of a weight."""
LOG_DEVIATION = 0.4
WEIGHT = "weight"
"""Edge attribute."""

INFO = DatasetInfo(
    name="weighted-community",
    description="Two communities of sizes that differ by one at most; edges with probability 0.7 "
    "within and 0.1 between them, one between them at least. Logarithms of weights are normal, "
    "with mean 1 within and 0 between communities and deviation 0.4; edges have them as attribute "
    "'weight'.",
    num_graphs=NUM_GRAPHS,
    min_nodes=MIN_NODES,
    max_nodes=MAX_NODES,
    source="generated; see datasets/weighted_community.py",
    licence=GENERATED,
    seeded=True,
    validation_held_out=True,
    edge_weight=WEIGHT,
)


def load(seed: int) -> list[nx.Graph[Any]]:
    """Return the 200 graphs of a seed.

    Example:
        >>> len(load(0))
        200
    """
    rng = numpy_generator(seed, "dataset", INFO.name)
    return [_one(rng) for _ in range(NUM_GRAPHS)]


def sample_weighted_community(num: int, *, seed: int = 0) -> list[nx.Graph[Any]]:
    """Draw fresh graphs of the same distribution, see `datasets.dataset.fresh_generator`.

    Nodes of the first community come first; of 13 nodes it has 6.

    Raises:
        DatasetError: `num` is negative.

    Example:
        >>> fresh = sample_weighted_community(3, seed=1)
        >>> all(w > 0 for graph in fresh for *_, w in graph.edges(data="weight"))
        True
    """
    rng = fresh_generator(num, seed, INFO.name)
    return [_one(rng) for _ in range(num)]


def _one(rng: np.random.Generator) -> nx.Graph[Any]:
    """Draw one graph; a community that is not connected is kept as drawn."""
    size = int(rng.integers(MIN_NODES, MAX_NODES, endpoint=True))
    first = size // 2
    rows, cols = np.triu_indices(size, k=1)
    between = (rows < first) & (cols >= first)
    present = rng.random(len(rows)) < np.where(between, BETWEEN, WITHIN)
    if not present[between].any():
        present[rng.choice(np.flatnonzero(between))] = True
    logs = np.where(between, LOG_BETWEEN, LOG_WITHIN) + LOG_DEVIATION * rng.normal(size=len(rows))
    graph: nx.Graph[Any] = nx.empty_graph(size)
    edges = zip(*(column[present].tolist() for column in (rows, cols, np.exp(logs))))
    graph.add_weighted_edges_from(edges, weight=WEIGHT)
    return graph
