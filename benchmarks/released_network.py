"""A plain EDP-GNN with the structure and widths of the released program: the speed reference.

Written from a description of that program (edge MLPs of three layers on the full concatenation
with batch normalisation and ELU, as wide as twice the channels; self-loops; tanh; read-outs summed
over steps; degrees appended at every layer; channels 2-2-4-4-4-2; level gains by position). It is
used for timing only.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

CHANNELS = (2, 2, 4, 4, 4, 2)
FEATURES = 16
STEPS = 4


class ConditionalMLP(nn.Module):
    def __init__(self, width_in: int, hidden: int, width_out: int, levels: int, norm: bool) -> None:
        super().__init__()
        self.levels = levels
        widths = [(width_in, hidden), (hidden, hidden)]
        self.linears = nn.ModuleList(nn.Linear(*pair) for pair in widths)
        self.norms = nn.ModuleList(nn.BatchNorm1d(hidden) for _ in widths if norm)
        self.gains = nn.ParameterList(torch.ones(levels, 1, hidden) for _ in widths)
        self.shifts = nn.ParameterList(torch.zeros(levels, 1, hidden) for _ in widths)
        self.last = nn.Linear(hidden, width_out)

    def forward(self, x: Tensor) -> Tensor:
        for index, linear in enumerate(self.linears):
            x = linear(x)
            if self.norms:
                x = self.norms[index](x)
            grouped = x.view(self.levels, -1, x.shape[-1])
            grouped = grouped * self.gains[index] + self.shifts[index]
            x = nn.functional.elu(grouped.view(-1, x.shape[-1]))
        out: Tensor = self.last(x)
        return out


class Layer(nn.Module):
    def __init__(self, c_in: int, c_out: int, features: int, levels: int) -> None:
        super().__init__()
        self.epsilon = nn.Parameter(torch.zeros(STEPS))
        widths = [features] + [FEATURES] * STEPS
        hidden = 2 * max(widths)
        self.node = nn.ModuleList(
            nn.Sequential(nn.Linear(c_in * w, hidden), nn.ReLU(), nn.Linear(hidden, FEATURES))
            for w in widths[:-1]
        )
        self.readout = nn.ModuleList(
            nn.Sequential(nn.Linear(w, hidden), nn.LeakyReLU(), nn.Linear(hidden, FEATURES))
            for w in widths
        )
        hidden = 2 * max(c_in, c_out)
        self.edge = ConditionalMLP(c_in + 2 * FEATURES, hidden, c_out, levels, norm=True)

    def forward(self, adj: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        nodes = adj.shape[-1]
        looped = adj + torch.eye(nodes)
        total = self.readout[0](z)
        for epsilon, mlp, readout in zip(self.epsilon, self.node, self.readout[1:]):
            summed = torch.matmul(looped, z.unsqueeze(1)).permute(0, 2, 1, 3).flatten(2)
            summed = summed + epsilon * torch.cat([z] * adj.shape[1], dim=-1)
            z = torch.tanh(mlp(summed))
            total = total + readout(z)
        left = total.unsqueeze(2).expand(-1, -1, nodes, -1)
        right = total.unsqueeze(1).expand(-1, nodes, -1, -1)
        pairs = torch.cat([adj.permute(0, 2, 3, 1), left, right], dim=-1)
        edges = self.edge(pairs.view(-1, pairs.shape[-1]))
        edges = edges.view(*pairs.shape[:3], -1).permute(0, 3, 1, 2)
        return edges + edges.transpose(2, 3), total


class ReleasedNetwork(nn.Module):
    """forward(adj (B,N,N)) with the batch ordered by noise level, as that program does."""

    def __init__(self, levels: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList()
        features = 1
        for c_in, c_out in pairwise(CHANNELS):
            self.layers.append(Layer(c_in, c_out, features + c_in, levels))
            features = FEATURES
        total = sum(CHANNELS)
        self.final = ConditionalMLP(total, 2 * total, 1, levels, norm=False)

    def forward(self, adj: Tensor) -> Tensor:
        channels = torch.stack([adj, 1 - adj], dim=1)
        z = adj.sum(-1, keepdim=True)
        collected = [channels]
        for layer in self.layers:
            z = torch.cat([z, channels.sum(-1).transpose(1, 2)], dim=-1)
            channels, z = layer(channels, z)
            collected.append(channels)
        pairs = torch.cat(collected, dim=1).permute(0, 2, 3, 1)
        score: Tensor = self.final(pairs.reshape(-1, pairs.shape[-1]))
        return score.view_as(adj)
