"""One tiny record that the tests of its parts look at."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from benchmarks.edp_gnn import measure
from benchmarks.plan import Plan

TINY = {
    "network": {"channels": (2, 2), "message_steps": 1, "features": 4, "edge_width": 4},
    "noise": {"sigmas": (1.0, 0.1)},
    "repeats": 2,
    "matrix_size": 64,
    "copy_bytes": 2**16,
    "training_graphs": 2,
    "training_nodes": 6,
    "training_calls": 1,
    "sampling_graphs": (3, 4),
    "sampling_sizes": (4, 6),
    "growth_nodes": (6, 12),
    "growth_pairs": 300,
    "growth_repeats": 1,
}


@pytest.fixture(scope="session")
def plan() -> Plan:
    return Plan(**TINY)


@pytest.fixture(scope="session")
def record(plan: Plan) -> dict[str, Any]:
    """Everything measured once, at tiny size."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return measure(torch.device("cpu"), plan, show_progress=False)
    finally:
        torch.set_num_threads(before)
