"""Growth with the number of nodes: exact exponents of power laws, and what is left out."""

from __future__ import annotations

import warnings

import pytest
import torch

from graphscore.bench import growth
from graphscore.errors import GraphscoreNotice

CPU = torch.device("cpu")


@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0, 2.5, -1.0])
def test_the_exponent_of_a_power_law_is_found(exponent):
    sizes = [20, 50, 100, 200, 500]
    values = [3e-7 * size**exponent for size in sizes]
    assert growth.fit_exponent(sizes, values) == pytest.approx(exponent, abs=1e-9)


def test_rows_and_exponents_of_every_case(record, plan):
    """Batches have about the same number of pairs; larger graphs take more memory each."""
    rows = record["growth"]["rows"]
    assert [(row["nodes"], row["graphs"]) for row in rows] == [(6, 4), (12, 1)]
    assert record["growth"]["skipped"] == []
    for case in growth.CASES:
        small, large = (row[case]["bytes_per_graph"] for row in rows)
        assert 0 < small < large
        assert all(row[case]["seconds_per_graph"] > 0 for row in rows)
        exponents = record["growth"]["exponents"][case]
        assert exponents["sizes"] == [6, 12]
        assert exponents["bytes_per_graph"] > 0


def fake_rows(monkeypatch, seconds=1e-3, size=1000.0, error=None):
    """Rows that cost nothing, so that what is left out can be seen."""

    def row(plan, device, nodes):
        if error is not None and nodes > 50:
            raise error
        case = {"seconds_per_graph": seconds, "bytes_per_graph": size, "median_seconds": seconds}
        return {"nodes": nodes, "graphs": 1, **dict.fromkeys(growth.CASES, case)}

    monkeypatch.setattr(growth, "_row", row)


def test_a_size_that_would_take_too_long_is_left_out_and_named(plan, monkeypatch):
    fake_rows(monkeypatch, seconds=2.0)
    wide = plan.replaced(growth_nodes=(20, 50, 500), growth_pairs=1, case_seconds=60.0)
    found = growth.measure_growth(wide, CPU)
    assert [row["nodes"] for row in found["rows"]] == [20, 50]
    assert found["skipped"] == [{"nodes": 500, "reason": "a training step would take about 200 s"}]


def test_a_size_that_would_not_fit_is_left_out_and_named(plan, monkeypatch):
    fake_rows(monkeypatch, size=2.0**30)
    monkeypatch.setattr(growth, "available_memory", lambda device: 2**33)
    wide = plan.replaced(growth_nodes=(20, 50, 500), growth_pairs=1)
    found = growth.measure_growth(wide, CPU)
    assert [row["nodes"] for row in found["rows"]] == [20, 50]
    assert found["skipped"][0]["reason"] == "a training step would need about 100 GiB of memory"


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("no"), GraphscoreNotice("in pieces")])
def test_a_size_that_did_not_fit_is_left_out(plan, monkeypatch, error):
    """Whether the device refused it or the trainer would have split it."""
    fake_rows(monkeypatch, error=error)
    found = growth.measure_growth(plan.replaced(growth_nodes=(20, 50, 100), growth_pairs=1), CPU)
    assert found["skipped"] == [{"nodes": 100, "reason": "out of memory"}]
    assert found["exponents"]["forward"]["sizes"] == [20, 50]


def test_an_announced_split_is_not_measured(plan, monkeypatch):
    def announced(*_):
        warnings.warn("in pieces", GraphscoreNotice, stacklevel=2)

    monkeypatch.setattr(growth, "_row", announced)
    found = growth.measure_growth(plan.replaced(growth_nodes=(20,)), CPU)
    assert found["rows"] == []
    assert found["exponents"]["forward"] is None


def test_other_errors_are_not_hidden(plan, monkeypatch):
    fake_rows(monkeypatch, error=RuntimeError("size mismatch"))
    with pytest.raises(RuntimeError, match="size mismatch"):
        growth.measure_growth(plan.replaced(growth_nodes=(100,)), CPU)
