"""Ladders and ranges of sigma, symmetric Gaussian perturbation and its exact score."""

from graphscore.noise.ladder import NoiseSettings, ladder
from graphscore.noise.perturbation import perturb, perturbation_score, symmetric_noise
from graphscore.noise.sigma_range import SigmaRange, draw_sigmas, falling_sigmas

__all__ = [
    "NoiseSettings",
    "SigmaRange",
    "draw_sigmas",
    "falling_sigmas",
    "ladder",
    "perturb",
    "perturbation_score",
    "symmetric_noise",
]
