"""The paper's model: EDP-GNN, trained by score matching."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import networkx as nx
import torch
from torch import Tensor

from graphscore.diffusion import (
    BernoulliEdges,
    EdgeDensity,
    GraphLikelihood,
    ScoreMatching,
    log_density_difference,
)
from graphscore.errors import SettingsError
from graphscore.graphs import (
    NOTHING,
    AttributeSettings,
    GraphBatch,
    GraphState,
    Schema,
    prepare_graphs,
)
from graphscore.graphs.given import Graphs
from graphscore.models.base import NOTHING_LEARNED, check_names
from graphscore.models.diffusion.attributes import stored_schema
from graphscore.models.diffusion.model import PAIRS_PER_CHUNK, DiffusionModel, check_features
from graphscore.models.diffusion.settings import EDPGNNModelSettings
from graphscore.models.diffusion.weight_matrix import WeightMatrix
from graphscore.models.nodes import KnownNodes
from graphscore.models.resources import build_network
from graphscore.models.sizes import SizeDistribution, chunks_of_similar_size
from graphscore.networks import EDPGNN
from graphscore.seeding import torch_generator


class EDPGNNModel(DiffusionModel):
    """The paper's model: a score network, trained by score matching at fixed noise levels.

    Edges are entries of the adjacency matrix, 1 or their weight. What nodes carry is an input of
    the network; new graphs take it from training graphs.

    Args:
        settings: complete settings of the run.
        sizes: of the training graphs.
        schema: what nodes and edges carry.
        matrix: which entries are edges, if they have weights.
        nodes: of the training graphs, if they carry something.
        blank: with a network without memory, whose weights are to be loaded.
    """

    Settings = EDPGNNModelSettings

    def __init__(
        self,
        settings: EDPGNNModelSettings,
        sizes: SizeDistribution,
        schema: Schema = Schema(),  # noqa: B008  (frozen, so one shared default is safe)
        matrix: WeightMatrix | None = None,
        nodes: KnownNodes | None = None,
        *,
        blank: bool = False,
    ) -> None:
        self.settings = settings
        self.sizes = sizes
        self.schema = schema
        self.matrix = matrix
        self.nodes = nodes
        width = schema.node_width or settings.network.node_feat_dim
        shape = settings.network.replaced(node_feat_dim=width)

        def make() -> EDPGNN:
            generator = torch_generator(settings.seed, "initial weights")
            return EDPGNN(shape, settings.noise.sigmas, generator=generator)

        self.network = build_network(make, blank=blank)
        self.objective = ScoreMatching(settings.noise.sigmas)
        # Scores need no prior of edges; only decoding is used.
        self.likelihood = GraphLikelihood(BernoulliEdges(EdgeDensity(level=0.0)))

    @classmethod
    def schema_of(cls, graphs: Sequence[nx.Graph[Any]], names: AttributeSettings) -> Schema:
        """Return what training graphs carry; weights in units of their root mean square.

        So entries of edges are of size 1, as without weights, and the paper's noise levels fit.
        """
        return Schema.of(graphs, names, matrix=True)

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
        sizes = SizeDistribution.of(data.sizes.tolist())
        schema, matrix, nodes = Schema(), None, None
        if settings.attributes != NOTHING:
            schema = cls.schema_of(graphs, settings.attributes)
        data = as_matrices(data)
        if schema.edge_weight is not None:
            matrix = WeightMatrix.of(data, min(settings.noise.sigmas))
        if schema.node_width:
            random = torch_generator(settings.seed, "known nodes")
            nodes = KnownNodes.of(graphs, schema).kept(generator=random)
        return cls(settings, sizes, schema, matrix, nodes), data

    def batch_of(self, graphs: Sequence[nx.Graph[Any]], data: GraphBatch) -> GraphBatch:
        """Return further graphs as adjacency matrices."""
        return as_matrices(data)

    @classmethod
    def from_learned(
        cls, settings: EDPGNNModelSettings, learned: dict[str, Any], sizes: SizeDistribution
    ) -> Self:
        """Build a stored model, with weights still to be loaded."""
        check_features(settings.network)
        expected, matrix, nodes = set(), None, None
        schema = _stored_schema(settings, learned)
        if settings.attributes != NOTHING:
            expected.add("schema")
        if schema.edge_weight is not None:
            expected.add("matrix")
            matrix = WeightMatrix(**learned["matrix"])
        if schema.node_width:
            expected.add("nodes")
            nodes = KnownNodes.from_dict(learned["nodes"], schema, sizes.counts)
        check_names(learned, expected)
        return cls(settings, sizes, schema, matrix, nodes, blank=True)

    @classmethod
    def blank_weights(
        cls, settings: EDPGNNModelSettings, learned: Mapping[str, Any] = NOTHING_LEARNED
    ) -> dict[str, Tensor]:
        """Return names and shapes of the weights."""
        schema = _stored_schema(settings, learned)
        return cls(settings, SizeDistribution({1: 1}), schema, blank=True).weights()

    def learned(self) -> dict[str, Any]:
        """Return what nodes and edges carry, as plain values; all else is in the weights."""
        learned: dict[str, Any] = {}
        if self.schema != Schema():
            learned["schema"] = self.schema.model_dump(mode="json")
        if self.matrix is not None:
            learned["matrix"] = self.matrix.model_dump()
        if self.nodes is not None:
            learned["nodes"] = self.nodes.to_dict()
        return learned

    def _decoded(self, state: GraphState) -> GraphState:
        if self.matrix is None:
            return super()._decoded(state)
        return self.matrix.decode(state, self.settings.sampling.threshold)

    def log_density(
        self, graphs: Graphs, *, sigma: float | None = None, points: int = 32
    ) -> list[float]:
        """Return log p(A) - log p(0) of each graph, the log-density of Theorem 1.

        A is the adjacency matrix, with weights in the model's units, and p is implied by the score
        at noise level sigma, see `diffusion.log_density_difference`. Where nodes carry something,
        p is the density given that.

        Args:
            graphs: as for `fit`, with the attributes that the model was trained on.
            sigma: noise level of the density; the smallest of the training if not given.
            points: network calls for each graph.

        Raises:
            SettingsError: the network was not trained on that noise, or there are no points.
            GraphDataError: a graph cannot be represented, or lacks an attribute.
        """
        low, high = min(self.settings.noise.sigmas), max(self.settings.noise.sigmas)
        level = low if sigma is None else sigma
        if not low <= level <= high or points < 1:
            raise SettingsError(
                f"sigma {level!r:.60} with {points!r:.60} points: give a sigma from {low:g} to "
                f"{high:g}, which the network was trained on, and at least 1 point."
            )
        edge_attributes = self.settings.attributes.of_edges
        clean = prepare_graphs(graphs, source="graphs", edge_attributes=edge_attributes)
        device = next(self.network.parameters()).device
        most = PAIRS_PER_CHUNK.get(device.type, 100_000)
        found: dict[int, float] = {}
        for chunk in chunks_of_similar_size(torch.tensor([*map(len, clean)]), most):
            places = chunk.tolist()
            of_chunk = [clean[place] for place in places]
            data = as_matrices(GraphBatch.from_networkx(of_chunk, schema=self.schema)).to(device)

            def score(state: GraphState, sigma: Tensor, given: GraphBatch = data) -> GraphState:
                answer: GraphState = self.network(state, sigma, given.condition)
                return answer

            levels = torch.full((len(places),), level, device=device)
            values = log_density_difference(score, data.state, levels, points=points)
            found |= dict(zip(places, values.tolist()))
        return [found[place] for place in range(len(clean))]


def as_matrices(data: GraphBatch) -> GraphBatch:
    """Return graphs whose weights are entries of `adj`, and whose nodes' entries are given."""
    edges, nodes = data.edge_entries, data.node_entries
    return replace(
        data,
        adj=data.adj if edges is None else edges[..., -1].to(data.adj.dtype),
        node_feat=data.node_feat if nodes is None else nodes.to(data.adj.dtype),
        edge_entries=None,
        node_entries=None,
    )


def _stored_schema(settings: EDPGNNModelSettings, learned: Mapping[str, Any]) -> Schema:
    """Return the schema of a stored model.

    Raises:
        SettingsError, ValueError: it is none, or not one of this model.
    """
    if settings.attributes == NOTHING:
        return Schema()
    schema = stored_schema(learned["schema"], settings.attributes)
    if schema.edge_weight is not None and not schema.edge_weight.matrix:
        raise ValueError("weights that are not those of a matrix")
    return schema
