"""Diffusion models: a network under noise, its objective, and sampling in chunks."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any, Self

import networkx as nx
from torch import nn

from graphscore.acceleration import choose_sampler
from graphscore.diffusion import GraphLikelihood, GuidedPosterior, SigmaLevels, SigmaRange
from graphscore.diffusion.samplers import SAMPLERS, LangevinSettings, SamplerSettings
from graphscore.diffusion.sigmas import PAPER_SIGMAS
from graphscore.errors import SettingsError
from graphscore.graphs import COMMUNITY, GraphState, node_mask_of_sizes
from graphscore.models.base import Model, SamplingRun
from graphscore.models.communities import community_numbers
from graphscore.models.diffusion.attributes import graphs_of_state
from graphscore.models.request import SampleRequest
from graphscore.models.resources import fits_memory
from graphscore.models.sizes import chunks_of_similar_size
from graphscore.networks import DenoiserSettings, EDPGNNSettings
from graphscore.progress import progress

PAIRS_PER_CHUNK = {"cpu": 100_000, "cuda": 4_000_000, "mps": 1_000_000}
"""Pairs of nodes sampled at a time: enough to keep the device busy, and fitting its memory."""


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

    def _decoded(self, state: GraphState) -> GraphState:
        """Return the clean entries that final states stand for, as `schema` has them."""
        return self.likelihood.decode(state, self.settings.sampling.threshold)

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
        bytes_per_pair = 4 * (self.settings.network.numbers_per_pair + self.schema.edge_width)
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
                clean = self._decoded(result.state)
                graphs |= dict(zip(chunk.tolist(), graphs_of_state(clean, self.schema)))
        for index, partition in enumerate(request.communities or ()):
            numbers = dict(enumerate(community_numbers(partition)))
            nx.set_node_attributes(graphs[index], numbers, COMMUNITY)
        if request.nodes is not None:
            for index, graph in graphs.items():
                graph.add_nodes_from(enumerate(request.nodes.attributes(index)))
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


def check_features(shape: DenoiserSettings | EDPGNNSettings) -> None:
    """Refuse settings of a network that takes node features as they are given.

    Raises:
        SettingsError: they are that.
    """
    if shape.node_feat_dim:
        raise SettingsError(
            f"network.node_feat_dim is {shape.node_feat_dim}, but GraphGenerator sets it itself, "
            "from the attributes of nodes. Leave it out, or train with "
            "graphscore.training.Trainer on a GraphBatch with node features."
        )
