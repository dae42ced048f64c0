"""SBM: stochastic block models with two to five communities of 20 to 40 nodes."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from graphscore.datasets.dataset import GENERATED, DatasetInfo, fresh_generator
from graphscore.seeding import numpy_generator

NUM_GRAPHS = 200
MIN_COMMUNITIES, MAX_COMMUNITIES = 2, 5
MIN_SIZE, MAX_SIZE = 20, 40
P_WITHIN, P_BETWEEN = 0.3, 0.005

INFO = DatasetInfo(
    name="sbm",
    description="Connected stochastic block models: 2 to 5 communities of 20 to 40 nodes, edges "
    "with probability 0.3 within and 0.005 between them.",
    num_graphs=NUM_GRAPHS,
    min_nodes=MIN_COMMUNITIES * MIN_SIZE,
    max_nodes=MAX_COMMUNITIES * MAX_SIZE,
    source="generated; Martinkus et al. 2022 (SPECTRE, ICML), connected graphs only as in "
    "Bergmeister et al. 2024 (ICLR)",
    licence=GENERATED,
    seeded=True,
    validation_held_out=True,
)


def load(seed: int) -> list[nx.Graph[Any]]:
    """Return the 200 graphs of `sbm` for a seed.

    Example:
        >>> graphs = load(0)
        >>> len(graphs), all(nx.is_connected(graph) for graph in graphs)
        (200, True)
    """
    return _draw(NUM_GRAPHS, numpy_generator(seed, "dataset", INFO.name), connected=True)


def sample_sbm(num: int, *, seed: int = 0, connected: bool = True) -> list[nx.Graph[Any]]:
    """Draw fresh graphs of the same distribution, see `datasets.dataset.fresh_generator`.

    Source: Martinkus et al. 2022, on synthetic datasets.

    Args:
        connected: redraw graphs that are not connected, like `sbm`; otherwise keep every graph,
            like `sbm-spectre`, which has a few graphs that are not connected.

    Raises:
        DatasetError: `num` is negative.

    Example:
        >>> all(40 <= len(graph) <= 200 for graph in sample_sbm(3, seed=1))
        True
    """
    return _draw(num, fresh_generator(num, seed, INFO.name), connected)


def _draw(num: int, rng: np.random.Generator, connected: bool) -> list[nx.Graph[Any]]:
    graphs: list[nx.Graph[Any]] = []
    while len(graphs) < num:
        graph = _block_model(rng)
        # The whole graph is drawn again, sizes included: joining components would add edges.
        if not connected or nx.is_connected(graph):
            graphs.append(graph)
    return graphs


def _block_model(rng: np.random.Generator) -> nx.Graph[Any]:
    """Draw one graph; nodes are ordered by community."""
    count = int(rng.integers(MIN_COMMUNITIES, MAX_COMMUNITIES, endpoint=True))
    community = np.repeat(
        np.arange(count), rng.integers(MIN_SIZE, MAX_SIZE, size=count, endpoint=True)
    )
    rows, columns = np.triu_indices(len(community), k=1)
    probability = np.where(community[rows] == community[columns], P_WITHIN, P_BETWEEN)
    present = rng.random(len(rows)) < probability
    graph: nx.Graph[Any] = nx.empty_graph(len(community))
    graph.add_edges_from(zip(rows[present].tolist(), columns[present].tolist()))
    return graph
