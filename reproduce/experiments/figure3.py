"""Figure 3 and appendix: training graphs and samples, valid lobsters, a Langevin trajectory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import torch
from torch import Tensor

from graphscore.datasets import load_dataset
from graphscore.errors import DatasetError
from graphscore.generator import GraphGenerator
from graphscore.metrics import evaluate, is_lobster
from graphscore.plots import draw_comparison
from graphscore.seeding import derive_seed
from reproduce.context import Context, Record
from reproduce.core import choose_langevin, erdos_renyi_samples, langevin_trajectory
from reproduce.experiment import Experiment
from reproduce.graph_texts import from_texts, to_texts
from reproduce.plans import load_plan
from reproduce.plots.trajectories import Stage, draw_trajectories
from reproduce.tables import Table, percent

NAME = "figure3"


def keys(context: Context) -> list[str]:
    return list(context.plan(NAME)["datasets"])


def settings(context: Context) -> Record:
    plan = context.plan(NAME)
    own = ("seed", "samples", "step_sizes", "noise_scales", "selection_samples")
    return {**context.defaults(long=True), **{key: plan[key] for key in own}}


def compute(context: Context, key: str) -> Record:
    plan = context.plan(NAME)
    seed, shown = plan["seed"], plan["shown"]
    try:
        data = load_dataset(key, data_dir=context.data_dir)
    except DatasetError as error:
        return {"dataset": key, "skipped": str(error)}
    generator = context.fit(key, data.train, source=key, seed=seed, **context.defaults(long=True))
    selection = choose_langevin(generator, data.val, plan, seed=seed)
    samples = generator.sample(plan["samples"], seed=derive_seed(seed, "samples", key))
    random = erdos_renyi_samples(data.train, plan["samples"], seed=seed, source=key)
    record: Record = {
        "dataset": key,
        **selection,
        "graphs": {"train": len(data.train), "test": len(data.test)},
        "samples": evaluate(samples, data.test, training=data.train).to_dict(),
        "floor": evaluate(data.train, data.test).to_dict(),
        "erdos_renyi": evaluate(random, data.test, training=data.train).to_dict(),
        "connected": _share([_connected(graph) for graph in samples]),
        "training_connected": _share([_connected(graph) for graph in data.train]),
        "training_graphs": to_texts(data.train[:shown]),
        "sampled_graphs": to_texts(samples[:shown]),
    }
    if key == "lobster":
        record["valid"] = _share([is_lobster(graph) for graph in samples])
        record["training_valid"] = _share([is_lobster(graph) for graph in data.train])
        record["trees"] = _share([len(graph) > 0 and nx.is_tree(graph) for graph in samples])
    if key == plan["trajectory"]["dataset"]:
        sizes = [len(graph) for graph in data.val[: plan["trajectory"]["graphs"]]]
        record["trajectory"] = _trajectory(generator, sizes, seed)
    return record


def _connected(graph: nx.Graph[Any]) -> bool:
    return len(graph) > 0 and nx.is_connected(graph)


def _share(found: Sequence[bool]) -> float:
    return sum(found) / len(found)


def _trajectory(generator: GraphGenerator, sizes: Sequence[int], seed: int) -> Record:
    """States at the start and at the end of every noise level, pairs i < j row by row."""
    sigmas, states = langevin_trajectory(generator, sizes, seed=seed)
    settings = generator.sampler_settings()
    return {
        "threshold": settings.threshold,
        "steps_per_level": settings.steps_per_level,
        "stages": ["noise", *(f"σ = {sigma:g}" for sigma in sigmas)],
        "graphs": [
            {"nodes": size, "states": [_pairs(state[index, :size, :size]) for state in states]}
            for index, size in enumerate(sizes)
        ],
    }


def _pairs(adj: Tensor) -> list[float]:
    rows, columns = torch.triu_indices(len(adj), len(adj), 1)
    return [round(value, 3) for value in adj.cpu()[rows, columns].tolist()]


def _matrix(pairs: Sequence[float], nodes: int) -> Tensor:
    adj = torch.zeros(nodes, nodes)
    rows, columns = torch.triu_indices(nodes, nodes, 1)
    adj[rows, columns] = torch.tensor(pairs)
    return adj + adj.T


def assemble(context: Context, parts: Mapping[str, Record]) -> list[Record]:
    return [parts[key] for key in keys(context)]


# ---------------------------------------------------------------------- tables and pictures


def _there(record: Record) -> dict[str, Record]:
    return {r["dataset"]: r for r in record["results"] if "skipped" not in r}


def tables(record: Record) -> list[Table]:
    rows, labels = [], load_plan(NAME, "full")["datasets"]
    for name, result in _there(record).items():
        for label, part, connected, valid in (
            ("samples", result["samples"], result["connected"], result.get("valid")),
            (
                "training",
                result["floor"],
                result["training_connected"],
                result.get("training_valid"),
            ),
            ("Erdős–Rényi", result.get("erdos_renyi"), None, None),
        ):
            if part is None:  # records of before have no null row
                continue
            rows.append(
                [
                    f"{labels[name]}, {label}",
                    f"{part['sample_count']}",
                    *(f"{part[k]:.4f}" for k in ("degree", "clustering", "orbit", "average")),
                    percent(part["uniqueness"]),
                    percent(part["novelty"]),
                    percent(connected),
                    "" if valid is None else percent(valid, 1),
                ]
            )
    columns = ["", "graphs", "degree", "clustering", "orbit", "average", "unique", "novel"]
    columns += ["connected", "lobsters"]
    return [Table("Samples and training graphs against test graphs", columns, rows)]


def pictures(record: Record, out: Path) -> list[Path]:
    there = _there(record)
    figures = {f"{NAME}.png": ["community-small", "ego-small"]}
    figures |= {f"{NAME}_{name}.png": [name] for name in ("protein", "lobster")}
    made = []
    for file, names in figures.items():
        groups = _groups(there, names)
        if groups:
            made.append(out / file)
            columns = 3 if len(names) > 1 else 4
            draw_comparison(groups, made[-1], columns=columns, rows=4)
    if (trajectory := _trajectory_of(record)) is not None:
        made.append(out / f"{NAME}_trajectory.png")
        draw_trajectories(
            [
                [
                    Stage(stage, _matrix(state, one["nodes"]).numpy())
                    for stage, state in zip(trajectory["stages"], one["states"])
                ]
                for one in trajectory["graphs"]
            ],
            made[-1],
            threshold=trajectory["threshold"],
        )
    return made


def _groups(there: Mapping[str, Record], names: Sequence[str]) -> dict[str, list[nx.Graph[Any]]]:
    """Training graphs and samples of datasets, by what the figures call them."""
    labels = load_plan(NAME, "full")["datasets"]
    return {
        f"{labels[name]}: {kind}": from_texts(there[name][key])
        for name in names
        if name in there
        for kind, key in (("training graphs", "training_graphs"), ("samples", "sampled_graphs"))
    }


def _trajectory_of(record: Record) -> Record | None:
    return next((r["trajectory"] for r in record["results"] if "trajectory" in r), None)


def facts(record: Record) -> dict[str, Any]:
    return {
        "there": _there(record),
        "labels": load_plan(NAME, "full")["datasets"],
        "trajectory": _trajectory_of(record),
    }


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
)
