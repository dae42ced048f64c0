"""Training step and forward pass of EDP-GNN beside a network like the released program's.

    python -m benchmarks released --json results/benchmark_network.json

32 graphs x 6 noise levels of 20 nodes, the paper's defaults. Each network runs in processes of its
own, in turns, so that both run under the same load and neither changes the other's allocator.
Compare ratios, not times, between machines.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn

from benchmarks.clock import Run, time_in_turns
from benchmarks.plan import Plan
from benchmarks.released_network import ReleasedNetwork
from benchmarks.workloads import make_network, make_step
from graphscore.device import resolve_device
from graphscore.diffusion import symmetric_noise
from graphscore.graphs import GraphState
from graphscore.provenance import provenance
from graphscore.seeding import torch_generator

GRAPHS, NODES, ROUNDS, REPEATS = 32, 20, 5, 12
SIGMAS = Plan().noise.sigmas
TARGET_RATIOS = {"forward": 3.0, "training step": 2.5}
"""How many times faster than the released structure a case should be."""

Cases = dict[str, Run]


def noisy_graphs() -> tuple[Tensor, Tensor]:
    """Noise (B,N,N) for every graph and level, and the mask (B,N)."""
    mask = torch.ones(GRAPHS * len(SIGMAS), NODES, dtype=torch.bool)
    return symmetric_noise(mask, generator=torch_generator(0, "noise")), mask


def weights_of(network: nn.Module) -> int:
    return sum(weights.numel() for weights in network.parameters())


def ours() -> tuple[Cases, int]:
    """Forward pass and training step of graphscore's network, and its number of weights."""
    plan, cpu = Plan(), resolve_device("cpu")
    _, step = make_step(plan, cpu, "off", (GRAPHS, NODES))
    network = make_network(plan, cpu)
    sigma = torch.tensor(SIGMAS).repeat(GRAPHS)
    noisy = GraphState(*noisy_graphs())

    @torch.no_grad()
    def forward() -> None:
        network(noisy, sigma)

    return {"forward": forward, "training step": step}, weights_of(network)


def reference() -> tuple[Cases, int]:
    """The same of the network with the released structure."""
    network = ReleasedNetwork(len(SIGMAS))
    optimiser = torch.optim.Adam(network.parameters())
    noisy, _ = noisy_graphs()

    @torch.no_grad()
    def forward() -> None:
        network(noisy)

    def step() -> None:
        optimiser.zero_grad()
        ((network(noisy) + noisy) ** 2).sum().backward()
        optimiser.step()

    return {"forward": forward, "training step": step}, weights_of(network)


def measure(which: str) -> dict[str, Any]:
    """Time one network in this process; milliseconds."""
    cases, parameters = ours() if which == "ours" else reference()
    times: dict[str, list[float]] = {}
    for name, run in cases.items():
        for _ in range(3):
            run()
        timing = time_in_turns({"": run}, torch.device("cpu"), repeats=REPEATS)[""]
        times[name] = [1e3 * seconds for seconds in timing.seconds]
    return {"parameters": parameters, "milliseconds": times}


def compare() -> dict[str, Any]:
    """Time the two networks in turns, each in fresh processes."""
    collected: dict[str, dict[str, list[float]]] = {"ours": {}, "reference": {}}
    parameters = {}
    for _ in range(ROUNDS):
        for which, times in collected.items():
            command = [sys.executable, "-m", "benchmarks.released", which]
            output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            record = json.loads(output)
            parameters[which] = record["parameters"]
            for name, values in record["milliseconds"].items():
                times.setdefault(name, []).extend(values)
    rows = {}
    for name in TARGET_RATIOS:
        mine, theirs = collected["ours"][name], collected["reference"][name]
        rows[name] = {
            "median_ms": statistics.median(mine),
            "fastest_ms": min(mine),
            "reference_median_ms": statistics.median(theirs),
            "reference_fastest_ms": min(theirs),
            "ratio": statistics.median(theirs) / statistics.median(mine),
            "target_ratio": TARGET_RATIOS[name],
        }
    return {
        "what": f"{GRAPHS} graphs x {len(SIGMAS)} levels, {NODES} nodes, paper's defaults",
        "parameters": parameters,
        "rows": rows,
        "repeats": ROUNDS * REPEATS,
        "provenance": provenance(),
    }


def show(record: dict[str, Any]) -> None:
    """Print a record."""
    made = record["provenance"]
    table = Table(
        title=f"EDP-GNN, {record['what']}\n{made['processor']}, {made['threads']} threads"
    )
    for column in ("", "median ms", "fastest", "reference", "fastest", "ratio", "target"):
        table.add_column(column, justify="right")
    for name, row in record["rows"].items():
        keys = ("median_ms", "fastest_ms", "reference_median_ms", "reference_fastest_ms")
        times = [f"{row[key]:.1f}" for key in keys]
        table.add_row(name, *times, f"{row['ratio']:.2f}", f"{row['target_ratio']:.2f}")
    Console().print(table)


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1])))
