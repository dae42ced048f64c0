"""Time, memory and shares of the ceilings of one sampling step, and seconds of a whole sampling."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from graphscore.acceleration import Accelerate
from graphscore.bench.arithmetic import Work, count_work
from graphscore.bench.ceilings import Ceilings
from graphscore.bench.clock import Run, seconds_of, time_in_turns
from graphscore.bench.memory import peak_bytes
from graphscore.bench.plan import BenchPlan
from graphscore.bench.side_by_side import SWITCH, both, shares_of
from graphscore.bench.workloads import STEP_SIZE, Chain, make_chain


def measure_sampling(
    plan: BenchPlan, device: torch.device, ceilings: Ceilings, graphs: int
) -> dict[str, Any]:
    """Measure a Langevin step of `graphs` graphs at once.

    Accelerated paths take steps in bulk, so whole short samplings of two lengths are timed; the
    difference is free of what a sampling costs once.

    Returns:
        `graphs`, `work_per_step`, and for `plain` and `accelerated`: `path`, `step_seconds`,
        `fixed_seconds`, `short` and `long` (timings), `warm_up_seconds`, `peak_memory_bytes`,
        `share_of_matrix_ceiling`, `share_of_copy_ceiling`.
    """
    lengths = {"plain": plan.plain_lengths, "accelerated": plan.accelerated_lengths}
    made = {
        name: make_chain(plan, device, accelerate, graphs=graphs)
        for name, accelerate in SWITCH.items()
    }
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
    paths: dict[str, dict[str, Any]] = {}
    for name, (path, _) in made.items():
        short, long = timings[f"{name} short"], timings[f"{name} long"]
        few, many = (levels * length for length in lengths[name])
        step = (long.median - short.median) / (many - few)
        if step <= 0:  # Noise of the machine larger than the difference: the mean bounds it.
            step = long.median / many
        paths[name] = {
            "path": path,
            "step_seconds": step,
            "fixed_seconds": max(0.0, short.median - few * step),
            "short": {"steps": few, **short.to_dict()},
            "long": {"steps": many, **long.to_dict()},
            "warm_up_seconds": max(0.0, first[name] - short.median),
            **shares_of(ceilings, work, step, path),
        }
    cases.clear()
    made.clear()
    for name, result in paths.items():
        run = partial(_from_the_start, plan, device, SWITCH[name], graphs, lengths[name][0])
        result["peak_memory_bytes"] = peak_bytes(run, device)
    return {"graphs": graphs, "work_per_step": work.to_dict(), **both(paths)}


def measure_schedule(plan: BenchPlan, device: torch.device, row: dict[str, Any]) -> dict[str, Any]:
    """Seconds of sampling the plan's number of graphs with its whole schedule, on both paths.

    Args:
        row: what `measure_sampling` returned; what is not timed whole is extrapolated from it.

    Returns:
        The workload, and for `plain` and `accelerated`: `path`, `seconds`, `extrapolated`,
        `runs_seconds` and `warm_up_seconds` where it was run, `from_graphs` and `from_steps` where
        it was not. What compiles does so in the first batch of `measure_sampling`.
    """
    graphs, per_level = plan.schedule_graphs, plan.schedule_steps_per_level
    levels = len(plan.noise.sigmas)
    results = {name: _extrapolated(plan, row, name) for name in SWITCH}
    if plan.schedule_runs and row["accelerated"]["path"] != "plain":
        path, chain = make_chain(plan, device, SWITCH["accelerated"], graphs=graphs)
        first = seconds_of(partial(chain, plan.accelerated_lengths[0]), device)
        usual = row["accelerated"]["short"]["median_seconds"]
        whole = {"": partial(chain, per_level)}
        runs = plan.schedule_runs
        timing = time_in_turns(whole, device, repeats=runs, at_most=plan.case_seconds)[""]
        results["accelerated"] = {
            "path": path,
            "seconds": timing.median,
            "extrapolated": False,
            "runs_seconds": list(timing.seconds),
            "warm_up_seconds": max(0.0, first - usual),
        }
    return {
        "graphs": graphs,
        "levels": levels,
        "steps_per_level": per_level,
        "sizes": list(plan.sampling_sizes),
        "step_size": STEP_SIZE,
        **results,
    }


def _extrapolated(plan: BenchPlan, row: dict[str, Any], name: str) -> dict[str, Any]:
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


def _work_of_a_step(chain: Chain, levels: int) -> Work:
    one, two = count_work(partial(chain, 1)), count_work(partial(chain, 2))
    return Work((two.flops - one.flops) // levels, (two.bytes - one.bytes) // levels)


def _from_the_start(
    plan: BenchPlan, device: torch.device, accelerate: Accelerate, graphs: int, length: int
) -> None:
    make_chain(plan, device, accelerate, graphs=graphs)[1](length)
