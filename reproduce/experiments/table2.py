"""Table 2: how far samples are from the test graphs, beside published rows and floors.

Validation graphs are 32 of the training graphs and stay in training, as in the paper's appendix;
they choose (epsilon, epsilon_s). Test graphs are seen only by the final verdict.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import networkx as nx

from graphscore.datasets import load_dataset, sample_community
from graphscore.experiments.context import Context, Record
from graphscore.experiments.registry import Experiment
from graphscore.experiments.selecting import choose_sampling
from graphscore.experiments.tables import (
    Table,
    made_by,
    over_seeds,
    summaries,
    summary,
    with_spread,
)
from graphscore.metrics import EvaluationResult, evaluate
from graphscore.seeding import derive_seed, numpy_generator
from graphscore.training.run_folder import RunFolder

SETS = ("community-small-released", "ego-small", "community-small")
DISTANCES = ("degree", "clustering", "orbit", "average")
NUMBERS = (*DISTANCES, "uniqueness", "novelty")

PUBLISHED = {
    "community-small-released": {
        "few": {
            "GraphVAE": (0.350, 0.980, 0.540, 0.623),
            "DeepGMG": (0.220, 0.950, 0.400, 0.523),
            "GraphRNN": (0.080, 0.120, 0.040, 0.080),
            "GNF": (0.200, 0.200, 0.110, 0.170),
            "EDP-GNN": (0.053, 0.144, 0.026, 0.074),
        },
        "many": {
            "GraphRNN": (0.030, 0.010, 0.010, 0.017),
            "GNF": (0.120, 0.150, 0.020, 0.097),
            "EDP-GNN": (0.006, 0.127, 0.018, 0.050),
        },
    },
    "ego-small": {
        "few": {
            "GraphVAE": (0.130, 0.170, 0.050, 0.117),
            "DeepGMG": (0.040, 0.100, 0.020, 0.053),
            "GraphRNN": (0.090, 0.220, 0.003, 0.104),
            "GNF": (0.030, 0.100, 0.001, 0.044),
            "EDP-GNN": (0.052, 0.093, 0.007, 0.050),
        },
        "many": {
            "GraphRNN": (0.040, 0.050, 0.060, 0.050),
            "GNF": (0.010, 0.030, 0.001, 0.014),
            "EDP-GNN": (0.010, 0.025, 0.003, 0.013),
        },
    },
}
"""Degree, clustering, orbit and average MMD of Niu et al. 2020, Table 2; "many" is 1024 samples."""

TARGETS = {
    "community-small-released": {"few": 0.074, "many": 0.050},
    "ego-small": {"few": 0.050, "many": 0.016},
}
"""Averages to reach: the published ones of EDP-GNN, but for 1024 samples of ego-small, where the
published .013 lies under the distance of the training set itself (.015)."""


def keys(context: Context) -> list[str]:
    return [key for name in SETS for key in (f"{name}_floor", *context.seed_keys(name))]


def settings(context: Context) -> Record:
    sizes = context.sizes
    return {
        **context.defaults(long=True),
        "samples": sizes.samples,
        "step_sizes": sizes.step_sizes,
        "noise_scales": sizes.noise_scales,
        "selection_samples": sizes.selection_samples,
        "floor_draws": sizes.floor_draws,
    }


def compute(context: Context, key: str) -> Record:
    name, _, which = key.rpartition("_")
    if which == "floor":
        return _floor(name, context.sizes.floor_draws, context.sizes.samples)
    return _trained(context, key, name, int(which.removeprefix("seed")))


def _floor(name: str, draws: int, many: int) -> Record:
    """What a perfect model would get: the training set, and sets as large as the test set."""
    data = load_dataset(name)
    size = len(data.test)
    record: Record = {
        "graphs": {"train": len(data.train), "val": len(data.val), "test": size},
        "dataset_seed": data.info.standard_seed if data.info.seeded else None,
        # Novelty makes no sense for the training set itself.
        "train": _numbers(evaluate(data.train, data.test)),
        "many": None,
    }
    if name.startswith("community"):
        released = name.endswith("released")
        fresh = sample_community(draws * size, seed=0, released=released)
        sets = [fresh[start : start + size] for start in range(0, len(fresh), size)]
        record["few_from"] = "the true generator"
        more = sample_community(many, seed=1, released=released)
        record["many"] = _numbers(evaluate(more, data.test, training=data.train))
    else:
        rng = numpy_generator(0, "floor", name)
        chosen = [rng.choice(len(data.train), size, replace=False) for _ in range(draws)]
        sets = [[data.train[index] for index in choice] for choice in chosen]
        record["few_from"] = "the training set"
    rows = [_numbers(evaluate(graphs, data.test, training=data.train)) for graphs in sets]
    return {**record, "draws": draws, "few": summaries(rows, NUMBERS)}


def _trained(context: Context, key: str, name: str, seed: int) -> Record:
    data, sizes = load_dataset(name), context.sizes
    generator = context.fit(key, data.train, source=name, seed=seed, **context.defaults(long=True))
    started = time.perf_counter()
    selection = choose_sampling(sizes, generator, data.val, seed=seed)
    selected = time.perf_counter()
    samples = generator.sample(sizes.samples, seed=derive_seed(seed, "generation", name))
    sampled = time.perf_counter()
    last = RunFolder(context.run_folder(key)).records()[-1]
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
    """Cut samples into sets as large as the test set; what is left over is left out."""
    return [samples[start : start + size] for start in range(0, len(samples) - size + 1, size)]


def _numbers(result: EvaluationResult) -> Record:
    return {name: getattr(result, name) for name in (*NUMBERS, "sample_count")}


def assemble(context: Context, parts: Mapping[str, Record]) -> list[Record]:
    rows = []
    for name in SETS:
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
                    "count": context.sizes.samples,
                    **summaries([seed["many"] for seed in seeds], NUMBERS),
                },
                "few": {"count": floor["graphs"]["test"], "sets": len(all_sets), **few},
                "floor": floor,
                "per_seed": seeds,
            }
        )
    return rows


# ---------------------------------------------------------------------- tables


def tables(record: Record) -> list[Table]:
    return [_distances(result) for result in record["results"]] + [_choices(record)]


def _distances(result: Record) -> Table:
    name, floor = result["dataset"], result["floor"]
    few, many = result["few"], result["many"]
    published = PUBLISHED.get(name, {"few": {}, "many": {}})
    rows = [_published(label, few["count"], p) for label, p in published["few"].items()]
    rows.append(["graphscore", f"{few['count']}", *_means(few)])
    rows.append(["5–95 % of sets", f"{few['count']}", *_interval(few)])
    rows.append([f"floor: {floor['few_from']}", f"{few['count']}", *_means(floor["few"])])
    rows.append(["5–95 % of sets", f"{few['count']}", *_interval(floor["few"])])
    rows += [_published(label, 1024, p) for label, p in published["many"].items()]
    rows.append(["graphscore", f"{many['count']}", *_means(many)])
    if floor["many"] is not None:
        rows.append(["floor: the true generator", f"{many['count']}", *_single(floor["many"])])
    train = floor["train"]
    rows.append(["floor: the training set", f"{train['sample_count']}", *_single(train)])
    columns = ["", "graphs", "degree", "clustering", "orbit", "average", "unique", "novel"]
    return Table(name, columns, rows)


def _published(label: str, count: int, values: tuple[float, ...]) -> list[str]:
    cells = [f"{value:.3f}" for value in values]
    return [f"{label}, published", f"{count}", *cells, "", ""]


def _means(part: Record) -> list[str]:
    cells = [with_spread(part[name], 4) for name in DISTANCES]
    return cells + [_share(part[name]["mean"]) for name in ("uniqueness", "novelty")]


def _interval(part: Record) -> list[str]:
    cells = [f"{part[name]['low']:.4f}–{part[name]['high']:.4f}" for name in DISTANCES]
    shares = ((part[name]["low"], part[name]["high"]) for name in ("uniqueness", "novelty"))
    return cells + [f"{_share(low)}–{_share(high)}" for low, high in shares]


def _single(part: Record) -> list[str]:
    cells = [f"{part[name]:.4f}" for name in DISTANCES]
    return cells + [_share(part[name]) for name in ("uniqueness", "novelty")]


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"


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
        "validation",
        "test size",
        "many",
        "loss",
        "training s",
        "sampling s",
    ]
    return Table("Chosen on validation graphs; averages; training loss summed", columns, rows)


def _few_mean(seed: Record) -> float:
    return summary([one["average"] for one in seed["few"]])["mean"]


def verdicts(record: Record) -> list[str]:
    """One sentence per number that was to be reached."""
    lines = []
    for result in record["results"]:
        for which, target in TARGETS.get(result["dataset"], {}).items():
            part = result[which]
            mean = part["average"]["mean"]
            reached = "reached" if mean <= target else "not reached"
            lines.append(
                f"{result['dataset']}, {part['count']} samples: average {mean:.4f}, to reach "
                f"{target:.3f}: {reached}."
            )
    return lines


def markdown(record: Record) -> str:
    parts = [
        "## Generation (Table 2)\n",
        made_by(record),
        "MMD to the test graphs, smaller is better. Rows of graphscore: "
        f"{over_seeds(record)}. For samples as many as test "
        "graphs, each seed's number is the mean over disjoint sets of its samples, and the "
        "interval is that of all sets; published rows are one set. Floor rows: the training set, "
        f"and sets of fresh graphs or training graphs (± standard deviation of {_draws(record)} "
        "sets). An average under the floor of the same size is luck. ε and ε_s were chosen on 32 "
        "validation graphs, which are part of the training graphs as in the paper; test graphs "
        "choose nothing. Published: Niu et al. 2020, Table 2; its Community-small is another "
        "draw of community-small-released (see [data](data.md)), and community-small has no "
        "published row. "
        "For uniqueness and novelty, the floor of the same size is the measure.\n",
        "\n".join(f"- {line}" for line in verdicts(record)) + "\n",
    ]
    for table in tables(record):
        parts += [f"### {table.title}\n", table.markdown() + "\n"]
    return "\n".join(parts)


def _draws(record: Record) -> int:
    draws: int = record["settings"]["floor_draws"]
    return draws


EXPERIMENT = Experiment(
    "generation",
    keys=keys,
    settings=settings,
    compute=compute,
    assemble=assemble,
    tables=tables,
    markdown=markdown,
)
