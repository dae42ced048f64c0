"""Metrics: descriptors, orbit counts, kernels, MMD, uniqueness and novelty of graphs."""

from graphscore.metrics.descriptors import (
    clustering_coefficients,
    clustering_histograms,
    degree_histograms,
    mean_orbit_counts,
)
from graphscore.metrics.evaluation import EvaluationResult, evaluate
from graphscore.metrics.kernels import cumulative, gaussian, gaussian_emd
from graphscore.metrics.mmd import mmd
from graphscore.metrics.novelty import isomorphism_classes, novelty, uniqueness
from graphscore.metrics.orbits import orbit_counts

__all__ = [
    "EvaluationResult",
    "clustering_coefficients",
    "clustering_histograms",
    "cumulative",
    "degree_histograms",
    "evaluate",
    "gaussian",
    "gaussian_emd",
    "isomorphism_classes",
    "mean_orbit_counts",
    "mmd",
    "novelty",
    "orbit_counts",
    "uniqueness",
]
