"""Memory: what is available, what a gradient keeps, and which errors mean that it ran out."""

from __future__ import annotations

import weakref
from pathlib import Path

import pytest
import torch

from graphscore.graphs import GraphState
from graphscore.networks import EDPGNN, EDPGNNSettings
from graphscore.training.memory import (
    available_host_memory,
    available_memory,
    free_memory,
    is_out_of_memory,
    saved_bytes,
)

GIB = 1 << 30


def test_freeing_memory_breaks_cycles_of_references():
    """What a failed attempt left may refer to itself, and would stay until Python looks for it."""

    class Kept:
        pass

    kept = Kept()
    kept.itself, seen = kept, weakref.ref(kept)
    del kept
    free_memory(torch.device("cpu"))
    assert seen() is None


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"), True),
        (RuntimeError("[enforce fail at alloc_cpu.cpp:121] . DefaultCPUAllocator: ..."), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to"), True),
        (RuntimeError("std::bad_alloc"), True),
        (MemoryError(), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling"), True),
        (RuntimeError("MPS backend out of memory (MPS allocated: 9 GB"), True),
        (RuntimeError("The size of tensor a (3) must match the size of tensor b (4)"), False),
        (ValueError("out of memory"), False),
        (KeyboardInterrupt(), False),
    ],
    ids=str,
)
def test_which_errors_mean_out_of_memory(error, expected):
    assert is_out_of_memory(error) is expected


def test_the_cpus_own_error_is_recognised():
    """What torch really raises for an allocation beyond any address space."""
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 60, dtype=torch.uint8)
    assert is_out_of_memory(caught.value)


# ---------------------------------------------------------------- what a gradient keeps


def test_saved_bytes_counts_storage_once():
    """y is kept twice by its square and once by its view: one storage."""
    x = torch.zeros(1000, requires_grad=True)

    def function():
        y = 2 * x
        return (y * y).sum() + (y[:500] * y[500:]).sum()

    assert saved_bytes(function) == 4000


def test_saved_bytes_needs_no_gradient_mode_and_leaves_no_gradient():
    x = torch.zeros(10, requires_grad=True)
    with torch.no_grad():
        assert saved_bytes(lambda: x.exp().sum()) == 40
    assert x.grad is None


def test_saved_bytes_grow_with_graphs_and_pairs():
    """A network's memory is linear in the graphs, and in their pairs at most."""
    network = EDPGNN(EDPGNNSettings(), (1.0, 0.1), generator=torch.Generator())

    def kept(graphs, nodes):
        mask = torch.ones(graphs, nodes, dtype=torch.bool)
        state = GraphState(torch.zeros(graphs, nodes, nodes), mask)
        return saved_bytes(lambda: network(state, torch.ones(graphs)))

    assert kept(4, 60) - kept(1, 60) == pytest.approx(3 * (kept(2, 60) - kept(1, 60)), rel=0.01)
    assert 2 < kept(1, 120) / kept(1, 60) <= 4


# ---------------------------------------------------------------- what is available


def files(root, contents):
    for name, text in contents.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


MACHINE = {"proc/meminfo": f"MemTotal: 1 kB\nMemAvailable:  {8 * GIB // 1024} kB\nBuffers: 3 kB\n"}


def version_2(group, limit, usage, inactive=0):
    folder = f"sys/fs/cgroup/{group}"
    return {
        f"{folder}/memory.max": f"{limit}\n",
        f"{folder}/memory.current": f"{usage}\n",
        f"{folder}/memory.stat": f"anon 5\ninactive_file {inactive}\nactive_file 7\n",
    }


def version_1(group, limit, usage, inactive=0):
    folder = f"sys/fs/cgroup/memory/{group}"
    return {
        f"{folder}/memory.limit_in_bytes": f"{limit}\n",
        f"{folder}/memory.usage_in_bytes": f"{usage}\n",
        f"{folder}/memory.stat": f"inactive_file 1\ntotal_inactive_file {inactive}\n",
    }


V2 = {"proc/self/cgroup": "0::/a/b\n"}
V1 = {"proc/self/cgroup": "7:blkio:/\n4:cpu,memory:/a/b\n0::/\n"}


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        ({}, None),
        (MACHINE, 8 * GIB),
        ({**MACHINE, **V2}, 8 * GIB),
        ({**MACHINE, **V2, **version_2("a/b", 4 * GIB, GIB)}, 3 * GIB),
        ({**MACHINE, **V2, **version_2("a/b", "max", GIB)}, 8 * GIB),
        ({**MACHINE, **V2, **version_2("a/b", "max", 1), **version_2("a", GIB, 1)}, GIB - 1),
        ({**MACHINE, **V2, **version_2("", 2 * GIB, GIB)}, GIB),
        ({**MACHINE, **V2, **version_2("a/b", 4 * GIB, 3 * GIB, 2 * GIB)}, 3 * GIB),
        ({**MACHINE, **V2, **version_2("a/b", 64 * GIB, GIB)}, 8 * GIB),
        ({**V2, **version_2("a/b", 4 * GIB, GIB)}, 3 * GIB),
        ({**V2, **version_2("a/b", GIB, 2 * GIB)}, 0),
        ({**MACHINE, **V1, **version_1("a/b", 4 * GIB, GIB)}, 3 * GIB),
        ({**MACHINE, **V1, **version_1("a/b", 4 * GIB, 3 * GIB, GIB)}, 2 * GIB),
        ({**MACHINE, **V1, **version_1("", 4 * GIB, GIB)}, 3 * GIB),
        ({**V1, **version_1("a/b", 9223372036854771712, GIB)}, None),
        ({**V1, **version_1("a/b", 1 << 60, 0)}, 1 << 60),
        ({**V1, **version_1("a/b", (1 << 60) + 1, 0)}, None),
        ({"proc/self/cgroup": "0::/a:b\n", **version_2("a:b", 4 * GIB, GIB)}, 3 * GIB),
    ],
    ids=[
        "nothing known",
        "machine",
        "group without files",
        "group",
        "group without limit",
        "group above",
        "named as on the host",
        "unused files count as free",
        "machine has less",
        "group alone",
        "over the limit",
        "version 1",
        "version 1 with unused files",
        "version 1 named as on the host",
        "version 1 without limit",
        "the largest limit",
        "larger than any memory",
        "colon in the name",
    ],
)
def test_available_host_memory(tmp_path, contents, expected):
    """The least of what the machine and all control groups leave."""
    files(tmp_path, contents)
    assert available_host_memory(tmp_path) == expected


def test_available_memory_here():
    """A plausible number where the system tells it, and unknown elsewhere."""
    found = available_memory(torch.device("cpu"))
    if Path("/proc/meminfo").exists():
        assert found is not None
        assert 1 << 20 < found < 1 << 60
    else:
        assert found is None
    assert available_memory(torch.device("meta")) is None
