"""One CUDA graph in place of hundreds of launches."""

from __future__ import annotations

from collections.abc import Callable

import torch

_WARM_UPS = 3
"""Runs before the capture, in which libraries choose kernels and allocate what they keep."""


def cuda_graph(
    step: Callable[[], None], *, generator: torch.Generator, undo: Callable[[], None]
) -> Callable[[], None]:
    """Capture `step` as a CUDA graph and return what replays it.

    A replay runs the captured kernels on the same memory, so `step` must read and write tensors
    that stay where they are, and decide nothing on the host.

    Args:
        step: what to capture; run a few times before that.
        generator: what `step` draws from. A replay continues its stream as a plain call would.
        undo: puts back what the runs before the capture changed.
    """
    state = generator.get_state()
    # Capture needs a side stream, and the warm-up must have used the same one.
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    graph = torch.cuda.CUDAGraph()
    try:
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(_WARM_UPS):
                step()
        torch.cuda.current_stream().wait_stream(stream)
        graph.register_generator_state(generator)
        with torch.cuda.graph(graph, stream=stream):
            step()
    finally:
        try:
            # Also after a failure, since what was started before it may still be running.
            torch.cuda.current_stream().wait_stream(stream)
        finally:
            undo()
            generator.set_state(state)
    return graph.replay


def short(error: Exception) -> str:
    """Return the first line of an error, or its kind.

    >>> short(RuntimeError("no driver\\nand a stack trace"))
    'no driver'
    """
    lines = str(error).strip().splitlines()
    # Compilers name the part that raised it in the first line.
    said = 2 if lines and lines[0].endswith(":") else 1
    return " ".join(line.strip() for line in lines[:said]) or type(error).__name__
