"""Why samples of the pretrained models are not valid.

Fresh graphs of the true generator are checked in the same way, and samples of a guided model are
also drawn without guidance. For block models the sizes of the blocks are kept: they show how
sharply a model has learned the limits of true sizes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import networkx as nx

from graphscore.generator import GraphGenerator
from graphscore.metrics import fit_blocks, validity_of, wilson_interval
from graphscore.metrics.validity import BLOCK_SIZES
from graphscore.seeding import derive_seed
from reproduce.context import Context, Record
from reproduce.core import model_identity
from reproduce.experiment import Experiment
from reproduce.experiments.denoiser_plans import GROUND_TRUTH
from reproduce.plans import load_plan
from reproduce.plots.histogram import draw_shares
from reproduce.tables import Table

NAME = "invalid-reasons"
KINDS = {
    "samples": "samples",
    "alone": "samples without guidance",
    "fresh": "fresh true graphs",
}
"""What is checked, and what tables call it."""
STREAM = "faults"
"""Name of the random streams; another name would give other samples than those in results/."""


def keys(context: Context) -> list[str]:
    found = []
    for name, model in context.plan(NAME)["models"].items():
        found.append(f"{name}_samples")
        if model["guided"]:
            found.append(f"{name}_alone")
        # Once for each dataset, with the model that has its name.
        if name == model["dataset"]:
            found.append(f"{name}_fresh")
    return found


def settings(context: Context) -> Record:
    plan = context.plan(NAME)
    return {"seed": plan["seed"], "number": plan["number"]}


def part_settings(context: Context, key: str) -> Record:
    name, _, kind = key.rpartition("_")
    # A new version of a model under the same name needs new samples.
    return {**settings(context), **({} if kind == "fresh" else model_identity(name))}


def compute(context: Context, key: str) -> Record:
    name, _, kind = key.rpartition("_")
    plan = context.plan(NAME)
    model, number = plan["models"][name], plan["number"]
    if kind == "fresh":
        return check(model["dataset"], GROUND_TRUTH[f"{name}-spectre"](number))
    generator = GraphGenerator.from_pretrained(
        name,
        device=str(context.torch_device),
        accelerate=context.accelerate,
        show_progress=context.show_progress,
    )
    sampling = generator.sampler_settings()
    if "sampler_steps" in plan:
        sampling = sampling.replaced(steps=plan["sampler_steps"])
    seed, guidance = derive_seed(plan["seed"], STREAM, key), 0.0 if kind == "alone" else None
    graphs = generator.sample(number, seed=seed, sampling=sampling, guidance=guidance)
    networks = 2 if kind == "samples" and model["guided"] else 1
    calls = sampling.network_calls * networks
    return {"network_calls": calls, **check(model["dataset"], graphs)}


def check(dataset: str, graphs: Sequence[nx.Graph[Any]]) -> Record:
    """Count valid graphs, and of the others the first reason why they are not valid."""
    validity = validity_of(dataset)
    assert validity is not None
    reasons = Counter(validity.invalid_reason(graph) for graph in graphs)
    valid = reasons.pop(None, 0)
    low, high = wilson_interval(valid, len(graphs))
    record: Record = {
        "number": len(graphs),
        "valid": valid / len(graphs),
        "valid_low": low,
        "valid_high": high,
        "invalid_reasons": dict(reasons.most_common()),
    }
    if dataset == "sbm":
        sizes = Counter(size for graph in graphs for size in fit_blocks(graph).sizes)
        record["block_sizes"] = dict(sorted(sizes.items()))
    return record


def assemble(context: Context, parts: Mapping[str, Record]) -> list[Record]:
    """A row for every model whose samples were checked."""
    return [
        {
            "dataset": name,
            "checked": {
                kind: {key: part[key] for key in part if key not in ("seconds", "provenance")}
                for kind in KINDS
                if (part := parts.get(f"{name}_{kind}")) is not None
            },
        }
        for name in context.plan(NAME)["models"]
        if f"{name}_samples" in parts
    ]


# ---------------------------------------------------------------------- the record


def tables(record: Record) -> list[Table]:
    rows = []
    for row in record["results"]:
        for kind, found in row["checked"].items():
            number = found["number"]
            reasons = [f"{name} {n / number:.1%}" for name, n in found["invalid_reasons"].items()]
            rows.append(
                [
                    row["dataset"],
                    KINDS[kind],
                    "; ".join(reasons) or "–",
                    f"{found['valid']:.1%} [{found['valid_low']:.1%}, {found['valid_high']:.1%}]",
                    str(found.get("network_calls", "–")),
                ]
            )
    columns = ("model", "graphs", "reasons", "valid", "network calls")
    return [Table("Why samples are not valid", columns, rows, text=3)]


def _block_sizes(record: Record) -> dict[str, dict[int, float]]:
    """Share of each size among all blocks, by what was checked."""
    datasets = {model["dataset"] for model in load_plan(NAME, "full")["models"].values()}
    found = {}
    for row in record["results"]:
        for kind, checked in row["checked"].items():
            if counts := checked.get("block_sizes"):
                name, total = row["dataset"], sum(counts.values())
                whose = "" if name in datasets else f" of {name}"
                shares = {int(size): count / total for size, count in counts.items()}
                found[KINDS[kind] + whose] = shares
    return found


def facts(record: Record) -> dict[str, Any]:
    """Shares of blocks that are smaller and larger than a true block can be."""
    least, most = BLOCK_SIZES
    outside = {
        name: (
            sum(share for size, share in shares.items() if size < least),
            sum(share for size, share in shares.items() if size > most),
        )
        for name, shares in _block_sizes(record).items()
    }
    return {"least": least, "most": most, "outside": outside}


def pictures(record: Record, out: Path) -> list[Path]:
    sizes, file = _block_sizes(record), out / f"{NAME}_blocks.png"
    if not sizes:
        return []
    draw_shares(sizes, file, along="nodes of a block", limits=BLOCK_SIZES)
    return [file]


EXPERIMENT = Experiment(
    NAME,
    keys=keys,
    settings=settings,
    compute=compute,
    assemble=assemble,
    tables=tables,
    facts=facts,
    pictures=pictures,
    seeded=False,
    part_settings=part_settings,
    needs_all=False,
)
