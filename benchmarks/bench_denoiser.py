"""The denoiser on graphs of 64 nodes: a training step and a network call, on every path.

    python benchmarks/bench_denoiser.py [--device cuda] [--json results/benchmark_denoiser.json]

32 random graphs and the usual network for a step, 256 graphs for a call without gradient. The paths
run one after the other in one process; what is spent once before (recording, compiling) is told
apart from the median of the rest.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from graphscore.acceleration import captured_trainer
from graphscore.acceleration.captured_trainer import CapturedTrainer
from graphscore.acceleration.denoising import recorded_denoiser
from graphscore.atomic import write_file
from graphscore.device import resolve_device
from graphscore.graphs import GraphBatch
from graphscore.networks import DenoiserSettings, EdgeDensity, LogOddsDenoiser
from graphscore.noise import symmetric_noise
from graphscore.provenance import provenance
from graphscore.seeding import torch_generator
from graphscore.training import Denoising, DenoisingSettings, Trainer, TrainingSettings

NODES, BATCH, SAMPLED, REPEATS = 64, 32, 256, 20


def random_graphs(count: int, device: torch.device) -> GraphBatch:
    mask = torch.ones(count, NODES, dtype=torch.bool)
    adj = (symmetric_noise(mask, generator=torch_generator(0, "graphs")) > 1.3).float()
    return GraphBatch(adj, mask).to(device)


def network_of(data: GraphBatch) -> LogOddsDenoiser:
    density = EdgeDensity.of(data)
    return LogOddsDenoiser(DenoiserSettings(), density, generator=torch_generator(0, "weights"))


def measured(run: Callable[[], object], device: torch.device, repeats: int) -> dict[str, float]:
    """Seconds of the first three runs together, and the median of the others."""

    def timed() -> float:
        started = time.perf_counter()
        run()
        if device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - started

    warm_up = sum(timed() for _ in range(3))
    return {"warm_up": warm_up, "seconds": statistics.median(timed() for _ in range(repeats))}


def training(device: torch.device, repeats: int) -> dict[str, dict[str, float]]:
    data = random_graphs(128, device)
    settings = TrainingSettings(batch_size=BATCH, learning_rate=1e-3, gradient_clip=1.0)
    objective = Denoising(DenoisingSettings())

    def step(kind: type[Trainer]) -> Callable[[], object]:
        return kind(network_of(data), data, objective, settings, seed=0, device=device)._train_step

    found = {"plain": measured(step(Trainer), device, repeats)}
    if device.type == "cuda":
        for path, worthwhile in (("captured", math.inf), ("compiled and captured", 0.0)):
            captured_trainer.WORTHWHILE = worthwhile
            found[path] = measured(step(CapturedTrainer), device, repeats)
    return found


@torch.no_grad()
def sampling(device: torch.device, repeats: int) -> dict[str, dict[str, float]]:
    data = random_graphs(SAMPLED if device.type == "cuda" else 8, device)
    network = network_of(data).to(device).eval()
    sigma = torch.ones(len(data), device=device)
    calls = {"plain": network.denoised}
    if device.type == "cuda":
        for path, compiles in (("captured", False), ("compiled and captured", True)):
            calls[path] = recorded_denoiser(network, data.node_mask, compiles=compiles)
    return {
        path: {
            "graphs": len(data),
            **measured(lambda call=call: call(data.adj, data.node_mask, sigma), device, repeats),
        }
        for path, call in calls.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    given = parser.parse_args()
    device = resolve_device(given.device)
    parts = {
        "training": training(device, given.repeats),
        "sampling": sampling(device, given.repeats),
    }
    made = {**provenance(str(device)), "device_type": device.type}
    record = {"nodes": NODES, "batch": BATCH, **parts, "provenance": made}
    table = Table("", "path", "ms", "once before, s", title=f"{NODES} nodes")
    for part, paths in parts.items():
        for path, numbers in paths.items():
            table.add_row(
                part, path, f"{1e3 * numbers['seconds']:.2f}", f"{numbers['warm_up']:.1f}"
            )
    Console().print(table)
    if given.json is not None:
        write_file(given.json, (json.dumps(record, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
