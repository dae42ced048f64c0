"""The denoiser on graphs of 64 nodes: a training step and a network call, on every path.

    python -m benchmarks denoiser --device cuda --json results/benchmark_denoiser_cuda.json

32 random graphs for a step, 256 (8 on the CPU) for a call without gradient, with the default
network. The paths run one after the other in one process. The warm-up, which may capture a CUDA
graph and compile, is reported apart from the median.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from benchmarks.clock import Run, seconds_of, time_in_turns
from graphscore.acceleration import trainer as accelerated
from graphscore.acceleration.denoise import CudaGraphDenoise
from graphscore.diffusion import (
    BernoulliEdges,
    Denoising,
    GraphLikelihood,
    Posterior,
    SigmaRange,
    symmetric_noise,
)
from graphscore.diffusion.posterior import Denoise
from graphscore.graphs import NO_CONDITION, GraphBatch
from graphscore.networks import Denoiser, DenoiserSettings
from graphscore.provenance import provenance
from graphscore.seeding import torch_generator
from graphscore.training import Trainer, TrainingSettings

NODES, BATCH, SAMPLED, REPEATS = 64, 32, 256, 20
CUDA_GRAPH, COMPILED = "CUDA graph", "compiled, CUDA graph"


def random_graphs(count: int, device: torch.device) -> GraphBatch:
    mask = torch.ones(count, NODES, dtype=torch.bool)
    adj = (symmetric_noise(mask, generator=torch_generator(0, "graphs")) > 1.3).float()
    return GraphBatch(adj, mask).to(device)


def network_of(data: GraphBatch) -> Posterior:
    likelihood = GraphLikelihood(BernoulliEdges.of(data))
    generator = torch_generator(0, "weights")
    return Posterior(Denoiser(DenoiserSettings(), likelihood, generator=generator), likelihood)


def measured(run: Run, device: torch.device, repeats: int) -> dict[str, float]:
    """Seconds of the first three calls together, and the median of the others."""
    warm_up = 3 * seconds_of(run, device, calls=3)
    timing = time_in_turns({"": run}, device, repeats=repeats)[""]
    return {"warm_up": warm_up, "seconds": timing.median}


def training(device: torch.device, repeats: int) -> dict[str, dict[str, float]]:
    data = random_graphs(128, device)
    settings = TrainingSettings(batch_size=BATCH, learning_rate=1e-3, gradient_clip=1.0)
    objective = Denoising(SigmaRange())

    def step(kind: type[Trainer]) -> Callable[[], object]:
        return kind(network_of(data), data, objective, settings, seed=0, device=device).train_step

    found = {"plain": measured(step(Trainer), device, repeats)}
    if device.type == "cuda":
        for path, worthwhile in ((CUDA_GRAPH, math.inf), (COMPILED, 0.0)):
            accelerated.WORTH_COMPILING = worthwhile
            found[path] = measured(step(accelerated.CudaGraphTrainer), device, repeats)
    return found


@torch.no_grad()
def sampling(device: torch.device, repeats: int) -> dict[str, dict[str, float]]:
    data = random_graphs(SAMPLED if device.type == "cuda" else 8, device)
    network = network_of(data).to(device).eval()
    sigma = torch.ones(len(data), device=device)
    calls: dict[str, Denoise] = {"plain": network.denoise}
    if device.type == "cuda":
        for path, compiles in ((CUDA_GRAPH, False), (COMPILED, True)):
            calls[path] = CudaGraphDenoise(network, NO_CONDITION, compile_blocks=compiles)
    return {
        path: {
            "graphs": len(data),
            **measured(partial(call, data.state, sigma), device, repeats),
        }
        for path, call in calls.items()
    }


def measure(device: torch.device, *, repeats: int = REPEATS) -> dict[str, Any]:
    """Measure a device and return the record."""
    return {
        "nodes": NODES,
        "batch": BATCH,
        "training": training(device, repeats),
        "sampling": sampling(device, repeats),
        "provenance": {**provenance(str(device)), "device_type": device.type},
    }


def show(record: dict[str, Any]) -> None:
    """Print a record."""
    table = Table("", "path", "ms", "warm-up, s", title=f"denoiser, {record['nodes']} nodes")
    for part in ("training", "sampling"):
        for path, row in record[part].items():
            table.add_row(part, path, f"{1e3 * row['seconds']:.2f}", f"{row['warm_up']:.1f}")
    Console().print(table)
