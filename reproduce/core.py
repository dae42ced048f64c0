"""Choosing (epsilon, epsilon_s) on validation graphs, as several experiments do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import networkx as nx

from graphscore.experiments.context import Record
from graphscore.experiments.scale import Scale
from graphscore.generator import GraphGenerator
from graphscore.sampling import LangevinSettings, langevin_grid
from graphscore.seeding import derive_seed


def choose_sampling(
    sizes: Scale,
    generator: GraphGenerator,
    validation: Sequence[nx.Graph[Any]],
    *,
    seed: int,
) -> Record:
    """Let a generator keep the best pair of the scale's grid, and return the choice and trials.

    Returns:
        "sampling", the settings from now on; "validation_average", their MMD; "trials", every pair
        with its MMD, None where sampling failed.
    """
    usual = generator.settings.sampling
    assert isinstance(usual, LangevinSettings)
    grid = langevin_grid(usual, sizes.step_sizes, sizes.noise_scales)
    selection = generator.select_sampling(
        validation,
        number=sizes.selection_samples,
        candidates=grid,
        seed=derive_seed(seed, "selection"),
    )
    trials = [
        {
            "step_size": tried.step_size,
            "noise_scale": tried.noise_scale,
            "average": average if average < float("inf") else None,
        }
        for tried, (_, average) in zip(grid, selection.trials)
    ]
    best = min(average for _, average in selection.trials)
    return {
        "sampling": selection.best.model_dump(mode="json"),
        "validation_average": best,
        "trials": trials,
    }
