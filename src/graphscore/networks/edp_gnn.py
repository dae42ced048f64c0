"""EDP-GNN, the paper's score network (section 3.4), with vanilla GIN and the ablations.

Inside, the adjacency channels are `adjs (B,C,N,N)`, one matrix after the other and not channel
last: there are few channels, and processors work best along long rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from graphscore.errors import GraphDataError
from graphscore.graphs.batch import pair_mask
from graphscore.networks.conditioning import (
    ACTIVATIONS,
    ConditionalLinear,
    ConditionalMLP,
    Conditioning,
    LevelTable,
    LevelWeights,
    scaled,
)
from graphscore.networks.normalisation import MaskedBatchNorm
from graphscore.networks.pair_mlp import PairWeights, pair_mlp, plain_pair_mlp
from graphscore.networks.pair_order import matrix_of_pairs, one_of_each_pair
from graphscore.networks.recomputation import recomputed
from graphscore.settings import Settings


class EDPGNNSettings(Settings):
    """Shape of an EDP-GNN; the defaults are the paper's text and appendix.

    >>> EDPGNNSettings().channels
    (4, 4, 4, 4, 4)
    """

    kind: Literal["edp-gnn"] = "edp-gnn"
    """Tells the settings of one network from those of another."""
    channels: tuple[int, ...] = (4, 4, 4, 4, 4)
    """Adjacency channels that each layer produces; the length is the number of layers."""
    message_steps: int = Field(default=4, ge=1)
    """Message-passing steps M in every layer."""
    features: int = Field(default=16, ge=1)
    """Width F of the node features of one step."""
    edge_width: int = Field(default=16, ge=1)
    """Hidden width of the edge and output MLPs."""
    activation: Literal["silu", "elu"] = "silu"
    """Activation inside the MLPs; the text names none, and SiLU is cheaper than ELU on CPUs."""
    node_feat_dim: int = Field(default=0, ge=0)
    """Width of node features from the data, joined to the weighted degree."""
    learnable_adjacency: bool = True
    """Pass messages over the previous layer's channels; if off, always over the input's."""
    complement_channel: bool = True
    """Use 1 - A as a second input channel."""
    node_output: Literal["tanh", "linear"] = "tanh"
    """Last activation of the node MLPs; the text leaves it open."""
    condition_nodes: bool = True
    """Give the node MLPs gains and biases per noise level too."""
    node_readout: Literal["concat", "sum"] = "concat"
    """Node features of a layer: its steps side by side, or the sum of a read-out of each."""
    append_degrees: bool = False
    """Join the weighted degrees in every channel to the node features at every layer."""
    edge_norm: Literal["none", "batch"] = "none"
    """Normalisation inside the edge MLPs."""
    initial_gains: Literal["inverse-sigma", "one"] = "inverse-sigma"
    """Where the output MLP's first and last gains start."""

    @model_validator(mode="after")
    def _has_layers(self) -> Self:
        if not self.channels or min(self.channels) < 1:
            raise ValueError("channels needs at least one layer and at least one channel in each")
        return self

    @classmethod
    def released(cls, **changes: object) -> EDPGNNSettings:
        """The published program where its departures from the text change results."""
        return cls(
            **{
                "channels": (2, 4, 4, 4, 2),
                "condition_nodes": False,
                "node_readout": "sum",
                "append_degrees": True,
                "edge_norm": "batch",
                "activation": "elu",
                "initial_gains": "one",
                **changes,
            }
        )

    @classmethod
    def ablation(
        cls, *, learnable_adjacency: bool, multi_channel: bool, **changes: object
    ) -> EDPGNNSettings:
        """One cell of the paper's Table 3; both off is vanilla GIN."""
        single = {} if multi_channel else {"channels": (1,) * 5, "complement_channel": False}
        return cls(**{"learnable_adjacency": learnable_adjacency, **single, **changes})


class MessageLinear(ConditionalLinear):
    """A conditional linear map of CONCAT(A_c Z | c), one message-passing step.

    It is linear in Z, so Z is mapped to the (narrow) output before the messages are summed, which
    is C times less work than summing first.
    """

    def __init__(
        self,
        channels: int,
        features: int,
        width: int,
        table: LevelTable | None,
        *,
        generator: torch.Generator,
    ) -> None:
        super().__init__(channels * features, width, table, generator=generator)
        self.channels = channels

    def forward(  # type: ignore[override]
        self, messages: Tensor, z: Tensor, conditioning: Conditioning
    ) -> Tensor:
        """Return (B,N,width) from messages (B,N,N*C), row i holding A_[c,i,j], and z (B,N,F)."""
        batch, nodes, features = z.shape
        # Row (f, c) of the weight is for feature f of channel c, and messages come node by node,
        # channels side by side: both in the order in which they are needed, so nothing is moved.
        mapped = (z @ self.weight.view(features, -1)).view(batch, nodes * self.channels, -1)
        summed = torch.bmm(messages, mapped)
        gain, shift = self.gain_and_shift(conditioning)
        return scaled(summed, gain, shift)


class MultiChannelGNN(nn.Module):
    """M steps of GIN message passing over C adjacency channels at once (section 3.4.1).

    Step m sums A_c Z + (1 + epsilon_m) Z, which is (A_c + (1 + epsilon_m) I) Z.
    """

    def __init__(
        self,
        channels: int,
        width_in: int,
        settings: EDPGNNSettings,
        table: LevelTable,
        *,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        steps, width = settings.message_steps, settings.features
        node_table = table if settings.condition_nodes else None
        self.activation = ACTIVATIONS[settings.activation]
        self.bounded = settings.node_output == "tanh"
        self.epsilon = nn.Parameter(torch.zeros(steps))
        self.first = nn.ModuleList(
            MessageLinear(
                channels, width_in if step == 0 else width, width, node_table, generator=generator
            )
            for step in range(steps)
        )
        self.second = nn.ModuleList(
            ConditionalLinear(width, width, node_table, generator=generator) for _ in range(steps)
        )
        summed = settings.node_readout == "sum"
        self.width_out = width if summed else steps * width
        self.readouts = nn.ModuleList(
            ConditionalMLP([width] * 3, node_table, settings.activation, generator=generator)
            for _ in range(steps if summed else 0)
        )

    def _messages(self, adjs: Tensor) -> Iterator[Tensor]:
        """A_c + (1 + epsilon_m) I of each step, (B,N,N*C); to be used before the next is taken."""
        channels, nodes = adjs.shape[1:3]
        weights = 1 + self.epsilon
        if not torch.is_grad_enabled():
            # One copy, of which only the diagonal changes.
            messages = adjs.permute(0, 2, 3, 1).clone(memory_format=torch.contiguous_format)
            to_oneself = messages.diagonal(dim1=1, dim2=2)
            for weight in weights:
                to_oneself.copy_(weight)
                yield messages.flatten(2)
            return
        identity = torch.eye(nodes, dtype=adjs.dtype, device=adjs.device)
        identity = identity.unsqueeze(2).expand(-1, -1, channels).flatten(1)
        to_others = adjs.permute(0, 2, 3, 1).flatten(2)
        yield from torch.addcmul(to_others, identity, weights.view(-1, 1, 1, 1)).unbind(0)

    def forward(self, adjs: Tensor, z: Tensor, conditioning: Conditioning) -> Tensor:
        """Return node features (B,N,width_out) from adjs (B,C,N,N) and z (B,N,F)."""
        messages = self._messages(adjs)
        outputs = []
        for first, second, received in zip(self.first, self.second, messages):
            hidden = self.activation(first(received, z, conditioning))
            z = second(hidden, conditioning)
            if self.bounded:
                # Sums over neighbours grow with N and with the noise, step after step.
                z = torch.tanh(z)
            outputs.append(z)
        if not self.readouts:
            return torch.cat(outputs, dim=-1)
        read = [readout(z, conditioning) for readout, z in zip(self.readouts, outputs)]
        return torch.stack(read).sum(0)


class PairLinear(ConditionalLinear):
    """A conditional linear map of CONCAT(A_ij, z_i, z_j) for all pairs at once.

    It is linear in its three parts, so the parts of z are computed once per node and added to every
    pair instead of being computed N times.
    """

    def __init__(
        self,
        channels: int,
        features: int,
        width: int,
        table: LevelTable | None,
        *,
        generator: torch.Generator,
    ) -> None:
        super().__init__(channels + 2 * features, width, table, generator=generator)
        self.parts = [channels, features, features]

    def forward(  # type: ignore[override]
        self, z: Tensor, conditioning: Conditioning
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the parts of both nodes (B,N,width), and what A_ij is multiplied by (B,C,width).

        The three are how `PairWeights` begins.
        """
        gain, shift = self.gain_and_shift(conditioning)
        of_pair, of_first, of_second = torch.split(self.weight, self.parts)
        both = z @ torch.cat([of_first, of_second], dim=1)
        first, second = both.chunk(2, dim=2)
        first, second = scaled(first, gain, shift), second * gain
        return first, second, (of_pair * gain).expand(len(z), -1, -1)


class EdgeMLP(nn.Module):
    """New channels of a pair from its channels and its end points (section 3.4.2), symmetrised."""

    def __init__(
        self,
        channels_in: int,
        channels_out: int,
        width_node: int,
        settings: EDPGNNSettings,
        table: LevelTable,
        *,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        hidden = settings.edge_width
        self.activation = ACTIVATIONS[settings.activation]
        self.first = PairLinear(channels_in, width_node, hidden, table, generator=generator)
        self.second = ConditionalLinear(hidden, hidden, table, generator=generator)
        self.out = ConditionalLinear(hidden, channels_out, table, generator=generator)
        batch_norm = settings.edge_norm == "batch"
        self.norms = nn.ModuleList(MaskedBatchNorm(hidden) for _ in range(2 * batch_norm))
        self.plain = batch_norm or settings.activation != "silu"

    def forward(self, adjs: Tensor, z: Tensor, pairs: Tensor, conditioning: Conditioning) -> Tensor:
        """Return (B,C_out,N,N) from adjs (B,C_in,N,N), z (B,N,F) and the mask (B,1,N,N)."""
        row, column, first = self.first(z, conditioning)
        second, out = (layer.of_each_graph(conditioning) for layer in (self.second, self.out))
        weights = PairWeights(row, column, first, *second, *out)
        if self.plain:
            norms = [partial(norm, mask=pairs.flatten(2).mT) for norm in self.norms]
            new = plain_pair_mlp(adjs, weights, self.activation, norms)
        else:
            new = pair_mlp(adjs, weights)
        return (new + new.mT) * pairs


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
        >>> mask = torch.ones(2, 5, dtype=torch.bool)
        >>> network(torch.zeros(2, 5, 5), mask, torch.tensor([1.0, 0.1])).shape
        torch.Size([2, 5, 5])
    """

    recompute_layers: bool = False
    """Keep only what enters each layer for the gradient and compute the rest again: less memory,
    more time, the same gradient. A plain attribute to set at any time, not part of the settings."""

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
        gain = 1 / torch.tensor(sorted(sigmas)).unsqueeze(-1)
        with torch.no_grad():
            for layer in (self.final.first, self.final.last):
                if layer.columns is not None:
                    layer.columns.gain.copy_(gain)

    def edge_channels(
        self, adj: Tensor, node_mask: Tensor, sigma: Tensor, node_feat: Tensor | None = None
    ) -> list[Tensor]:
        """Return the adjacency channels (B,N,N,C) of the input and of every layer."""
        pairs = pair_mask(node_mask).to(adj.dtype).unsqueeze(1)
        channels = self._channels(adj, pairs, self._conditioning(sigma, adj.dtype), node_feat)
        return [adjs.permute(0, 2, 3, 1) for adjs in channels]

    def _conditioning(self, sigma: Tensor, dtype: torch.dtype) -> Conditioning:
        conditioning: Conditioning = self.table(self.level_weights(sigma, dtype))
        return conditioning

    def _channels(
        self, adj: Tensor, pairs: Tensor, conditioning: Conditioning, node_feat: Tensor | None
    ) -> list[Tensor]:
        adjs = adj.unsqueeze(1) * pairs
        z = _degrees(adjs)
        if self.settings.complement_channel:
            adjs = torch.cat([adjs, pairs - adjs], dim=1)
        given = 0 if node_feat is None else node_feat.shape[-1]
        if given != self.settings.node_feat_dim:
            raise GraphDataError(
                f"got {given} node features, but the network was made for "
                f"{self.settings.node_feat_dim}. Set node_feat_dim to the width of the data's."
            )
        if node_feat is not None:
            z = torch.cat([node_feat, z], dim=-1)
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
        if self.recompute_layers and torch.is_grad_enabled():
            return recomputed(part, *arguments, statistics=list(self.buffers()))
        return part(*arguments)

    def forward(
        self, adj: Tensor, node_mask: Tensor, sigma: Tensor, node_feat: Tensor | None = None
    ) -> Tensor:
        """Return the score (B,N,N).

        Args:
            adj: (B,N,N) noisy adjacency.
            node_mask: (B,N) bool.
            sigma: (B,) standard deviation of the noise of each graph.
            node_feat: (B,N,F) features from the data, if the settings ask for them.

        Raises:
            GraphDataError: `node_feat` is not as wide as the settings say.
        """
        pairs = pair_mask(node_mask).to(adj.dtype).unsqueeze(1)
        conditioning = self._conditioning(sigma, adj.dtype)
        channels = self._channels(adj, pairs, conditioning, node_feat)
        # All channels are symmetric, so the output MLP sees each unordered pair once.
        x = torch.cat([one_of_each_pair(adjs) for adjs in channels], dim=1)
        score: Tensor = self._run(self._output, x, conditioning)
        return matrix_of_pairs(score.squeeze(1), adj.shape[1]) * pairs.squeeze(1)

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
