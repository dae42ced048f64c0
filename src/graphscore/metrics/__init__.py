"""Metrics: descriptors, orbit counts, kernels, MMD, uniqueness, novelty, validity, molecules.

A descriptor is added to `evaluation.DESCRIPTORS`, a row for what nodes and edges carry to
`attribute_distances`, a validity check to `validity.VALIDITY_CHECKS`.
"""

from graphscore.metrics.attributes import unions_of
from graphscore.metrics.blocks import description_length, find_blocks
from graphscore.metrics.descriptors import (
    clustering_coefficients,
    clustering_histograms,
    degree_histograms,
    laplacian_spectra,
    mean_orbit_counts,
    spectrum_histograms,
)
from graphscore.metrics.evaluation import (
    DESCRIPTORS,
    Descriptor,
    EvaluationResult,
    KernelName,
    evaluate,
)
from graphscore.metrics.floor import ratio_to_floor
from graphscore.metrics.isomorphism import isomorphism_classes
from graphscore.metrics.kernels import cumulative, gaussian, gaussian_emd, gaussian_tv, normalised
from graphscore.metrics.mmd import mmd
from graphscore.metrics.molecules import MoleculeResult, MoleculeSet, evaluate_molecules
from graphscore.metrics.novelty import novelty, uniqueness
from graphscore.metrics.orbits import orbit_counts
from graphscore.metrics.validity import (
    VALIDITY_CHECKS,
    BlockFit,
    ValidityCheck,
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
    "DESCRIPTORS",
    "VALIDITY_CHECKS",
    "BlockFit",
    "Descriptor",
    "EvaluationResult",
    "KernelName",
    "MoleculeResult",
    "MoleculeSet",
    "ValidityCheck",
    "VunResult",
    "clustering_coefficients",
    "clustering_histograms",
    "cumulative",
    "degree_histograms",
    "description_length",
    "evaluate",
    "evaluate_molecules",
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
    "unions_of",
    "uniqueness",
    "validity_of",
    "vun",
    "wilson_interval",
]
