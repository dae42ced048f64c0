"""`python -m benchmarks`: a table, and a record in a file."""

from __future__ import annotations

import json

import pytest

from benchmarks import __main__ as program
from benchmarks import denoiser, metrics, released


def test_the_denoiser_is_measured_and_written(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(denoiser, "NODES", 6)
    monkeypatch.setitem(
        program.ON_A_DEVICE, "denoiser", lambda device: denoiser.measure(device, repeats=1)
    )
    file = tmp_path / "record.json"
    program.main(["denoiser", "--device", "cpu", "--json", str(file)])
    record = json.loads(file.read_text())
    assert record["nodes"] == 6
    assert record["training"]["plain"]["seconds"] > 0
    assert record["sampling"]["plain"]["graphs"] == 8
    assert "denoiser, 6 nodes" in capsys.readouterr().out


def test_both_networks_of_the_comparison_run(monkeypatch):
    """The smallest batch; the comparison itself starts one process for each."""
    monkeypatch.setattr(released, "GRAPHS", 1)
    monkeypatch.setattr(released, "NODES", 4)
    monkeypatch.setattr(released, "REPEATS", 1)
    for which in ("ours", "reference"):
        record = released.measure(which)
        assert record["parameters"] > 0
        assert set(record["milliseconds"]) == set(released.TARGET_RATIOS)


def test_metrics_have_a_row_per_case(monkeypatch, capsys):
    monkeypatch.setattr(metrics, "cases", lambda: {"nothing": lambda: None})
    record = metrics.measure(repeats=2)
    metrics.show(record)
    assert [row["case"] for row in record["results"]] == ["nothing"]
    assert "nothing" in capsys.readouterr().out


def test_an_unknown_benchmark_is_refused(capsys):
    with pytest.raises(SystemExit) as stopped:
        program.main(["denoise"])
    assert stopped.value.code == 2
    assert "denoiser" in capsys.readouterr().err
