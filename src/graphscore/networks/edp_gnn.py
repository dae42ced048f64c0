"""EDP-GNN, the paper's score network (section 3.4), with vanilla GIN and the ablations."""

from __future__ import annotations

from typing import Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from graphscore.errors import GraphDataError
from graphscore.graphs.batch import pair_mask
from graphscore.networks.conditioning import (
    ACTIVATIONS,
    ConditionalLinear,
    ConditionalMLP,
    LevelWeights,
)
from graphscore.networks.normalisation import MaskedBatchNorm
from graphscore.settings import Settings


class EDPGNNSettings(Settings):
    """Shape of an EDP-GNN; the defaults are the paper's text and appendix.

    >>> EDPGNNSettings().channels
    (4, 4, 4, 4, 4)
    """

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
    """A conditional linear map of CONCAT(A_c Z + (1 + epsilon) Z | c), one message-passing step.

    It is linear in Z, so Z is mapped to the (narrow) output before the messages are summed, which
    is C times less work than summing first.
    """

    def __init__(
        self, channels: int, features: int, width: int, levels: int, *, generator: torch.Generator
    ) -> None:
        super().__init__(channels * features, width, levels, generator=generator)
        self.channels = channels
        self.epsilon = nn.Parameter(torch.zeros(()))

    def forward(  # type: ignore[override]
        self, messages: Tensor, z: Tensor, level_weights: Tensor
    ) -> Tensor:
        """Return (B,N,width) from messages (B,N,C*N), row i holding A_[c,i,j], and z (B,N,F)."""
        batch, nodes, features = z.shape
        weight = self.weight.view(self.channels, features, -1)
        mapped = (z @ weight.transpose(0, 1).flatten(1)).view(batch, nodes, self.channels, -1)
        own = z @ ((1 + self.epsilon) * weight.sum(0))
        summed = torch.baddbmm(own, messages, mapped.transpose(1, 2).flatten(1, 2))
        gain, shift = self.gain_and_shift(level_weights)
        return torch.addcmul(shift, summed, gain)


class MultiChannelGNN(nn.Module):
    """M steps of GIN message passing over C adjacency channels at once (section 3.4.1)."""

    def __init__(
        self,
        channels: int,
        width_in: int,
        settings: EDPGNNSettings,
        levels: int,
        *,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        steps, width = settings.message_steps, settings.features
        levels = levels if settings.condition_nodes else 0
        self.activation = ACTIVATIONS[settings.activation]
        self.bounded = settings.node_output == "tanh"
        self.first = nn.ModuleList(
            MessageLinear(
                channels, width_in if step == 0 else width, width, levels, generator=generator
            )
            for step in range(steps)
        )
        self.second = nn.ModuleList(
            ConditionalLinear(width, width, levels, generator=generator) for _ in range(steps)
        )
        summed = settings.node_readout == "sum"
        self.width_out = width if summed else steps * width
        self.readouts = nn.ModuleList(
            ConditionalMLP([width] * 3, levels, settings.activation, generator=generator)
            for _ in range(steps if summed else 0)
        )

    def forward(self, edge_feat: Tensor, z: Tensor, level_weights: Tensor) -> Tensor:
        """Return node features (B,N,width_out) from edge_feat (B,N,N,C) and z (B,N,F)."""
        messages = edge_feat.transpose(2, 3).flatten(2)
        outputs = []
        for first, second in zip(self.first, self.second):
            hidden = self.activation(first(messages, z, level_weights))
            z = second(hidden, level_weights)
            if self.bounded:
                # Sums over neighbours grow with N and with the noise, step after step.
                z = torch.tanh(z)
            outputs.append(z)
        if not self.readouts:
            return torch.cat(outputs, dim=-1)
        read = [readout(z, level_weights) for readout, z in zip(self.readouts, outputs)]
        return torch.stack(read).sum(0)


class PairLinear(ConditionalLinear):
    """A conditional linear map of CONCAT(A_ij, z_i, z_j) for all pairs at once.

    It is linear in its three parts, so the parts of z are computed once per node and added to every
    pair instead of being computed N times.
    """

    def __init__(
        self, channels: int, features: int, width: int, levels: int, *, generator: torch.Generator
    ) -> None:
        super().__init__(channels + 2 * features, width, levels, generator=generator)
        self.parts = [channels, features, features]

    def forward(  # type: ignore[override]
        self, edge_feat: Tensor, z: Tensor, level_weights: Tensor
    ) -> Tensor:
        """Return (B,N,N,width) from edge_feat (B,N,N,C) and z (B,N,F)."""
        batch, width = z.shape[:2]
        gain, shift = self.gain_and_shift(level_weights)
        of_pair, of_first, of_second = torch.split(self.weight, self.parts)
        first = torch.addcmul(shift, z @ of_first, gain)
        second = (z @ of_second) * gain
        pair = torch.bmm(edge_feat.flatten(1, 2), (of_pair * gain).expand(batch, -1, -1))
        # The first sum is a new tensor: in place on a view would cost copies in the gradient.
        out = pair.view(batch, width, width, -1) + first.unsqueeze(2)
        return out.add_(second.unsqueeze(1))


class EdgeMLP(nn.Module):
    """New channels of a pair from its channels and its end points (section 3.4.2), symmetrised."""

    def __init__(
        self,
        channels_in: int,
        channels_out: int,
        width_node: int,
        settings: EDPGNNSettings,
        levels: int,
        *,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        hidden = settings.edge_width
        self.activation = ACTIVATIONS[settings.activation]
        self.first = PairLinear(channels_in, width_node, hidden, levels, generator=generator)
        self.second = ConditionalLinear(hidden, hidden, levels, generator=generator)
        self.out = ConditionalLinear(hidden, channels_out, levels, generator=generator)
        batch_norm = settings.edge_norm == "batch"
        self.norms = nn.ModuleList(MaskedBatchNorm(hidden) for _ in range(2 * batch_norm))

    def forward(self, edge_feat: Tensor, z: Tensor, pairs: Tensor, level_weights: Tensor) -> Tensor:
        """Return (B,N,N,C_out) from edge_feat (B,N,N,C_in) and z (B,N,F)."""
        batch, width = z.shape[:2]
        x = self.first(edge_feat, z, level_weights).flatten(1, 2)
        if self.norms:
            x = self.norms[0](x, pairs.flatten(1, 2))
        x = self.second(self.activation(x), level_weights)
        if self.norms:
            x = self.norms[1](x, pairs.flatten(1, 2))
        out: Tensor = self.out(self.activation(x), level_weights)
        out = out.view(batch, width, width, -1)
        return (out + out.transpose(1, 2)) * pairs


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

    def __init__(
        self, settings: EDPGNNSettings, sigmas: tuple[float, ...], *, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.settings = settings
        self.level_weights = LevelWeights(sigmas)
        levels = len(sigmas)
        input_channels = 1 + settings.complement_channel
        channels_in, width = input_channels, 1 + settings.node_feat_dim
        gnns: list[MultiChannelGNN] = []
        edge_mlps: list[EdgeMLP] = []
        for channels_out in settings.channels:
            node_in = width + settings.append_degrees * channels_in
            gnn = MultiChannelGNN(channels_in, node_in, settings, levels, generator=generator)
            gnns.append(gnn)
            width = gnn.width_out
            edge_mlps.append(
                EdgeMLP(channels_in, channels_out, width, settings, levels, generator=generator)
            )
            if settings.learnable_adjacency:
                channels_in = channels_out
        self.gnns = nn.ModuleList(gnns)
        self.edge_mlps = nn.ModuleList(edge_mlps)
        hidden = settings.edge_width
        total = input_channels + sum(settings.channels)
        self.final = ConditionalMLP(
            [total, hidden, hidden, 1], levels, settings.activation, generator=generator
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
                if layer.gain is not None:
                    layer.gain.copy_(gain.expand_as(layer.gain))

    def edge_channels(
        self, adj: Tensor, node_mask: Tensor, sigma: Tensor, node_feat: Tensor | None = None
    ) -> list[Tensor]:
        """Return the adjacency channels (B,N,N,C) of the input and of every layer."""
        pairs = pair_mask(node_mask).to(adj.dtype).unsqueeze(-1)
        return self._channels(adj, pairs, self.level_weights(sigma, adj.dtype), node_feat)

    def _channels(
        self, adj: Tensor, pairs: Tensor, level_weights: Tensor, node_feat: Tensor | None
    ) -> list[Tensor]:
        edge_feat = adj.unsqueeze(-1) * pairs
        z = edge_feat.sum(2)
        if self.settings.complement_channel:
            edge_feat = torch.cat([edge_feat, pairs - edge_feat], dim=-1)
        given = 0 if node_feat is None else node_feat.shape[-1]
        if given != self.settings.node_feat_dim:
            raise GraphDataError(
                f"got {given} node features, but the network was made for "
                f"{self.settings.node_feat_dim}. Set node_feat_dim to the width of the data's."
            )
        if node_feat is not None:
            z = torch.cat([node_feat, z], dim=-1)
        channels = [edge_feat]
        for gnn, edge_mlp in zip(self.gnns, self.edge_mlps):
            if self.settings.append_degrees:
                z = torch.cat([z, edge_feat.sum(2)], dim=-1)
            z = gnn(edge_feat, z, level_weights)
            updated = edge_mlp(edge_feat, z, pairs, level_weights)
            channels.append(updated)
            if self.settings.learnable_adjacency:
                edge_feat = updated
        return channels

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
        pairs = pair_mask(node_mask).to(adj.dtype).unsqueeze(-1)
        level_weights = self.level_weights(sigma, adj.dtype)
        channels = torch.cat(self._channels(adj, pairs, level_weights, node_feat), dim=-1)
        # All channels are symmetric, so the output MLP sees each unordered pair once.
        nodes = adj.shape[1]
        row, column = torch.triu_indices(nodes, nodes, 1, device=adj.device)
        upper = row * nodes + column
        score: Tensor = self.final(channels.flatten(1, 2).index_select(1, upper), level_weights)
        full = adj.new_zeros(len(adj), nodes * nodes)
        full[:, upper] = score.squeeze(-1)
        full = full.view_as(adj)
        return (full + full.mT) * pairs.squeeze(-1)
