"""How long, how fast and how wide to train EDP-GNN, evaluated on validation graphs only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphscore.datasets import load_dataset
from graphscore.metrics import evaluate
from graphscore.seeding import derive_seed
from reproduce.context import Context, Record
from reproduce.core import parameter_count, training_log
from reproduce.experiment import Experiment
from reproduce.plans import load_plan
from reproduce.tables import Table, summaries, with_std

NAME = "training-budget"
NUMBERS = ("degree", "clustering", "orbit", "average", "novelty")


def keys(context: Context) -> list[str]:
    plan = context.plan(NAME)
    return [
        key
        for name in plan["datasets"]
        for choice in plan["choices"]
        for key in context.seed_keys(name, choice)
    ]


def settings(context: Context) -> Record:
    plan = context.plan(NAME)
    return {key: plan[key] for key in ("network", "training", "sampling", "choices", "samples")}


def changed(plan: Mapping[str, Any], choice: str) -> dict[str, Any]:
    """Settings of network and training under a choice."""
    changes, training = plan["choices"][choice], dict(plan["training"])
    training["steps"] *= changes.get("times", 1)
    if "learning_rate" in changes:
        training["learning_rate"] = changes["learning_rate"]
    return {"network": plan["network"] | changes.get("network", {}), "training": training}


def compute(context: Context, key: str) -> Record:
    name, choice, which = key.rsplit("_", 2)
    seed, plan, data = int(which.removeprefix("seed")), context.plan(NAME), load_dataset(name)
    generator = context.fit(key, data.train, source=name, seed=seed, **changed(plan, choice))
    samples = generator.sample(plan["samples"], seed=derive_seed(seed, "training", name))
    result = evaluate(samples, data.val, training=data.train)
    last = training_log(context.run_folder(key))
    return {
        "seed": seed,
        "steps": generator.step,
        "parameters": parameter_count(generator),
        "loss": last["summed"],
        "training_seconds": last["seconds"],
        **{number: result.to_dict()[number] for number in NUMBERS},
    }


def assemble(context: Context, parts: Mapping[str, Record]) -> list[Record]:
    rows, plan = [], context.plan(NAME)
    for name in plan["datasets"]:
        cells = []
        for choice in plan["choices"]:
            seeds = [parts[key] for key in context.seed_keys(name, choice)]
            cells.append(
                {"choice": choice, **summaries(seeds, ("loss", *NUMBERS)), "per_seed": seeds}
            )
        rows.append({"dataset": name, "choices": cells})
    return rows


def tables(record: Record) -> list[Table]:
    columns = ["", "steps", "learning rate", "parameters", "training loss"]
    columns += ["degree", "clustering", "orbit", "average", "novel"]
    choices = load_plan(NAME, "full")["choices"]
    default = record["settings"]["training"].get("learning_rate", 2e-3)
    return [
        Table(
            result["dataset"],
            columns,
            [
                [
                    cell["choice"],
                    f"{cell['per_seed'][0]['steps']}",
                    f"{choices[cell['choice']].get('learning_rate', default):g}",
                    f"{cell['per_seed'][0]['parameters']}",
                    f"{cell['loss']['mean']:.1f}",
                    *(f"{cell[number]['mean']:.4f}" for number in NUMBERS[:-2]),
                    with_std(cell["average"], 4),
                    f"{cell['novelty']['mean']:.0%}",
                ]
                for cell in result["choices"]
            ],
        )
        for result in record["results"]
    ]


EXPERIMENT = Experiment(
    NAME,
    keys=keys,
    settings=settings,
    compute=compute,
    assemble=assemble,
    tables=tables,
)
