"""Everything measured of EDP-GNN on one device, as one record."""

from __future__ import annotations

import time
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from benchmarks.ceilings import measure_ceilings
from benchmarks.growth import measure_growth
from benchmarks.memory import MEANING
from benchmarks.plan import Plan, plan_for
from benchmarks.profile import measure_profile
from benchmarks.steps import measure_sampling, measure_schedule, measure_training
from benchmarks.workloads import make_network
from graphscore.progress import progress
from graphscore.provenance import provenance


def measure(
    device: torch.device, plan: Plan | None = None, *, show_progress: bool = True
) -> dict[str, Any]:
    """Measure a device and return the record.

    Returns:
        `benchmark` ("performance"), `provenance`, `plan`, `seconds` of the whole run, `parameters`
        of the network, `memory` (what a peak counts), `ceilings`, `training`, `sampling` (`batches`
        and `schedule`), `growth` and `profile`; see the functions that measure them.
    """
    plan = plan_for(device) if plan is None else plan
    started = time.perf_counter()
    stages = 4 + len(plan.sampling_graphs) + len(plan.growth_nodes)
    with progress(f"measuring {device}", stages, enabled=show_progress) as update:
        done = 0

        def stage(note: str) -> None:
            nonlocal done
            update(done, note)
            done += 1

        stage("ceilings")
        ceilings = measure_ceilings(plan, device)
        stage("training step")
        training = measure_training(plan, device, ceilings)
        batches = []
        for graphs in plan.sampling_graphs:
            stage(f"sampling step of {graphs} graphs")
            batches.append(measure_sampling(plan, device, ceilings, graphs))
        stage(f"sampling {plan.schedule_graphs} graphs")
        schedule = measure_schedule(plan, device, batches[-1])
        growth = measure_growth(plan, device, on_size=lambda nodes: stage(f"growth: {nodes} nodes"))
        stage("profile")
        work = {
            "training": training["work_per_step"]["flops"],
            "sampling": batches[-1]["work_per_step"]["flops"],
        }
        profile = measure_profile(plan, device, ceilings, work)
        update(stages, "")
    network = make_network(plan, torch.device("cpu"))
    return {
        "benchmark": "performance",
        "provenance": {**provenance(str(device)), "device_type": device.type},
        "plan": plan.model_dump(mode="json"),
        "seconds": time.perf_counter() - started,
        "parameters": sum(parameter.numel() for parameter in network.parameters()),
        "memory": MEANING[device.type],
        "ceilings": ceilings.details,
        "training": training,
        "sampling": {"batches": batches, "schedule": schedule},
        "growth": growth,
        "profile": profile,
    }


def show(record: dict[str, Any]) -> None:
    """Print the steps; docs/performance.md shows the rest of a record."""
    steps = {"training": record["training"]}
    steps |= {f"sampling {row['graphs']}": row for row in record["sampling"]["batches"]}
    table = Table("step", "path", "ms", "peak MiB", title="EDP-GNN")
    for name, part in steps.items():
        for side in ("plain", "accelerated"):
            row = part[side]
            peak = row["peak_memory_bytes"] / 2**20
            table.add_row(name, row["path"], f"{1e3 * row['step_seconds']:.3g}", f"{peak:.3g}")
    Console().print(table)
