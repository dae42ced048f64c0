"""`graphscore demo` does what its help and the documentation promise."""

from __future__ import annotations

import json
import os

import pytest

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


@pytest.mark.parametrize("name", ["samples.g6", "pretrained.g6", "metrics.json", "samples.png"])
def test_a_link_in_place_of_a_file_is_refused_before_training(place, call, name):
    """What it leads to, out of the folder, is not written."""
    (place / "X").mkdir()
    try:
        (place / "X" / name).symlink_to(place / "outside")
    except OSError:
        pytest.skip("no links here")
    done = call("demo", "--steps", 2, "-n", 5, "--out", "X")
    assert done.code == 2
    assert "is a link" in done.err
    assert [path.name for path in (place / "X").iterdir()] == [name]
    assert not (place / "outside").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_in_place_of_samples_is_refused_unless_it_was_named(place, call):
    """In the folder of a stranger, writing to it could wait for ever."""
    os.mkfifo(place / "run" / "samples.g6")
    done = call("sample", "run", "-n", 1)
    assert done.code == 2
    assert "samples.g6: is a named pipe, which may lead out of the folder. Remove it" in done.err
    assert call("sample", "run", "-n", 1, "-o", "other.g6").code == 0
