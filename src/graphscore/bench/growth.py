"""How time and memory grow with the number of nodes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from graphscore.bench.clock import Run, seconds_of, time_in_turns
from graphscore.bench.memory import peak_bytes
from graphscore.bench.plan import BenchPlan
from graphscore.bench.workloads import make_network, make_trainer, random_graphs
from graphscore.errors import GraphscoreNotice
from graphscore.training.memory import available_memory, free_memory, is_out_of_memory

CASES = ("forward", "training_step", "training_step_recomputed")
QUANTITIES = ("seconds_per_graph", "bytes_per_graph")
FITTED_SIZES = 4
"""The smallest sizes are left out of the fit: there, what a call costs at any size weighs in."""

Row = dict[str, Any]


def measure_growth(
    plan: BenchPlan, device: torch.device, *, on_size: Callable[[int], None] = lambda nodes: None
) -> dict[str, Any]:
    """Measure the plain path's forward pass and training step at every size of the plan.

    A batch has about `growth_pairs` pairs at every size, and at least one graph. `forward` is one
    evaluation of one graph without gradients; a training step sees each graph at every level, once
    with all activations kept and once with those of a layer computed again.

    Returns:
        `rows` (per case `seconds_per_graph` and `bytes_per_graph`), `skipped` with reasons, and
        `exponents` per case and quantity.
    """
    rows: list[Row] = []
    skipped: list[dict[str, Any]] = []
    for nodes in plan.growth_nodes:
        on_size(nodes)
        reason = _too_much(rows, nodes, plan, device)
        row = None if reason else _row_if_it_fits(plan, device, nodes)
        if row is None:
            skipped.append({"nodes": nodes, "reason": reason or "out of memory"})
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


def _row_if_it_fits(plan: BenchPlan, device: torch.device, nodes: int) -> Row | None:
    try:
        # A step that does not fit is announced and then computed in pieces: another measurement.
        with warnings.catch_warnings(action="error", category=GraphscoreNotice):
            return _row(plan, device, nodes)
    except GraphscoreNotice:
        return None
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        return None


def _row(plan: BenchPlan, device: torch.device, nodes: int) -> Row:
    graphs = _graphs(plan, nodes)
    evaluations = graphs * len(plan.noise.sigmas)
    forward = partial(_forward, plan, device, evaluations, nodes)
    kept, recomputed = (
        partial(_training_step, plan, device, graphs, nodes, recompute)
        for recompute in (False, True)
    )
    return {
        "nodes": nodes,
        "graphs": graphs,
        "forward": _measured(forward, plan, device, evaluations),
        "training_step": _measured(kept, plan, device, graphs),
        "training_step_recomputed": _measured(recomputed, plan, device, graphs),
    }


def _graphs(plan: BenchPlan, nodes: int) -> int:
    return max(1, plan.growth_pairs // (len(plan.noise.sigmas) * nodes**2))


def _forward(plan: BenchPlan, device: torch.device, graphs: int, nodes: int) -> Run:
    network = make_network(plan, device).eval()
    batch = random_graphs(graphs, nodes, device)
    sigma = torch.tensor(plan.noise.sigmas, device=device).repeat(graphs)[:graphs]

    @torch.no_grad()
    def forward() -> None:
        network(batch.adj, batch.node_mask, sigma)

    return forward


def _training_step(
    plan: BenchPlan, device: torch.device, graphs: int, nodes: int, recompute: bool
) -> Run:
    trainer = make_trainer(plan, device, "off", graphs=graphs, nodes=nodes, recompute=recompute)
    return trainer._train_step


def _measured(
    make: Callable[[], Run], plan: BenchPlan, device: torch.device, graphs: int
) -> dict[str, Any]:
    run = make()
    seconds_of(run, device)
    timing = time_in_turns(
        {"": run}, device, repeats=plan.growth_repeats, at_most=plan.timing_seconds
    )[""]
    del run
    # Weights and graphs belong to what the work needs, so making them is part of it.
    return {
        "seconds_per_graph": timing.median / graphs,
        "bytes_per_graph": peak_bytes(lambda: make()(), device) / graphs,
        **timing.to_dict(),
    }


def _too_much(rows: Sequence[Row], nodes: int, plan: BenchPlan, device: torch.device) -> str | None:
    """Say why a size is not measured, judged by the size before; None if it is."""
    if not rows:
        return None
    before = rows[-1]
    # Time and memory grow at least like the number of pairs.
    times = (_graphs(plan, nodes) * nodes**2) / (before["graphs"] * before["nodes"] ** 2)
    step = before["training_step"]
    slowest = max(step["median_seconds"], before["training_step_recomputed"]["median_seconds"])
    if slowest * times > plan.case_seconds:
        return f"a training step would take about {math.ceil(slowest * times)} s"
    needed = step["bytes_per_graph"] * before["graphs"] * times
    free_memory(device)
    free = available_memory(device)
    if free is not None and needed > 0.9 * free:
        return f"a training step would need about {needed / 2**30:.0f} GiB of memory"
    return None
