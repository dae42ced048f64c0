"""The exponential moving average of weights that sampling uses."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class MovingAverage:
    """Average of a network's parameters over training; buffers are copied as they are.

    The decay rises as (1 + t) / (10 + t) up to its final value, so that the first steps do not
    hold on to the random initial weights.
    """

    def __init__(self, network: nn.Module, decay: float) -> None:
        self.decay = decay
        self._parameters = [p.detach() for p in network.parameters()]
        self._buffers = dict(network.named_buffers())
        self._names = [name for name, _ in network.named_parameters()]
        self.averages = [p.clone() for p in self._parameters]

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Move towards the current parameters after optimiser step number `step` (from 1)."""
        decay = min(self.decay, (1 + step) / (10 + step))
        torch._foreach_lerp_(self.averages, self._parameters, 1 - decay)

    def state_dict(self) -> dict[str, Tensor]:
        """Return the averaged weights under the network's names, with its current buffers."""
        return {**dict(zip(self._names, self.averages)), **self._buffers}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Continue from averages stored earlier."""
        for name, average in zip(self._names, self.averages):
            average.copy_(state[name])
