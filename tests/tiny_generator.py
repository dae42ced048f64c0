"""A tiny EDP-GNN that the tests of GraphGenerator share."""

from __future__ import annotations

from typing import Any

import networkx as nx

from graphscore import GraphGenerator

NETWORK = {"channels": [2], "message_steps": 1, "features": 4, "edge_width": 4}
GRAPHS = [nx.path_graph(4), nx.cycle_graph(5), nx.star_graph(5), nx.complete_graph(4)]


def make(*, seed: int = 0, sampling: dict[str, Any] | None = None, **training: Any) -> Any:
    """Return an untrained generator of three steps."""
    return GraphGenerator(
        "edp-gnn",
        seed=seed,
        network=NETWORK,
        training={"steps": 3, "batch_size": 4, "log_every": 1, **training},
        sampling={"steps_per_level": 2, **(sampling or {})},
        device="cpu",
        show_progress=False,
    )


def structure(graphs: Any) -> list[Any]:
    """Return nodes and edges, to compare lists of graphs."""
    return [(list(graph), sorted(map(sorted, graph.edges))) for graph in graphs]
