"""Which device computes."""

from __future__ import annotations

import ctypes
import sys
import time

import torch

from graphscore.errors import SettingsError


def resolve_device(name: str = "auto") -> torch.device:
    """Return the named device, ready to compute; "auto" is CUDA, else Apple's, else the CPU.

    Raises:
        SettingsError: the name is unknown or the device is not available here.

    >>> resolve_device("cpu")
    device(type='cpu')
    """
    if name == "auto":
        if torch.cuda.is_available():
            name = "cuda"
        else:
            name = "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()
    except Exception:  # torch raises a different type for every kind of missing device
        there = {
            "cuda": torch.cuda.is_available(),
            "mps": torch.backends.mps.is_available(),
        }
        others = "".join(f", {kind}" for kind, found in there.items() if found)
        raise SettingsError(
            f"device {name!r} is not available here. Use auto, cpu{others}."
        ) from None
    if device.type == "cpu":
        _keep_freed_memory()
    if device.type == "cuda" and device.index is not None:
        # Streams and kernels go to the current device, whatever device their tensors are on.
        torch.cuda.set_device(device)
    return device


def describe_device(device: torch.device) -> str:
    """Say in words what computes; on the CPU, all cores do unless OMP_NUM_THREADS says less.

    >>> describe_device(torch.device("cpu")).startswith("the CPU with ")
    True
    """
    if device.type == "cpu":
        threads = torch.get_num_threads()
        return f"the CPU with {threads} thread{'s' * (threads > 1)}"
    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)


def _keep_freed_memory() -> None:
    """Let the C library keep freed memory for the next step instead of returning it.

    A training step takes and frees hundreds of megabytes; giving the pages back to the system and
    faulting them in again costs much of its time. Only glibc has this setting.
    """
    if not sys.platform.startswith("linux"):
        return
    trim_threshold, mmap_threshold = -1, -3  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD of malloc.h
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(mmap_threshold, 32 * 2**20)  # the largest value that is accepted
        mallopt(trim_threshold, 2**31 - 1)


def now(device: torch.device) -> float:
    """The time when the device has finished all work so far."""
    if device.type != "cpu":
        (torch.cuda if device.type == "cuda" else torch.mps).synchronize()
    return time.perf_counter()


def peak_bytes(device: torch.device) -> int | None:
    """Peak memory, on CUDA of the GPU, elsewhere of this process; None if unknown."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    if sys.platform == "win32":
        return None
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
