"""`graphscore demo`: from training graphs to new graphs and their evaluation."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from graphscore.cli.option_types import Flag, Number, Out, WholeNumber
from graphscore.cli.tables import print_evaluations, print_json, print_text
from graphscore.streams import say

if TYPE_CHECKING:
    from graphscore.datasets import Dataset
    from graphscore.generator import GraphGenerator

DATASET = "community-small"
SAMPLES = 256
STEPS = 1500
BATCH_SIZE = 32
PRETRAINED_SAMPLES = 64
PRETRAINED_CHAIN = {"steps_per_level": 100, "step_size": 5e-3}
"""A tenth of the chain that the pretrained model was evaluated with, so that it takes seconds."""


def demo(
    *,
    out: Out = Path("runs/demo"),
    steps: WholeNumber = STEPS,
    number: Number = SAMPLES,
    device: str = "auto",
    accelerate: Literal["auto", "off"] = "auto",
    json: Flag = False,
) -> int:
    """Train a denoiser on Community-small, sample 256 graphs and evaluate them; about 3 minutes.

    Writes OUT with the run, samples.g6, metrics.json and samples.png. The EDP-GNN that comes with
    the package is sampled too (pretrained.g6) and shown beside. An interrupted demo continues where
    it stopped; a finished one is sampled again.

    Parameters
    ----------
    out
        Run folder.
    steps
        Optimiser steps.
    number
        How many graphs to sample.
    device
        auto, cpu, cuda or mps.
    accelerate
        auto: the fastest path that works on the device; off: plain PyTorch.
    json
        Print the metrics as JSON.
    """
    from graphscore.artifacts import has_checkpoint
    from graphscore.atomic import check_ordinary
    from graphscore.cli.interrupt import stop_requested
    from graphscore.datasets import load_dataset
    from graphscore.generator import GraphGenerator
    from graphscore.models.request import check_number

    check_number(number, "--number")
    for name in ("samples.g6", "pretrained.g6", "metrics.json", "samples.png"):
        check_ordinary(out / name)
    data = load_dataset(DATASET)
    generator = GraphGenerator(
        training={"steps": steps, "batch_size": BATCH_SIZE}, device=device, accelerate=accelerate
    )
    with stop_requested() as stop:
        generator.fit(
            data.train,
            run=out,
            resume=has_checkpoint(out),
            source=DATASET,
            should_stop=stop,
            holdout=False,
        )
        if stop():
            say(f"stopped at step {generator.step}; the same command continues from there")
            return stop.exit_code
    _sample_and_evaluate(generator, data, number, out, json=json)
    return 0


def _sample_and_evaluate(
    generator: GraphGenerator, data: Dataset, number: int, out: Path, *, json: bool
) -> None:
    """Write and show samples of the trained and of the pretrained model, and their metrics."""
    from graphscore.atomic import write_file
    from graphscore.generator import GraphGenerator
    from graphscore.graphs import write_graphs
    from graphscore.metrics import evaluate
    from graphscore.plots import draw_comparison
    from graphscore.version import __version__

    seed = generator.settings.seed
    pretrained = GraphGenerator.from_pretrained(
        DATASET, device=str(generator.device), accelerate=generator.accelerate
    )
    fewer = min(number, PRETRAINED_SAMPLES)
    samples = {
        "samples": generator.sample(number, seed=seed),
        "pretrained": pretrained.sample(fewer, seed=seed, sampling=PRETRAINED_CHAIN),
    }
    for name, graphs in samples.items():
        write_graphs(out / f"{name}.g6", graphs)
    results = {
        name: evaluate(graphs, data.test, training=data.train) for name, graphs in samples.items()
    }
    results["training set"] = evaluate(data.train, data.test)
    record = {
        "dataset": DATASET,
        "seed": seed,
        "step": generator.step,
        "device": str(generator.device),
        "graphscore": __version__,
        "settings": generator.settings.model_dump(mode="json"),
        "metrics": {name: result.to_dict() for name, result in results.items()},
    }
    write_file(out / "metrics.json", (json_module.dumps(record, indent=1) + "\n").encode())
    titles = {
        "training graphs": data.train,
        f"demo's denoiser ({generator.step} steps)": samples["samples"],
        f"pretrained EDP-GNN ({pretrained.step} steps)": samples["pretrained"],
    }
    draw_comparison(titles, out / "samples.png")
    if json:
        print_json(record)
        return
    title = (
        f"MMD against the {len(data.test)} test graphs of {DATASET}; smaller is better, "
        "and the training set's own is the floor"
    )
    print_evaluations(title, results)
    print_text(f"samples, metrics and a picture are in {out}")
