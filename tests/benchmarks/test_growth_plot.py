"""The plot of growth."""

from __future__ import annotations

import pytest

from benchmarks.growth_plot import GrowthCurve, draw_growth
from graphscore.errors import OutputError

CURVES = [
    GrowthCurve("GPU: forward pass", 0, 0, [20, 50], [1e-5, 6e-5], [1e5, 6e5]),
    GrowthCurve("CPU: training step", 1, 1, [20], [1e-3], [1e6]),
]


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_the_picture_is_written(tmp_path, suffix):
    file = tmp_path / f"growth.{suffix}"
    draw_growth(CURVES, file)
    assert file.stat().st_size > 1000
    if suffix == "svg":
        # Letters are drawn as shapes, with the text beside them as a comment.
        assert all(word in file.read_text() for word in ("GPU: forward pass", "MiB per graph"))


def test_other_pictures_are_refused(tmp_path):
    with pytest.raises(OutputError, match=r"\.png, \.pdf, \.svg"):
        draw_growth(CURVES, tmp_path / "growth.bmp")
    assert list(tmp_path.iterdir()) == []
