"""Community-small: two equal communities joined by a few edges, as described and as released.

The paper's text and the released benchmark files are different distributions, so they have
different names here:

- `community-small` follows the text (Niu et al. 2020, appendix): both communities are independent
  G(n, 0.7) graphs, joined by 0.05 N random edges.
- `community-small-released` follows the released files: the communities were drawn with fixed
  seeds, so all graphs of one size have the same two communities and differ only in the edges
  between them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np

from graphscore.datasets.dataset import GENERATED, DatasetInfo, fresh_generator
from graphscore.seeding import numpy_generator

NUM_GRAPHS = 100
MIN_NODES, MAX_NODES = 12, 20
EDGE_PROBABILITY = 0.7
BRIDGES_PER_NODE = 0.05

INFO = DatasetInfo(
    name="community-small",
    description="Two independent G(n, 0.7) communities of equal size joined by 0.05 N random "
    "edges, as in the paper's text.",
    num_graphs=NUM_GRAPHS,
    min_nodes=MIN_NODES,
    max_nodes=MAX_NODES,
    source="generated; Niu et al. 2020 (AISTATS), appendix on datasets",
    licence=GENERATED,
    seeded=True,
)

INFO_RELEASED = DatasetInfo(
    name="community-small-released",
    description="Two communities that are fixed for each size, joined by random edges, distributed "
    "like the released benchmark files.",
    num_graphs=NUM_GRAPHS,
    min_nodes=MIN_NODES,
    max_nodes=MAX_NODES,
    source="generated; distribution of the Community-small files released with the published "
    "models (five base graphs)",
    licence=GENERATED,
    seeded=True,
    # The first seed whose floor (MMD of training to test graphs) is close to that of the released
    # files. At seed 0 the floor is several times larger and would hide differences of models.
    standard_seed=1,
)


def load(seed: int, *, released: bool) -> list[nx.Graph[Any]]:
    """Return the 100 graphs of `community-small` or `community-small-released` for a seed.

    Example:
        >>> len(load(0, released=True))
        100
    """
    info = INFO_RELEASED if released else INFO
    return _draw(NUM_GRAPHS, numpy_generator(seed, "dataset", info.name), released)


def sample_community(num: int, *, seed: int = 0, released: bool = False) -> list[nx.Graph[Any]]:
    """Draw fresh graphs of the same distribution, see `datasets.dataset.fresh_generator`.

    Source: Niu et al. 2020, appendix on datasets; with `released`, the published files.

    Args:
        released: draw like `community-small-released` instead of `community-small`.

    Raises:
        DatasetError: `num` is negative.

    Example:
        >>> fresh = sample_community(3, seed=1)
        >>> all(12 <= len(graph) <= 20 for graph in fresh)
        True
    """
    info = INFO_RELEASED if released else INFO
    return _draw(num, fresh_generator(num, seed, info.name), released)


def _draw(num: int, rng: np.random.Generator, released: bool) -> list[nx.Graph[Any]]:
    one: Callable[[np.random.Generator], nx.Graph[Any]] = _released if released else _described
    return [one(rng) for _ in range(num)]


def _described(rng: np.random.Generator) -> nx.Graph[Any]:
    """Draw one graph as in the paper's text; a disconnected community is kept as drawn."""
    half = int(rng.integers(MIN_NODES // 2, MAX_NODES // 2, endpoint=True))
    graph: nx.Graph[Any] = nx.Graph()
    graph.add_nodes_from(range(2 * half))
    rows, cols = np.triu_indices(half, k=1)
    for start in (0, half):
        present = rng.random(len(rows)) < EDGE_PROBABILITY
        graph.add_edges_from(
            zip((start + rows[present]).tolist(), (start + cols[present]).tolist())
        )
    # 0.05 N lies between 0.6 and 1, so every graph of these sizes has one edge between communities.
    num_bridges = max(1, round(BRIDGES_PER_NODE * 2 * half))
    for pair in rng.choice(half * half, size=num_bridges, replace=False).tolist():
        graph.add_edge(pair // half, half + pair % half)
    return graph


def _released(rng: np.random.Generator) -> nx.Graph[Any]:
    """Draw one graph like the released files; odd sizes are rounded down to even ones."""
    half = int(rng.integers(MIN_NODES, MAX_NODES, endpoint=True)) // 2
    # Community i has seed i for every seed of the dataset, so there are five pairs of communities.
    communities = [nx.gnp_random_graph(half, EDGE_PROBABILITY, seed=index) for index in range(2)]
    graph: nx.Graph[Any] = nx.disjoint_union_all(communities)
    # The probability that gives 0.05 N edges on average over the half * half possible ones.
    bridges = np.argwhere(rng.random((half, half)) < 2 * BRIDGES_PER_NODE / half)
    graph.add_edges_from((first, half + second) for first, second in bridges.tolist())
    if not len(bridges):
        graph.add_edge(0, half)
    return graph
