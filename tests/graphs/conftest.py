"""Graphs that every test of this room may use."""

from __future__ import annotations

from typing import Any

import networkx as nx
import pytest


@pytest.fixture
def assorted() -> list[nx.Graph[Any]]:
    """A single node, no edges, isolated nodes in the middle and at the end, dense, 70 nodes."""
    gap = nx.empty_graph(7)
    gap.add_edges_from([(0, 2), (2, 5)])
    return [
        nx.empty_graph(1),
        nx.empty_graph(4),
        gap,
        nx.complete_graph(6),
        nx.gnp_random_graph(70, 0.1, seed=1),
        nx.path_graph(63),
    ]
