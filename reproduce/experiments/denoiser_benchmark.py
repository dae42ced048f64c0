"""The denoiser on small sets and on larger graphs, where EDP-GNN fails.

The parts of a set share one training and must be computed in order: intermediate evaluations, the
test result with the sampler chosen on validation graphs, and quality against the number of network
calls. Random graphs of the Erdős–Rényi model are evaluated for comparison. Some sets have more: a
test result with a guide model, an evaluation of fresh graphs of the true generator, and a training
of the paper's EDP-GNN with annealed Langevin dynamics. Test graphs are used only for test results,
for fresh graphs and for random graphs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphscore.datasets import Dataset, load_dataset
from graphscore.generator import GraphGenerator
from reproduce.context import Context, Record
from reproduce.core import (
    AncestralSettings,
    LangevinSettings,
    SamplerSettings,
    erdos_renyi_samples,
    heun_sampler,
    langevin_grid,
    read_document,
    sampler_of,
    training_log,
)
from reproduce.experiment import Experiment
from reproduce.experiments.denoiser_evaluation import Evaluator
from reproduce.experiments.denoiser_plans import (
    GROUND_TRUTH,
    NAME,
    Plan,
    candidates,
    guide_plan,
    intermediate_steps,
    langevin_plan,
    measured,
    reaches,
    set_plan,
    without_samplers,
)
from reproduce.experiments.denoiser_report import facts, pictures, tables

NULL = "erdos-renyi"
"""The null row: a model that knows only how many nodes and edges graphs have."""


def keys(context: Context) -> list[str]:
    file, found = context.plan(NAME), []
    for name in file["sets"]:
        steps = intermediate_steps(context, set_plan(context, name))
        found += [f"{name}_at{step}" for step in steps]
        found += [f"{name}_{which}" for which in ("test", "calls", NULL)]
        more = {"guided": file["guides"], "truth": GROUND_TRUTH, "langevin": file["langevin"]}
        found += [f"{name}_{which}" for which, sets in more.items() if name in sets]
    return found


def settings(context: Context) -> Record:
    file = context.plan(NAME)
    names = file["sets"]
    guides = {n: guide_plan(context, n) for n in names if n in file["guides"]}
    langevin = {n: langevin_plan(context, n) for n in names if n in file["langevin"]}
    return {
        "seed": file["seed"],
        "learning": file["learning"],
        "plans": {name: without_samplers(set_plan(context, name)) for name in names},
        "calls": file["calls"],
        "guides": guides,
        "langevin": langevin,
    }


def part_settings(context: Context, key: str) -> Record:
    name, _, which = key.rpartition("_")
    file, plan = context.plan(NAME), set_plan(context, name)
    own = without_samplers(plan)
    # What parts are compared with does not determine them.
    for entry in ("target", "published"):
        own.pop(entry)
    decided: Record = {"seed": file["seed"], "learning": file["learning"], "plan": own}
    if which.startswith("at") or which in ("truth", NULL):
        # An intermediate evaluation cannot be repeated, so it depends on no more than needed.
        own.pop("trial_samples")
    if which == "test":
        decided["candidates"] = [tried.model_dump(mode="json") for tried in candidates(plan)]
    if which in ("test", "guided"):
        decided["shown"] = file["shown"]
    if which == "calls":
        decided |= {"calls": file["calls"], "late_start": file["late_start"]}
    if which == "guided":
        decided["guide"] = guide_plan(context, name)
    if which == "langevin":
        decided["langevin"] = langevin_plan(context, name)
    return decided


def evaluator(context: Context, data: Dataset, plan: Plan) -> Evaluator:
    """The evaluator of a plan on its dataset."""
    file = context.plan(NAME)
    return Evaluator(data, plan, seed=file["seed"], shown=file["shown"])


def train(
    context: Context, key: str, data: Dataset, plan: Plan, stop_at: int | None = None
) -> GraphGenerator:
    """Train the model of a plan in the run folder `key`."""
    file = context.plan(NAME)
    return context.fit(
        key,
        data.train,
        source=data.info.name,
        seed=file["seed"],
        model="denoiser",
        stop_at=stop_at,
        network=plan["network"],
        noise=plan["noise"],
        objective=plan.get("objective", {}),
        training={**file["learning"], **plan["training"]},
        sampling=heun_sampler(plan["calls"]),
    )


def compute(context: Context, key: str) -> Record:
    name, _, which = key.rpartition("_")
    plan = set_plan(context, name)
    data = load_dataset(plan.get("dataset", name), data_dir=context.data_dir)
    evaluation = evaluator(context, data, plan)
    if which == "langevin":
        return _langevin(context, key, evaluation)
    if which == "truth":
        graphs = GROUND_TRUTH[name](plan["samples"])
        return {"dataset": name, **evaluation.measures(graphs, "test")}
    if which == NULL:
        seed, source = evaluation.seed, data.info.name
        graphs = erdos_renyi_samples(data.train, plan["samples"], seed=seed, source=source)
        return {"dataset": name, **evaluation.measures(graphs, "test")}
    stop_at = int(which.removeprefix("at")) if which.startswith("at") else None
    generator = train(context, name, data, plan, stop_at)
    last = training_log(context.run_folder(name))
    record = {
        "dataset": name,
        "step": generator.step,
        "training_seconds": last["seconds"],
        "loss": last["loss"],
    }
    if which == "test":
        return {**record, **evaluation.test_result({generator: candidates(plan)})}
    if which == "guided":
        guided, made = _guided(context, name, generator, data, plan)
        return {**record, **made, **evaluation.test_result(guided)}
    if which == "calls":
        return {**record, "curve": _by_calls(context, generator, evaluation)}
    number = plan.get("intermediate_samples")
    return {**record, **evaluation.evaluate(generator, "val", number=number)}


def _guided(
    context: Context, name: str, generator: GraphGenerator, data: Dataset, plan: Plan
) -> tuple[dict[GraphGenerator, Sequence[SamplerSettings]], Record]:
    """Train the guide model; return the guided generator for each weight, and how it was made.

    A guide model is small, so it may have been trained on another device than the model.
    """
    guide, key = guide_plan(context, name), f"{name}_guide"
    training = {**plan["training"], **guide["training"]}
    weaker = train(context, key, data, {**plan, "network": guide["network"], "training": training})
    levels = {"sigma_min": guide["sigma_min"], "sigma_max": guide["sigma_max"]}
    samplers = [sampler_of(values) for values in guide["samplers"]]
    guided: dict[GraphGenerator, Sequence[SamplerSettings]] = {
        generator.guided_by(weaker, weight=weight, **levels): samplers
        for weight in guide["weights"]
    }
    run = context.run_folder(key)
    return guided, {
        "guide_seconds": training_log(run)["seconds"],
        "guide_device": read_document(run).made_with.device,
    }


def _by_calls(context: Context, generator: GraphGenerator, evaluation: Evaluator) -> list[Record]:
    """Quality on validation graphs of three samplers at several numbers of network calls."""
    file, plan, points = context.plan(NAME), evaluation.plan, []
    for calls in file["calls"]:
        if calls > 2 * plan["calls"]:
            continue
        heun = heun_sampler(calls)
        late = AncestralSettings(steps=calls, sigma_max=file["late_start"])
        late_heun = heun.replaced(churn=heun.churn / 4, sigma_max=file["late_start"])
        for label, sampler in (("heun", heun), ("late", late), ("late-heun", late_heun)):
            record = evaluation.evaluate(generator, "val", sampler, number=plan["trial_samples"])
            points.append(_point(label, sampler.network_calls, record, plan, sampler))
    return points


def _langevin(context: Context, key: str, evaluation: Evaluator) -> Record:
    """Quality on validation graphs of EDP-GNN and Langevin dynamics for each chain length."""
    data, plan = evaluation.data, evaluation.plan
    name = data.info.name
    langevin = langevin_plan(context, name)
    generator = context.fit(
        key,
        data.train,
        source=name,
        seed=evaluation.seed,
        network=langevin["network"],
        training=langevin["training"],
    )
    settings: Any = generator.settings
    points = []
    for steps in langevin["lengths"]:
        tried = langevin_grid(LangevinSettings(steps_per_level=steps), langevin)
        found, record = evaluation.choose(generator, tried)
        calls = found.best.total_steps(settings.noise)
        points.append(_point("langevin", calls, record, plan, found.best))
    seconds = training_log(context.run_folder(key))["seconds"]
    return {"dataset": name, "training_seconds": seconds, "curve": points}


def _point(
    label: str, calls: int, record: Record, plan: Mapping[str, Any], sampler: SamplerSettings
) -> Record:
    return {
        "sampler": label,
        "calls": calls,
        "value": measured(record, plan["measure"]),
        "sampling": sampler.model_dump(mode="json"),
    }


# ---------------------------------------------------------------------- the record


def assemble(context: Context, parts: Mapping[str, Record]) -> list[Record]:
    """A row for every set that has a test result; curves have the points that are finished."""
    rows = []
    for name in context.plan(NAME)["sets"]:
        results = [parts[key] for key in (f"{name}_test", f"{name}_guided") if key in parts]
        if not results:
            continue
        plan = set_plan(context, name)
        # With or without its guide model, whichever is better on validation graphs.
        best = min(results, key=_smallest_distance)
        value = measured(best, plan["measure"])
        calls, langevin = (parts.get(f"{name}_{which}") for which in ("calls", "langevin"))
        steps = intermediate_steps(context, plan)
        earlier = [part for step in steps if (part := parts.get(f"{name}_at{step}"))]
        rows.append(
            {
                "dataset": name,
                "measure": plan["measure"],
                "value": value,
                "target": plan["target"],
                "reached": reaches(value, plan["target"], plan["measure"]),
                "published": plan["published"],
                "test_result": best,
                "alternative": next((part for part in results if part is not best), None),
                "ground_truth": parts.get(f"{name}_truth"),
                "erdos_renyi": parts.get(f"{name}_{NULL}"),
                "by_network_calls": [
                    point for part in (calls, langevin) if part for point in part["curve"]
                ],
                "by_training_time": [
                    *(_moment(part, measured(part, plan["measure"])) for part in earlier),
                    *([_moment(calls, _final(calls["curve"], plan))] if calls else []),
                ],
            }
        )
    return rows


def _smallest_distance(result: Record) -> float:
    return min(float(trial["distance"]) for trial in result["trials"])


def _moment(part: Record, value: float) -> Record:
    return {"step": part["step"], "seconds": part["training_seconds"], "value": value}


def _final(curve: Sequence[Record], plan: Plan) -> float:
    """Quality at the end of the training, with the sampler of the intermediate evaluations."""
    heun = heun_sampler(plan["calls"])
    found: float = next(
        point["value"]
        for point in curve
        if (point["sampler"], point["calls"]) == (heun.kind, heun.network_calls)
    )
    return found


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
