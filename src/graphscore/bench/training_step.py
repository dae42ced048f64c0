"""Time, memory and shares of the ceilings of one training step, on both paths."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from graphscore.acceleration import Accelerate
from graphscore.bench.arithmetic import count_work
from graphscore.bench.ceilings import Ceilings
from graphscore.bench.clock import Run, seconds_of, time_in_turns
from graphscore.bench.memory import peak_bytes
from graphscore.bench.plan import BenchPlan
from graphscore.bench.side_by_side import SWITCH, both, shares_of
from graphscore.bench.workloads import make_trainer

# A path that prepares itself does so within its first steps.
FIRST_STEPS = 5


def measure_training(plan: BenchPlan, device: torch.device, ceilings: Ceilings) -> dict[str, Any]:
    """Measure the optimiser step: draw a batch and noise, forward, backward, clip, update, average.

    Returns:
        `workload`, `work_per_step`, and for `plain` and `accelerated`: `path`, `step_seconds`,
        `timing`, `warm_up_seconds`, `peak_memory_bytes`, `share_of_matrix_ceiling`,
        `share_of_copy_ceiling`.
    """
    graphs, nodes = plan.training_graphs, plan.training_nodes
    trainers = {
        name: make_trainer(plan, device, accelerate, graphs=graphs, nodes=nodes)
        for name, accelerate in SWITCH.items()
    }
    if trainers["accelerated"].path == "plain":
        del trainers["accelerated"]
    steps: dict[str, Run] = {name: trainer._train_step for name, trainer in trainers.items()}
    first = {name: seconds_of(step, device, calls=FIRST_STEPS) for name, step in steps.items()}
    timings = time_in_turns(
        steps,
        device,
        repeats=plan.repeats,
        calls=plan.training_calls,
        at_most=plan.timing_seconds,
    )
    work = count_work(steps["plain"])
    paths: dict[str, dict[str, Any]] = {}
    for name, timing in timings.items():
        path = trainers[name].path
        paths[name] = {
            "path": path,
            "step_seconds": timing.median,
            "timing": timing.to_dict(),
            "warm_up_seconds": max(0.0, FIRST_STEPS * (first[name] - timing.median)),
            **shares_of(ceilings, work, timing.median, path),
        }
    trainers.clear()
    steps.clear()
    for name, result in paths.items():
        run = partial(_from_the_start, plan, device, SWITCH[name])
        result["peak_memory_bytes"] = peak_bytes(run, device)
    return {
        "workload": {"graphs": graphs, "levels": len(plan.noise.sigmas), "nodes": nodes},
        "work_per_step": work.to_dict(),
        **both(paths),
    }


def _from_the_start(plan: BenchPlan, device: torch.device, accelerate: Accelerate) -> None:
    # Making the trainer belongs to it: memory that a path sets aside once is memory it needs.
    graphs, nodes = plan.training_graphs, plan.training_nodes
    trainer = make_trainer(plan, device, accelerate, graphs=graphs, nodes=nodes)
    for _ in range(FIRST_STEPS):
        trainer._train_step()
