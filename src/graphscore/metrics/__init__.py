"""Metrics: descriptors, orbit counts, kernels, MMD, uniqueness, novelty and validity of graphs."""

from graphscore.metrics.blocks import description_length, find_blocks
from graphscore.metrics.descriptors import (
    clustering_coefficients,
    clustering_histograms,
    degree_histograms,
    laplacian_spectra,
    mean_orbit_counts,
    spectrum_histograms,
)
from graphscore.metrics.evaluation import EvaluationResult, KernelName, evaluate
from graphscore.metrics.floor import FloorRatio, ratio_to_floor
from graphscore.metrics.kernels import cumulative, gaussian, gaussian_emd, gaussian_tv, normalised
from graphscore.metrics.mmd import mmd
from graphscore.metrics.novelty import isomorphism_classes, novelty, uniqueness
from graphscore.metrics.orbits import orbit_counts
from graphscore.metrics.validity import (
    BlockFit,
    Rule,
    fit_blocks,
    is_block_structured,
    is_grid,
    is_lobster,
    is_planar,
    is_tree,
    validity_of,
)
from graphscore.metrics.vun import VunResult, vun, wilson_interval

__all__ = [
    "BlockFit",
    "EvaluationResult",
    "FloorRatio",
    "KernelName",
    "Rule",
    "VunResult",
    "clustering_coefficients",
    "clustering_histograms",
    "cumulative",
    "degree_histograms",
    "description_length",
    "evaluate",
    "find_blocks",
    "fit_blocks",
    "gaussian",
    "gaussian_emd",
    "gaussian_tv",
    "is_block_structured",
    "is_grid",
    "is_lobster",
    "is_planar",
    "is_tree",
    "isomorphism_classes",
    "laplacian_spectra",
    "mean_orbit_counts",
    "mmd",
    "normalised",
    "novelty",
    "orbit_counts",
    "ratio_to_floor",
    "spectrum_histograms",
    "uniqueness",
    "validity_of",
    "vun",
    "wilson_interval",
]
