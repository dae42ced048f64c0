"""Graphs, and settings of tiny models, that tests of models share."""

from __future__ import annotations

import networkx as nx
import pytest


@pytest.fixture(scope="session")
def graphs():
    """Four graphs of 4 to 6 nodes."""
    return [nx.path_graph(4), nx.cycle_graph(5), nx.star_graph(5), nx.complete_graph(4)]
