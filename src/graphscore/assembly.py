"""What the settings of a run stand for: its network and its objective."""

from __future__ import annotations

import torch

from graphscore.config import RunSettings
from graphscore.networks import (
    EDPGNN,
    AsDenoiser,
    DenoiserSettings,
    Density,
    GuidedNetwork,
    LogOddsDenoiser,
    LogOddsNetwork,
)
from graphscore.training import Denoising, Objective, ScoreMatching

LEVELS = 8
"""Knots of an EDP-GNN's gains and biases where noise levels are a range instead of a ladder."""

Network = EDPGNN | LogOddsNetwork


def make_network(settings: RunSettings, *, density: Density, generator: torch.Generator) -> Network:
    """Return the network of a run with initial weights.

    Args:
        settings: those of the run.
        density: share of pairs that are edges, for networks that answer in log-odds; a stored
            network brings its own with its weights.
        generator: source of the initial weights.

    >>> generator = torch.Generator().manual_seed(0)
    >>> type(make_network(RunSettings(), density=0.3, generator=generator)).__name__
    'EDPGNN'
    """
    if settings.guide is not None:
        both = [
            make_network(
                settings.replaced(network=chosen, guide=None), density=density, generator=generator
            )
            for chosen in (settings.network, settings.guide.network)
        ]
        # The settings of a run do not have a guide without this objective.
        better, weaker = (network for network in both if isinstance(network, LogOddsNetwork))
        return GuidedNetwork(better, weaker, settings.guide)
    network, denoising = settings.network, settings.denoising
    if isinstance(network, DenoiserSettings):
        return LogOddsDenoiser(network, density, generator=generator)
    if denoising is None:
        return EDPGNN(network, settings.noise.sigmas, generator=generator)
    # In equal steps of log sigma, in which the gains are interpolated; from gains of one, because
    # log-odds are of the same size at every level.
    low, high = denoising.sigma_range.sigma_min, denoising.sigma_range.sigma_max
    sigmas = tuple(high * (low / high) ** (level / (LEVELS - 1)) for level in range(LEVELS))
    inner = EDPGNN(network.replaced(initial_gains="one"), sigmas, generator=generator)
    return AsDenoiser(inner, density)


def make_objective(settings: RunSettings) -> Objective:
    """Return what a run minimises.

    >>> make_objective(RunSettings()).copies
    6
    """
    if settings.denoising is None:
        return ScoreMatching(settings.noise.sigmas)
    return Denoising(settings.denoising)
