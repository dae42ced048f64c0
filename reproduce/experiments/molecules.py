"""Molecules: one denoiser for each set, judged as published results are.

Parts that train and draw need a GPU; parts that judge need RDKit. Molecules lie between them in
files, so that the two may be different machines.
"""

from __future__ import annotations

import io
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphscore.atomic import write_file
from graphscore.config import merge
from graphscore.datasets import load_dataset, molecules
from graphscore.generator import GraphGenerator
from graphscore.graphs.molecules import BOND, ELEMENT
from graphscore.graphs.packed import PackedGraphs
from graphscore.metrics.molecules import MoleculeSet, evaluate_molecules
from graphscore.seeding import derive_seed
from reproduce.context import Context, Record
from reproduce.core import parameter_count, read_document, sampler_of
from reproduce.experiment import Experiment
from reproduce.experiments.molecule_report import facts, pictures, tables

NAME = "molecules"
Plan = dict[str, Any]


def set_plan(context: Context, name: str) -> Plan:
    """The plan of a set at the scale of the context."""
    file = context.plan(NAME)
    plan = dict(file["plans"][name])
    plan["noise"] = {**file["common"]["noise"], **plan.get("noise", {})}
    plan["training"] = {**file["common"]["learning"], **plan["training"]}
    if "changes" in file:
        plan = merge(plan, file["changes"])
        plan["stop"], plan["earlier"] = plan["training"]["steps"], []
    return plan


def number_of(context: Context, name: str, which: str) -> int:
    """How many molecules of a set a part draws or judges."""
    file = context.plan(NAME)
    if which.startswith(("seed", "known")):
        return int(set_plan(context, name).get("samples", file["samples"]))
    return int(file["curve_samples"])


def keys(context: Context) -> list[str]:
    file = context.plan(NAME)
    found = []
    for name in file["sets"]:
        plan = set_plan(context, name)
        curves = [f"curve{calls}" for calls in file["calls"]]
        curves += [f"at{step}" for step in plan["earlier"]]
        for which in [*curves, *(f"seed{seed}" for seed in range(context.seeds))]:
            found += [f"{name}_drawn-{which}", f"{name}_{which}"]
        found.append(f"{name}_known")
    return found


def settings(context: Context) -> Record:
    file = context.plan(NAME)
    plans = {name: set_plan(context, name) for name in file["sets"]}
    return {"seed": file["seed"], "samples": file["samples"], "plans": plans}


def part_settings(context: Context, key: str) -> Record:
    name, _, which = key.partition("_")
    file, plan = context.plan(NAME), set_plan(context, name)
    decided = {key: plan[key] for key in ("network", "noise", "training", "stop", "sampling")}
    number = number_of(context, name, which.removeprefix("drawn-"))
    return {} if which == "known" else {"seed": file["seed"], "number": number, **decided}


def compute(context: Context, key: str) -> Record:
    name, _, which = key.partition("_")
    if which.startswith("drawn-"):
        return _draw(context, name, which.removeprefix("drawn-"))
    return _judge(context, name, which)


# ---------------------------------------------------------------------- training and drawing


def model(context: Context, name: str, step: int) -> GraphGenerator:
    """The model of a set at a step."""
    plan = set_plan(context, name)
    return context.model(
        name,
        lambda: load_dataset(name, data_dir=context.data_dir).train,
        step=step,
        source=name,
        seed=context.plan(NAME)["seed"],
        attributes=molecules.PUBLISHED[name].info.attributes,
        network=plan["network"],
        noise=plan["noise"],
        training=plan["training"],
        sampling=sampler_of(plan["sampling"]),
    )


def _draw(context: Context, name: str, which: str) -> Record:
    """Sample molecules into a file."""
    file, plan = context.plan(NAME), set_plan(context, name)
    step = int(which.removeprefix("at")) if which.startswith("at") else plan["stop"]
    generator = model(context, name, step)
    sampling = sampler_of(plan["sampling"])
    if which.startswith("curve"):
        steps = (int(which.removeprefix("curve")) + 1) // 2
        churn = sampling.churn / sampling.steps * steps
        sampling = sampling.replaced(steps=steps, churn=churn)
    number = number_of(context, name, which)
    started = time.perf_counter()
    graphs = generator.sample(
        number, seed=derive_seed(file["seed"], NAME, name, which), sampling=sampling
    )
    seconds = time.perf_counter() - started
    packed = PackedGraphs.of(graphs, [ELEMENT], [BOND])
    stream = io.BytesIO()
    np.savez_compressed(stream, **packed.arrays())  # type: ignore[arg-type]
    write_file(drawn_file(context, name, which), stream.getvalue())
    return {
        "step": generator.step,
        "parameters": parameter_count(generator),
        "number": number,
        "sampling_seconds": seconds,
        "calls": sampling.network_calls,
        "sampling": sampling.model_dump(mode="json"),
    }


def drawn_file(context: Context, name: str, which: str) -> Path:
    """The file of molecules that were drawn."""
    return context.folder / "drawn" / f"{name}_{which}.npz"


# ---------------------------------------------------------------------- judging


def _judge(context: Context, name: str, which: str) -> Record:
    """Judge molecules: drawn ones, or for "known" training molecules."""
    file, published = context.plan(NAME), molecules.PUBLISHED[name]
    data = load_dataset(name, data_dir=context.data_dir)
    texts = molecules.smiles_of(published, data, context.data_dir)
    part = "test" if which.startswith(("seed", "known")) else "val"
    if which == "known":
        number = min(number_of(context, name, which), len(texts["train"]))
        stream = np.random.default_rng(derive_seed(file["seed"], NAME, name, which))
        chosen = np.sort(stream.choice(len(texts["train"]), number, replace=False))
        drawn: Any = data.train
        graphs = drawn[chosen]
    else:
        if not context.has_part(f"{name}_drawn-{which}"):
            return {"skipped": f"{name}_drawn-{which} is not there"}
        with np.load(drawn_file(context, name, which), allow_pickle=False) as arrays:
            graphs = PackedGraphs.of_arrays(arrays)
    reference, training = _read(name, part, texts[part]), _read(name, "train", texts["train"])
    measured = "nspdk" in set_plan(context, name)["targets"]
    found = evaluate_molecules(graphs, reference, training=training, nspdk=measured)
    return {"part": part, **found.to_dict()}


_SETS: dict[tuple[str, str], MoleculeSet] = {}


def _read(name: str, part: str, texts: Sequence[str]) -> MoleculeSet:
    """Molecules of a part as they were published, read once."""
    if (name, part) not in _SETS:
        _SETS[name, part] = MoleculeSet.of(texts, f"{name}:{part}")
    return _SETS[name, part]


# ---------------------------------------------------------------------- the record


def assemble(context: Context, parts: Mapping[str, Record]) -> list[Record]:
    """A row for every set, of the seeds whose molecules were judged."""
    file, rows = context.plan(NAME), []
    for name in file["sets"]:
        seeds = [s for s in range(context.seeds) if _is_there(name, parts, f"seed{s}")]
        if not seeds:
            continue
        plan = set_plan(context, name)
        rows.append(
            {
                "dataset": name,
                "targets": plan["targets"],
                "published": plan["published"],
                "minutes": plan["minutes"],
                "per_seed": [_point(context, name, parts, f"seed{s}") for s in seeds],
                "known": parts.get(f"{name}_known"),
                "by_network_calls": _points(context, name, parts, "curve", file["calls"]),
                "by_training": _points(context, name, parts, "at", plan["earlier"]),
            }
        )
    return rows


def _is_there(name: str, parts: Mapping[str, Record], which: str) -> bool:
    return {f"{name}_drawn-{which}", f"{name}_{which}"} <= parts.keys()


def _point(context: Context, name: str, parts: Mapping[str, Record], which: str) -> Record:
    """What was drawn and how it was judged, and how long its model was trained."""
    drawn, judged = parts[f"{name}_drawn-{which}"], parts[f"{name}_{which}"]
    document = read_document(context.model_folder(name, drawn["step"]))
    took = {"training_seconds": document.seconds, "device": document.made_with.device}
    return {**judged, **drawn, **took, "judged": judged["provenance"]}


def _points(
    context: Context, name: str, parts: Mapping[str, Record], kind: str, numbers: Sequence[int]
) -> list[Record]:
    every = [f"{kind}{number}" for number in numbers]
    there = [which for which in every if _is_there(name, parts, which)]
    return [_point(context, name, parts, which) for which in there]


EXPERIMENT = Experiment(
    NAME,
    keys=keys,
    settings=settings,
    compute=compute,
    assemble=assemble,
    tables=tables,
    facts=facts,
    pictures=pictures,
    part_settings=part_settings,
    needs_all=False,
)
