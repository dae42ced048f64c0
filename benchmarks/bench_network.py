"""Training step and forward pass of EDP-GNN beside a plain reference, in one run.

    python benchmarks/bench_network.py [--json results/benchmark_network.json]

32 graphs x 6 noise levels of 20 nodes, the paper's defaults. Times are medians of alternating
repeats, so that both see the same state of the machine; the ratio is what is compared over time.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from graphscore.atomic import write_file
from graphscore.graphs import GraphBatch
from graphscore.networks import EDPGNN, EDPGNNSettings
from graphscore.noise import NoiseSettings, symmetric_noise
from graphscore.seeding import torch_generator
from graphscore.training import Trainer, TrainingSettings
from provenance import provenance
from released_reference import ReleasedReference

GRAPHS, NODES, REPEATS = 32, 20, 25
# The released program takes twice as long as these on the machine they were set on.
TARGETS = {"forward": 32.0, "training step": 125.0}


def alternating(cases: dict[str, Callable[[], object]]) -> dict[str, list[float]]:
    """Time every case in turn, again and again; milliseconds."""
    times: dict[str, list[float]] = {name: [] for name in cases}
    for repeat in range(REPEATS + 3):
        for name, run in cases.items():
            started = time.perf_counter()
            run()
            if repeat >= 3:
                times[name].append(1e3 * (time.perf_counter() - started))
    return times


def run() -> dict[str, Any]:
    """Measure and return the record."""
    sigmas = NoiseSettings().sigmas
    mask = torch.ones(GRAPHS, NODES, dtype=torch.bool)
    adj = (symmetric_noise(mask, generator=torch_generator(0, "graphs")) > 0.5).float()
    data = GraphBatch(adj, mask)
    network = EDPGNN(EDPGNNSettings(), sigmas, generator=torch_generator(0, "weights"))
    settings = TrainingSettings(batch_size=GRAPHS)
    trainer = Trainer(network, data, sigmas, settings, seed=0)

    reference = ReleasedReference(len(sigmas))
    optimiser = torch.optim.Adam(reference.parameters())
    sigma = torch.tensor(sigmas).repeat(GRAPHS)
    wide_mask = mask.repeat_interleave(len(sigmas), 0)
    noisy = symmetric_noise(wide_mask, generator=torch_generator(0, "noise"))

    def reference_step() -> None:
        optimiser.zero_grad()
        ((reference(noisy) + noisy) ** 2).sum().backward()
        optimiser.step()

    @torch.no_grad()
    def forward() -> None:
        network(noisy, wide_mask, sigma)

    @torch.no_grad()
    def reference_forward() -> None:
        reference(noisy)

    times = alternating(
        {
            "forward": forward,
            "reference forward": reference_forward,
            "training step": trainer._train_step,
            "reference training step": reference_step,
        }
    )
    return {
        "what": f"{GRAPHS} graphs x {len(sigmas)} levels, {NODES} nodes, paper's defaults",
        "parameters": sum(p.numel() for p in network.parameters()),
        "reference_parameters": sum(p.numel() for p in reference.parameters()),
        "milliseconds": {name: statistics.median(values) for name, values in times.items()},
        "fastest_milliseconds": {name: min(values) for name, values in times.items()},
        "repeats": REPEATS,
        "provenance": provenance(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the record to this file")
    arguments = parser.parse_args()
    record = run()
    machine = record["provenance"]
    table = Table(
        title=f"EDP-GNN, {record['what']}\n{machine['processor']}, {machine['threads']} threads"
    )
    for column in ("", "median ms", "fastest ms", "reference ms", "ratio", "target ms"):
        table.add_column(column, justify="right")
    for name, target in TARGETS.items():
        ours = record["milliseconds"][name]
        theirs = record["milliseconds"][f"reference {name}"]
        fastest = record["fastest_milliseconds"][name]
        cells = (ours, fastest, theirs)
        table.add_row(name, *(f"{v:.1f}" for v in cells), f"{theirs / ours:.2f}", f"{target:.0f}")
    Console().print(table)
    if arguments.json:
        write_file(arguments.json, (json.dumps(record, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
