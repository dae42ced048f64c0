"""Table 1: EDP-GNN and GIN learn graph algorithms edge by edge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reproduce.algorithms.run import learn_and_evaluate
from reproduce.algorithms.tasks import TASKS
from reproduce.context import Context, Record
from reproduce.experiment import Experiment
from reproduce.plans import load_plan
from reproduce.tables import Table, summary, with_std

NAME = "table1"


def keys(context: Context) -> list[str]:
    networks = context.plan(NAME)["networks"]
    return [
        key for task in TASKS for network in networks for key in context.seed_keys(task, network)
    ]


def settings(context: Context) -> Record:
    plan = context.plan(NAME)
    return {key: plan[key] for key in ("steps", "test_graphs", "test_nodes", "learning", "shape")}


def compute(context: Context, key: str) -> Record:
    task, network, which = key.rsplit("_", 2)
    plan = context.plan(NAME)

    def progress(row: Record) -> None:
        if row["step"] % 1000 == 0:
            context.log(
                f"{key} {row['step']}/{plan['steps']}  loss {row['loss']:.4f}, accuracy "
                f"{row['accuracy']:.3f}, {row['seconds']:.0f} s"
            )

    record = learn_and_evaluate(
        task,
        network,
        context.run_folder(key),
        shape={**plan["shape"], **plan["networks"][network]["settings"]},
        learning={**plan["learning"], "steps": plan["steps"]},
        test_nodes=tuple(plan["test_nodes"]),
        test_graphs=plan["test_graphs"],
        seed=int(which.removeprefix("seed")),
        device=context.torch_device,
        on_record=progress,
        should_stop=context.should_stop,
    )
    # A few points of the curve are enough to see whether training had converged.
    curve = record["training"]["curve"]
    record["training"]["curve"] = curve[:: max(1, len(curve) // 50)]
    return record


def assemble(context: Context, parts: Mapping[str, Record]) -> list[Record]:
    plan, rows = context.plan(NAME), []
    for task in TASKS:
        for network in plan["networks"]:
            seeds = [parts[key] for key in context.seed_keys(task, network)]
            test = {
                str(nodes): {
                    metric: _over_seeds(
                        [seed["test"][str(nodes)][metric]["value"] for seed in seeds]
                    )
                    for metric in seeds[0]["test"][str(nodes)]
                }
                for nodes in plan["test_nodes"]
            }
            rows.append(
                {
                    "task": task,
                    "network": network,
                    "published": plan["published"][task][network],
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
    """Accuracy at all sizes, then for each task all metrics at the size of the training graphs."""
    sizes, results = record["settings"]["test_nodes"], record["results"]
    rows = [
        [
            f"{result['task']}, {_label(result)}",
            f"{result['published']:.2f}",
            *(_cell(result["test"][str(nodes)]["accuracy"]) for nodes in sizes),
            f"{result['parameters']}",
        ]
        for result in results
    ]
    columns = ["", "published, 12 nodes", *(f"{nodes} nodes" for nodes in sizes), "parameters"]
    found = [Table("Share of graphs with all edges correct", columns, rows)]
    for task in dict.fromkeys(result["task"] for result in results):
        of_task = [result for result in results if result["task"] == task]
        nodes = str(sizes[0])
        rows = [
            [
                metric.replace("_", " "),
                *(_cell(result["test"][nodes][metric]) for result in of_task),
            ]
            for metric in of_task[0]["test"][nodes]
        ]
        found.append(Table(f"{task}, {nodes} nodes", ["", *map(_label, of_task)], rows))
    return found


def _label(result: Record) -> str:
    label: str = load_plan(NAME, "full")["networks"][result["network"]]["label"]
    return label


def _cell(value: dict[str, float] | None) -> str:
    return "–" if value is None else with_std(value, 3)


def facts(record: Record) -> dict[str, Any]:
    """The accuracies of EDP-GNN at the size of the training graphs."""
    nodes = str(record["settings"]["test_nodes"][0])
    return {
        "edp_gnn": [
            {**result, "mean": result["test"][nodes]["accuracy"]["mean"]}
            for result in record["results"]
            if result["network"] == "edp-gnn"
        ]
    }


EXPERIMENT = Experiment(
    NAME,
    keys=keys,
    settings=settings,
    compute=compute,
    assemble=assemble,
    tables=tables,
    facts=facts,
)
