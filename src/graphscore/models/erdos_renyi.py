"""Erdős–Rényi graphs: every edge exists with the density of training graphs of that size.

The simplest model there is. Evaluations use it as the null row: what a model scores that knows only
how many nodes and how many edges there are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, Self

import networkx as nx
import torch

from graphscore.config import RunSettings
from graphscore.diffusion import BernoulliEdges, EdgeDensity
from graphscore.graphs import NO_CONDITION, GraphBatch, node_mask_of_sizes, pair_mask
from graphscore.models.base import Model, SamplingRun, check_names
from graphscore.models.request import SampleRequest
from graphscore.models.resources import fits_memory
from graphscore.models.sizes import SizeDistribution, chunks_of_similar_size

PAIRS_PER_CHUNK = 1_000_000
"""Pairs of nodes that are drawn at a time."""
BYTES_PER_PAIR = 12
"""Of what is drawn: probability, random number and entry of the matrix."""


class ErdosRenyiSettings(RunSettings):
    """An Erdős–Rényi model has nothing to set but its seed."""

    model: Literal["erdos-renyi"] = "erdos-renyi"


class ErdosRenyi(Model):
    """Independent edges, whose density depends on the number of nodes (Gilbert 1959).

    Args:
        density: share of pairs that are edges, by the number of nodes.
    """

    Settings = ErdosRenyiSettings

    def __init__(
        self, settings: ErdosRenyiSettings, density: EdgeDensity, sizes: SizeDistribution
    ) -> None:
        self.settings = settings
        self.density = density
        self.sizes = sizes

    @classmethod
    def from_graphs(
        cls,
        settings: ErdosRenyiSettings,
        graphs: Sequence[nx.Graph[Any]],
        data: GraphBatch,
        *,
        show_progress: bool = False,
    ) -> tuple[Self, GraphBatch]:
        """Fit the density to training graphs by logistic regression."""
        sizes = SizeDistribution.of(data.sizes.tolist())
        return cls(settings, EdgeDensity.of(data), sizes), data

    @classmethod
    def from_learned(
        cls, settings: ErdosRenyiSettings, learned: dict[str, Any], sizes: SizeDistribution
    ) -> Self:
        """Build a stored model."""
        check_names(learned, {"density"})
        return cls(settings, EdgeDensity.from_dict(learned["density"]), sizes)

    def learned(self) -> dict[str, Any]:
        """Return the density as plain values."""
        return {"density": self.density.to_dict()}

    def sample(self, request: SampleRequest, run: SamplingRun) -> list[nx.Graph[Any]]:
        """Draw every edge by itself."""
        likelihood = BernoulliEdges(self.density)
        graphs: dict[int, nx.Graph[Any]] = {}
        chunks = chunks_of_similar_size(request.sizes, PAIRS_PER_CHUNK)
        edges = sum(map(likelihood.expected_edges, request.sizes.tolist()))
        with fits_memory(int(request.sizes.max()), BYTES_PER_PAIR, edges, run.device):
            for index, chunk in enumerate(chunks):
                mask = node_mask_of_sizes(request.sizes[chunk]).to(run.device)
                logits = likelihood.prior(mask, NO_CONDITION, torch.float32)
                pairs = pair_mask(mask)
                unseen = torch.full((len(mask),), math.inf, device=mask.device)
                mean = likelihood.mean(logits, unseen, pairs)
                adj = likelihood.draw(mean, unseen, pairs, generator=run.random(index))
                made = GraphBatch(adj, mask).to("cpu").to_networkx()
                graphs |= dict(zip(chunk.tolist(), made))
        return [graphs[index] for index in range(len(request.sizes))]
