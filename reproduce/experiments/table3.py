"""Table 3: train and test loss with and without learnable adjacency and several channels."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch

from graphscore.datasets import load_dataset
from graphscore.seeding import torch_generator
from reproduce.context import Context, Record
from reproduce.core import ablation_network, mean_loss, parameter_count
from reproduce.experiment import Experiment
from reproduce.plans import load_plan
from reproduce.tables import Table, summaries, with_std

NAME = "table3"
ORDER = (("both", "learnable"), ("both", "channels"), ("learnable", "none"), ("channels", "none"))
"""Comparisons in the paper's table: the first of each pair has the smaller loss."""
SPLITS = ("train", "test")


def keys(context: Context) -> list[str]:
    plan = context.plan(NAME)
    return [
        key
        for name in plan["datasets"]
        for variant in plan["variants"]
        for key in context.seed_keys(name, variant)
    ]


def settings(context: Context) -> Record:
    plan = context.plan(NAME)
    return {
        "training": plan["training"],
        "networks": {v: network(plan, v).model_dump(mode="json") for v in plan["variants"]},
        "loss_draws": plan["loss_draws"],
    }


def network(plan: Mapping[str, Any], variant: str) -> Any:
    """Settings of the network in one row of the table."""
    chosen = plan["variants"][variant]
    return ablation_network(plan["network"], chosen["learnable_adjacency"], chosen["multi_channel"])


def compute(context: Context, key: str) -> Record:
    name, variant, which = key.rsplit("_", 2)
    seed, plan, data = int(which.removeprefix("seed")), context.plan(NAME), load_dataset(name)
    chosen = network(plan, variant)
    generator = context.fit(key, data.train, source=name, seed=seed, network=chosen)
    record: Record = {"seed": seed, "parameters": parameter_count(generator)}
    for split in SPLITS:
        # The same noise for all variants and seeds.
        noise = partial(_noise, context, plan["noise_seed"], name, split)
        record[split] = mean_loss(generator, data.split(split), noise, plan["loss_draws"])
    return record


def _noise(context: Context, seed: int, name: str, split: str, draw: int) -> torch.Generator:
    return torch_generator(seed, "ablation", name, split, draw, device=context.torch_device)


def assemble(context: Context, parts: Mapping[str, Record]) -> list[Record]:
    rows, plan = [], context.plan(NAME)
    for name in plan["datasets"]:
        cells = []
        for variant, chosen in plan["variants"].items():
            seeds = [parts[key] for key in context.seed_keys(name, variant)]
            losses = {
                split: summaries([seed[split] for seed in seeds], ("summed", "per_pair"))
                for split in SPLITS
            }
            cells.append(
                {
                    "variant": variant,
                    **chosen,
                    "parameters": seeds[0]["parameters"],
                    **losses,
                    "per_seed": seeds,
                }
            )
        rows.append({"dataset": name, "variants": cells, "order": _order(cells)})
    return rows


def _order(cells: Sequence[Record]) -> list[Record]:
    """Whether each comparison of the paper holds, and in how many seeds."""
    by_name = {cell["variant"]: cell for cell in cells}
    found = []
    for split in SPLITS:
        for better, worse in ORDER:
            one, other = by_name[better], by_name[worse]
            gaps = [
                b[split]["summed"] - a[split]["summed"]
                for a, b in zip(one["per_seed"], other["per_seed"])
            ]
            found.append(
                {
                    "split": split,
                    "better": better,
                    "worse": worse,
                    "holds": one[split]["summed"]["mean"] < other[split]["summed"]["mean"],
                    "gap": sum(gaps) / len(gaps),
                    "gap_spread": statistics.stdev(gaps) if len(gaps) > 1 else None,
                    "seeds_that_agree": sum(gap > 0 for gap in gaps),
                }
            )
    return found


# ---------------------------------------------------------------------- tables


def tables(record: Record) -> list[Table]:
    return [_losses(result) for result in record["results"]]


def _losses(result: Record) -> Table:
    published_losses = load_plan(NAME, "full")["published"][result["dataset"]]
    rows = []
    for cell in result["variants"]:
        published = published_losses[cell["variant"]]
        row = [
            "yes" if cell["learnable_adjacency"] else "no",
            "yes" if cell["multi_channel"] else "no",
            f"{cell['parameters']}",
        ]
        for split, paper in zip(SPLITS, published):
            loss, pair = cell[split]["summed"], cell[split]["per_pair"]
            row += [with_std(loss, 2), f"{paper}", f"{pair['mean']:.4f}"]
        rows.append(row)
    columns = ["learnable", "channels", "parameters"]
    for split in SPLITS:
        columns += [f"{split} loss", "published", "per pair"]
    return Table(result["dataset"], columns, rows, text=2)


EXPERIMENT = Experiment(
    NAME,
    keys=keys,
    settings=settings,
    compute=compute,
    assemble=assemble,
    tables=tables,
)
