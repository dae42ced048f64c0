"""The exponential moving average of weights that sampling uses."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class MovingAverage:
    """Average over training of a network's parameters and buffers.

    Buffers (batch statistics) take part because they belong to the weights they were seen with.
    The decay rises as (1 + t) / (10 + t) up to its final value, so that the first steps do not
    hold on to the random initial weights.
    """

    def __init__(self, network: nn.Module, decay: float) -> None:
        self.decay = decay
        current = network.state_dict()
        self._names = list(current)
        self._current = list(current.values())
        self._averages = [tensor.clone() for tensor in self._current]

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Move towards the current values after optimiser step number `step` (from 1)."""
        decay = min(self.decay, (1 + step) / (10 + step))
        torch._foreach_lerp_(self._averages, self._current, 1 - decay)

    def state_dict(self) -> dict[str, Tensor]:
        """Return the averages under the network's names."""
        return dict(zip(self._names, self._averages))

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Continue from averages stored earlier."""
        for name, average in zip(self._names, self._averages):
            average.copy_(state[name])
