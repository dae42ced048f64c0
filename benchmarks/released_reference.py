"""A plain EDP-GNN with the structure of the released program, as the reference that speed is a
ratio to.

Written from a description of that program's structure (batch normalisation and ELU in a three-layer
edge MLP on the full concatenation, self-loops, tanh, summed read-outs, degrees appended at every
layer, channels 2-2-4-4-4-2), sized to the same arithmetic (8 MFLOP for a graph of 20 nodes). It is
used for timing only.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

CHANNELS = (2, 2, 4, 4, 4, 2)
FEATURES = 16
STEPS = 4
HIDDEN = 28


class Conditional(nn.Module):
    def __init__(self, width_in: int, width_out: int, levels: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width_in, width_out)
        self.gain = nn.Embedding(levels, width_out)
        self.shift = nn.Embedding(levels, width_out)

    def forward(self, x: Tensor, level: Tensor) -> Tensor:
        shape = (len(x),) + (1,) * (x.ndim - 2) + (-1,)
        return self.linear(x) * self.gain(level).view(shape) + self.shift(level).view(shape)


class EdgeMLP(nn.Module):
    def __init__(self, width_in: int, width_out: int, levels: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            [
                Conditional(width_in, HIDDEN, levels),
                Conditional(HIDDEN, HIDDEN, levels),
                Conditional(HIDDEN, width_out, levels),
            ]
        )
        self.norms = nn.ModuleList([nn.BatchNorm1d(HIDDEN), nn.BatchNorm1d(HIDDEN)])

    def forward(self, x: Tensor, level: Tensor) -> Tensor:
        for layer, norm in zip(self.layers, self.norms):
            x = layer(x, level)
            x = norm(x.flatten(0, -2)).view_as(x)
            x = nn.functional.elu(x)
        return self.layers[-1](x, level)


class Layer(nn.Module):
    def __init__(self, c_in: int, c_out: int, features: int, levels: int) -> None:
        super().__init__()
        self.epsilon = nn.Parameter(torch.zeros(STEPS))
        widths = [features] + [FEATURES] * (STEPS - 1)
        self.node = nn.ModuleList(
            nn.Sequential(nn.Linear(c_in * w, FEATURES), nn.ELU(), nn.Linear(FEATURES, FEATURES))
            for w in widths
        )
        self.readout = nn.ModuleList(
            nn.Sequential(nn.Linear(FEATURES, FEATURES), nn.ELU(), nn.Linear(FEATURES, FEATURES))
            for _ in widths
        )
        self.edge = EdgeMLP(c_in + 2 * FEATURES, c_out, levels)

    def forward(self, adj: Tensor, z: Tensor, level: Tensor) -> tuple[Tensor, Tensor]:
        nodes = adj.shape[-1]
        looped = adj + torch.eye(nodes)
        total = torch.zeros(())
        for epsilon, mlp, readout in zip(self.epsilon, self.node, self.readout):
            summed = looped @ z.unsqueeze(1) + epsilon * z.unsqueeze(1)
            z = torch.tanh(mlp(summed.transpose(1, 2).flatten(2)))
            total = total + readout(z)
        left = total.unsqueeze(2).expand(-1, -1, nodes, -1)
        right = total.unsqueeze(1).expand(-1, nodes, -1, -1)
        pairs = torch.cat([adj.permute(0, 2, 3, 1), left, right], dim=-1)
        edges = self.edge(pairs, level).permute(0, 3, 1, 2)
        return edges + edges.transpose(2, 3), total


class ReleasedReference(nn.Module):
    def __init__(self, levels: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList()
        features = 1
        for c_in, c_out in pairwise(CHANNELS):
            self.layers.append(Layer(c_in, c_out, features + c_in, levels))
            features = FEATURES
        self.final = EdgeMLP(sum(CHANNELS), 1, levels)

    def forward(self, adj: Tensor, level: Tensor) -> Tensor:
        channels = torch.stack([adj, 1 - adj], dim=1)
        z = adj.sum(-1, keepdim=True)
        collected = [channels]
        for layer in self.layers:
            z = torch.cat([z, channels.sum(-1).transpose(1, 2)], dim=-1)
            channels, z = layer(channels, z, level)
            collected.append(channels)
        return self.final(torch.cat(collected, dim=1).permute(0, 2, 3, 1), level).squeeze(-1)
