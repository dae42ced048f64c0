"""Time, memory and share of the device's peak of EDP-GNN's training and sampling steps."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch

from benchmarks.arithmetic import Work, count_work
from benchmarks.ceilings import Ceilings
from benchmarks.clock import Run, seconds_of, time_in_turns
from benchmarks.memory import peak_bytes
from benchmarks.plan import Plan
from benchmarks.workloads import PATHS, STEP_SIZE, Chain, make_chain, make_step
from graphscore.acceleration import Accelerate

FIRST_STEPS = 5
"""Steps of the warm-up; every path has compiled and allocated after them."""


def measure_training(plan: Plan, device: torch.device, ceilings: Ceilings) -> dict[str, Any]:
    """Measure the optimiser step: draw a batch and noise, forward, backward, clip, update, average.

    Returns:
        `workload`, `work_per_step`, and for `plain` and `accelerated`: `path`, `step_seconds`,
        `timing`, `warm_up_seconds`, `peak_memory_bytes`, `share_of_matrix_ceiling`,
        `share_of_copy_ceiling`.
    """
    shape = plan.training_graphs, plan.training_nodes
    made = {name: make_step(plan, device, option, shape) for name, option in PATHS.items()}
    if made["accelerated"][0] == "plain":
        del made["accelerated"]
    steps: dict[str, Run] = {name: step for name, (_, step) in made.items()}
    first = {name: seconds_of(step, device, calls=FIRST_STEPS) for name, step in steps.items()}
    timings = time_in_turns(
        steps,
        device,
        repeats=plan.repeats,
        calls=plan.training_calls,
        at_most=plan.timing_seconds,
    )
    work = count_work(steps["plain"])
    results: dict[str, dict[str, Any]] = {}
    for name, timing in timings.items():
        path = made[name][0]
        results[name] = {
            "path": path,
            "step_seconds": timing.median,
            "timing": timing.to_dict(),
            "warm_up_seconds": max(0.0, FIRST_STEPS * (first[name] - timing.median)),
            **_shares(ceilings, work, timing.median, path),
        }
    made.clear()
    steps.clear()
    for name, result in results.items():
        run = partial(_train_from_scratch, plan, device, PATHS[name])
        result["peak_memory_bytes"] = peak_bytes(run, device)
    return {
        "workload": {"graphs": shape[0], "levels": len(plan.noise.sigmas), "nodes": shape[1]},
        "work_per_step": work.to_dict(),
        **_both(results),
    }


def measure_sampling(
    plan: Plan, device: torch.device, ceilings: Ceilings, graphs: int
) -> dict[str, Any]:
    """Measure a Langevin step of `graphs` graphs at once.

    Accelerated paths run many steps in one call, so whole short samplings of two lengths are timed;
    the difference excludes the fixed cost of a sampling.

    Returns:
        `graphs`, `work_per_step`, and for `plain` and `accelerated`: `path`, `step_seconds`,
        `fixed_seconds`, `short` and `long` (timings), `warm_up_seconds`, `peak_memory_bytes`,
        `share_of_matrix_ceiling`, `share_of_copy_ceiling`.
    """
    lengths = {"plain": plan.plain_lengths, "accelerated": plan.accelerated_lengths}
    made = {name: make_chain(plan, device, option, graphs=graphs) for name, option in PATHS.items()}
    if made["accelerated"][0] == "plain":
        del made["accelerated"]
    cases: dict[str, Run] = {}
    first: dict[str, float] = {}
    for name, (_, chain) in made.items():
        few, many = lengths[name]
        cases |= {f"{name} short": partial(chain, few), f"{name} long": partial(chain, many)}
        first[name] = seconds_of(cases[f"{name} short"], device)
        seconds_of(cases[f"{name} long"], device)
    timings = time_in_turns(cases, device, repeats=plan.repeats, at_most=plan.timing_seconds)
    levels = len(plan.noise.sigmas)
    work = _work_of_a_step(made["plain"][1], levels)
    results: dict[str, dict[str, Any]] = {}
    for name, (path, _) in made.items():
        short, long = timings[f"{name} short"], timings[f"{name} long"]
        few, many = (levels * length for length in lengths[name])
        step = (long.median - short.median) / (many - few)
        if step <= 0:  # The noise exceeds the difference; the mean is an upper bound.
            step = long.median / many
        results[name] = {
            "path": path,
            "step_seconds": step,
            "fixed_seconds": max(0.0, short.median - few * step),
            "short": {"steps": few, **short.to_dict()},
            "long": {"steps": many, **long.to_dict()},
            "warm_up_seconds": max(0.0, first[name] - short.median),
            **_shares(ceilings, work, step, path),
        }
    cases.clear()
    made.clear()
    for name, result in results.items():
        run = partial(_sample_from_scratch, plan, device, PATHS[name], graphs, lengths[name][0])
        result["peak_memory_bytes"] = peak_bytes(run, device)
    return {"graphs": graphs, "work_per_step": work.to_dict(), **_both(results)}


def measure_schedule(plan: Plan, device: torch.device, row: dict[str, Any]) -> dict[str, Any]:
    """Seconds to sample the plan's number of graphs with all steps, on both paths.

    Args:
        row: what `measure_sampling` returned; times that are not measured are extrapolated from it.

    Returns:
        The workload, and for `plain` and `accelerated`: `path`, `seconds`, `extrapolated`, then
        `runs_seconds` where it was run, `from_graphs` and `from_steps` where it was not.
    """
    results = {name: _extrapolated(plan, row, name) for name in PATHS}
    if plan.schedule_runs and row["accelerated"]["path"] != "plain":
        graphs = plan.schedule_graphs
        path, chain = make_chain(plan, device, PATHS["accelerated"], graphs=graphs)
        chain(plan.accelerated_lengths[0])
        whole = {"": partial(chain, plan.schedule_steps_per_level)}
        runs = plan.schedule_runs
        timing = time_in_turns(whole, device, repeats=runs, at_most=plan.case_seconds)[""]
        results["accelerated"] = {
            "path": path,
            "seconds": timing.median,
            "extrapolated": False,
            "runs_seconds": list(timing.seconds),
        }
    return {
        "graphs": plan.schedule_graphs,
        "levels": len(plan.noise.sigmas),
        "steps_per_level": plan.schedule_steps_per_level,
        "sizes": list(plan.sampling_sizes),
        "step_size": STEP_SIZE,
        **results,
    }


def _extrapolated(plan: Plan, row: dict[str, Any], name: str) -> dict[str, Any]:
    measured = row[name]
    steps = len(plan.noise.sigmas) * plan.schedule_steps_per_level
    one = measured["fixed_seconds"] + steps * measured["step_seconds"]
    return {
        "path": measured["path"],
        "seconds": one * plan.schedule_graphs / row["graphs"],
        "extrapolated": True,
        "from_graphs": row["graphs"],
        "from_steps": measured["long"]["steps"],
    }


def _shares(ceilings: Ceilings, work: Work, seconds: float, path: str) -> dict[str, float | None]:
    """Shares of the ceilings; the counted memory traffic is that of the plain path only."""
    shares: dict[str, float | None] = {**ceilings.shares(work, seconds)}
    if path != "plain":
        shares["share_of_copy_ceiling"] = None
    return shares


def _both(paths: Mapping[str, Any]) -> dict[str, Any]:
    """Both paths; where there is no accelerated one, the plain one twice."""
    return {"plain": paths["plain"], "accelerated": paths.get("accelerated", paths["plain"])}


def _work_of_a_step(chain: Chain, levels: int) -> Work:
    one, two = count_work(partial(chain, 1)), count_work(partial(chain, 2))
    return Work((two.flops - one.flops) // levels, (two.bytes - one.bytes) // levels)


def _train_from_scratch(plan: Plan, device: torch.device, accelerate: Accelerate) -> None:
    # A new trainer each time: memory that a path allocates once counts.
    _, step = make_step(plan, device, accelerate, (plan.training_graphs, plan.training_nodes))
    for _ in range(FIRST_STEPS):
        step()


def _sample_from_scratch(
    plan: Plan, device: torch.device, accelerate: Accelerate, graphs: int, length: int
) -> None:
    make_chain(plan, device, accelerate, graphs=graphs)[1](length)
