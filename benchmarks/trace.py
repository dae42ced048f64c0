"""Events of torch's profiler."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks.clock import Run, synchronise

Event = dict[str, Any]


def trace(run: Run, device: torch.device, *, memory: bool = False) -> list[Event]:
    """Return the events of one call, in order of time.

    Each has `name`, `cat` (its category) and `ts` (microseconds); what lasts has `dur` as well.
    On the CPU these are operators and, with `memory`, allocations; on CUDA, kernels and copies.
    """
    # Without this, the profiler's library logs every start and stop to standard error.
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
    activity = ProfilerActivity.CUDA if device.type == "cuda" else ProfilerActivity.CPU
    synchronise(device)
    with profile(activities=[activity], profile_memory=memory) as profiler:
        run()
        synchronise(device)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(file))
        events = json.loads(file.read_text(encoding="utf-8"))["traceEvents"]
    return sorted((event for event in events if "cat" in event), key=lambda event: event["ts"])
