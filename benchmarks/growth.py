"""How time and memory grow with the number of nodes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from benchmarks.clock import Run, seconds_of, time_in_turns
from benchmarks.memory import peak_bytes
from benchmarks.plan import Plan
from benchmarks.workloads import make_network, make_step, random_graphs
from graphscore.errors import GraphscoreWarning
from graphscore.training.memory import is_out_of_memory

CASES = ("forward", "training_step", "training_step_checkpointed")
QUANTITIES = ("seconds_per_graph", "bytes_per_graph")
FITTED_SIZES = 4
"""Sizes of the fit, the largest ones: at small sizes the cost of a call itself dominates."""

Row = dict[str, Any]


def measure_growth(
    plan: Plan, device: torch.device, *, on_size: Callable[[int], None] = lambda nodes: None
) -> dict[str, Any]:
    """Measure the plain path's forward pass and training step at every size of the plan.

    A batch has about `growth_pairs` pairs at every size, and at least one graph. `forward` is one
    evaluation of one graph without gradients; a training step has each graph at every noise level,
    without and with activation checkpointing.

    Returns:
        `rows` (per case `seconds_per_graph` and `bytes_per_graph`), `skipped` sizes that did not
        fit in memory, and `exponents` per case and quantity.
    """
    rows: list[Row] = []
    skipped: list[dict[str, Any]] = []
    for nodes in plan.growth_nodes:
        on_size(nodes)
        row = _row_if_it_fits(plan, device, nodes)
        if row is None:
            skipped.append({"nodes": nodes, "reason": "out of memory"})
        else:
            rows.append(row)
    return {
        "levels": len(plan.noise.sigmas),
        "rows": rows,
        "skipped": skipped,
        "exponents": {case: _exponents(rows, case) for case in CASES},
    }


def fit_exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Return b of the power law a * size^b that fits best (least squares of the logarithms).

    >>> round(fit_exponent([10, 20, 40], [3e2, 12e2, 48e2]), 6)
    2.0
    """
    slope, _ = np.polyfit(np.log(sizes), np.log(values), 1)
    return float(slope)


def _exponents(rows: Sequence[Row], case: str) -> dict[str, Any] | None:
    last = rows[-FITTED_SIZES:]
    if len(last) < 2:
        return None
    sizes = [row["nodes"] for row in last]
    fitted = {key: fit_exponent(sizes, [row[case][key] for row in last]) for key in QUANTITIES}
    return {"sizes": sizes, **fitted}


def _row_if_it_fits(plan: Plan, device: torch.device, nodes: int) -> Row | None:
    try:
        # The trainer would warn and split the batch into micro-batches: another measurement.
        with warnings.catch_warnings(action="error", category=GraphscoreWarning):
            return _row(plan, device, nodes)
    except GraphscoreWarning:
        return None
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        return None


def _row(plan: Plan, device: torch.device, nodes: int) -> Row:
    graphs = max(1, plan.growth_pairs // (len(plan.noise.sigmas) * nodes**2))
    evaluations = graphs * len(plan.noise.sigmas)

    def step(checkpointing: bool) -> Run:
        return make_step(plan, device, "off", (graphs, nodes), checkpointing=checkpointing)[1]

    forward = partial(_forward, plan, device, evaluations, nodes)
    return {
        "nodes": nodes,
        "graphs": graphs,
        "forward": _measured(forward, plan, device, evaluations),
        "training_step": _measured(partial(step, False), plan, device, graphs),
        "training_step_checkpointed": _measured(partial(step, True), plan, device, graphs),
    }


def _forward(plan: Plan, device: torch.device, graphs: int, nodes: int) -> Run:
    network = make_network(plan, device).eval()
    batch = random_graphs(graphs, nodes, device)
    sigma = torch.tensor(plan.noise.sigmas, device=device).repeat(graphs)[:graphs]

    @torch.no_grad()
    def forward() -> None:
        network(batch.state, sigma)

    return forward


def _measured(
    make: Callable[[], Run], plan: Plan, device: torch.device, graphs: int
) -> dict[str, Any]:
    run = make()
    seconds_of(run, device)
    timing = time_in_turns(
        {"": run}, device, repeats=plan.growth_repeats, at_most=plan.timing_seconds
    )[""]
    del run
    # Weights and graphs are part of the memory that the work needs, so they are made again.
    return {
        "seconds_per_graph": timing.median / graphs,
        "bytes_per_graph": peak_bytes(lambda: make()(), device) / graphs,
        **timing.to_dict(),
    }
