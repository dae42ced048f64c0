"""Graphs whose nodes or edges carry something: samples against test graphs and fresh graphs.

Where the true generator is known, every seed is a draw of the data set, with its own training and
test graphs: so few graphs are near the true distribution or far from it by chance, and a model is
with them. Other sets have one model, sampled with every seed.
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
from reproduce.core import parameter_count, read_document, sampler_of
from reproduce.experiment import Experiment
from reproduce.tables import Table, summary, with_std

NAME = "attributes"
TRUE: dict[str, Callable[..., list[nx.Graph[Any]]]] = {
    "weighted-community": sample_weighted_community
}
"""The true generator of a set, where it is known."""
KINDS = {"seed": "samples", "true": "fresh graphs", "training": "training graphs"}
"""What is compared with test graphs and with fresh ones, by the names of its parts."""
MOST_SAMPLINGS = 3
"""Seeds that a set with one model is sampled with."""
ROWS = {
    "weighted-community": ("degree", "clustering", "orbit", "edge_weights"),
    "enzymes": (
        "degree",
        "clustering",
        "orbit",
        "average",
        "node_types",
        "typed_degree",
        "average_of_all",
    ),
}
"""Distances that the tables show."""


def set_plan(context: Context, name: str) -> Record:
    """The plan of a set at the scale of the context."""
    file = context.plan(NAME)
    return merge(file["plans"][name], file.get("changes", {}))


def keys(context: Context) -> list[str]:
    found = []
    for name in context.plan(NAME)["sets"]:
        seeds = context.seeds
        numbers = {"seed": seeds, "true": seeds, "training": seeds}
        if name not in TRUE:
            numbers = {"seed": min(seeds, MOST_SAMPLINGS), "training": 1}
        found += [f"{name}_{kind}{k}" for kind, number in numbers.items() for k in range(number)]
    return found


def settings(context: Context) -> Record:
    return _settings(context, context.plan(NAME)["sets"])


def part_settings(context: Context, key: str) -> Record:
    return _settings(context, [key.rpartition("_")[0]])


def _settings(context: Context, names: Sequence[str]) -> Record:
    file, plans = context.plan(NAME), {name: set_plan(context, name) for name in names}
    return {"seed": file["seed"], "samples": file["samples"], "plans": plans}


def compute(context: Context, key: str) -> Record:
    """Sample a trained model, or draw fresh graphs, and compare them with the same graphs."""
    name, _, which = key.rpartition("_")
    kind, seed = which.rstrip("0123456789"), int(which.lstrip(ascii_lowercase))
    file, plan = context.plan(NAME), set_plan(context, name)
    options: Record = {"seed": seed} if name in TRUE else {"data_dir": context.data_dir}
    data, number = load_dataset(name, **options), plan.get("samples", file["samples"])

    def fresh(stream: str) -> list[nx.Graph[Any]]:
        return TRUE[name](number, seed=derive_seed(file["seed"], NAME, name, stream, seed))

    made: Record = {}
    graphs: Sequence[nx.Graph[Any]]
    if kind == "training":
        graphs = data.train
    elif kind == "true":
        graphs = fresh("true")
    else:
        of_model, step = key if name in TRUE else name, plan["training"]["steps"]
        chosen = {part: plan[part] for part in ("network", "noise", "training") if part in plan}
        generator = context.model(
            of_model,
            lambda: data.train,
            step=step,
            source=name,
            seed=seed if name in TRUE else file["seed"],
            attributes=data.info.attributes,
            sampling=sampler_of(plan["sampling"]),
            **chosen,
        )
        stream = derive_seed(file["seed"], NAME, name, which)
        graphs = generator.sample(number, seed=stream, sampling=sampler_of(plan["sampling"]))
        document = read_document(context.model_folder(of_model, step))
        trained = {"training_seconds": document.seconds, "device": document.made_with.device}
        made = {"parameters": parameter_count(generator), **trained}
    references = {"test": data.test}
    if name in TRUE:
        references["fresh"] = fresh("reference")
    names: Record = dict(data.info.attributes)
    return {
        **made,
        **{
            name: evaluate(graphs, reference, training=data.train, **names).to_dict()
            for name, reference in references.items()
        },
    }


def assemble(context: Context, parts: Mapping[str, Record]) -> list[Record]:
    file, rows = context.plan(NAME), []
    for name in file["sets"]:
        of_set = {key: part for key, part in parts.items() if key.startswith(f"{name}_")}
        by_kind = {
            kind: [part for key, part in of_set.items() if key.startswith(f"{name}_{kind}")]
            for kind in KINDS
        }
        if by_kind["seed"]:
            rows.append({"dataset": name, "targets": file["targets"][name], **by_kind})
    return rows


def means(row: Record, kind: str, reference: str) -> dict[str, dict[str, float]]:
    """Return mean and deviation of every distance to a reference."""
    found = [one[reference] for one in row[kind]]
    return {name: summary([float(one[name]) for one in found]) for name in ROWS[row["dataset"]]}


def ratios(row: Record, reference: str) -> dict[str, float]:
    """Return the mean distance of samples divided by that of fresh graphs, by row."""
    samples, true = (means(row, kind, reference) for kind in ("seed", "true"))
    return {name: samples[name]["mean"] / true[name]["mean"] for name in samples}


def tables(record: Record) -> list[Table]:
    """For each set, distances to test graphs, then to fresh graphs."""
    return [
        _table(row, reference)
        for row in record["results"]
        for reference in ("test", "fresh")
        if reference in row["seed"][0]
    ]


def _table(row: Record, reference: str) -> Table:
    columns, targets, cells = ROWS[row["dataset"]], row["targets"], []
    for kind, label in KINDS.items():
        if row[kind]:
            count = row[kind][0][reference]["sample_count"]
            values = means(row, kind, reference).values()
            cells.append([f"{count} {label}", *(with_std(value, 5) for value in values)])
    if row["true"]:
        cells.append(["ratio", *(f"{r:.2f}" for r in ratios(row, reference).values())])
    if reference == "test":
        aims = targets.get("ratio") or targets["distance"]
        cells.append(["target", *(f"≤ {aims[c]:g}" if c in aims else "" for c in columns)])
        if "published" in targets:
            cells.append([targets["published"], *[""] * len(columns)])
    count = row["seed"][0][reference]["reference_count"]
    title = f"{row['dataset']}, against {count} {reference} graphs"
    return Table(title, ["", *(name.replace("_", " ") for name in columns)], cells)


def missed(row: Record) -> list[str]:
    """Return the distances whose target is missed."""
    targets = row["targets"]
    if "ratio" in targets:
        found = ratios(row, "test")
    else:
        found = {name: value["mean"] for name, value in means(row, "seed", "test").items()}
    aims = targets.get("ratio") or targets["distance"]
    return [name.replace("_", " ") for name, aim in aims.items() if found[name] > aim]


def facts(record: Record) -> Mapping[str, Any]:
    """Values for the template."""
    sets = []
    for row in record["results"]:
        first = row["seed"][0]
        sets.append(
            {
                "name": row["dataset"],
                "missed": missed(row),
                "draws": len(row["seed"]) if row["true"] else 0,
                "seconds": first["training_seconds"],
                "device": "GPU" if first["device"] == "cuda" else "CPU",
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
    part_settings=part_settings,
    needs_all=False,
)
