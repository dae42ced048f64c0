"""Pictures; the only package that imports matplotlib."""

from graphscore.plots.figure import html_picture
from graphscore.plots.graphs import check_picture, comparison, draw_comparison

__all__ = ["check_picture", "comparison", "draw_comparison", "html_picture"]
