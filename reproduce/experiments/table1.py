"""Table 1: EDP-GNN and GIN learn graph algorithms edge by edge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphscore.acceleration.capture import captured
from graphscore.algorithms import NETWORKS, PUBLISHED, TASKS, LearningRecord, run
from graphscore.experiments.context import Context, Record
from graphscore.experiments.registry import Experiment
from graphscore.experiments.tables import Table, made_by, over_seeds, summary, with_spread

FULL_STEPS = 6_000
"""Training steps at full scale, the same for both networks."""
TEST_NODES = (12, 24, 48)
NAMES = {"edp-gnn": "EDP-GNN", "gin": "GIN"}
LEARNING: dict[str, dict[str, Any]] = {
    "full": {},
    "quick": {"batch_size": 64, "warmup_steps": 50},
    "tiny": {"batch_size": 4, "warmup_steps": 0, "log_every": 1, "batches_at_once": 2},
}
SHAPES: dict[str, dict[str, Any]] = {
    "full": {},
    "quick": {"channels": (8,) * 4, "features": 16, "edge_width": 32},
    "tiny": {"channels": (2,), "message_steps": 1, "features": 2, "edge_width": 4},
}
"""Settings of training and network at each scale that differ from those of the comparison."""


def keys(context: Context) -> list[str]:
    return [
        key for task in TASKS for network in NETWORKS for key in context.seed_keys(task, network)
    ]


def settings(context: Context) -> Record:
    sizes = context.sizes
    return {
        "steps": sizes.accuracy_steps or FULL_STEPS,
        "test_graphs": sizes.test_graphs,
        "test_nodes": TEST_NODES,
        "learning": LEARNING[sizes.name],
        "shape": SHAPES[sizes.name],
    }


def compute(context: Context, key: str) -> Record:
    task, network, which = key.rsplit("_", 2)
    chosen = settings(context)
    fast = context.accelerate == "auto" and context.torch_device.type == "cuda"

    def tell(record: LearningRecord) -> None:
        context.check_stop()
        if record.step % 1000 == 0:
            context.tell(
                f"{key} {record.step}/{chosen['steps']}  loss {record.loss:.4f}, accuracy "
                f"{record.accuracy:.3f}, {record.seconds:.0f} s"
            )

    record = run(
        task,
        network,
        steps=chosen["steps"],
        device=context.torch_device,
        seed=int(which.removeprefix("seed")),
        checkpoint=context.run_folder(key),
        checkpoint_every=30.0,
        test_nodes=TEST_NODES,
        test_graphs=chosen["test_graphs"],
        shape=chosen["shape"],
        learning=chosen["learning"],
        record_step=captured if fast else None,
        on_record=tell,
    )
    # A few points of the curve are enough to see whether training had come to its end.
    curve = record["training"]["curve"]
    record["training"]["curve"] = curve[:: max(1, len(curve) // 50)]
    return record


def assemble(context: Context, parts: Mapping[str, Record]) -> list[Record]:
    rows = []
    for task in TASKS:
        for network in NETWORKS:
            seeds = [parts[key] for key in context.seed_keys(task, network)]
            test = {
                str(nodes): {
                    figure: _over_seeds(
                        [seed["test"][str(nodes)][figure]["value"] for seed in seeds]
                    )
                    for figure in seeds[0]["test"][str(nodes)]
                }
                for nodes in TEST_NODES
            }
            rows.append(
                {
                    "task": task,
                    "network": network,
                    "published": PUBLISHED[task].get(network),
                    "parameters": seeds[0]["parameters"],
                    "test": test,
                    "per_seed": seeds,
                }
            )
    return rows


def _over_seeds(values: list[float | None]) -> dict[str, float] | None:
    there = [value for value in values if value is not None]
    return summary(there) if len(there) == len(values) else None


def tables(record: Record) -> list[Table]:
    accuracies = []
    for result in record["results"]:
        cells = [
            _cell(result["test"][str(nodes)]["accuracy"])
            for nodes in record["settings"]["test_nodes"]
        ]
        paper = "–" if result["published"] is None else f"{result['published']:.2f}"
        name = f"{result['task']}, {NAMES.get(result['network'], result['network'])}"
        accuracies.append([name, paper, *cells, f"{result['parameters']}"])
    columns = ["", "published, 12 nodes"]
    columns += [f"{nodes} nodes" for nodes in record["settings"]["test_nodes"]] + ["parameters"]
    found = [Table("Share of graphs with all edges right", columns, accuracies)]
    found += [
        _figures(record, task) for task in dict.fromkeys(r["task"] for r in record["results"])
    ]
    return found


def _figures(record: Record, task: str) -> Table:
    """Every figure of a task, at the size of the training graphs."""
    results = [result for result in record["results"] if result["task"] == task]
    nodes = str(record["settings"]["test_nodes"][0])
    rows = [
        [figure.replace("_", " "), *(_cell(result["test"][nodes][figure]) for result in results)]
        for figure in results[0]["test"][nodes]
    ]
    columns = ["", *(NAMES.get(result["network"], result["network"]) for result in results)]
    return Table(f"{task}, {nodes} nodes", columns, rows)


def _cell(value: dict[str, float] | None) -> str:
    return "–" if value is None else with_spread(value, 3)


def verdicts(record: Record) -> list[str]:
    """One sentence per published accuracy of EDP-GNN."""
    lines = []
    for result in record["results"]:
        if result["network"] != "edp-gnn":
            continue
        nodes = str(record["settings"]["test_nodes"][0])
        mean, target = result["test"][nodes]["accuracy"]["mean"], result["published"]
        reached = "reached" if mean >= target else "not reached"
        lines.append(f"{result['task']}: {mean:.3f}, to reach {target:.2f}: {reached}.")
    return lines


def markdown(record: Record) -> str:
    chosen = record["settings"]
    accuracies, *figures = tables(record)
    parts = [
        "## Learning graph algorithms (Table 1)\n",
        made_by(record),
        "Erdős–Rényi graphs of 12 nodes, p = 0.3, weights uniform in [0, 1]; a prediction counts "
        f"if all edges of a graph are right. {chosen['steps']} steps of training for each network, "
        f"{chosen['test_graphs']} fixed test graphs; larger graphs without retraining; "
        f"{over_seeds(record)}. Published: Niu et al. 2020, Table "
        "1.\n",
        accuracies.markdown() + "\n",
        "\n".join(f"- {line}" for line in verdicts(record)) + "\n",
        "What is learned at 12 nodes does not carry over to larger graphs: sums over neighbours "
        "grow with the graph, and one wrong edge spoils it.\n\n"
        "In the tables below, *accuracy apart* counts only graphs whose marked nodes are not "
        "neighbours (the rest is easy), *accuracy any path* takes every shortest path for right, "
        "*best possible* is what a perfect solver expects to reach against the one path that was "
        "drawn at random, and *unique answer* is the share of graphs with a single shortest path. "
        "A network that must answer edge by edge does not know which of several paths was drawn, "
        "which is why *any path* gains so little.\n",
    ]
    for table in figures:
        parts += [f"### {table.title}\n", table.markdown() + "\n"]
    return "\n".join(parts)


EXPERIMENT = Experiment(
    "algorithms",
    keys=keys,
    settings=settings,
    compute=compute,
    assemble=assemble,
    tables=tables,
    markdown=markdown,
)
