"""What each part of the denoiser contributes: one part is removed at a time."""

from __future__ import annotations

from collections.abc import Mapping

from graphscore.datasets import load_dataset
from reproduce.context import Context, Record
from reproduce.core import heun_sampler, parameter_count, training_log
from reproduce.experiment import Experiment
from reproduce.experiments.denoiser_benchmark import evaluator, train
from reproduce.experiments.denoiser_plans import (
    MEASURES,
    Plan,
    measured,
    set_plan,
    smaller_is_better,
    without_samplers,
)
from reproduce.plans import load_plan
from reproduce.tables import Table

NAME = "denoiser-ablation"
NO_NOISE = "without added noise in the sampler"


def keys(context: Context) -> list[str]:
    plan = context.plan(NAME)
    return [f"{name}_{variant}" for name in plan["datasets"] for variant in plan["variants"]]


def changed(context: Context, name: str, variant: str) -> Plan:
    """The plan of a set with one part removed."""
    own, plan = context.plan(NAME), set_plan(context, name)
    changes = own["variants"][variant]
    network = changes.get("network", {})
    # Another kind of network has other settings, those of the scale.
    shape = own["network"] if "kind" in network else plan["network"]
    steps = max(1, plan["training"]["steps"] // own["share"])
    return {
        **plan,
        "network": {**shape, **network},
        "training": {**plan["training"], "steps": steps, **changes.get("training", {})},
        "objective": changes.get("objective", {}),
    }


def settings(context: Context) -> Record:
    plan = context.plan(NAME)
    plans = {name: without_samplers(changed(context, name, "all")) for name in plan["datasets"]}
    return {"plans": plans, "variants": plan["variants"]}


def compute(context: Context, key: str) -> Record:
    name, variant = key.split("_", 1)
    plan, data = changed(context, name, variant), load_dataset(name, data_dir=context.data_dir)
    evaluation = evaluator(context, data, plan)
    generator = train(context, key, data, plan)
    record = {
        "dataset": name,
        "variant": variant,
        "parameters": parameter_count(generator),
        "training_seconds": training_log(context.run_folder(key))["seconds"],
        **evaluation.evaluate(generator, "val"),
    }
    if variant == "all":
        without = heun_sampler(plan["calls"]).replaced(churn=0.0)
        record["without_noise"] = evaluation.evaluate(generator, "val", without)
    return record


def assemble(context: Context, parts: Mapping[str, Record]) -> list[Record]:
    rows, plan = [], context.plan(NAME)
    for name in plan["datasets"]:
        keys = [f"{name}_{variant}" for variant in plan["variants"]]
        there = [parts[key] for key in keys if key in parts]
        if there:
            chosen = changed(context, name, "all")
            rows.append(
                {
                    "dataset": name,
                    "measure": chosen["measure"],
                    "steps": chosen["training"]["steps"],
                    "variants": there,
                }
            )
    return rows


def tables(record: Record) -> list[Table]:
    return [_table(result) for result in record["results"]]


def _table(result: Record) -> Table:
    variants, measure, rows = load_plan(NAME, "full")["variants"], result["measure"], []
    for part in result["variants"]:
        label = variants[part["variant"]]["label"]
        cost = [f"{part['parameters']}", f"{part['training_seconds']:.0f}"]
        rows.append([label, *_values(part, measure), *cost])
        if "without_noise" in part:
            rows.append([NO_NOISE, *_values(part["without_noise"], measure), "", ""])
    share = [] if smaller_is_better(measure) else [MEASURES[measure]]
    columns = ["", *share, "average MMD", "parameters", "training s"]
    return Table(f"{result['dataset']}, {result['steps']} steps", columns, rows)


def _values(part: Record, measure: str) -> list[str]:
    share = [] if smaller_is_better(measure) else [f"{measured(part, measure):.1%}"]
    return [*share, f"{part['mmd']['average']:.4f}"]


EXPERIMENT = Experiment(
    NAME,
    keys=keys,
    settings=settings,
    compute=compute,
    assemble=assemble,
    tables=tables,
    seeded=False,
    needs_all=False,
)
