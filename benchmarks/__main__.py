"""The command line of the benchmarks: measure one thing, or write docs/performance.md.

python -m benchmarks denoiser --device cuda --json results/benchmark_denoiser_cuda.json
python -m benchmarks edp-gnn --device cpu --json results/performance_cpu.json
python -m benchmarks released --json results/benchmark_network.json
python -m benchmarks metrics --json results/benchmark_metrics.json
python -m benchmarks demo --json results/demo.json
python -m benchmarks page
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks import demo, denoiser, edp_gnn, metrics, page, released
from graphscore.atomic import write_file
from graphscore.device import resolve_device

ON_A_DEVICE: dict[str, Callable[[torch.device], dict[str, Any]]] = {
    "denoiser": denoiser.measure,
    "edp-gnn": edp_gnn.measure,
}
ON_THE_CPU: dict[str, Callable[[], dict[str, Any]]] = {
    "released": released.compare,
    "metrics": metrics.measure,
    "demo": demo.measure,
}
SHOW: dict[str, Callable[[dict[str, Any]], None]] = {
    "denoiser": denoiser.show,
    "edp-gnn": edp_gnn.show,
    "released": released.show,
    "metrics": metrics.show,
    "demo": demo.show,
}
HELP = {
    "denoiser": "training step and network call of the default model, on every path",
    "edp-gnn": "steps, memory, share of the measured peak, growth with the nodes, profile",
    "released": "EDP-GNN beside a network with the structure of the released program",
    "metrics": "orbit counts, evaluation, uniqueness and novelty",
    "demo": "time and metrics of `graphscore demo`",
    "page": "write docs/performance.md from results/",
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one benchmark, print a table, and write its record if a file is given."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__.split("\n")[0]
    )
    commands = parser.add_subparsers(dest="name", required=True)
    for name, text in HELP.items():
        command = commands.add_parser(name, help=text, description=text)
        if name in SHOW:
            command.add_argument("--json", type=Path, help="also write the record to this file")
        if name in ON_A_DEVICE:
            command.add_argument("--device", default="auto", help="auto, cpu or cuda")
    given = parser.parse_args(arguments)
    if given.name == "page":
        page.render(page.ROOT / "results", page.ROOT / "docs")
        return
    if given.name in ON_A_DEVICE:
        record = ON_A_DEVICE[given.name](resolve_device(given.device))
    else:
        record = ON_THE_CPU[given.name]()
    SHOW[given.name](record)
    if given.json is not None:
        write_file(given.json, (json.dumps(record, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
