"""Planar: Delaunay triangulations of 64 points drawn uniformly in the unit square."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

from graphscore.datasets.dataset import GENERATED, DatasetInfo, fresh_generator
from graphscore.seeding import numpy_generator

if TYPE_CHECKING:
    import numpy.typing as npt

NUM_GRAPHS = 200
NUM_NODES = 64

INFO = DatasetInfo(
    name="planar",
    description="Delaunay triangulations of 64 points drawn uniformly in the unit square.",
    num_graphs=NUM_GRAPHS,
    min_nodes=NUM_NODES,
    max_nodes=NUM_NODES,
    source="generated; Martinkus et al. 2022 (SPECTRE, ICML)",
    licence=GENERATED,
    seeded=True,
    validation_held_out=True,
)


def load(seed: int) -> list[nx.Graph[Any]]:
    """Return the 200 graphs of `planar` for a seed.

    Example:
        >>> graphs = load(0)
        >>> len(graphs), {len(graph) for graph in graphs}
        (200, {64})
    """
    return _draw(NUM_GRAPHS, numpy_generator(seed, "dataset", INFO.name))


def sample_planar(num: int, *, seed: int = 0) -> list[nx.Graph[Any]]:
    """Draw fresh graphs of the same distribution, see `datasets.dataset.fresh_generator`.

    Source: Martinkus et al. 2022, on synthetic datasets.

    Raises:
        DatasetError: `num` is negative.

    Example:
        >>> all(nx.check_planarity(graph)[0] for graph in sample_planar(3, seed=1))
        True
    """
    return _draw(num, fresh_generator(num, seed, INFO.name))


def triangulation(points: npt.NDArray[np.float64]) -> nx.Graph[Any]:
    """Return the graph of the Delaunay triangulation of (n,2) points.

    Example:
        >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.1, 1.0], [0.0, 1.2]])
        >>> triangulation(square).number_of_edges()
        5
    """
    from scipy.spatial import Delaunay  # slow to import

    graph: nx.Graph[Any] = nx.empty_graph(len(points))
    for a, b, c in Delaunay(points).simplices.tolist():
        graph.add_edges_from(((a, b), (b, c), (a, c)))
    return graph


def _draw(num: int, rng: np.random.Generator) -> list[nx.Graph[Any]]:
    return [triangulation(rng.random((NUM_NODES, 2))) for _ in range(num)]
