"""Weighted graphs: samples, and fresh graphs of the true generator, against fresh graphs.

Every seed is a draw of the data set, with its own training and test graphs: so few graphs are near
the true distribution or far from it by chance, and a model is with them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from string import ascii_lowercase
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
KINDS = {"seed": "samples", "true": "fresh graphs", "training": "training graphs"}
"""What is compared with test graphs and with fresh ones, by the names of its parts."""
ROWS = ("degree", "clustering", "orbit", "edge_weights")
REACHED = ("degree", "edge_weights")
"""Rows that have a target."""


def set_plan(context: Context, name: str) -> Record:
    """The plan of a set at the scale of the context."""
    file = context.plan(NAME)
    return merge(file["plans"][name], file.get("changes", {}))


def keys(context: Context) -> list[str]:
    sets, seeds = context.plan(NAME)["sets"], range(context.seeds)
    return [f"{name}_{which}{seed}" for name in sets for which in KINDS for seed in seeds]


def settings(context: Context) -> Record:
    file = context.plan(NAME)
    plans = {name: set_plan(context, name) for name in file["sets"]}
    return {"seed": file["seed"], "samples": file["samples"], "plans": plans}


def compute(context: Context, key: str) -> Record:
    """Sample a trained model, or draw fresh graphs, and compare them with the same graphs."""
    name, _, which = key.rpartition("_")
    kind, seed = which.rstrip("0123456789"), int(which.lstrip(ascii_lowercase))
    file, plan, data = context.plan(NAME), set_plan(context, name), load_dataset(name, seed=seed)
    number, carried = file["samples"], dict[str, Any](data.info.attributes)
    made: Record = {}

    def fresh(stream: str) -> list[nx.Graph[Any]]:
        return TRUE[name](number, seed=derive_seed(file["seed"], NAME, name, stream, seed))

    graphs: Sequence[nx.Graph[Any]]
    if kind == "training":
        graphs = data.train
    elif kind == "true":
        graphs = fresh("true")
    else:
        generator = context.fit(
            key,
            data.train,
            source=name,
            seed=seed,
            model="denoiser",
            attributes=carried,
            network=plan["network"],
            training=plan["training"],
            sampling=sampler_of(plan["sampling"]),
        )
        graphs = generator.sample(number, seed=derive_seed(file["seed"], NAME, name, which))
        last = training_log(context.run_folder(key))
        made = {"parameters": parameter_count(generator), "training_seconds": last["seconds"]}
    references = {"test": data.test, "fresh": fresh("reference")}
    return {
        **made,
        **{
            name: evaluate(graphs, reference, training=data.train, **carried).to_dict()
            for name, reference in references.items()
        },
    }


def means(row: Record, kind: str, reference: str) -> dict[str, dict[str, float]]:
    """Return mean and deviation of every distance to a reference."""
    return {name: summary([float(one[reference][name]) for one in row[kind]]) for name in ROWS}


def assemble(context: Context, parts: Mapping[str, Record]) -> list[Record]:
    seeds = range(context.seeds)
    return [
        {
            "dataset": name,
            **{kind: [parts[f"{name}_{kind}{seed}"] for seed in seeds] for kind in KINDS},
        }
        for name in context.plan(NAME)["sets"]
    ]


def ratios(row: Record, reference: str) -> dict[str, float]:
    """Return the mean distance of samples divided by that of fresh graphs, by row."""
    samples, true = (means(row, kind, reference) for kind in ("seed", "true"))
    return {name: samples[name]["mean"] / true[name]["mean"] for name in ROWS}


def tables(record: Record) -> list[Table]:
    """For each set, distances to test graphs, then to fresh graphs."""
    found = []
    for row in record["results"]:
        for reference in ("test", "fresh"):
            first = row["seed"][0][reference]
            cells = []
            for kind, label in KINDS.items():
                count = row[kind][0][reference]["sample_count"]
                values = means(row, kind, reference).values()
                cells.append([f"{count} {label}", *(with_std(value, 5) for value in values)])
            cells.append(["ratio", *(f"{r:.2f}" for r in ratios(row, reference).values())])
            if reference == "test":
                cells.append(["target", *(f"≤ {BAR:g}" if r in REACHED else "" for r in ROWS)])
            columns = ["", *(name.replace("_", " ") for name in ROWS)]
            title = f"{row['dataset']}, against {first['reference_count']} {reference} graphs"
            found.append(Table(title, columns, cells))
    return found


def facts(record: Record) -> Mapping[str, Any]:
    """Values for the template."""
    sets = []
    for row in record["results"]:
        first, found = row["seed"][0], ratios(row, "test")
        sets.append(
            {
                "name": row["dataset"],
                "missed": [name.replace("_", " ") for name in REACHED if found[name] > BAR],
                "seconds": first["training_seconds"],
                "parameters": first["parameters"],
            }
        )
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
