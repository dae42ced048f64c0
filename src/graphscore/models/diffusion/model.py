"""Diffusion models: a network under noise, its objective, and sampling in chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from itertools import repeat
from typing import Any, Self

import networkx as nx
import torch
from torch import Tensor, nn

from graphscore.acceleration import choose_sampler
from graphscore.diffusion import (
    BernoulliEdges,
    Denoising,
    EdgeDensity,
    GraphLikelihood,
    GuidedPosterior,
    Posterior,
    ScoreMatching,
    SigmaLevels,
    SigmaRange,
)
from graphscore.diffusion.samplers import SAMPLERS, LangevinSettings, SamplerSettings
from graphscore.diffusion.sigmas import PAPER_SIGMAS
from graphscore.errors import SettingsError
from graphscore.graphs import COMMUNITY, GraphBatch, GraphState, node_mask_of_sizes
from graphscore.models.base import Model, SamplingRun, check_names
from graphscore.models.communities import (
    CommunityDistribution,
    community_numbers,
    with_communities,
)
from graphscore.models.diffusion.defaults import denoiser_defaults
from graphscore.models.diffusion.settings import DenoiserModelSettings, EDPGNNModelSettings
from graphscore.models.request import SampleRequest
from graphscore.models.resources import build_network, fits_memory
from graphscore.models.sizes import SizeDistribution, chunks_of_similar_size
from graphscore.networks import EDPGNN, Denoiser, DenoiserSettings, EDPGNNSettings
from graphscore.progress import progress
from graphscore.seeding import torch_generator

PAIRS_PER_CHUNK = {"cpu": 100_000, "cuda": 4_000_000, "mps": 1_000_000}
"""Pairs of nodes sampled at a time: enough to keep the device busy, and fitting its memory."""
LEVELS = 8
"""Levels of an EDP-GNN's gains and biases where it is trained on a range of noise levels."""


class DiffusionModel(Model):
    """What the denoiser and EDP-GNN share: a network under noise, sampled chunk by chunk."""

    settings: Any
    network: nn.Module
    likelihood: GraphLikelihood

    def _noise(self) -> SigmaLevels | SigmaRange:
        """Return the noise levels that the sampler goes through."""
        trained, sampling = self.settings.noise, self.settings.sampling
        if isinstance(sampling, LangevinSettings) and sampling.sigmas is not None:
            return SigmaLevels(sigmas=sampling.sigmas)
        if isinstance(sampling, LangevinSettings) and isinstance(trained, SigmaRange):
            low, high = trained.sigma_min, trained.sigma_max
            return SigmaLevels(sigmas=tuple(s for s in PAPER_SIGMAS if low <= s <= high) or (low,))
        noise: SigmaLevels | SigmaRange = trained
        return noise

    def _edges(self, request: SampleRequest) -> float:
        """Return how many edges are expected in all; 0 where that is not known."""
        return 0.0

    def sample(self, request: SampleRequest, run: SamplingRun) -> list[nx.Graph[Any]]:
        """Generate graphs, those of similar size together, on the fastest path."""
        sampling: SamplerSettings = self.settings.sampling
        noise, sizes = self._noise(), request.sizes
        network = self.network
        if isinstance(network, GuidedPosterior) and not network.guidance.weight:
            network = network.better
        chunks = chunks_of_similar_size(sizes, PAIRS_PER_CHUNK.get(run.device.type, 100_000))
        graphs: dict[int, nx.Graph[Any]] = {}
        steps = sampling.total_steps(noise)
        bytes_per_pair = 4 * self.settings.network.numbers_per_pair
        with (
            progress("sampling", steps * len(chunks), enabled=run.show_progress) as update,
            fits_memory(int(sizes.max()), bytes_per_pair, self._edges(request), run.device),
        ):
            for index, chunk in enumerate(chunks):
                mask = node_mask_of_sizes(sizes[chunk]).to(run.device)
                condition = request.condition(chunk, mask.shape[1]).to(run.device)

                def on_step(done: int, _: GraphState, before: int = index * steps) -> None:
                    update(before + done, "")

                path = choose_sampler(
                    network, mask, sampling, condition=condition, accelerate=run.accelerate
                )
                prior = self.likelihood.prior_of(mask, condition)
                result = path.sample(
                    prior, noise, sampling, generator=run.random(index), on_step=on_step
                )
                adj = self.likelihood.decode(result.state, sampling.threshold).edges
                made = GraphBatch(adj, mask).to("cpu").to_networkx()
                graphs |= dict(zip(chunk.tolist(), made))
        for index, partition in enumerate(request.communities or ()):
            numbers = dict(enumerate(community_numbers(partition)))
            nx.set_node_attributes(graphs[index], numbers, COMMUNITY)
        return [graphs[index] for index in range(len(sizes))]

    def with_options(self, *, sampling: Any = None, guidance: float | None = None) -> Self:
        """Return the same model with another sampler, or another weight of its guide model.

        Args:
            sampling: settings of a sampler, or a dictionary of those that differ from the model's;
                with another "kind" in it, from that sampler's own defaults.
            guidance: weight of the guide model; 0 for none.

        Raises:
            SettingsError: a setting is unknown, the network does not serve that sampler, or there
                is no guide model.
        """
        settings, network = self.settings, self.network
        if isinstance(sampling, Mapping):
            default = settings.sampling.model_dump()
            same = sampling.get("kind", default["kind"]) == default["kind"]
            sampling = {**default, **sampling} if same else sampling
        elif isinstance(sampling, SamplerSettings):
            sampling = sampling.model_dump()
        elif sampling is not None:
            raise SettingsError(
                f"sampling {sampling!r}: give the settings of a sampler, or a dictionary such as "
                '{"kind": "heun", "steps": 32}.'
            )
        if sampling is not None:
            kind = sampling["kind"]
            if not isinstance(kind, str) or kind not in SAMPLERS:
                raise SettingsError(f"unknown sampler {kind!r}. Use one of: {', '.join(SAMPLERS)}.")
            settings = settings.replaced(sampling=sampling)
        if guidance is not None:
            if not isinstance(network, GuidedPosterior):
                raise SettingsError(
                    "this model has no guide model, so guidance has no meaning. Give it one with "
                    "guided_by or `graphscore guide`."
                )
            try:
                guide = settings.guide.replaced(weight=guidance)
            except SettingsError as error:
                # The settings call it weight, the arguments of `sample` guidance.
                raise SettingsError(f"guidance: {error}") from None
            settings = settings.replaced(guide=guide.model_dump())
            network = GuidedPosterior(network.better, network.guide, guide)
        made = copy(self)
        made.settings, made.network = settings, network
        return made

    def sampling_variants(self) -> list[SamplerSettings]:
        """Return settings around those of the model's sampler, to try."""
        trained = self.settings.noise
        return list(
            self.settings.sampling.variants(trained if isinstance(trained, SigmaRange) else None)
        )


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
        _check_features(settings.network)
        return cls(settings, SizeDistribution.of(data.sizes.tolist())), data

    @classmethod
    def from_learned(
        cls, settings: EDPGNNModelSettings, learned: dict[str, Any], sizes: SizeDistribution
    ) -> Self:
        """Build a stored model, with weights still to be loaded."""
        _check_features(settings.network)
        check_names(learned, set())
        return cls(settings, sizes, blank=True)

    @classmethod
    def blank_weights(cls, settings: EDPGNNModelSettings) -> dict[str, Tensor]:
        """Return names and shapes of the weights."""
        return cls(settings, SizeDistribution({1: 1}), blank=True).weights()

    def learned(self) -> dict[str, Any]:
        """Return nothing: all that was learned is in the weights."""
        return {}


class DenoiserModel(DiffusionModel):
    """A network that answers with the posterior of edges, trained over a range of noise levels.

    Args:
        settings: complete settings of the run.
        sizes: of the training graphs.
        likelihood: of edges, with the training graphs' density as its prior.
        communities: of the training graphs, if the network is conditioned on them.
        guide_likelihood: of the guide model, if there is one.
        blank: with networks without memory, whose weights are to be loaded.
    """

    Settings = DenoiserModelSettings
    network: Posterior

    def __init__(
        self,
        settings: DenoiserModelSettings,
        sizes: SizeDistribution,
        likelihood: BernoulliEdges,
        communities: CommunityDistribution | None = None,
        guide_likelihood: BernoulliEdges | None = None,
        *,
        blank: bool = False,
    ) -> None:
        self.settings = settings
        self.sizes = sizes
        self.communities = communities
        self.likelihood = GraphLikelihood(likelihood)
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
                GraphLikelihood(guide_likelihood),
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
        _check_features(settings.network)
        if settings.guide is not None:
            raise SettingsError(
                "a guided model is put together from two trained ones and not trained itself. "
                "Leave out the guide, train both, and use guided_by or `graphscore guide`."
            )
        communities = None
        if settings.communities:
            data, communities = with_communities(data, graphs, show_progress=show_progress)
        sizes = SizeDistribution.of(data.sizes.tolist())
        return cls(settings, sizes, BernoulliEdges.of(data), communities), data

    @classmethod
    def from_learned(
        cls, settings: DenoiserModelSettings, learned: dict[str, Any], sizes: SizeDistribution
    ) -> Self:
        """Build a stored model, with weights still to be loaded."""
        _check_features(settings.network)
        expected, communities, guide = {"likelihood"}, None, None
        if settings.communities:
            expected.add("communities")
            communities = CommunityDistribution.from_dict(learned["communities"])
            communities.check_sizes(sizes.counts)
        if settings.guide is not None:
            _check_features(settings.guide.network)
            expected.add("guide_likelihood")
            guide = _stored_edges(learned["guide_likelihood"], settings)
        likelihood = _stored_edges(learned["likelihood"], settings)
        check_names(learned, expected)
        return cls(settings, sizes, likelihood, communities, guide, blank=True)

    @classmethod
    def blank_weights(cls, settings: DenoiserModelSettings) -> dict[str, Tensor]:
        """Return names and shapes of the weights, those of a guide model included."""
        edges, sizes = BernoulliEdges(EdgeDensity(level=0.0)), SizeDistribution({1: 1})
        blank = cls(settings, sizes, edges, guide_likelihood=edges, blank=True)
        return blank.weights()

    def _edges(self, request: SampleRequest) -> float:
        """Return how many edges the prior expects in all."""
        edges, sizes = self.likelihood.edges, request.sizes.tolist()
        assert isinstance(edges, BernoulliEdges)
        return sum(map(edges.expected_edges, sizes, request.communities or repeat(())))

    def learned(self) -> dict[str, Any]:
        """Return the likelihoods, and the sizes of communities, as plain values."""
        learned = {"likelihood": self.likelihood.edges.to_dict()}
        if isinstance(self.network, GuidedPosterior):
            learned["guide_likelihood"] = self.network.guide.likelihood.edges.to_dict()
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
    # In equal steps of log sigma, in which the gains are interpolated; from gains of one, because
    # logits are of the same size at every level.
    low, high = sigma_range.sigma_min, sigma_range.sigma_max
    sigmas = tuple(high * (low / high) ** (level / (LEVELS - 1)) for level in range(LEVELS))
    inner = EDPGNN(shape.replaced(initial_gains="one"), sigmas, generator=generator)
    return Posterior(inner, likelihood)


def _stored_edges(values: dict[str, Any], settings: DenoiserModelSettings) -> BernoulliEdges:
    """Return a stored likelihood of a model, which knows communities if the model does."""
    edges = BernoulliEdges.from_dict(values)
    if (edges.within is not None) != settings.communities:
        raise ValueError("a density within communities belongs to models conditioned on them")
    return edges


def _check_features(shape: DenoiserSettings | EDPGNNSettings) -> None:
    if shape.node_feat_dim:
        raise SettingsError(
            f"GraphGenerator models structure only, but network.node_feat_dim is "
            f"{shape.node_feat_dim}. Set it to 0, or train with graphscore.training.Trainer on a "
            "GraphBatch with node features."
        )
