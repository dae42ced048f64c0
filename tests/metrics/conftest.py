"""Graphs that the metric tests share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest


@pytest.fixture
def golden() -> Path:
    """Folder with three small sets of graphs and the discrepancies between them."""
    return Path(__file__).parent / "golden"


@pytest.fixture
def random_graphs() -> Callable[..., list[nx.Graph[Any]]]:
    """Return a maker of Erdos-Renyi graphs of mixed sizes and densities."""

    def make(count: int, low: int, high: int, seed: int = 0) -> list[nx.Graph[Any]]:
        rng = np.random.default_rng(seed)
        return [
            nx.gnp_random_graph(int(rng.integers(low, high + 1)), rng.uniform(0.05, 0.95), rng)
            for _ in range(count)
        ]

    return make


@pytest.fixture(scope="session")
def shuffled() -> Callable[[nx.Graph[Any], np.random.Generator], nx.Graph[Any]]:
    """Return a maker of copies whose nodes 0..n-1 are in another order.

    `nx.relabel_nodes` keeps the order of nodes, so that the metrics would see the same graph.
    """

    def make(graph: nx.Graph[Any], rng: np.random.Generator) -> nx.Graph[Any]:
        place = dict(zip(graph, rng.permutation(len(graph)).tolist()))
        copy = nx.empty_graph(len(graph))
        copy.add_edges_from((place[one], place[other]) for one, other in graph.edges)
        return copy

    return make
