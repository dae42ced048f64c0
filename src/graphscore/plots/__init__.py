"""Pictures; the only room that imports matplotlib."""

from graphscore.plots.graphs import check_picture, draw_comparison
from graphscore.plots.performance import GrowthCurve, draw_growth

__all__ = ["GrowthCurve", "check_picture", "draw_comparison", "draw_growth"]
