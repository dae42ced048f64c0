"""Table 2: MMD of samples to the test graphs, with published values and floors.

Validation graphs are 32 of the training graphs and stay in training, as in the paper's appendix;
(epsilon, epsilon_s) is chosen on them. Test graphs are used only for the final evaluation.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import networkx as nx

from graphscore.datasets import Dataset, load_dataset, sample_community
from graphscore.metrics import EvaluationResult, evaluate
from graphscore.seeding import derive_seed, numpy_generator
from reproduce.context import Context, Record
from reproduce.core import choose_langevin, erdos_renyi_samples, training_log
from reproduce.experiment import Experiment
from reproduce.plans import load_plan
from reproduce.tables import Table, percent, summaries, summary, with_std

NAME = "table2"
DISTANCES = ("degree", "clustering", "orbit", "average")
NUMBERS = (*DISTANCES, "uniqueness", "novelty")
NULL = "erdos-renyi"
"""The null row: a model that knows only how many nodes and edges graphs have."""


def keys(context: Context) -> list[str]:
    datasets = context.plan(NAME)["datasets"]
    return [
        key
        for name in datasets
        for key in (f"{name}_floor", f"{name}_{NULL}", *context.seed_keys(name))
    ]


def settings(context: Context) -> Record:
    plan = context.plan(NAME)
    sizes = ("samples", "step_sizes", "noise_scales", "selection_samples", "floor_draws")
    return {**context.defaults(long=True), **{key: plan[key] for key in sizes}}


def compute(context: Context, key: str) -> Record:
    name, _, which = key.rpartition("_")
    plan = context.plan(NAME)
    if which == "floor":
        return _floor(name, plan["floor_draws"], plan["samples"])
    if which == NULL:
        return _erdos_renyi(name, plan["floor_draws"], plan["samples"])
    return _trained(context, key, name, int(which.removeprefix("seed")))


def _floor(name: str, draws: int, many: int) -> Record:
    """The floor: distances of the training set, and of sets as large as the test set."""
    data = load_dataset(name)
    size = len(data.test)
    record: Record = {
        "graphs": {"train": len(data.train), "val": len(data.val), "test": size},
        "dataset_seed": data.info.standard_seed if data.info.seeded else None,
        # Novelty is undefined for the training set itself.
        "train": _numbers(evaluate(data.train, data.test)),
        "many": None,
    }
    if name.startswith("community"):
        released = name.endswith("released")
        fresh = sample_community(draws * size, seed=0, released=released)
        sets = _sets(fresh, size)
        record["few_from"] = "the true generator"
        more = sample_community(many, seed=1, released=released)
        record["many"] = _numbers(evaluate(more, data.test, training=data.train))
    else:
        rng = numpy_generator(0, "floor", name)
        chosen = [rng.choice(len(data.train), size, replace=False) for _ in range(draws)]
        sets = [[data.train[index] for index in choice] for choice in chosen]
        record["few_from"] = "the training set"
    return {**record, "draws": draws, "few": _few(sets, data)}


def _erdos_renyi(name: str, draws: int, many: int) -> Record:
    """Distances of random graphs with the density of the training graphs."""
    data = load_dataset(name)
    size = len(data.test)
    few = erdos_renyi_samples(data.train, draws * size, seed=0, source=name)
    more = erdos_renyi_samples(data.train, many, seed=1, source=name)
    return {
        "draws": draws,
        "few": _few(_sets(few, size), data),
        "many": _numbers(evaluate(more, data.test, training=data.train)),
    }


def _few(sets: Sequence[Sequence[nx.Graph[Any]]], data: Dataset) -> Record:
    """Summaries of the numbers of several sets of graphs."""
    rows = [_numbers(evaluate(graphs, data.test, training=data.train)) for graphs in sets]
    return summaries(rows, NUMBERS)


def _trained(context: Context, key: str, name: str, seed: int) -> Record:
    data, plan = load_dataset(name), context.plan(NAME)
    generator = context.fit(key, data.train, source=name, seed=seed, **context.defaults(long=True))
    started = time.perf_counter()
    selection = choose_langevin(generator, data.val, plan, seed=seed)
    selected = time.perf_counter()
    samples = generator.sample(plan["samples"], seed=derive_seed(seed, "generation", name))
    sampled = time.perf_counter()
    last = training_log(context.run_folder(key))
    sets = _sets(samples, len(data.test))
    return {
        "seed": seed,
        **selection,
        "training": {key: last[key] for key in ("loss", "summed", "per_pair", "seconds")},
        "selection_seconds": selected - started,
        "sampling_seconds": sampled - selected,
        "many": _numbers(evaluate(samples, data.test, training=data.train)),
        "few": [_numbers(evaluate(part, data.test, training=data.train)) for part in sets],
    }


def _sets(samples: Sequence[nx.Graph[Any]], size: int) -> list[Sequence[nx.Graph[Any]]]:
    """Split samples into sets as large as the test set, without the remainder."""
    return [samples[start : start + size] for start in range(0, len(samples) - size + 1, size)]


def _numbers(result: EvaluationResult) -> Record:
    values = result.to_dict()
    return {name: values[name] for name in (*NUMBERS, "sample_count")}


def assemble(context: Context, parts: Mapping[str, Record]) -> list[Record]:
    rows, plan = [], context.plan(NAME)
    for name in plan["datasets"]:
        floor = dict(parts[f"{name}_floor"])
        seeds = [dict(parts[key]) for key in context.seed_keys(name)]
        # One number per seed first: the sets of one model are not independent of each other.
        means = [
            {number: summary([one[number] for one in seed["few"]])["mean"] for number in NUMBERS}
            for seed in seeds
        ]
        all_sets = [one for seed in seeds for one in seed["few"]]
        interval = summaries(all_sets, NUMBERS)
        few = summaries(means, NUMBERS)
        for number in NUMBERS:
            few[number] |= {end: interval[number][end] for end in ("low", "high")}
        rows.append(
            {
                "dataset": name,
                "dataset_seed": floor["dataset_seed"],
                "graphs": floor["graphs"],
                "many": {
                    "count": plan["samples"],
                    **summaries([seed["many"] for seed in seeds], NUMBERS),
                },
                "few": {"count": floor["graphs"]["test"], "sets": len(all_sets), **few},
                "floor": floor,
                "erdos_renyi": parts[f"{name}_{NULL}"],
                "per_seed": seeds,
            }
        )
    return rows


# ---------------------------------------------------------------------- tables


def tables(record: Record) -> list[Table]:
    return [_distances(result) for result in record["results"]] + [_choices(record)]


def _distances(result: Record) -> Table:
    name, floor, null = result["dataset"], result["floor"], result["erdos_renyi"]
    few, many = result["few"], result["many"]
    published = load_plan(NAME, "full")["published"].get(name, {"few": {}, "many": {}})
    rows = [_published(label, few["count"], p) for label, p in published["few"].items()]
    rows.append(["graphscore", f"{few['count']}", *_means(few)])
    rows.append(["5–95 % of sets", f"{few['count']}", *_interval(few)])
    rows.append([f"floor: {floor['few_from']}", f"{few['count']}", *_means(floor["few"])])
    rows.append(["5–95 % of sets", f"{few['count']}", *_interval(floor["few"])])
    rows.append(["Erdős–Rényi", f"{few['count']}", *_means(null["few"])])
    rows += [_published(label, 1024, p) for label, p in published["many"].items()]
    rows.append(["graphscore", f"{many['count']}", *_means(many)])
    if floor["many"] is not None:
        rows.append(["floor: the true generator", f"{many['count']}", *_single(floor["many"])])
    rows.append(["Erdős–Rényi", f"{many['count']}", *_single(null["many"])])
    train = floor["train"]
    rows.append(["floor: the training set", f"{train['sample_count']}", *_single(train)])
    columns = ["", "graphs", "degree", "clustering", "orbit", "average", "unique", "novel"]
    return Table(name, columns, rows)


def _published(label: str, count: int, values: Sequence[float]) -> list[str]:
    cells = [f"{value:.3f}" for value in values]
    return [f"{label}, published", f"{count}", *cells, "", ""]


def _means(part: Record) -> list[str]:
    cells = [with_std(part[name], 4) for name in DISTANCES]
    return cells + [percent(part[name]["mean"]) for name in ("uniqueness", "novelty")]


def _interval(part: Record) -> list[str]:
    cells = [f"{part[name]['low']:.4f}–{part[name]['high']:.4f}" for name in DISTANCES]
    shares = ((part[name]["low"], part[name]["high"]) for name in ("uniqueness", "novelty"))
    return cells + [f"{percent(low)}–{percent(high)}" for low, high in shares]


def _single(part: Record) -> list[str]:
    cells = [f"{part[name]:.4f}" for name in DISTANCES]
    return cells + [percent(part[name]) for name in ("uniqueness", "novelty")]


def _choices(record: Record) -> Table:
    rows = []
    for result in record["results"]:
        for seed in result["per_seed"]:
            chosen, training = seed["sampling"], seed["training"]
            rows.append(
                [
                    f"{result['dataset']}, seed {seed['seed']}",
                    f"{chosen['step_size']:g}",
                    f"{chosen['noise_scale']:g}",
                    f"{seed['validation_average']:.4f}",
                    f"{_few_mean(seed):.4f}",
                    f"{seed['many']['average']:.4f}",
                    f"{training['summed']:.1f}",
                    f"{training['seconds']:.0f}",
                    f"{seed['sampling_seconds']:.1f}",
                ]
            )
    columns = [
        "",
        "ε",
        "ε_s",
        "validation average",
        "test average, few",
        "test average, many",
        "training loss",
        "training s",
        "sampling s",
    ]
    return Table("Sampler settings chosen on validation graphs", columns, rows)


def _few_mean(seed: Record) -> float:
    return summary([one["average"] for one in seed["few"]])["mean"]


def facts(record: Record) -> dict[str, Any]:
    """Averages with a target."""
    targets = load_plan(NAME, "full")["targets"]
    return {
        "targets": [
            {
                "dataset": result["dataset"],
                "count": result[which]["count"],
                "mean": result[which]["average"]["mean"],
                "target": target,
            }
            for result in record["results"]
            for which, target in targets.get(result["dataset"], {}).items()
        ]
    }


EXPERIMENT = Experiment(
    NAME,
    keys=keys,
    settings=settings,
    compute=compute,
    assemble=assemble,
    tables=tables,
    facts=facts,
)
