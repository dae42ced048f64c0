"""The mathematics of diffusion on graphs: noise, likelihoods, objectives, samplers, log-density."""

from graphscore.diffusion.bernoulli import BernoulliEdges
from graphscore.diffusion.edge_density import EdgeDensity
from graphscore.diffusion.guidance import GuidanceSettings, GuidedPosterior
from graphscore.diffusion.likelihood import GraphLikelihood, Likelihood, Prior
from graphscore.diffusion.log_density import log_density_difference
from graphscore.diffusion.noise import noise_like, perturb, symmetric_noise
from graphscore.diffusion.objectives import Denoising, DenoisingSettings, NoisyBatch, ScoreMatching
from graphscore.diffusion.posterior import Posterior
from graphscore.diffusion.real_values import JoinedNodes, NodeFeatures, WeightedEdges
from graphscore.diffusion.sigmas import SigmaLevels, SigmaRange
from graphscore.diffusion.types import NodeTypes, TypedEdges

__all__ = [
    "BernoulliEdges",
    "Denoising",
    "DenoisingSettings",
    "EdgeDensity",
    "GraphLikelihood",
    "GuidanceSettings",
    "GuidedPosterior",
    "JoinedNodes",
    "Likelihood",
    "NodeFeatures",
    "NodeTypes",
    "NoisyBatch",
    "Posterior",
    "Prior",
    "ScoreMatching",
    "SigmaLevels",
    "SigmaRange",
    "TypedEdges",
    "WeightedEdges",
    "log_density_difference",
    "noise_like",
    "perturb",
    "symmetric_noise",
]
