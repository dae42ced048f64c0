"""Graphs and settings of tiny models that the tests of models share."""

from __future__ import annotations

from typing import Any

import networkx as nx
import pytest

from graphscore import GraphGenerator

EDP = {"kind": "edp-gnn", "channels": [2], "message_steps": 1, "features": 4, "edge_width": 4}
"""Shape of a tiny EDP-GNN."""
DENOISER = {"kind": "denoiser", "blocks": 1, "pair_width": 8, "node_width": 4, "product_width": 2}
"""Shape of a tiny denoiser."""
_TRAINING = {"steps": 2, "batch_size": 4, "log_every": 1}
_PAPER = {"network": EDP, "training": _TRAINING, "sampling": {"steps_per_level": 1}}
TINY: dict[str, dict[str, Any]] = {
    "denoiser": {"network": DENOISER, "training": _TRAINING, "sampling": {"steps": 2}},
    "edp-gnn": _PAPER,
    "edp-gnn-released": _PAPER,
    "gin": _PAPER,
    "erdos-renyi": {},
}
"""Settings of a tiny run of every model; a new model gets a line here."""


@pytest.fixture(scope="session")
def graphs() -> list[nx.Graph[Any]]:
    """Four graphs of 4 to 6 nodes."""
    return [nx.path_graph(4), nx.cycle_graph(5), nx.star_graph(5), nx.complete_graph(4)]


def make_denoiser(*, network=None, steps=3, sampling=None, **settings) -> GraphGenerator:
    """Return an untrained tiny denoiser, sampled by Heun's method in two steps."""
    return GraphGenerator(
        network=DENOISER if network is None else network,
        training={"steps": steps, "batch_size": 4, "log_every": 1},
        sampling={"kind": "heun", "steps": 2} if sampling is None else sampling,
        device="cpu",
        show_progress=False,
        **settings,
    )


def edges(graphs: list[nx.Graph[Any]]) -> list[Any]:
    """Return the edges, to compare lists of graphs."""
    return [sorted(map(sorted, graph.edges)) for graph in graphs]
