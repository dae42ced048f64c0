"""Learn graph algorithms edge by edge, EDP-GNN beside GIN: the paper's Table 1.

    python benchmarks/algorithms.py maximum-spanning-tree edp-gnn --seconds 300 --device cuda \
        --json results/algorithms/maximum-spanning-tree_edp-gnn.json

One task and one network within one budget; the record holds the accuracy on 10,000 fixed test
graphs of 12 nodes, and of 24 and 48 without retraining.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from graphscore.acceleration.capture import captured
from graphscore.algorithms import NETWORKS, TASKS, LearningRecord, run
from graphscore.device import resolve_device
from graphscore.provenance import provenance


def show(record: dict[str, Any]) -> None:
    title = f"{record['task']}, {record['network']}, {record['training']['steps']} steps"
    table = Table(title=f"{title}\npublished for 12 nodes: {record['published']}")
    table.add_column("nodes", justify="right")
    figures = next(iter(record["test"].values()))
    for name in figures:
        table.add_column(name.replace("_", " "), justify="right")
    for nodes, row in record["test"].items():
        values = [row[name]["value"] for name in figures]
        table.add_row(nodes, *("-" if value is None else f"{value:.4f}" for value in values))
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=list(TASKS))
    parser.add_argument("network", choices=list(NETWORKS))
    budget = parser.add_mutually_exclusive_group(required=True)
    budget.add_argument("--steps", type=int)
    budget.add_argument("--seconds", type=float)
    parser.add_argument("--json", type=Path, help="write the record to this file")
    parser.add_argument("--checkpoint", type=Path, help="folder to continue from and to save in")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plain", action="store_true", help="do not record the step on CUDA")
    parser.add_argument("--test-graphs", type=int, default=10_000)
    parser.add_argument("--test-nodes", type=int, nargs="+", default=[12, 24, 48])
    parser.add_argument("--shape", type=json.loads, default={}, help="network settings, as JSON")
    parser.add_argument("--learning", type=json.loads, default={}, help="training's, as JSON")
    parser.add_argument("--every", type=int, default=10, help="print one in so many records")
    arguments = parser.parse_args()
    device = resolve_device(arguments.device)
    console = Console()

    def tell(record: LearningRecord) -> None:
        every = arguments.every * arguments.learning.get("log_every", 100)
        if record.step % every == 0:
            console.print(
                f"{record.seconds:7.1f} s  step {record.step:7d}  loss {record.loss:.4f}  "
                f"accuracy {record.accuracy:.3f}  gradient {record.gradient_norm:.2f}"
            )

    record = run(
        arguments.task,
        arguments.network,
        steps=arguments.steps,
        seconds=arguments.seconds,
        device=device,
        seed=arguments.seed,
        out=arguments.json,
        checkpoint=arguments.checkpoint,
        test_nodes=tuple(arguments.test_nodes),
        test_graphs=arguments.test_graphs,
        shape=arguments.shape,
        learning=arguments.learning,
        record_step=captured if device.type == "cuda" and not arguments.plain else None,
        about={"provenance": provenance(device.type)},
        on_record=tell,
    )
    show(record)


if __name__ == "__main__":
    main()
