"""Time the metrics: orbit counts, evaluation, uniqueness and novelty.

python -m benchmarks metrics --json results/benchmark_metrics.json
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from benchmarks.clock import time_in_turns
from graphscore.metrics import evaluate, novelty, orbit_counts, uniqueness
from graphscore.provenance import provenance
from graphscore.seeding import numpy_generator

CPU = torch.device("cpu")


def community_graphs(count: int, nodes: int, seed: int) -> list[nx.Graph[Any]]:
    """Return graphs of two dense halves with a few bridges, like the small benchmark sets."""
    graphs = []
    half = nodes // 2
    for index in range(count):
        rng = numpy_generator(seed, "bench-metrics", index)
        inside = np.kron(np.eye(2), np.ones((half, half)))
        draw = rng.random((nodes, nodes)) < np.where(inside > 0, 0.7, 0.05)
        graphs.append(nx.from_numpy_array(np.triu(draw, 1)))
    return graphs


def cases() -> dict[str, Callable[[], object]]:
    """Return what is timed, by name; graphs are made outside the timed part."""
    samples = community_graphs(1024, 20, seed=0)
    training = community_graphs(80, 20, seed=1)
    test = community_graphs(20, 20, seed=2)
    sparse = nx.gnm_random_graph(500, 1500, seed=0)
    return {
        "orbits, 1000 graphs of 20 nodes": lambda: orbit_counts(samples[:1000]),
        "orbits, one sparse graph of 500 nodes": lambda: orbit_counts([sparse]),
        "evaluate, 1024 against 20 graphs": lambda: evaluate(samples, test),
        "evaluate, 80 against 20 graphs": lambda: evaluate(training, test),
        "uniqueness and novelty, 1024 against 80 graphs": lambda: (
            uniqueness(samples),
            novelty(samples, training),
        ),
    }


def measure(repeats: int = 7) -> dict[str, Any]:
    """Time every case and return a JSON-able record."""
    rows = []
    for name, function in cases().items():
        function()
        times = time_in_turns({"": function}, CPU, repeats=repeats)[""].seconds
        rows.append(
            {
                "case": name,
                "median_s": statistics.median(times),
                "min_s": min(times),
                "max_s": max(times),
                "repeats": repeats,
            }
        )
    return {"benchmark": "metrics", "provenance": provenance(), "results": rows}


def show(record: dict[str, Any]) -> None:
    """Print a record."""
    table = Table("case", "median ms", "min ms", "max ms", title="metrics")
    for row in record["results"]:
        values = (f"{1000 * row[key]:.1f}" for key in ("median_s", "min_s", "max_s"))
        table.add_row(row["case"], *values)
    Console().print(table)
