"""Weighted graphs: samples, and fresh graphs of the true generator, against fresh graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import networkx as nx

from graphscore.config import merge
from graphscore.datasets import load_dataset, sample_weighted_community
from graphscore.metrics import evaluate
from graphscore.seeding import derive_seed
from reproduce.context import Context, Record
from reproduce.core import parameter_count, sampler_of, training_log
from reproduce.experiment import Experiment
from reproduce.tables import Table, summary, with_std

NAME = "attributes"
TRUE: dict[str, Callable[..., list[nx.Graph[Any]]]] = {
    "weighted-community": sample_weighted_community
}
"""The true generator of a set."""
BAR = 1.5
"""Ratio to the distance of fresh graphs that is to be reached."""
ROWS = ("degree", "clustering", "orbit", "edge_weights")
REACHED = ("degree", "edge_weights")
"""Rows that have a target."""


def set_plan(context: Context, name: str) -> Record:
    """The plan of a set at the scale of the context."""
    file = context.plan(NAME)
    return merge(file["plans"][name], file.get("changes", {}))


def keys(context: Context) -> list[str]:
    sets, seeds = context.plan(NAME)["sets"], range(context.seeds)
    return [f"{n}_{which}{s}" for n in sets for which in ("seed", "true") for s in seeds]


def settings(context: Context) -> Record:
    file = context.plan(NAME)
    plans = {name: set_plan(context, name) for name in file["sets"]}
    return {"seed": file["seed"], "samples": file["samples"], "plans": plans}


def compute(context: Context, key: str) -> Record:
    """Sample a trained model, or draw fresh graphs, and compare them with the same fresh graphs."""
    name, _, which = key.rpartition("_")
    file, plan, data = context.plan(NAME), set_plan(context, name), load_dataset(name)
    number, carried = file["samples"], dict[str, Any](data.info.attributes)
    made: Record = {}

    def fresh(stream: str) -> list[nx.Graph[Any]]:
        seed = derive_seed(file["seed"], NAME, name, stream)
        return TRUE[name](number, seed=seed)

    if which.startswith("true"):
        graphs = fresh(which)
    else:
        generator = context.fit(
            name,
            data.train,
            source=name,
            seed=file["seed"],
            model="denoiser",
            attributes=carried,
            network=plan["network"],
            training=plan["training"],
            sampling=sampler_of(plan["sampling"]),
        )
        stream = derive_seed(file["seed"], NAME, name, which)
        graphs = generator.sample(number, seed=stream)
        last = training_log(context.run_folder(name))
        made = {"parameters": parameter_count(generator), "training_seconds": last["seconds"]}
    result = evaluate(graphs, fresh("reference"), training=data.train, **carried)
    return {**made, **result.to_dict()}


def distances(record: Record) -> dict[str, float]:
    """Return the MMDs of an evaluation by row."""
    return {row: float(record[row]) for row in ROWS}


def assemble(context: Context, parts: Mapping[str, Record]) -> list[Record]:
    rows, seeds = [], range(context.seeds)
    for name in context.plan(NAME)["sets"]:
        samples, true = ([parts[f"{name}_{which}{s}"] for s in seeds] for which in ("seed", "true"))
        rows.append({"dataset": name, "per_seed": samples, "true": true})
    return rows


def ratios(row: Record) -> dict[str, float]:
    """Return the mean distance of samples divided by that of fresh graphs, by row."""
    means = [
        {name: summary([distances(one)[name] for one in row[which]])["mean"] for name in ROWS}
        for which in ("per_seed", "true")
    ]
    return {name: means[0][name] / means[1][name] for name in ROWS}


def tables(record: Record) -> list[Table]:
    found = []
    for row in record["results"]:
        cells = [
            [
                label,
                *(with_std(summary([distances(one)[r] for one in row[which]]), 5) for r in ROWS),
            ]
            for label, which in (("samples", "per_seed"), ("fresh graphs", "true"))
        ]
        cells.append(["ratio", *(f"{ratio:.2f}" for ratio in ratios(row).values())])
        cells.append(["target", *(f"≤ {BAR:g}" if r in REACHED else "" for r in ROWS)])
        columns = ["", *(name.replace("_", " ") for name in ROWS)]
        found.append(Table(row["dataset"], columns, cells))
    return found


def facts(record: Record) -> Mapping[str, Any]:
    sets = {}
    for row in record["results"]:
        first, found = row["per_seed"][0], ratios(row)
        sets[row["dataset"]] = {
            "missed": [name.replace("_", " ") for name in REACHED if found[name] > BAR],
            "seconds": first["training_seconds"],
            "parameters": first["parameters"],
        }
    return {"sets": sets}


EXPERIMENT = Experiment(
    NAME,
    keys=keys,
    settings=settings,
    compute=compute,
    assemble=assemble,
    tables=tables,
    facts=facts,
)
