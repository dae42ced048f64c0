"""Time the metrics: orbit counts, evaluation, uniqueness and novelty.

Run with `python benchmarks/bench_metrics.py [--repeats 7] [--json FILE]`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from rich.console import Console
from rich.table import Table

from graphscore.atomic import write_file
from graphscore.metrics import evaluate, novelty, orbit_counts, uniqueness
from graphscore.provenance import provenance
from graphscore.seeding import numpy_generator


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


def seconds_of(function: Callable[[], object], repeats: int) -> list[float]:
    """Call once to warm up, then return the wall-clock seconds of each repeat."""
    function()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return times


def run(repeats: int = 7) -> dict[str, Any]:
    """Time every case and return a JSON-able record."""
    rows = []
    for name, function in cases().items():
        times = seconds_of(function, repeats)
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


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Run the benchmark from the command line, print a table, and return the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=7, help="timed calls per case")
    parser.add_argument("--json", type=Path, help="also write the record to this file")
    options = parser.parse_args(arguments)
    record = run(options.repeats)
    table = Table("case", "median ms", "min ms", "max ms", title="metrics")
    for row in record["results"]:
        values = (f"{1000 * row[key]:.1f}" for key in ("median_s", "min_s", "max_s"))
        table.add_row(row["case"], *values)
    Console().print(table)
    if options.json:
        write_file(options.json, (json.dumps(record, indent=1) + "\n").encode())
    return record


if __name__ == "__main__":
    main()
