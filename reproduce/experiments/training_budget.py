"""How long, how fast and how wide to train: judged on validation graphs only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphscore.datasets import load_dataset
from graphscore.experiments.context import Context, Record
from graphscore.experiments.registry import Experiment
from graphscore.experiments.tables import Table, made_by, over_seeds, summaries, with_spread
from graphscore.metrics import evaluate
from graphscore.seeding import derive_seed
from graphscore.training.run_folder import RunFolder

SETS = ("community-small-released", "ego-small")
CHOICES: dict[str, dict[str, Any]] = {
    "usual": {},
    "long": {"times": 4},
    "long-slow": {"times": 4, "learning_rate": 1e-3},
    "long-wide": {"times": 4, "channels": (8,) * 5, "edge_width": 32},
}
"""What differs from the usual training: its length, the learning rate, the network's widths."""
NUMBERS = ("degree", "clustering", "orbit", "average", "novelty")


def keys(context: Context) -> list[str]:
    return [key for name in SETS for choice in CHOICES for key in context.seed_keys(name, choice)]


def settings(context: Context) -> Record:
    return {**context.defaults(), "choices": CHOICES, "samples": context.sizes.samples}


def _changed(context: Context, choice: str) -> dict[str, Any]:
    """Settings of network and training under a choice."""
    given, changes = context.defaults(), dict(CHOICES[choice])
    training = given["training"]
    # Small scales have a quarter, because most choices train for four times as long.
    usual = training["steps"] if context.sizes.name == "full" else max(1, training["steps"] // 4)
    training["steps"] = usual * changes.pop("times", 1)
    training |= {key: changes.pop(key) for key in ("learning_rate",) if key in changes}
    return {"network": given["network"] | changes, "training": training}


def compute(context: Context, key: str) -> Record:
    name, choice, which = key.rsplit("_", 2)
    seed = int(which.removeprefix("seed"))
    data = load_dataset(name)
    generator = context.fit(key, data.train, source=name, seed=seed, **_changed(context, choice))
    samples = generator.sample(context.sizes.samples, seed=derive_seed(seed, "training", name))
    judged = evaluate(samples, data.val, training=data.train)
    last = RunFolder(context.run_folder(key)).records()[-1]
    return {
        "seed": seed,
        "steps": generator.step,
        "parameters": sum(p.numel() for p in generator.network.parameters()),
        "loss": last["summed"],
        "training_seconds": last["seconds"],
        **{number: getattr(judged, number) for number in NUMBERS},
    }


def assemble(context: Context, parts: Mapping[str, Record]) -> list[Record]:
    rows = []
    for name in SETS:
        cells = []
        for choice in CHOICES:
            seeds = [parts[key] for key in context.seed_keys(name, choice)]
            cells.append(
                {"choice": choice, **summaries(seeds, ("loss", *NUMBERS)), "per_seed": seeds}
            )
        rows.append({"dataset": name, "choices": cells})
    return rows


def tables(record: Record) -> list[Table]:
    columns = ["", "steps", "learning rate", "parameters", "training loss"]
    columns += ["degree", "clustering", "orbit", "average", "novel"]
    usual = record["settings"]["training"].get("learning_rate", 2e-3)
    return [
        Table(
            result["dataset"],
            columns,
            [
                [
                    cell["choice"],
                    f"{cell['per_seed'][0]['steps']}",
                    f"{CHOICES[cell['choice']].get('learning_rate', usual):g}",
                    f"{cell['per_seed'][0]['parameters']}",
                    f"{cell['loss']['mean']:.1f}",
                    *(f"{cell[number]['mean']:.4f}" for number in NUMBERS[:-2]),
                    with_spread(cell["average"], 4),
                    f"{cell['novelty']['mean']:.0%}",
                ]
                for cell in result["choices"]
            ],
        )
        for result in record["results"]
    ]


def markdown(record: Record) -> str:
    parts = [
        "## How long and how wide to train\n",
        made_by(record),
        f"MMD of {record['settings']['samples']} samples to the 32 validation graphs, which are "
        "part of the training graphs as in the paper; no test graph takes part. Usual sampler "
        f"settings; {over_seeds(record)}.\n",
    ]
    for table in tables(record):
        parts += [f"### Training on {table.title}\n", table.markdown() + "\n"]
    return "\n".join(parts)


EXPERIMENT = Experiment(
    "training",
    keys=keys,
    settings=settings,
    compute=compute,
    assemble=assemble,
    tables=tables,
    markdown=markdown,
)
