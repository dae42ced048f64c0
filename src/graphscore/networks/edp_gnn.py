"""EDP-GNN, the paper's score network (section 3.4), with vanilla GIN and the ablations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from graphscore.graphs.condition import NO_CONDITION, Condition, check_feature_width
from graphscore.graphs.state import GraphState
from graphscore.networks.checkpointing import checkpointed
from graphscore.networks.conditioning import (
    ConditionalMLP,
    Conditioning,
    LevelTable,
    LevelWeights,
)
from graphscore.networks.edp_gnn_layers import EdgeMLP, MultiChannelGNN
from graphscore.networks.pair_mlp import PairWeights, pair_mlp, plain_pair_mlp
from graphscore.networks.pair_slices import matrix_of_pairs, one_of_each_pair
from graphscore.networks.settings import EDPGNNSettings


class EDPGNN(nn.Module):
    """Edgewise dense prediction graph neural network: the score s(A, sigma).

    Equivariant to permutations of the nodes, defined for any number of nodes, symmetric with zero
    diagonal and zero on padding, and without state between calls.

    Args:
        settings: shape of the network.
        sigmas: noise levels it is conditioned on.
        generator: source of the initial parameters.

    Example:
        >>> generator = torch.Generator().manual_seed(0)
        >>> network = EDPGNN(EDPGNNSettings(), (1.0, 0.1), generator=generator)
        >>> noisy = GraphState(torch.zeros(2, 5, 5), torch.ones(2, 5, dtype=torch.bool))
        >>> network(noisy, torch.tensor([1.0, 0.1])).edges.shape
        torch.Size([2, 5, 5])
    """

    checkpoint_activations: bool = False
    """Activation checkpointing: keep only what enters each layer for the gradient and compute the
    rest again. A plain attribute to set at any time, not part of the settings."""

    def __init__(
        self, settings: EDPGNNSettings, sigmas: tuple[float, ...], *, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.settings = settings
        self.level_weights = LevelWeights(sigmas)
        self.table = LevelTable(len(sigmas))
        input_channels = 1 + settings.complement_channel
        channels_in, width = input_channels, 1 + settings.node_feat_dim
        gnns: list[MultiChannelGNN] = []
        edge_mlps: list[EdgeMLP] = []
        for channels_out in settings.channels:
            node_in = width + settings.append_degrees * channels_in
            gnn = MultiChannelGNN(channels_in, node_in, settings, self.table, generator=generator)
            gnns.append(gnn)
            width = gnn.width_out
            edge_mlps.append(
                EdgeMLP(channels_in, channels_out, width, settings, self.table, generator=generator)
            )
            if settings.learnable_adjacency:
                channels_in = channels_out
        self.gnns = nn.ModuleList(gnns)
        self.edge_mlps = nn.ModuleList(edge_mlps)
        hidden = settings.edge_width
        total = input_channels + sum(settings.channels)
        self.final = ConditionalMLP(
            [total, hidden, hidden, 1], self.table, settings.activation, generator=generator
        )
        if settings.initial_gains == "inverse-sigma":
            self._scale_gains(sigmas)

    def _scale_gains(self, sigmas: tuple[float, ...]) -> None:
        # Scores have size 1/sigma and change over distances of sigma. Starting the gains of the
        # output MLP's ends there saves the optimiser from finding factors of sixteen between
        # levels; the architecture is unchanged.
        gain = 1 / torch.tensor(sorted(sigmas), device="cpu").unsqueeze(-1)
        with torch.no_grad():
            for layer in (self.final.first, self.final.last):
                if layer.columns is not None:
                    layer.columns.gain.copy_(gain)

    def edge_channels(
        self, noisy: GraphState, sigma: Tensor, condition: Condition = NO_CONDITION
    ) -> list[Tensor]:
        """Return the adjacency channels (B,N,N,C) of the input and of every layer."""
        pairs = noisy.pair_mask.to(noisy.edges.dtype).unsqueeze(1)
        levels = self._conditioning(sigma, noisy.edges.dtype)
        channels = self._channels(noisy.edges, pairs, levels, condition)
        return [adjs.permute(0, 2, 3, 1) for adjs in channels]

    def _conditioning(self, sigma: Tensor, dtype: torch.dtype) -> Conditioning:
        conditioning: Conditioning = self.table(self.level_weights(sigma, dtype))
        return conditioning

    def _channels(
        self, adj: Tensor, pairs: Tensor, conditioning: Conditioning, condition: Condition
    ) -> list[Tensor]:
        adjs = adj.unsqueeze(1) * pairs
        z = _degrees(adjs)
        if self.settings.complement_channel:
            adjs = torch.cat([adjs, pairs - adjs], dim=1)
        check_feature_width(condition, self.settings.node_feat_dim)
        if condition.node_feat is not None:
            z = torch.cat([condition.node_feat, z], dim=-1)
        channels = [adjs]
        for gnn, edge_mlp in zip(self.gnns, self.edge_mlps):
            z, updated = self._run(self._layer, gnn, edge_mlp, adjs, z, pairs, conditioning)
            channels.append(updated)
            if self.settings.learnable_adjacency:
                adjs = updated
        return channels

    def _layer(
        self,
        gnn: MultiChannelGNN,
        edge_mlp: EdgeMLP,
        adjs: Tensor,
        z: Tensor,
        pairs: Tensor,
        conditioning: Conditioning,
    ) -> tuple[Tensor, Tensor]:
        if self.settings.append_degrees:
            z = torch.cat([z, _degrees(adjs)], dim=-1)
        z = gnn(adjs, z, conditioning)
        return z, edge_mlp(adjs, z, pairs, conditioning)

    def _run(self, part: Callable[..., Any], *arguments: Any) -> Any:
        if self.checkpoint_activations and torch.is_grad_enabled():
            return checkpointed(part, *arguments, statistics=list(self.buffers()))
        return part(*arguments)

    def forward(
        self, noisy: GraphState, sigma: Tensor, condition: Condition = NO_CONDITION
    ) -> GraphState:
        """Return the score of every edge.

        Args:
            noisy: graphs under noise, of which the edges are used.
            sigma: (B,) standard deviation of the noise of each graph.
            condition: node features, if the settings ask for them.

        Raises:
            GraphDataError: node features are not as wide as the settings say.
        """
        adj = noisy.edges
        pairs = noisy.pair_mask.to(adj.dtype).unsqueeze(1)
        conditioning = self._conditioning(sigma, adj.dtype)
        channels = self._channels(adj, pairs, conditioning, condition)
        # All channels are symmetric, so the output MLP sees each unordered pair once.
        x = torch.cat([one_of_each_pair(adjs) for adjs in channels], dim=1)
        score: Tensor = self._run(self._output, x, conditioning)
        edges = matrix_of_pairs(score.squeeze(1), adj.shape[1]) * pairs.squeeze(1)
        return GraphState(edges, noisy.node_mask)

    def _output(self, x: Tensor, conditioning: Conditioning) -> Tensor:
        """The output MLP, (B,1,I,J) from all channels of pairs (B,C,I,J)."""
        layers = (self.final.first, *self.final.between, self.final.last)
        (first, shift), *others = [layer.of_each_graph(conditioning) for layer in layers]
        weights = PairWeights(shift, None, first, *others[0], *others[1])
        if self.settings.activation == "silu":
            return pair_mlp(x, weights)
        return plain_pair_mlp(x, weights, self.final.activation)


def _degrees(adjs: Tensor) -> Tensor:
    """Weighted degrees (B,N,C) in every channel."""
    return adjs.sum(3).mT
