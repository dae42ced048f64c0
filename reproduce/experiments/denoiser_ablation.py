"""What each part of the log-odds denoiser brings: one is taken away at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from graphscore.datasets import load_dataset
from graphscore.experiments.context import Context, Record
from graphscore.experiments.frontier import SEED, judge
from graphscore.experiments.frontier_plans import (
    LEARNING,
    NAMES,
    Plan,
    measured,
    plan_of,
    usual_sampler,
)
from graphscore.experiments.registry import Experiment
from graphscore.experiments.tables import Table, made_by
from graphscore.training.run_folder import RunFolder

SETS = {
    "full": ("community-small-released", "planar-spectre"),
    "quick": ("community-small-released",),
    "tiny": ("community-small-released",),
}
SHARE = 16
"""A variant is trained for this part of the frontier's steps."""

EDP_GNN = {"kind": "edp-gnn"}
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "all": ("everything", {}),
    "no-closed-form": ("without the closed form", {"network": {"closed_form": False}}),
    "squared": ("squared loss", {"denoising": {"loss": "squared"}}),
    "no-products": ("without pair products", {"network": {"product_width": 0}}),
    "no-walks": ("without random walks", {"network": {"walk_steps": 0}}),
    "no-average": ("without averaged weights", {"training": {"ema_decay": 0.0}}),
    "edp-gnn": ("EDP-GNN in its place", {"network": EDP_GNN}),
}
"""Name of a variant -> what the table calls it, and what differs from the plan."""

NO_NOISE = "without fresh noise in the sampler"


def keys(context: Context) -> list[str]:
    return [f"{name}_{variant}" for name in SETS[context.sizes.name] for variant in VARIANTS]


def changed(context: Context, name: str, variant: str) -> Plan:
    """The plan of a set with one part taken away."""
    plan = plan_of(context, name)
    steps = max(1, plan.training["steps"] // SHARE)
    _, changes = VARIANTS[variant]
    network = changes.get("network", {})
    # Another network has other settings; those of the scale keep tests small.
    shape = context.sizes.network if network == EDP_GNN else plan.network
    return replace(
        plan,
        network={**shape, **network},
        training={**plan.training, "steps": steps, **changes.get("training", {})},
        denoising={**plan.denoising, **changes.get("denoising", {})},
    )


def settings(context: Context) -> Record:
    names = SETS[context.sizes.name]
    return {
        "seed": SEED,
        "plans": {name: changed(context, name, "all").described() for name in names},
        "variants": VARIANTS,
    }


def compute(context: Context, key: str) -> Record:
    name, variant = key.split("_", 1)
    plan, data = changed(context, name, variant), load_dataset(name, data_dir=context.data_dir)
    usual = usual_sampler(plan.calls)
    generator = context.fit(
        key,
        data.train,
        source=name,
        seed=SEED,
        network=plan.network,
        denoising=plan.denoising,
        training={**LEARNING, **plan.training},
        sampling=usual,
    )
    last = RunFolder(context.run_folder(key)).records()[-1]
    record = {
        "dataset": name,
        "variant": variant,
        "parameters": sum(p.numel() for p in generator.network.parameters()),
        "training_seconds": last["seconds"],
        **judge(generator, data, plan, "val"),
    }
    if variant == "all":
        still = usual.replaced(churn=0.0)
        record["without_noise"] = judge(generator, data, plan, "val", still)
    return record


def assemble(context: Context, parts: Mapping[str, Record]) -> list[Record]:
    rows = []
    for name in SETS[context.sizes.name]:
        there = [f"{name}_{variant}" for variant in VARIANTS if f"{name}_{variant}" in parts]
        if there:
            rows.append(
                {
                    "dataset": name,
                    "measure": plan_of(context, name).measure,
                    "steps": changed(context, name, "all").training["steps"],
                    "variants": [parts[key] for key in there],
                }
            )
    return rows


def tables(record: Record) -> list[Table]:
    return [_table(result) for result in record["results"]]


def _table(result: Record) -> Table:
    measure = result["measure"]
    rows = []
    for part in result["variants"]:
        title = VARIANTS[part["variant"]][0]
        rows.append(_row(title, part, measure, f"{part['parameters']}", part["training_seconds"]))
        if "without_noise" in part:
            rows.append(_row(NO_NOISE, part["without_noise"], measure, "", None))
    share = measure in ("vun", "valid")
    columns = ["", *([NAMES[measure]] if share else []), "average MMD", "parameters", "training s"]
    return Table(f"{result['dataset']}, {result['steps']} steps", columns, rows)


def _row(
    title: str, part: Record, measure: str, parameters: str, seconds: float | None
) -> list[str]:
    share = [f"{measured(part, measure):.1%}"] if measure in ("vun", "valid") else []
    time = "" if seconds is None else f"{seconds:.0f}"
    return [title, *share, f"{part['mmd']['average']:.4f}", parameters, time]


def markdown(record: Record) -> str:
    parts = [
        "## What each part of the denoiser brings\n",
        made_by(record),
        "One part is taken away at a time; same steps, same sampler "
        "(Heun's method with fresh noise), measured on validation graphs (of Community-small these "
        "are training graphs too), one seed. EDP-GNN in the "
        "denoiser's place is trained in the same way: closed form, cross-entropy, every noise "
        "level.\n",
    ]
    for table in tables(record):
        parts += [f"### Denoiser on {table.title}\n", table.markdown() + "\n"]
    return "\n".join(parts)


EXPERIMENT = Experiment(
    "denoiser",
    keys=keys,
    settings=settings,
    compute=compute,
    assemble=assemble,
    tables=tables,
    markdown=markdown,
    seeded=False,
    needs_all=False,
)
