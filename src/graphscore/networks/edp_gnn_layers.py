"""The layers of EDP-GNN: message passing over several channels, and the MLP of pairs.

The adjacency channels are `adjs (B,C,N,N)`, one matrix after the other and not channel last: there
are few channels, and processors work best along long rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor, nn

from graphscore.networks.conditioning import (
    ACTIVATIONS,
    ConditionalLinear,
    ConditionalMLP,
    Conditioning,
    LevelTable,
    scaled,
)
from graphscore.networks.normalisation import MaskedBatchNorm
from graphscore.networks.pair_mlp import PairWeights, pair_mlp, plain_pair_mlp
from graphscore.networks.settings import EDPGNNSettings


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
