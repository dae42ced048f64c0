"""Priors that the tests of samplers start from."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from graphscore.diffusion import BernoulliEdges, EdgeDensity, GraphLikelihood, Prior
from graphscore.graphs import NO_CONDITION


@pytest.fixture
def prior_of() -> Callable[..., Prior]:
    """Return a function that gives the prior of graphs with a mask and one density of edges."""

    def make(mask: Tensor, density: float = 0.5, dtype: torch.dtype = torch.float64) -> Prior:
        likelihood = GraphLikelihood(BernoulliEdges(EdgeDensity.constant(density)))
        return likelihood.prior_of(mask, NO_CONDITION, dtype)

    return make
