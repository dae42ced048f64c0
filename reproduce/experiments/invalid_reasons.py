"""What is wrong with invalid samples of the models that come with the package.

Beside them, fresh graphs of the true generator are judged by the same rules, and samples of a
guided model are drawn without its guide as well. For block models the sizes of the blocks are kept:
they show how sharply a model knows the limits between which true sizes lie.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import networkx as nx

from graphscore.experiments.context import Context, Record
from graphscore.experiments.frontier_plans import TRUTH
from graphscore.experiments.registry import Experiment
from graphscore.experiments.tables import Table, made_by
from graphscore.generator import GraphGenerator
from graphscore.metrics import fit_blocks, validity_of, wilson_interval
from graphscore.metrics.validity import BLOCK_SIZES
from graphscore.plots.faults import draw_shares
from graphscore.pretrained import pretrained_folder
from graphscore.seeding import derive_seed
from graphscore.training.checkpoint import read_document

MODELS = {"planar": "planar", "tree": "tree", "sbm": "sbm", "sbm-communities": "sbm"}
"""Names of the models, and of the datasets whose rules their samples are judged by."""
GUIDED = ("sbm",)
KINDS = {"samples": "samples", "alone": "samples without the guide", "fresh": "fresh true graphs"}
"""What is judged, and what it is called."""
SEED = 0
NUMBER = {"full": 1024, "quick": 8}
FEWEST = 2
"""Graphs judged at scales that are for tests, in as many steps of the sampler."""


def keys(context: Context) -> list[str]:
    found = []
    for name, family in MODELS.items():
        found.append(f"{name}_samples")
        if name in GUIDED:
            found.append(f"{name}_alone")
        # Of a dataset once, beside the model that has its name.
        if name == family:
            found.append(f"{name}_fresh")
    return found


def settings(context: Context) -> Record:
    return {"seed": SEED, "number": NUMBER.get(context.sizes.name, FEWEST)}


def part_settings(context: Context, key: str) -> Record:
    name, _, kind = key.rpartition("_")
    if kind == "fresh":
        return settings(context)
    # A model that is shipped again under the same name is another one.
    model = read_document(pretrained_folder(name))
    decided = {"model": model["tensors"]["sha256"], "sampling": model["settings"]["sampling"]}
    return {**settings(context), **decided}


def compute(context: Context, key: str) -> Record:
    name, _, kind = key.rpartition("_")
    number = settings(context)["number"]
    if kind == "fresh":
        return _judged(name, TRUTH[f"{name}-spectre"](number))
    generator = GraphGenerator.from_pretrained(
        name,
        device=str(context.torch_device),
        accelerate=context.accelerate,
        show_progress=context.show_progress,
    )
    sampling: Any = generator.settings.sampling
    if context.sizes.name not in NUMBER:
        sampling = sampling.replaced(steps=FEWEST)
    seed, guidance = derive_seed(SEED, "faults", key), 0.0 if kind == "alone" else None
    graphs = generator.sample(number, seed=seed, sampling=sampling, guidance=guidance)
    networks = 2 if kind == "samples" and name in GUIDED else 1
    return {"network_calls": sampling.network_calls * networks, **_judged(name, graphs)}


def _judged(name: str, graphs: list[nx.Graph[Any]]) -> Record:
    family = MODELS[name]
    rule = validity_of(family)
    assert rule is not None
    found = Counter(rule.fault(graph) for graph in graphs)
    valid = found.pop(None, 0)
    low, high = wilson_interval(valid, len(graphs))
    record: Record = {
        "number": len(graphs),
        "valid": valid / len(graphs),
        "valid_low": low,
        "valid_high": high,
        "faults": dict(found.most_common()),
    }
    if family == "sbm":
        sizes = Counter(size for graph in graphs for size in fit_blocks(graph).sizes)
        record["block_sizes"] = dict(sorted(sizes.items()))
    return record


def assemble(context: Context, parts: Mapping[str, Record]) -> list[Record]:
    """Of every model whose samples were judged; what else was judged beside them."""
    return [
        {
            "dataset": name,
            "judged": {
                kind: {key: part[key] for key in part if key not in ("seconds", "provenance")}
                for kind in KINDS
                if (part := parts.get(f"{name}_{kind}")) is not None
            },
        }
        for name in MODELS
        if f"{name}_samples" in parts
    ]


# ---------------------------------------------------------------------- the record


def tables(record: Record) -> list[Table]:
    rows = []
    for row in record["results"]:
        for kind, judged in row["judged"].items():
            number = judged["number"]
            faults = [f"{fault} {count / number:.1%}" for fault, count in judged["faults"].items()]
            rows.append(
                [
                    row["dataset"],
                    KINDS[kind],
                    "; ".join(faults) or "–",
                    f"{judged['valid']:.1%} [{judged['valid_low']:.1%}, "
                    f"{judged['valid_high']:.1%}]",
                    str(judged.get("network_calls", "–")),
                ]
            )
    columns = ("model", "graphs", "what is wrong", "valid", "network calls")
    return [Table("Why samples are not valid", columns, rows, text=3)]


def _block_sizes(record: Record) -> dict[str, dict[int, float]]:
    """Share of each size among all blocks, by what was judged."""
    found = {}
    for row in record["results"]:
        for kind, judged in row["judged"].items():
            if counts := judged.get("block_sizes"):
                name, total = row["dataset"], sum(counts.values())
                whose = "" if name in MODELS.values() else f" of {name}"
                shares = {int(size): count / total for size, count in counts.items()}
                found[KINDS[kind] + whose] = shares
    return found


def _on_blocks(sizes: Mapping[str, Mapping[int, float]]) -> str:
    """What the sizes of blocks show."""
    least, most = BLOCK_SIZES
    said = []
    for name, shares in sizes.items():
        small = sum(share for size, share in shares.items() if size < least)
        large = sum(share for size, share in shares.items() if size > most)
        said.append(f"{name} {small:.1%} and {large:.1%}")
    return (
        f"\nBlocks with fewer than {least} and with more than {most} nodes, of all blocks: "
        f"{'; '.join(said)}. Sizes end at once in true graphs, and softly where a model learns "
        "them.\n\n"
        "![Sizes of blocks](images/faults_blocks.png)\n\n"
        "*Nodes of the blocks that are found in samples and in fresh graphs. Dashed: the least and "
        "the most that a true block has.*\n"
    )


def markdown(record: Record) -> str:
    (table,) = tables(record)
    sizes = _block_sizes(record)
    return (
        "## Why samples are not valid\n\n"
        f"Samples of the models that come with the package, {record['settings']['number']} of "
        "each, drawn as the models say; of each graph the first fault that its rule meets.\n\n"
        f"{made_by(record)}\n{table.markdown()}\n{_on_blocks(sizes) if sizes else ''}"
    )


def pictures(record: Record, out: Path) -> list[Path]:
    sizes, file = _block_sizes(record), out / "faults_blocks.png"
    if not sizes:
        return []
    draw_shares(sizes, file, along="nodes of a block", limits=BLOCK_SIZES)
    return [file]


EXPERIMENT = Experiment(
    "faults",
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
