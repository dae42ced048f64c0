"""Lobster: random trees of ten nodes that become a path when leaves are removed twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np

from graphscore.datasets.dataset import GENERATED, DatasetInfo
from graphscore.seeding import numpy_generator

NUM_CANDIDATES = 4096
NUM_NODES = 10
# networkx draws the length of the backbone uniformly up to twice this number. Five is the smallest
# number for which every backbone of a ten-node lobster occurs; ten would halve the yield.
EXPECTED_BACKBONE = 5
P_FIRST, P_SECOND = 0.7, 0.5

INFO = DatasetInfo(
    name="lobster",
    description="Random lobsters of exactly 10 nodes: those among 4096 candidates.",
    num_graphs=68,
    min_nodes=NUM_NODES,
    max_nodes=NUM_NODES,
    source="generated; networkx random lobster with p1 = 0.7, p2 = 0.5, expected backbone 5",
    licence=GENERATED,
    seeded=True,
)


def load(seed: int) -> list[nx.Graph[Any]]:
    """Return the candidates of exactly ten nodes, in order; their number depends on the seed.

    Source: the Lobster figure of Niu et al. 2020 (10 nodes); generator of networkx.

    Example:
        >>> graphs = load(0)
        >>> {len(graph) for graph in graphs}, all(graph.size() == 9 for graph in graphs)
        ({10}, True)
    """
    rng = numpy_generator(seed, "dataset", INFO.name)
    seeds = rng.integers(np.iinfo(np.int64).max, size=NUM_CANDIDATES).tolist()
    candidates = (
        _random_lobster(EXPECTED_BACKBONE, P_FIRST, P_SECOND, seed=seed) for seed in seeds
    )
    return [graph for graph in candidates if len(graph) == NUM_NODES]


# networkx 3.5 renamed random_lobster, and warns when the old name is called.
_random_lobster: Callable[..., nx.Graph[Any]] = getattr(
    nx, "random_lobster_graph", None
) or getattr(nx, "random_lobster")  # noqa: B009
