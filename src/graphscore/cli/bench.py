"""`graphscore bench`."""

from __future__ import annotations

from dataclasses import asdict, astuple
from typing import TYPE_CHECKING

from graphscore.cli.data import READING, ReadingOptions, carried_by, load
from graphscore.cli.option_types import Flag, Number
from graphscore.cli.tables import print_json, print_table
from graphscore.streams import say

if TYPE_CHECKING:
    from graphscore.estimate import Estimate, Seconds

UNITS = ((7200, 3600, "h"), (120, 60, "min"), (1, 1, "s"), (0, 1e-3, "ms"))
"""From so many seconds on, the unit in seconds, and its name."""


def bench(
    graphs: str,
    *,
    model: str = "denoiser",
    number: Number = 64,
    device: str = "auto",
    json: Flag = False,
    reading: ReadingOptions = READING,
) -> int:
    """Estimate how long training on GRAPHS and sampling will take on this machine.

    Runs some training steps and a short sampling with the settings that `graphscore train` would
    choose, and extrapolates to the whole. Writes no files. Takes about 20 seconds; longer where
    a single step takes seconds.

    Parameters
    ----------
    graphs
        Dataset name (its training part is used), or a file or folder of graphs.
    model
        denoiser, edp-gnn, edp-gnn-released or gin.
    number
        Number of graphs to sample.
    device
        auto, cpu, cuda or mps.
    json
        Print the estimate as JSON.
    """
    from graphscore.estimate import estimate
    from graphscore.models.registry import learnable

    attributes = learnable(model, carried_by(graphs, reading))
    of_edges = [name for kind, name in attributes.items() if kind.startswith("edge")]
    made = estimate(
        load(graphs, reading, split="train", edge_attributes=of_edges),
        model=model,
        attributes=attributes,
        number=number,
        device=device,
        log=say,
    )
    if json:
        print_json(asdict(made))
    else:
        _show(graphs, made)
    return 0


def _show(graphs: str, made: Estimate) -> None:
    smallest, largest = made.nodes
    sampled = "measured" if made.sampling_measured else "extrapolated"
    peak = "not reported here" if made.peak_bytes is None else f"{made.peak_bytes / 2**20:.0f} MiB"
    rows = {
        "model": (made.model, f"{made.parameters} parameters"),
        "graphs": (f"{made.graphs}", f"{smallest} to {largest} nodes"),
        "device": (made.device, ""),
        "training step": (_range(made.step), f"measured, {made.batch_size} graphs per step"),
        "training": (_range(made.training), f"extrapolated to {made.steps} steps"),
        f"sampling {made.number} graphs": (_range(made.sampling), sampled),
        "peak memory": (peak, "measured"),
    }
    title = f"Time for {graphs} on this machine (range of repeated measurements)"
    print_table(title, ["", "estimate", ""], [[name, *row] for name, row in rows.items()], text=3)


def _range(seconds: Seconds) -> str:
    unit, name = next((unit, name) for least, unit, name in UNITS if seconds.mean >= least)
    mean, low, high = (f"{value / unit:.3g}" for value in astuple(seconds))
    return f"{mean} {name} ({low} to {high})"
