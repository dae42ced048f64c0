"""Past the paper: the log-odds denoiser on small sets and on those that EDP-GNN fails on.

The parts of a set share one training and belong together in their order: its quality at some
moments of the training, the verdict with the sampler that validation graphs chose, and its quality
against the number of network calls. Some sets have one more, which trains the paper's EDP-GNN and
measures annealed Langevin dynamics in the same way. Test graphs are seen by verdicts only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from graphscore.datasets import Dataset, load_dataset
from graphscore.experiments.context import Context, Record
from graphscore.experiments.frontier_plans import (
    LANGEVIN,
    LEARNING,
    SETS,
    Plan,
    better_is_smaller,
    langevin_plan,
    marks,
    plan_of,
)
from graphscore.experiments.frontier_report import markdown, pictures, tables
from graphscore.experiments.graph_texts import texts_of
from graphscore.experiments.registry import Experiment
from graphscore.generator import GraphGenerator
from graphscore.metrics import evaluate, ratio_to_floor, validity_of, vun
from graphscore.sampling import (
    HeunSettings,
    LangevinSettings,
    RenoisingSettings,
    SamplerSettings,
    Selection,
    langevin_grid,
    select,
)
from graphscore.seeding import derive_seed
from graphscore.training.run_folder import RunFolder

SEED = 0
SHOWN = 8
"""Graphs that records keep to show."""
CALLS = (8, 16, 32, 64, 128, 256, 512)
"""Network calls that quality is measured against."""


def keys(context: Context) -> list[str]:
    found = []
    for name in SETS[context.sizes.name]:
        moments = [f"{name}_at{step}" for step in marks(plan_of(context, name))]
        found += [*moments, f"{name}_verdict", f"{name}_calls"]
        if name in LANGEVIN:
            found.append(f"{name}_langevin")
    return found


def settings(context: Context) -> Record:
    names = SETS[context.sizes.name]
    return {
        "seed": SEED,
        "learning": LEARNING,
        "plans": {name: plan_of(context, name).described() for name in names},
        "calls": CALLS,
        "langevin": {n: langevin_plan(context, n).described() for n in names if n in LANGEVIN},
    }


def part_settings(context: Context, key: str) -> Record:
    name, _, which = key.rpartition("_")
    plan = plan_of(context, name)
    decided: Record = {"seed": SEED, "learning": LEARNING, "plan": plan.described()}
    if which == "verdict":
        decided["candidates"] = [tried.model_dump(mode="json") for tried in candidates(plan.calls)]
        decided["shown"] = SHOWN
    if which == "calls":
        decided["calls"] = CALLS
    if which == "langevin":
        decided["langevin"] = langevin_plan(context, name).described()
    return decided


def compute(context: Context, key: str) -> Record:
    name, _, which = key.rpartition("_")
    plan = plan_of(context, name)
    data = load_dataset(name, data_dir=context.data_dir)
    if which == "langevin":
        return _langevin(context, key, data, plan)
    stop_at = int(which.removeprefix("at")) if which.startswith("at") else None
    generator = context.fit(
        name,
        data.train,
        source=name,
        seed=SEED,
        stop_at=stop_at,
        network=plan.network,
        denoising=plan.denoising,
        training={**LEARNING, **plan.training},
        sampling=usual_sampler(plan.calls),
    )
    last = RunFolder(context.run_folder(name)).records()[-1]
    record = {
        "dataset": name,
        "step": generator.step,
        "training_seconds": last["seconds"],
        "loss": last["loss"],
    }
    if which == "verdict":
        return {**record, **_verdict(generator, data, plan)}
    if which == "calls":
        return {**record, "curve": _against_calls(generator, data, plan)}
    return {**record, **judge(generator, data, plan, "val")}


# ---------------------------------------------------------------------- samplers


def usual_sampler(calls: int) -> HeunSettings:
    """Heun's method with fresh noise in at most so many network calls."""
    steps = max(1, (calls + 1) // 2)
    return HeunSettings(steps=steps, churn=0.4 * steps)


def candidates(calls: int) -> list[SamplerSettings]:
    """Samplers in at most so many network calls that validation graphs choose from."""
    heun = usual_sampler(calls)
    return [
        *(heun.replaced(churn=share * heun.steps) for share in (0.05, 0.1, 0.2, 0.4)),
        *(RenoisingSettings(steps=calls, rho=rho) for rho in (3.0, 7.0)),
    ]


def judge(
    generator: GraphGenerator,
    data: Dataset,
    plan: Plan,
    part: Literal["val", "test"],
    sampling: SamplerSettings | None = None,
) -> Record:
    """Sample and measure against validation or test graphs, with samples that are new for each.

    What chose the sampler must not be part of its verdict.
    """
    name, reference = data.info.name, data.split(part)
    seed = derive_seed(SEED, "frontier", name, part)
    samples = generator.sample(plan.samples, seed=seed, sampling=sampling)
    shown = {"training_graphs": data.train, "sampled_graphs": samples}
    judged = evaluate(samples, reference, training=data.train, kernel=plan.kernel)
    floor = evaluate(data.train, reference, kernel=plan.kernel)
    record: Record = {
        "mmd": judged.to_dict(),
        "floor": floor.to_dict(),
        "ratio": ratio_to_floor(judged, floor).to_dict(),
        **{key: texts_of(graphs[:SHOWN]) for key, graphs in shown.items()},
    }
    rule = validity_of(name)
    if rule is not None:
        record["vun"] = vun(samples, data.train, rule).to_dict()
    return record


def measured(record: Record, measure: str) -> float:
    """The number that is compared with the target, from what `judge` gave."""
    if measure in ("vun", "valid"):
        share: float = record["vun"][measure]
        return share
    mmd = record["mmd"]
    if measure == "average":
        return float(mmd["average"])
    return max(float(mmd[name]) for name in ("degree", "clustering", "orbit"))


def _chosen(
    generator: GraphGenerator, data: Dataset, plan: Plan, tried: Sequence[SamplerSettings]
) -> tuple[Selection, Record]:
    """Choose a sampler on validation graphs; also return what `judge` gave for it."""
    records: dict[SamplerSettings, Record] = {}

    def distance(sampling: SamplerSettings) -> float:
        record = records[sampling] = judge(generator, data, plan, "val", sampling)
        value, average = measured(record, plan.measure), record["mmd"]["average"]
        # Among equally good shares, the nearer distribution: no MMD outweighs a single graph.
        return value if better_is_smaller(plan.measure) else float(average) - 1e5 * value

    selection = select(tried, distance)
    return selection, records[selection.best]


def _verdict(generator: GraphGenerator, data: Dataset, plan: Plan) -> Record:
    """Choose the sampler on validation graphs, then look at the test graphs once."""
    selection, _ = _chosen(generator, data, plan, candidates(plan.calls))
    assert not isinstance(selection.best, LangevinSettings)  # none of the candidates is
    return {
        "graphs": {"train": len(data.train), "val": len(data.val), "test": len(data.test)},
        "parameters": sum(p.numel() for p in generator.network.parameters()),
        "sampling": selection.best.model_dump(mode="json"),
        "network_calls": selection.best.network_calls,
        "trials": [
            {"sampling": tried.model_dump(mode="json"), "distance": value}
            for tried, value in selection.trials
        ],
        **judge(generator, data, plan, "test", selection.best),
    }


def _against_calls(generator: GraphGenerator, data: Dataset, plan: Plan) -> list[Record]:
    """Quality, on validation graphs, of both samplers in different numbers of network calls."""
    points = []
    for calls in CALLS:
        if calls > 2 * plan.calls:
            continue
        for sampler in (usual_sampler(calls), RenoisingSettings(steps=calls)):
            record = judge(generator, data, plan, "val", sampler)
            points.append(
                {
                    "sampler": sampler.sampler,
                    "calls": sampler.network_calls,
                    "value": measured(record, plan.measure),
                }
            )
    return points


def _langevin(context: Context, key: str, data: Dataset, plan: Plan) -> Record:
    """Quality, on validation graphs, of the paper's model and sampler in chains of each length."""
    name = data.info.name
    langevin = langevin_plan(context, name)
    generator = context.fit(
        key,
        data.train,
        source=name,
        seed=SEED,
        network=langevin.network,
        training=langevin.training,
    )
    points = []
    for steps in langevin.lengths:
        base = LangevinSettings(steps_per_level=steps)
        tried = langevin_grid(base, langevin.step_sizes, langevin.noise_scales)
        found, record = _chosen(generator, data, plan, tried)
        points.append(
            {
                "sampler": "langevin",
                "calls": found.best.steps_in_all(generator.settings.noise),
                "value": measured(record, plan.measure),
                "sampling": found.best.model_dump(mode="json"),
            }
        )
    last = RunFolder(context.run_folder(key)).records()[-1]
    return {"dataset": name, "training_seconds": last["seconds"], "curve": points}


# ---------------------------------------------------------------------- the record


def assemble(context: Context, parts: Mapping[str, Record]) -> list[Record]:
    rows = []
    for name in SETS[context.sizes.name]:
        plan = plan_of(context, name)
        verdict, calls = parts[f"{name}_verdict"], parts[f"{name}_calls"]
        langevin = parts.get(f"{name}_langevin", {"curve": []})
        moments = [parts[f"{name}_at{step}"] for step in marks(plan)]
        value = measured(verdict, plan.measure)
        smaller = better_is_smaller(plan.measure)
        rows.append(
            {
                "dataset": name,
                "measure": plan.measure,
                "value": value,
                "target": plan.target,
                "reached": value <= plan.target if smaller else value >= plan.target,
                "published": plan.published,
                "verdict": verdict,
                "against_calls": [*calls["curve"], *langevin["curve"]],
                "against_training": [
                    {
                        "step": moment["step"],
                        "seconds": moment["training_seconds"],
                        "value": measured(moment, plan.measure),
                    }
                    for moment in moments
                ],
            }
        )
    return rows


EXPERIMENT = Experiment(
    "frontier",
    keys=keys,
    settings=settings,
    compute=compute,
    assemble=assemble,
    tables=tables,
    markdown=markdown,
    pictures=pictures,
    seeded=False,
    part_settings=part_settings,
)
