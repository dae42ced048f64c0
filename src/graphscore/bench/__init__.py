"""How fast it is, how much memory it takes, and how far that is from what the device can do."""

from graphscore.bench.plan import BenchPlan, plan_for
from graphscore.bench.record import measure

__all__ = ["BenchPlan", "measure", "plan_for"]
