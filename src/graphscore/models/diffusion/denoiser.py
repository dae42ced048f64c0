"""The denoiser: a network that answers with the posterior of clean graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any, Self

import networkx as nx
import torch
from torch import Tensor

from graphscore.diffusion import (
    BernoulliEdges,
    Denoising,
    GraphLikelihood,
    GuidedPosterior,
    Posterior,
    SigmaRange,
)
from graphscore.errors import SettingsError
from graphscore.graphs import COMMUNITY, NOTHING, GraphBatch, Schema
from graphscore.models.base import NOTHING_LEARNED, check_names
from graphscore.models.communities import CommunityDistribution, with_communities
from graphscore.models.diffusion.attributes import (
    blank_likelihood,
    edges_of,
    likelihood_of,
    stored_likelihood,
    stored_schema,
    stored_values,
)
from graphscore.models.diffusion.defaults import denoiser_defaults
from graphscore.models.diffusion.model import DiffusionModel, check_features
from graphscore.models.diffusion.settings import DenoiserModelSettings
from graphscore.models.request import SampleRequest
from graphscore.models.resources import build_network
from graphscore.models.sizes import SizeDistribution
from graphscore.networks import EDPGNN, Denoiser, DenoiserSettings, EDPGNNSettings
from graphscore.seeding import torch_generator

LEVELS = 8
"""Levels of an EDP-GNN's gains and biases where it is trained on a range of noise levels."""


class DenoiserModel(DiffusionModel):
    """A network that answers with the posterior of edges, trained over a range of noise levels.

    Args:
        settings: complete settings of the run.
        sizes: of the training graphs.
        likelihood: of edges and of what they and nodes carry; its prior is that of the training
            graphs.
        communities: of the training graphs, if the network is conditioned on them.
        guide_likelihood: of the guide model, if there is one.
        schema: what nodes and edges carry.
        blank: with networks without memory, whose weights are to be loaded.
    """

    Settings = DenoiserModelSettings
    network: Posterior

    def __init__(
        self,
        settings: DenoiserModelSettings,
        sizes: SizeDistribution,
        likelihood: GraphLikelihood,
        communities: CommunityDistribution | None = None,
        guide_likelihood: GraphLikelihood | None = None,
        schema: Schema = Schema(),  # noqa: B008  (frozen, so one shared default is safe)
        *,
        blank: bool = False,
    ) -> None:
        self.settings = settings
        self.sizes = sizes
        self.communities = communities
        self.likelihood = likelihood
        self.schema = schema
        self.objective = Denoising(settings.noise, settings.objective)

        def make() -> Posterior:
            generator = torch_generator(settings.seed, "initial weights")
            network = make_posterior(
                settings.network, self.likelihood, settings.noise, generator=generator
            )
            if settings.guide is None:
                return network
            assert guide_likelihood is not None
            guide = make_posterior(
                settings.guide.network,
                guide_likelihood,
                settings.guide.noise or settings.noise,
                generator=generator,
            )
            return GuidedPosterior(network, guide, settings.guide)

        self.network = build_network(make, blank=blank)

    @classmethod
    def defaults(cls, nodes: int, *, on_cpu: bool) -> dict[str, Any]:
        """Return network, training and sampler for graphs of up to `nodes` nodes."""
        return denoiser_defaults(nodes, on_cpu=on_cpu)

    @classmethod
    def from_graphs(
        cls,
        settings: DenoiserModelSettings,
        graphs: Sequence[nx.Graph[Any]],
        data: GraphBatch,
        *,
        show_progress: bool = False,
    ) -> tuple[Self, GraphBatch]:
        """Build the model for training graphs, with initial weights."""
        check_features(settings.network)
        if settings.guide is not None:
            raise SettingsError(
                "a guided model is put together from two trained ones and not trained itself. "
                "Leave out the guide, train both, and use guided_by or `graphscore guide`."
            )
        communities = None
        if settings.communities and COMMUNITY in settings.attributes.of_nodes:
            raise SettingsError(
                f"node attribute {COMMUNITY!r}: new graphs have the community that a node was "
                "sampled with under that name. Rename the attribute."
            )
        if settings.communities:
            data, communities = with_communities(data, graphs, show_progress=show_progress)
        sizes = SizeDistribution.of(data.sizes.tolist())
        schema = Schema.of(graphs, settings.attributes)
        return cls(settings, sizes, likelihood_of(data, schema), communities, schema=schema), data

    @classmethod
    def from_learned(
        cls, settings: DenoiserModelSettings, learned: dict[str, Any], sizes: SizeDistribution
    ) -> Self:
        """Build a stored model, with weights still to be loaded."""
        check_features(settings.network)
        expected, communities, guide, schema = {"likelihood"}, None, None, Schema()
        if settings.attributes != NOTHING:
            expected.add("schema")
            schema = stored_schema(learned["schema"], settings.attributes)
        if settings.communities:
            expected.add("communities")
            communities = CommunityDistribution.from_dict(learned["communities"])
            communities.check_sizes(sizes.counts)
        within = settings.communities
        if settings.guide is not None:
            check_features(settings.guide.network)
            expected.add("guide_likelihood")
            guide = stored_likelihood(learned["guide_likelihood"], schema, within=within)
        likelihood = stored_likelihood(learned["likelihood"], schema, within=within)
        check_names(learned, expected)
        return cls(settings, sizes, likelihood, communities, guide, schema, blank=True)

    @classmethod
    def blank_weights(
        cls, settings: DenoiserModelSettings, learned: Mapping[str, Any] = NOTHING_LEARNED
    ) -> dict[str, Tensor]:
        """Return names and shapes of the weights, those of a guide model included."""
        schema = Schema()
        if settings.attributes != NOTHING:
            schema = stored_schema(learned["schema"], settings.attributes)
        likelihood = blank_likelihood(schema)
        sizes = SizeDistribution({1: 1})
        return cls(settings, sizes, likelihood, guide_likelihood=likelihood, blank=True).weights()

    def batch_of(self, graphs: Sequence[nx.Graph[Any]], data: GraphBatch) -> GraphBatch:
        """Return further graphs, with their communities if it is conditioned on them."""
        return with_communities(data, graphs)[0] if self.settings.communities else data

    def _edges(self, request: SampleRequest) -> float:
        """Return how many edges the prior expects in all."""
        edges, sizes = edges_of(self.likelihood), request.sizes.tolist()
        return sum(map(edges.expected_edges, sizes, request.communities or repeat(())))

    def learned(self) -> dict[str, Any]:
        """Return likelihoods, schema and the sizes of communities, as plain values."""
        learned = {"likelihood": stored_values(self.likelihood)}
        if isinstance(self.network, GuidedPosterior):
            learned["guide_likelihood"] = stored_values(self.network.guide.likelihood)
        if self.schema != Schema():
            learned["schema"] = self.schema.model_dump(mode="json")
        if self.communities is not None:
            learned["communities"] = self.communities.to_dict()
        return learned


def make_posterior(
    shape: DenoiserSettings | EDPGNNSettings,
    likelihood: GraphLikelihood,
    sigma_range: SigmaRange,
    *,
    generator: torch.Generator,
) -> Posterior:
    """Return a network that answers with the posterior, with initial weights."""
    if isinstance(shape, DenoiserSettings):
        network = Denoiser(shape, likelihood, generator=generator)
        return Posterior(network, likelihood, analytic_skip=shape.analytic_skip)
    if not isinstance(likelihood.edges, BernoulliEdges) or likelihood.nodes is not None:
        raise SettingsError(
            "attributes: the network 'edp-gnn' learns edges only. Use the network 'denoiser', or "
            "leave out the attributes."
        )
    # In equal steps of log sigma, in which the gains are interpolated; from gains of one, because
    # logits are of the same size at every level.
    low, high = sigma_range.sigma_min, sigma_range.sigma_max
    sigmas = tuple(high * (low / high) ** (level / (LEVELS - 1)) for level in range(LEVELS))
    inner = EDPGNN(shape.replaced(initial_gains="one"), sigmas, generator=generator)
    return Posterior(inner, likelihood)
