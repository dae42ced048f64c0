"""From sizes to graphs: initial state, samplers, quantisation, selection, log-density."""

from graphscore.sampling.communities import (
    CommunityDistribution,
    CommunitySizes,
    numbered,
    numbers_of,
)
from graphscore.sampling.denoising import denoise_by_score, noisy_start, started_at
from graphscore.sampling.density import log_density_difference
from graphscore.sampling.heun import HeunSettings, heun
from graphscore.sampling.langevin import LangevinSettings, SamplingResult, annealed_langevin
from graphscore.sampling.renoising import RenoisingSettings, renoise
from graphscore.sampling.selection import (
    WEIGHTS,
    SamplerSettings,
    Selection,
    grid,
    langevin_grid,
    select,
    starts_within,
)
from graphscore.sampling.sizes import SizeDistribution, chunks_of_similar_size
from graphscore.sampling.states import folded_normal, quantise
from graphscore.sampling.wanted import Wanted, wanted_graphs

__all__ = [
    "WEIGHTS",
    "CommunityDistribution",
    "CommunitySizes",
    "HeunSettings",
    "LangevinSettings",
    "RenoisingSettings",
    "SamplerSettings",
    "SamplingResult",
    "Selection",
    "SizeDistribution",
    "Wanted",
    "annealed_langevin",
    "chunks_of_similar_size",
    "denoise_by_score",
    "folded_normal",
    "grid",
    "heun",
    "langevin_grid",
    "log_density_difference",
    "noisy_start",
    "numbered",
    "numbers_of",
    "quantise",
    "renoise",
    "select",
    "started_at",
    "starts_within",
    "wanted_graphs",
]
