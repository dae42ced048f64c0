"""How much memory there is, how much a network keeps for its gradient, and when it ran out."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

_MESSAGES = (
    "out of memory",
    "can't allocate memory",
    "DefaultCPUAllocator",
    "bad_alloc",
    "ALLOC_FAILED",
)
_UNLIMITED = 1 << 60
"""Control groups of version 1 without a limit show a number beyond any memory."""


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error of torch means that memory ran out.

    On the CPU and in libraries torch has no class for it, only the message.

    >>> is_out_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried..."))
    True
    >>> is_out_of_memory(RuntimeError("size mismatch"))
    False
    """
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(text in str(error) for text in _MESSAGES)


def free_memory(device: torch.device) -> None:
    """Free what a failed attempt left, so that a smaller one fits."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()


def saved_bytes(function: Callable[[], Any]) -> int:
    """Run `function` and return the bytes of the tensors that its gradient would need.

    Parameters and inputs count where a gradient refers to them; shared storage counts once.

    >>> x = torch.zeros(1000, requires_grad=True)
    >>> saved_bytes(lambda: (2 * x).exp().sum())
    4000
    """
    # Storages are held until the end, because a freed address may be given out again. Held as a
    # tensor, a result would keep alive the graph that keeps it.
    saved: dict[int, torch.UntypedStorage] = {}

    def note(tensor: Tensor) -> None:
        storage = tensor.untyped_storage()
        saved[storage.data_ptr()] = storage

    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(note, lambda kept: kept):
        result = function()
    del result
    return sum(storage.nbytes() for storage in saved.values())


def available_memory(device: torch.device) -> int | None:
    """Return the bytes that can still be used on a device, or None if that is unknown."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        held = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return free + held
    if device.type == "cpu":
        return available_host_memory(Path("/"))
    return None


def available_host_memory(root: Path) -> int | None:
    """Return the smallest of what the machine and the control groups leave, below `root`."""
    found = [_machine(root / "proc/meminfo"), *_control_groups(root)]
    known = [value for value in found if value is not None]
    return max(0, min(known)) if known else None


def _machine(path: Path) -> int | None:
    for line in _read(path).splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _control_groups(root: Path) -> list[int | None]:
    """What each control group of this process leaves, those above it included."""
    left = []
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, name = line.split(":", 2)
        if controllers == "":
            mount, files = root / "sys/fs/cgroup", _VERSION_2
        elif "memory" in controllers.split(","):
            mount, files = root / "sys/fs/cgroup/memory", _VERSION_1
        else:
            continue
        # Inside a container the name may be that of the host: what lies above it still counts.
        group = Path(name.lstrip("/"))
        left += [_left_in(mount / part, *files) for part in (group, *group.parents)]
    return left


_VERSION_1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_VERSION_2 = ("memory.max", "memory.current", "inactive_file")


def _left_in(folder: Path, limit_file: str, usage_file: str, reclaimable: str) -> int | None:
    limit, usage = _read(folder / limit_file).strip(), _read(folder / usage_file).strip()
    if not (limit.isdigit() and usage.isdigit()) or int(limit) > _UNLIMITED:
        return None
    # Cached pages of files count as used, but are freed when memory is needed.
    pairs = (line.split() for line in _read(folder / "memory.stat").splitlines())
    given_back = sum(int(value) for name, value in pairs if name == reclaimable)
    return int(limit) - int(usage) + given_back


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
