"""Trajectories from noise to graphs."""

from __future__ import annotations

import numpy as np
import pytest

from graphscore.errors import OutputError
from reproduce.plots.trajectories import Stage, draw_trajectories


def stages(nodes):
    rng = np.random.default_rng(0)
    upper = np.triu(rng.normal(size=(nodes, nodes)), 1)
    return [Stage("noise", upper + upper.T), Stage("σ = 0.1", np.zeros((nodes, nodes)))]


@pytest.mark.parametrize("nodes", [1, 2, 6])
def test_a_picture_is_written(tmp_path, nodes):
    draw_trajectories([stages(nodes), stages(nodes)], tmp_path / "t.png")
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")


def test_nothing_to_draw(tmp_path):
    with pytest.raises(OutputError, match="nothing to draw"):
        draw_trajectories([], tmp_path / "t.png")
    with pytest.raises(OutputError, match="kind"):
        draw_trajectories([stages(3)], tmp_path / "t.gif")
