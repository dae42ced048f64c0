"""Past the paper: the log-odds denoiser on small sets and on those that EDP-GNN fails on.

The parts of a set share one training and belong together in their order: its quality at some
moments of the training, the verdict with the sampler that validation graphs chose, and its quality
against the number of network calls. Some sets have more: a verdict with a guide, what fresh graphs
of the true generator are measured at, and a training of the paper's EDP-GNN, with annealed Langevin
dynamics measured in the same way. Test graphs are seen by verdicts, and by the fresh graphs, only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from typing import Any, Literal

import networkx as nx

from graphscore.communities import with_communities
from graphscore.datasets import Dataset, load_dataset
from graphscore.experiments.context import Context, Record
from graphscore.experiments.frontier_plans import (
    GUIDES,
    LANGEVIN,
    LEARNING,
    SETS,
    TRUTH,
    Plan,
    better_is_smaller,
    guide_plan,
    langevin_plan,
    marks,
    measured,
    plan_of,
    reaches,
    usual_sampler,
)
from graphscore.experiments.frontier_report import markdown, pictures, tables
from graphscore.experiments.graph_texts import texts_of
from graphscore.experiments.registry import Experiment
from graphscore.generator import GraphGenerator
from graphscore.graphs import GraphBatch
from graphscore.metrics import evaluate, ratio_to_floor, validity_of, vun
from graphscore.sampling import (
    CommunityDistribution,
    CommunitySizes,
    LangevinSettings,
    RenoisingSettings,
    SamplerSettings,
    Selection,
    langevin_grid,
    select,
)
from graphscore.seeding import derive_seed
from graphscore.training.checkpoint import read_document
from graphscore.training.run_folder import RunFolder

SEED = 0
SHOWN = 8
"""Graphs that records keep to show."""
CALLS = (8, 16, 32, 64, 128, 256, 512)
"""Network calls that quality is measured against."""
START = 0.5
"""Noise level that two of the samplers start from, at which graphs begin to take shape."""


def keys(context: Context) -> list[str]:
    found = []
    for name in SETS[context.sizes.name]:
        moments = [f"{name}_at{step}" for step in marks(plan_of(context, name))]
        found += [*moments, f"{name}_verdict", f"{name}_calls"]
        if name in GUIDES:
            found.append(f"{name}_guided")
        if name in TRUTH:
            found.append(f"{name}_truth")
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
        "guides": {n: guide_plan(context, n).described() for n in names if n in GUIDES},
        "langevin": {n: langevin_plan(context, n).described() for n in names if n in LANGEVIN},
    }


def part_settings(context: Context, key: str) -> Record:
    name, _, which = key.rpartition("_")
    plan = plan_of(context, name)
    decided: Record = {"seed": SEED, "learning": LEARNING, "plan": plan.described()}
    if which.startswith("at") or which == "truth":
        # Moments of a training cannot be computed again, so nothing more than needed decides them.
        del decided["plan"]["trial_samples"]
    if which == "verdict":
        decided["candidates"] = [tried.model_dump(mode="json") for tried in plan.candidates]
    if which in ("verdict", "guided"):
        decided["shown"] = SHOWN
    if which == "calls":
        decided["calls"] = CALLS
        decided["start"] = START
    if which == "guided":
        decided["guide"] = guide_plan(context, name).described()
    if which == "langevin":
        decided["langevin"] = langevin_plan(context, name).described()
    return decided


def compute(context: Context, key: str) -> Record:
    name, _, which = key.rpartition("_")
    plan = plan_of(context, name)
    data = load_dataset(plan.dataset or name, data_dir=context.data_dir)
    if which == "langevin":
        return _langevin(context, key, data, plan)
    if which == "truth":
        return {"dataset": name, **_measures(TRUTH[name](plan.samples), data, plan, "test")}
    stop_at = int(which.removeprefix("at")) if which.startswith("at") else None
    generator = context.fit(
        name,
        data.train,
        source=data.info.name,
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
        return {**record, **_verdict({generator: plan.candidates}, data, plan)}
    if which == "guided":
        guided, made = _guided(context, name, generator, data, plan)
        return {**record, **made, **_verdict(guided, data, plan)}
    if which == "calls":
        return {**record, "curve": _against_calls(generator, data, plan)}
    return {**record, **judge(generator, data, plan, "val", number=plan.moment_samples)}


# ---------------------------------------------------------------------- measuring


def judge(
    generator: GraphGenerator,
    data: Dataset,
    plan: Plan,
    part: Literal["val", "test"],
    sampling: SamplerSettings | None = None,
    *,
    number: int | None = None,
) -> Record:
    """Sample and measure against validation or test graphs, with samples that are new for each.

    What chose the sampler must not be part of its verdict.

    Args:
        number: of samples, as many as for the verdict if not given.
    """
    seed = derive_seed(SEED, "frontier", data.info.name, part)
    samples = generator.sample(number or plan.samples, seed=seed, sampling=sampling)
    shown = {"training_graphs": data.train, "sampled_graphs": samples}
    return {
        **_measures(samples, data, plan, part),
        **{key: texts_of(graphs[:SHOWN]) for key, graphs in shown.items()},
    }


def _measures(
    graphs: Sequence[nx.Graph[Any]], data: Dataset, plan: Plan, part: Literal["val", "test"]
) -> Record:
    """Distances to validation or test graphs, also in units of the training set's, and V.U.N."""
    reference, rule = data.split(part), validity_of(data.info.name)
    judged = evaluate(graphs, reference, training=data.train, kernel=plan.kernel)
    floor = evaluate(data.train, reference, kernel=plan.kernel)
    record: Record = {
        "mmd": judged.to_dict(),
        "floor": floor.to_dict(),
        "ratio": ratio_to_floor(judged, floor).to_dict(),
    }
    if rule is not None:
        record["vun"] = vun(graphs, data.train, rule).to_dict()
    return record


def _chosen(
    generator: GraphGenerator, data: Dataset, plan: Plan, tried: Sequence[SamplerSettings]
) -> tuple[Selection[SamplerSettings], Record]:
    """Choose a sampler on validation graphs; also return what `judge` gave for it."""
    records: dict[SamplerSettings, Record] = {}

    def distance(sampling: SamplerSettings) -> float:
        record = judge(generator, data, plan, "val", sampling, number=plan.trial_samples)
        records[sampling] = record
        value, average = measured(record, plan.measure), record["mmd"]["average"]
        # Among equally good shares, the nearer distribution: no MMD outweighs a single graph.
        return value if better_is_smaller(plan.measure) else float(average) - 1e5 * value

    selection = select(tried, distance)
    return selection, records[selection.best]


def _verdict(
    tried: Mapping[GraphGenerator, Sequence[SamplerSettings]], data: Dataset, plan: Plan
) -> Record:
    """Choose generator and sampler on validation graphs, then look at the test graphs once."""
    found = {one: _chosen(one, data, plan, samplers)[0] for one, samplers in tried.items()}
    generator = min(found, key=lambda one: found[one].distance)
    best, guide = found[generator].best, generator.settings.guide
    assert not isinstance(best, LangevinSettings)  # none of the candidates is
    return {
        "graphs": {"train": len(data.train), "val": len(data.val), "test": len(data.test)},
        "parameters": sum(p.numel() for p in generator.network.parameters()),
        "sampling": best.model_dump(mode="json"),
        "guidance": _guidance(generator),
        "network_calls": best.network_calls * (1 if guide is None else 2),
        "trials": [
            {
                "sampling": sampler.model_dump(mode="json"),
                "guidance": _guidance(one),
                "distance": value,
            }
            for one, selection in found.items()
            for sampler, value in selection.trials
        ],
        **judge(generator, data, plan, "test", best),
        **_unseen(generator, data, plan, best),
    }


def _unseen(
    generator: GraphGenerator, data: Dataset, plan: Plan, sampling: SamplerSettings
) -> Record:
    """Where communities are told: measures with those of graphs that training has not seen."""
    if generator.communities is None:
        return {}
    told = unseen_communities(data.val, generator.communities, plan.samples)
    seed = derive_seed(SEED, "frontier", data.info.name, "unseen")
    samples = generator.sample(plan.samples, communities=told, seed=seed, sampling=sampling)
    return {"unseen": _measures(samples, data, plan, "test")}


def unseen_communities(
    graphs: Sequence[nx.Graph[Any]], seen: CommunityDistribution, number: int
) -> list[CommunitySizes]:
    """Communities of graphs, one graph after the other and over again, without those seen."""
    _, known = with_communities(GraphBatch.from_networkx(graphs), graphs)
    new = (sizes for sizes in known.counts if sizes not in seen.counts)
    return list(islice(cycle(new), number))


def _guidance(generator: GraphGenerator) -> Record | None:
    guide = generator.settings.guide
    return None if guide is None else guide.model_dump(mode="json", exclude={"network"})


def _guided(
    context: Context, name: str, generator: GraphGenerator, data: Dataset, plan: Plan
) -> tuple[dict[GraphGenerator, Sequence[SamplerSettings]], Record]:
    """Train the guide of a set; return the generator with it by each weight, and how it was made.

    A guide is small, so it may have been trained on another device than the model.
    """
    guide, key = guide_plan(context, name), f"{name}_guide"
    weaker = context.fit(
        key,
        data.train,
        source=data.info.name,
        seed=SEED,
        network=guide.network,
        denoising=plan.denoising,
        training={**LEARNING, **plan.training, **guide.training},
        sampling=usual_sampler(plan.calls),
    )
    levels = {"sigma_min": guide.sigma_min, "sigma_max": guide.sigma_max}
    guided: dict[GraphGenerator, Sequence[SamplerSettings]] = {
        generator.guided_by(weaker, weight=weight, **levels): guide.samplers
        for weight in guide.weights
    }
    run = context.run_folder(key)
    return guided, {
        "guide_seconds": RunFolder(run).records()[-1]["seconds"],
        "guide_device": read_document(run)["made_with"]["device"],
    }


def _against_calls(generator: GraphGenerator, data: Dataset, plan: Plan) -> list[Record]:
    """Quality, on validation graphs, of some samplers in different numbers of network calls."""
    points = []
    for calls in CALLS:
        if calls > 2 * plan.calls:
            continue
        usual = usual_sampler(calls)
        late = RenoisingSettings(steps=calls, sigma_max=START)
        late_heun = usual.replaced(churn=usual.churn / 4, sigma_max=START)
        for label, sampler in (("heun", usual), ("late", late), ("late-heun", late_heun)):
            record = judge(generator, data, plan, "val", sampler, number=plan.trial_samples)
            points.append(
                {
                    "sampler": label,
                    "calls": sampler.network_calls,
                    "value": measured(record, plan.measure),
                    "sampling": sampler.model_dump(mode="json"),
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
    """Of every set that has its verdict; curves have the points that are there."""
    rows = []
    for name in SETS[context.sizes.name]:
        judged = [parts[key] for key in (f"{name}_verdict", f"{name}_guided") if key in parts]
        if not judged:
            continue
        plan = plan_of(context, name)
        # With its guide or without it, whichever validation graphs prefer.
        verdict = min(judged, key=_nearest)
        value = measured(verdict, plan.measure)
        calls, langevin = (parts.get(f"{name}_{which}") for which in ("calls", "langevin"))
        moments = [parts.get(f"{name}_at{step}") for step in marks(plan)]
        rows.append(
            {
                "dataset": name,
                "measure": plan.measure,
                "value": value,
                "target": plan.target,
                "reached": reaches(value, plan.target, plan.measure),
                "published": plan.published,
                "verdict": verdict,
                "other": next((part for part in judged if part is not verdict), None),
                "truth": parts.get(f"{name}_truth"),
                "against_calls": [
                    point for part in (calls, langevin) if part for point in part["curve"]
                ],
                "against_training": [
                    *(_moment(part, measured(part, plan.measure)) for part in moments if part),
                    *([_moment(calls, _usual(calls["curve"], plan))] if calls else []),
                ],
            }
        )
    return rows


def _nearest(verdict: Record) -> float:
    return min(float(trial["distance"]) for trial in verdict["trials"])


def _moment(part: Record, value: float) -> Record:
    return {"step": part["step"], "seconds": part["training_seconds"], "value": value}


def _usual(curve: Sequence[Record], plan: Plan) -> float:
    """The quality that the moments of a training are measured by, at its end."""
    usual = usual_sampler(plan.calls)
    found: float = next(
        point["value"]
        for point in curve
        if (point["sampler"], point["calls"]) == (usual.sampler, usual.network_calls)
    )
    return found


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
    needs_all=False,
)
