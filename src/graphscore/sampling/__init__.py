"""From sizes to graphs: initial state, samplers, quantisation, step-size selection, log-density."""

from graphscore.sampling.density import log_density_difference
from graphscore.sampling.langevin import LangevinSettings, SamplingResult, annealed_langevin
from graphscore.sampling.selection import Selection, langevin_grid, select
from graphscore.sampling.sizes import SizeDistribution, chunks_of_similar_size
from graphscore.sampling.states import folded_normal, quantise

__all__ = [
    "LangevinSettings",
    "SamplingResult",
    "Selection",
    "SizeDistribution",
    "annealed_langevin",
    "chunks_of_similar_size",
    "folded_normal",
    "langevin_grid",
    "log_density_difference",
    "quantise",
    "select",
]
