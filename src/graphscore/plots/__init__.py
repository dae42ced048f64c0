"""Pictures; the only package that imports matplotlib."""

from graphscore.plots.graphs import check_picture, draw_comparison

__all__ = ["check_picture", "draw_comparison"]
