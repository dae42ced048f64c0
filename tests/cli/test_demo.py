"""`graphscore demo` does what its help and the documentation promise."""

from __future__ import annotations

import json

from graphscore.graphs import read_graphs


def test_demo_writes_samples_metrics_and_a_picture_and_can_be_repeated(place, call):
    """A finished demo is sampled again; the same seed gives the same graphs."""
    arguments = ("demo", "--steps", 2, "-n", 5, "--out", "X")
    assert call(*arguments).code == 0
    first = (place / "X/samples.g6").read_bytes()
    assert len(read_graphs(place / "X/samples.g6")) == 5
    assert (place / "X/samples.png").read_bytes().startswith(b"\x89PNG")
    metrics = json.loads((place / "X/metrics.json").read_text())["metrics"]
    assert metrics["samples"]["sample_count"] == 5
    assert metrics["samples"]["reference_count"] == 20

    again = call(*arguments, "--json")
    assert again.code == 0
    assert json.loads(again.out)["metrics"].keys() == metrics.keys()
    assert (place / "X/samples.g6").read_bytes() == first
    assert json.loads(call("info", "X", "--json").out)["step"] == 2
