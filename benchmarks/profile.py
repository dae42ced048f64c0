"""Where the time goes: kernels and operators of the chosen path, by what they do."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import torch

from benchmarks.ceilings import Ceilings
from benchmarks.clock import Run, seconds_of, synchronise, time_in_turns
from benchmarks.plan import Plan
from benchmarks.trace import Event, trace
from benchmarks.workloads import make_chain, make_step

MATRIX, OPTIMISER, RANDOM = "matrix products", "optimiser", "random numbers"
COPIES, SUMS, ELEMENTWISE = "copies and indexing", "reductions", "elementwise operations"
FUSED = "fused kernels"
WAITING, REST = "waiting for the host", "Python and bookkeeping"

# The first class with a word in the lower-case name wins: a kernel that copies is also called an
# elementwise kernel, and a sum inside the optimiser is the optimiser's.
_WORDS: dict[str, tuple[str, ...]] = {
    OPTIMISER: ("adam", "foreach", "multi_tensor", "vector_norm"),
    MATRIX: ("gemm", "gemv", "cutlass", "cublas", "nvjet", "xmma", "splitk"),
    RANDOM: ("normal_", "rand", "distribution", "philox"),
    COPIES: (
        "copy", "memcpy", "memset", "catarray", "index", "gather", "scatter", "triu", "fill",
        "clone",
    ),
    SUMS: ("reduce", "sum", "mean"),
}  # fmt: skip
_OPERATORS = {
    **dict.fromkeys(("mm", "bmm", "addmm", "baddbmm", "matmul", "linear", "mv", "dot"), MATRIX),
    "cat": COPIES,
    "zero_": COPIES,
}
_BOOKKEEPING = (
    "empty", "view", "as_strided", "expand", "transpose", "permute", "select", "slice", "split",
    "unsqueeze", "squeeze", "detach", "reshape", "unbind", "t", "resolve_conj", "item", "to",
    "_local_scalar_dense", "flatten", "narrow", "alias", "set_", "resize_", "_to_copy", "zeros",
    "ones", "lift_fresh", "_unsafe_view", "contiguous", "narrow_copy", "result_type",
)  # fmt: skip


def kind_of_kernel(name: str) -> str:
    """Return what a kernel on a GPU does; one that is neither torch's nor a library's is fused.

    >>> kind_of_kernel("ampere_sgemm_128x64_tn"), kind_of_kernel("langevin_steps")
    ('matrix products', 'fused kernels')
    """
    return _kind_by_words(name) or (ELEMENTWISE if "at::native" in name else FUSED)


def kind_of_operator(name: str) -> str:
    """Return what an operator on the CPU does; what is no operator is Python's own time.

    >>> [kind_of_operator(name) for name in ("aten::bmm", "aten::silu", "MmBackward0")]
    ['matrix products', 'elementwise operations', 'Python and bookkeeping']
    """
    namespace, separator, short = name.partition("::")
    if name.startswith("Optimizer."):
        return OPTIMISER
    if not separator or namespace in ("autograd", "torch") or short in _BOOKKEEPING:
        return REST
    if namespace != "aten":
        return FUSED
    return _OPERATORS.get(short) or _kind_by_words(short) or ELEMENTWISE


def _kind_by_words(name: str) -> str | None:
    lower = name.lower()
    return next((k for k, words in _WORDS.items() if any(w in lower for w in words)), None)


def measure_profile(
    plan: Plan, device: torch.device, ceilings: Ceilings, work: Mapping[str, int]
) -> dict[str, Any]:
    """Profile a few training steps and a short sampling of the chosen path.

    Args:
        work: flops of one step of "training" and of "sampling".

    Returns:
        For `training` and `sampling`: `path`, `steps`, `wall_seconds`, `shares` by kind, which sum
        to 1, and `matrix_products_share_of_ceiling`: the share of the peak while matrix products
        run (None where they are inside fused kernels).
    """
    steps, per_level = plan.profile_training_steps, plan.profile_sampling_steps
    shape = plan.training_graphs, plan.training_nodes
    training_path, step = make_step(plan, device, "auto", shape)

    def train() -> None:
        for _ in range(steps):
            step()

    path, chain = make_chain(plan, device, "auto", graphs=plan.sampling_graphs[-1])
    cases: dict[str, tuple[str, int, Run]] = {
        "training": (training_path, steps, train),
        "sampling": (path, per_level * len(plan.noise.sigmas), partial(chain, per_level)),
    }
    results = {}
    for name, (path, count, run) in cases.items():
        profiled = profile_work(run, device)
        shares = profiled["shares"]
        reached = None
        if shares.get(MATRIX, 0) > shares.get(FUSED, 0):
            seconds = shares[MATRIX] * profiled["wall_seconds"]
            reached = count * work[name] / seconds / ceilings.flops_per_second
        results[name] = {
            "path": path,
            "steps": count,
            **profiled,
            "matrix_products_share_of_ceiling": reached,
        }
    return results


def profile_work(run: Run, device: torch.device) -> dict[str, Any]:
    """Return `wall_seconds` of one call, and their `shares` by kind."""
    # The first call may compile.
    seconds_of(run, device)
    without_profiler = time_in_turns({"": run}, device, repeats=3)[""].median
    wall = 0.0

    def timed() -> None:
        nonlocal wall
        started = time.perf_counter()
        run()
        synchronise(device)
        wall = time.perf_counter() - started

    events = trace(timed, device)
    if device.type == "cuda":
        spent, busy = _of_kernels(events)
        # The profiler slows down launches but not kernels.
        wall, rest, kind_of = max(without_profiler, busy), WAITING, kind_of_kernel
    else:
        spent, rest, kind_of = _of_operators(events), REST, kind_of_operator
    return {"wall_seconds": wall, "shares": _shares(spent, wall, rest, kind_of)}


def _shares(
    spent: Mapping[str, float], wall: float, rest: str, kind_of: Callable[[str], str]
) -> dict[str, float]:
    """Shares of `wall` by kind, which sum to 1; what no name accounts for is `rest`."""
    shares: dict[str, float] = defaultdict(float)
    for name, seconds in spent.items():
        shares[kind_of(name)] += seconds / wall
    total = sum(shares.values())
    if total > 1:  # Kernels ran at the same time, or clocks differ slightly.
        shares = defaultdict(float, {kind: share / total for kind, share in shares.items()})
    shares[rest] += max(0.0, 1 - total)
    return dict(sorted(shares.items(), key=lambda item: -item[1]))


def _of_kernels(events: Iterable[Event]) -> tuple[dict[str, float], float]:
    """Seconds by kernel, and seconds in which at least one was running."""
    spent: dict[str, float] = defaultdict(float)
    busy = end = 0.0
    for event in events:
        if event["cat"] in ("kernel", "gpu_memcpy", "gpu_memset"):
            spent[event["name"]] += event["dur"] / 1e6
            finish = event["ts"] + event["dur"]
            busy += max(0.0, finish - max(end, event["ts"])) / 1e6
            end = max(end, finish)
    return spent, busy


def _of_operators(events: Iterable[Event]) -> dict[str, float]:
    """Seconds by operator, without those of the operators it calls."""
    spent: dict[str, float] = defaultdict(float)
    open_calls: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        if event["cat"] not in ("cpu_op", "user_annotation"):
            continue
        callers = open_calls[event["tid"]]
        while callers and callers[-1]["ts"] + callers[-1]["dur"] <= event["ts"]:
            callers.pop()
        seconds = event["dur"] / 1e6
        spent[event["name"]] += seconds
        if callers:
            spent[callers[-1]["name"]] -= seconds
        callers.append(event)
    return spent
