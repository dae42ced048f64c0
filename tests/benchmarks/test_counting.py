"""Operations, memory traffic and peak memory of calls with a known answer."""

from __future__ import annotations

import pytest
import torch

from benchmarks.arithmetic import Work, count_work
from benchmarks.ceilings import Ceilings
from benchmarks.clock import time_in_turns
from benchmarks.memory import peak_bytes

CPU = torch.device("cpu")
FLOAT = 4


def test_operations_and_traffic_of_a_product_and_its_gradient():
    """Forward 2 mkn; the gradient of one factor as much again."""
    m, k, n = 3, 5, 7
    a, b = torch.ones(m, k, requires_grad=True), torch.ones(k, n)
    assert count_work(lambda: a.detach() @ b) == Work(
        2 * m * k * n, FLOAT * (m * k + k * n + m * n)
    )
    assert count_work(lambda: (a @ b).sum().backward()).flops == 4 * m * k * n


def test_views_move_nothing_and_changes_in_place_do():
    a = torch.ones(6, 4)
    assert count_work(lambda: a.T.reshape(2, 2, 6).unsqueeze(0)).bytes == 0
    assert count_work(lambda: a.add_(1)).bytes == 2 * a.numel() * FLOAT


def test_an_expanded_tensor_counts_what_it_occupies():
    row = torch.ones(1, 8).expand(100, 8)
    assert count_work(lambda: row + 1).bytes == FLOAT * (8 + 800)


def test_peak_is_what_is_held_at_once():
    """Two of three megabytes live at the same time; what was there before does not count."""
    before = torch.zeros(2**18)

    def work():
        first = torch.zeros(2**18)
        second = before + first
        del first
        return torch.zeros(2**17) + second.sum()

    assert peak_bytes(work, CPU) == pytest.approx(2 * 2**20, rel=0.01)


def test_shares_of_the_ceilings():
    ceilings = Ceilings(flops_per_second=100.0, bytes_per_second=50.0, details={})
    shares = ceilings.shares(Work(flops=20, bytes=40), seconds=2.0)
    assert shares == {"share_of_matrix_ceiling": 0.1, "share_of_copy_ceiling": 0.4}


def test_cases_take_turns_until_the_time_is_up():
    seen = []
    cases = {"a": lambda: seen.append("a"), "b": lambda: seen.append("b")}
    timings = time_in_turns(cases, CPU, repeats=2, calls=2)
    assert seen == ["a", "a", "b", "b"] * 2
    assert timings["a"].to_dict()["repeats"] == 2
    assert len(time_in_turns(cases, CPU, repeats=9, at_most=0.0)["a"].seconds) == 1
