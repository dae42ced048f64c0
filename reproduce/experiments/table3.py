"""Table 3: what a learnable adjacency and several channels are worth, by train and test loss."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import networkx as nx
import torch

from graphscore.datasets import load_dataset
from graphscore.experiments.context import Context, Record
from graphscore.experiments.registry import Experiment
from graphscore.experiments.tables import Table, made_by, over_seeds, summaries, with_spread
from graphscore.generator import GraphGenerator
from graphscore.graphs import GraphBatch
from graphscore.networks import EDPGNNSettings
from graphscore.noise import ladder
from graphscore.seeding import torch_generator
from graphscore.training.objective import score_matching_loss

SETS = ("community-small-released", "ego-small")
VARIANTS = {
    "none": (False, False),
    "learnable": (True, False),
    "channels": (False, True),
    "both": (True, True),
}
"""Name of a variant -> (learnable adjacency, several channels); "none" is vanilla GIN."""

PUBLISHED = {
    "community-small-released": {
        "none": (140, 140),
        "learnable": (120, 120),
        "channels": (110, 120),
        "both": (98, 96),
    },
    "ego-small": {
        "none": (14, 17),
        "learnable": (12, 15),
        "channels": (13, 15),
        "both": (10, 12),
    },
}
"""Train and test loss of Niu et al. 2020, Table 3."""

ORDER = (("both", "learnable"), ("both", "channels"), ("learnable", "none"), ("channels", "none"))
"""What the paper's table says: the first of each pair has the smaller loss."""

SPLITS = ("train", "test")
NOISE_SEED = 0


def keys(context: Context) -> list[str]:
    return [
        key for name in SETS for variant in VARIANTS for key in context.seed_keys(name, variant)
    ]


def settings(context: Context) -> Record:
    return {
        "training": dict(context.sizes.training),
        "networks": {v: network(context, v).model_dump(mode="json") for v in VARIANTS},
        "loss_draws": context.sizes.loss_draws,
    }


def network(context: Context, variant: str) -> EDPGNNSettings:
    """The network of one row of the table at the scale of the context."""
    learnable, multi = VARIANTS[variant]
    shape = dict(context.sizes.network)
    channels = shape.pop("channels", None)
    if multi and channels is not None:
        shape["channels"] = channels
    return EDPGNNSettings.ablation(learnable_adjacency=learnable, multi_channel=multi, **shape)


def compute(context: Context, key: str) -> Record:
    name, variant, which = key.rsplit("_", 2)
    seed = int(which.removeprefix("seed"))
    data = load_dataset(name)
    generator = context.fit(
        key, data.train, source=name, seed=seed, network=network(context, variant)
    )
    return {
        "seed": seed,
        "parameters": sum(p.numel() for p in generator.network.parameters()),
        **{split: _loss(context, generator, data.split(split), name, split) for split in SPLITS},
    }


@torch.no_grad()
def _loss(
    context: Context,
    generator: GraphGenerator,
    graphs: Sequence[nx.Graph[Any]],
    name: str,
    split: str,
) -> Record:
    """Equation 3 with the averaged weights, over the same noise for all variants and seeds."""
    device = context.torch_device
    batch = GraphBatch.from_networkx(graphs).to(device)
    sigmas = ladder(generator.settings.noise, device=device)
    draws = []
    for draw in range(context.sizes.loss_draws):
        noise = torch_generator(NOISE_SEED, "ablation", name, split, draw, device=device)
        values = score_matching_loss(generator.network, batch, sigmas, generator=noise)
        draws.append(torch.cat([values.summed.view(1), values.per_pair.mean().view(1)]))
    summed, per_pair = torch.stack(draws).mean(0).tolist()
    return {"summed": summed, "per_pair": per_pair}


def assemble(context: Context, parts: Mapping[str, Record]) -> list[Record]:
    rows = []
    for name in SETS:
        cells = []
        for variant, (learnable, multi) in VARIANTS.items():
            seeds = [parts[key] for key in context.seed_keys(name, variant)]
            losses = {
                split: summaries([seed[split] for seed in seeds], ("summed", "per_pair"))
                for split in SPLITS
            }
            cells.append(
                {
                    "variant": variant,
                    "learnable_adjacency": learnable,
                    "multi_channel": multi,
                    "parameters": seeds[0]["parameters"],
                    **losses,
                    "per_seed": seeds,
                }
            )
        rows.append({"dataset": name, "variants": cells, "order": _order(cells)})
    return rows


def _order(cells: Sequence[Record]) -> list[Record]:
    """Each comparison of the paper: does it come out, and in how many seeds?"""
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
    rows = []
    for cell in result["variants"]:
        published = PUBLISHED[result["dataset"]][cell["variant"]]
        row = [
            "yes" if cell["learnable_adjacency"] else "no",
            "yes" if cell["multi_channel"] else "no",
            f"{cell['parameters']}",
        ]
        for split, paper in zip(SPLITS, published):
            loss, pair = cell[split]["summed"], cell[split]["per_pair"]
            row += [with_spread(loss, 2), f"{paper}", f"{pair['mean']:.4f}"]
        rows.append(row)
    columns = ["learnable", "channels", "parameters"]
    for split in SPLITS:
        columns += [f"{split} loss", "published", "per pair"]
    return Table(result["dataset"], columns, rows, text=2)


def _words(comparison: Record, seeds: int) -> str:
    relation = "under" if comparison["holds"] else "not under"
    spread, why = comparison["gap_spread"], ""
    if spread is not None and abs(comparison["gap"]) < spread:
        why = f"; the gap varies by {spread:.2f} between seeds, which cannot tell the two apart"
    return (
        f"{comparison['split']}: {comparison['better']} {relation} {comparison['worse']} "
        f"(gap {comparison['gap']:.2f}, {comparison['seeds_that_agree']} of {seeds} seeds agree"
        f"{why})"
    )


def markdown(record: Record) -> str:
    seeds, draws = len(record["seeds"]), record["settings"]["loss_draws"]
    parts = [
        "## Ablation (Table 3)\n",
        made_by(record),
        "Loss of equation 3 without the factor 1/L, the scale of the published table (Niu et al. "
        f"2020, Table 3), with the averaged weights, over {draws} noise draws that are the same "
        f"for all networks; {over_seeds(record)}. Same training for all: "
        f"{record['settings']['training']['steps']} steps. No and no is vanilla GIN. The variants "
        "differ in their number of parameters, as in the paper.\n",
    ]
    for result, table in zip(record["results"], tables(record)):
        failed = [one for one in result["order"] if not one["holds"]]
        total = len(result["order"])
        verdict = (
            f"All {total} comparisons of the published table come out (both under each one alone, "
            "each one alone under none)."
            if not failed
            else f"{total - len(failed)} of {total} comparisons of the published table come out. "
            "Not these: " + "; ".join(_words(one, seeds) for one in failed) + "."
        )
        parts += [f"### Ablation on {table.title}\n", table.markdown() + "\n", verdict + "\n"]
    return "\n".join(parts)


EXPERIMENT = Experiment(
    "ablation",
    keys=keys,
    settings=settings,
    compute=compute,
    assemble=assemble,
    tables=tables,
    markdown=markdown,
)
