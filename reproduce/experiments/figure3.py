"""The sample figures: training graphs beside samples, valid lobsters, a Langevin trajectory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import torch
from torch import Tensor

from graphscore.datasets import load_dataset
from graphscore.errors import DatasetError
from graphscore.experiments.context import Context, Record
from graphscore.experiments.graph_texts import graphs_of, texts_of
from graphscore.experiments.registry import Experiment
from graphscore.experiments.selecting import choose_sampling
from graphscore.experiments.tables import Table, made_by
from graphscore.generator import GraphGenerator
from graphscore.graphs import node_mask_of_sizes
from graphscore.metrics import evaluate, is_lobster
from graphscore.noise import ladder
from graphscore.plots import draw_comparison
from graphscore.plots.experiments import Stage, draw_trajectories
from graphscore.sampling import LangevinSettings, annealed_langevin
from graphscore.sampling.states import folded_normal
from graphscore.seeding import derive_seed, torch_generator

SETS = {
    "community-small": "Community-small",
    "ego-small": "Ego-small",
    "protein": "Protein",
    "lobster": "Lobster",
}
"""Name of each dataset and what the figures call it."""

SEED = 0
SHOWN = 16
"""Graphs kept for the figures: the first ones, not the best ones."""
TRAJECTORY_SET = "community-small"
TRAJECTORIES = 2


def keys(context: Context) -> list[str]:
    return list(SETS)


def settings(context: Context) -> Record:
    sizes = context.sizes
    return {
        **context.defaults(long=True),
        "seed": SEED,
        "samples": sizes.samples,
        "step_sizes": sizes.step_sizes,
        "noise_scales": sizes.noise_scales,
        "selection_samples": sizes.selection_samples,
    }


def compute(context: Context, key: str) -> Record:
    try:
        data = load_dataset(key, data_dir=context.data_dir)
    except DatasetError as error:
        return {"dataset": key, "skipped": str(error)}
    sizes = context.sizes
    generator = context.fit(key, data.train, source=key, seed=SEED, **context.defaults(long=True))
    selection = choose_sampling(sizes, generator, data.val, seed=SEED)
    samples = generator.sample(sizes.samples, seed=derive_seed(SEED, "samples", key))
    record: Record = {
        "dataset": key,
        **selection,
        "graphs": {"train": len(data.train), "test": len(data.test)},
        "samples": evaluate(samples, data.test, training=data.train).to_dict(),
        "floor": evaluate(data.train, data.test).to_dict(),
        "connected": _share([_connected(graph) for graph in samples]),
        "training_connected": _share([_connected(graph) for graph in data.train]),
        "training_graphs": texts_of(data.train[:SHOWN]),
        "sampled_graphs": texts_of(samples[:SHOWN]),
    }
    if key == "lobster":
        record["valid"] = _share([is_lobster(graph) for graph in samples])
        record["training_valid"] = _share([is_lobster(graph) for graph in data.train])
        record["trees"] = _share([len(graph) > 0 and nx.is_tree(graph) for graph in samples])
    if key == TRAJECTORY_SET:
        record["trajectory"] = _trajectory(generator, [len(g) for g in data.val[:TRAJECTORIES]])
    return record


def _connected(graph: nx.Graph[Any]) -> bool:
    return len(graph) > 0 and nx.is_connected(graph)


def _share(found: Sequence[bool]) -> float:
    return sum(found) / len(found)


def _trajectory(generator: GraphGenerator, sizes: Sequence[int]) -> Record:
    """The states at the start and at the end of every noise level, pairs i < j row by row."""
    device = generator.device
    mask = node_mask_of_sizes(torch.tensor(sizes)).to(device)
    sigmas = ladder(generator.settings.noise, device=device)
    chosen = generator.settings.sampling
    assert isinstance(chosen, LangevinSettings)
    noise = torch_generator(SEED, "trajectory", device=device)
    start = folded_normal(mask, generator=noise, dtype=sigmas.dtype)
    states = [start]

    def keep(done: int, adj: Tensor) -> None:
        if done % chosen.steps_per_level == 0:
            states.append(adj)

    annealed_langevin(
        generator.network, mask, sigmas, chosen, generator=noise, initial=start, on_step=keep
    )
    names = ["noise", *(f"σ = {sigma:g}" for sigma in sigmas.tolist())]
    return {
        "threshold": chosen.threshold,
        "steps_per_level": chosen.steps_per_level,
        "stages": names,
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
    rows = []
    for name, result in _there(record).items():
        for label, part, connected, valid in (
            ("samples", result["samples"], result["connected"], result.get("valid")),
            (
                "training",
                result["floor"],
                result["training_connected"],
                result.get("training_valid"),
            ),
        ):
            novelty = part["novelty"]
            rows.append(
                [
                    f"{SETS[name]}, {label}",
                    f"{part['sample_count']}",
                    *(f"{part[k]:.4f}" for k in ("degree", "clustering", "orbit", "average")),
                    f"{part['uniqueness']:.0%}",
                    "–" if novelty is None else f"{novelty:.0%}",
                    f"{connected:.0%}",
                    "" if valid is None else f"{valid:.1%}",
                ]
            )
    columns = ["", "graphs", "degree", "clustering", "orbit", "average", "unique", "novel"]
    columns += ["connected", "lobsters"]
    return [Table("Samples and training graphs against test graphs", columns, rows)]


def pictures(record: Record, out: Path) -> list[Path]:
    there = _there(record)
    made = []
    pair = {
        f"{SETS[name]}: {kind}": graphs_of(there[name][field])
        for name in ("community-small", "ego-small")
        if name in there
        for kind, field in (("training graphs", "training_graphs"), ("samples", "sampled_graphs"))
    }
    if pair:
        made.append(out / "samples.png")
        draw_comparison(pair, made[-1], columns=3, rows=4)
    for name in ("protein", "lobster"):
        if name in there:
            made.append(out / f"samples_{name}.png")
            blocks = {
                f"{SETS[name]}: training graphs": graphs_of(there[name]["training_graphs"]),
                f"{SETS[name]}: samples": graphs_of(there[name]["sampled_graphs"]),
            }
            draw_comparison(blocks, made[-1], columns=4, rows=4)
    trajectory = there.get(TRAJECTORY_SET, {}).get("trajectory")
    if trajectory is not None:
        made.append(out / "trajectory.png")
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


def markdown(record: Record) -> str:
    there = _there(record)
    parts = [
        "## Samples\n",
        made_by(record),
        "One model for each dataset, seed 0, ε and ε_s chosen on validation graphs. The pictures "
        "show the first graphs, not chosen ones: nodes coloured by community and sized by degree, "
        "edges between communities red.\n",
        "![Training graphs and samples of Community-small and Ego-small](images/samples.png)\n",
    ]
    parts += [
        f"![Training graphs and samples of {SETS[name]}](images/samples_{name}.png)\n"
        for name in ("protein", "lobster")
        if name in there
    ]
    if "lobster" in there:
        lobster = there["lobster"]
        parts.append(
            f"Of {lobster['samples']['sample_count']} samples, {lobster['valid']:.1%} are lobsters "
            "(trees that become a path when leaves are removed twice) and "
            f"{lobster['trees']:.1%} are trees; of the training graphs, all.\n"
        )
    parts.append(tables(record)[0].markdown() + "\n")
    trajectory = there.get(TRAJECTORY_SET, {}).get("trajectory")
    if trajectory is not None:
        parts += [
            "![Langevin trajectories from noise to graphs](images/trajectory.png)\n",
            f"Two Langevin trajectories of {SETS[TRAJECTORY_SET]}: the state at the start and "
            f"after the {trajectory['steps_per_level']} steps of every noise level, as a matrix "
            "and as the graph of its entries above "
            f"{trajectory['threshold']:g}. Order of nodes, places and colours are those of the "
            "final graph.\n",
        ]
    for result in record["results"]:
        if "skipped" in result:
            parts.append(f"{SETS[result['dataset']]} was left out: {result['skipped']}\n")
    return "\n".join(parts)


EXPERIMENT = Experiment(
    "samples",
    keys=keys,
    settings=settings,
    compute=compute,
    assemble=assemble,
    tables=tables,
    markdown=markdown,
    pictures=pictures,
    seeded=False,
)
