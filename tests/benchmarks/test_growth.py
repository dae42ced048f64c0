"""Growth with the number of nodes: exponents of power laws, and sizes that do not fit."""

from __future__ import annotations

import warnings

import pytest
import torch

from benchmarks import growth
from graphscore.errors import GraphscoreWarning

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


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("no"), GraphscoreWarning("split")])
def test_a_size_that_does_not_fit_is_skipped_and_named(plan, monkeypatch, error):
    """Whether the device refuses it or the trainer would split it into micro-batches."""
    measured = growth._row

    def row(plan, device, nodes):
        if nodes > 6:
            raise error
        return measured(plan, device, nodes)

    monkeypatch.setattr(growth, "_row", row)
    found = growth.measure_growth(plan, CPU)
    assert [row["nodes"] for row in found["rows"]] == [6]
    assert found["skipped"] == [{"nodes": 12, "reason": "out of memory"}]
    assert found["exponents"]["forward"] is None


def test_other_errors_are_not_hidden(plan, monkeypatch):
    def row(plan, device, nodes):
        raise RuntimeError("size mismatch")

    monkeypatch.setattr(growth, "_row", row)
    with pytest.raises(RuntimeError, match="size mismatch"):
        growth.measure_growth(plan, CPU)


def test_a_warning_of_the_trainer_skips_the_size(plan, monkeypatch):
    def row(plan, device, nodes):
        warnings.warn("split into micro-batches", GraphscoreWarning, stacklevel=2)

    monkeypatch.setattr(growth, "_row", row)
    assert growth.measure_growth(plan, CPU)["rows"] == []
