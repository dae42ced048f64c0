"""Ladders of sigma, symmetric Gaussian perturbation and its exact score."""

from graphscore.noise.ladder import NoiseSettings, ladder
from graphscore.noise.perturbation import perturb, perturbation_score, symmetric_noise

__all__ = ["NoiseSettings", "ladder", "perturb", "perturbation_score", "symmetric_noise"]
