"""Peak memory of a call."""

from __future__ import annotations

import gc

import torch

from benchmarks.clock import Run, synchronise
from benchmarks.trace import trace

MEANING = {
    "cpu": "most bytes that torch's CPU allocator held at once on top of what it held before "
    "(allocation events of torch's profiler; scratch memory inside matrix libraries not counted)",
    "cuda": "most bytes that torch's CUDA allocator held at once on top of what it held before "
    "(torch.cuda.max_memory_allocated)",
}
"""What `peak_bytes` counts, for the record."""


def peak_bytes(run: Run, device: torch.device) -> int:
    """Return the most bytes that `run` allocates at once, on top of what is allocated before.

    >>> megabyte = lambda: torch.zeros(2**18) + torch.zeros(1)
    >>> peak_bytes(megabyte, torch.device("cpu")) // 2**20
    2
    """
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
        synchronise(device)
        before = torch.cuda.memory_allocated(device)
        torch.cuda.reset_peak_memory_stats(device)
        run()
        synchronise(device)
        return torch.cuda.max_memory_allocated(device) - before
    held = peak = 0
    for event in trace(run, device, memory=True):
        if event["name"] == "[memory]":
            held += event["args"]["Bytes"]
            peak = max(peak, held)
    return peak
