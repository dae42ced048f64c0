"""The paper's model: EDP-GNN, trained by score matching."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import networkx as nx
from torch import Tensor

from graphscore.diffusion import BernoulliEdges, EdgeDensity, GraphLikelihood, ScoreMatching
from graphscore.graphs import GraphBatch
from graphscore.models.base import NOTHING_LEARNED, check_names
from graphscore.models.diffusion.model import DiffusionModel, check_features
from graphscore.models.diffusion.settings import EDPGNNModelSettings
from graphscore.models.resources import build_network
from graphscore.models.sizes import SizeDistribution
from graphscore.networks import EDPGNN
from graphscore.seeding import torch_generator


class EDPGNNModel(DiffusionModel):
    """The paper's model: a score network, trained by score matching at fixed noise levels.

    Args:
        settings: complete settings of the run.
        sizes: of the training graphs.
        blank: with a network without memory, whose weights are to be loaded.
    """

    Settings = EDPGNNModelSettings

    def __init__(
        self, settings: EDPGNNModelSettings, sizes: SizeDistribution, *, blank: bool = False
    ) -> None:
        self.settings = settings
        self.sizes = sizes

        def make() -> EDPGNN:
            generator = torch_generator(settings.seed, "initial weights")
            return EDPGNN(settings.network, settings.noise.sigmas, generator=generator)

        self.network = build_network(make, blank=blank)
        self.objective = ScoreMatching(settings.noise.sigmas)
        # Scores need no prior of edges; only decoding is used.
        self.likelihood = GraphLikelihood(BernoulliEdges(EdgeDensity(level=0.0)))

    @classmethod
    def from_graphs(
        cls,
        settings: EDPGNNModelSettings,
        graphs: Sequence[nx.Graph[Any]],
        data: GraphBatch,
        *,
        show_progress: bool = False,
    ) -> tuple[Self, GraphBatch]:
        """Build the model for training graphs, with initial weights."""
        check_features(settings.network)
        return cls(settings, SizeDistribution.of(data.sizes.tolist())), data

    @classmethod
    def from_learned(
        cls, settings: EDPGNNModelSettings, learned: dict[str, Any], sizes: SizeDistribution
    ) -> Self:
        """Build a stored model, with weights still to be loaded."""
        check_features(settings.network)
        check_names(learned, set())
        return cls(settings, sizes, blank=True)

    @classmethod
    def blank_weights(
        cls, settings: EDPGNNModelSettings, learned: Mapping[str, Any] = NOTHING_LEARNED
    ) -> dict[str, Tensor]:
        """Return names and shapes of the weights."""
        return cls(settings, SizeDistribution({1: 1}), blank=True).weights()

    def learned(self) -> dict[str, Any]:
        """Return nothing: all that was learned is in the weights."""
        return {}
