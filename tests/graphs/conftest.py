"""Graphs and files that the tests of graphs share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
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


TU = {
    "A": "1, 2\n2, 1\n4, 3\n3, 4\n",
    "graph_indicator": "1\n1\n2\n2\n2\n",
    "node_labels": "0\n1\n0\n1\n2\n",
    "node_attributes": "0.5, 1\n1, 1\n1, 1\n1, 1\n2, 1\n",
}


@pytest.fixture
def write_tu() -> Callable[..., None]:
    """Return a function that writes the files of a TU folder, with changes or without (None)."""

    def write(folder: Path, **changes: str | None) -> None:
        for part, text in {**TU, **changes}.items():
            if text is not None:
                (folder / f"TOY_{part}.txt").write_text(text)

    return write
