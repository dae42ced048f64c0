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
        self._current = network.state_dict()
        self._averages = {
            name: tensor.clone()
            for name, tensor in self._current.items()
            if tensor.is_floating_point()
        }

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Move towards the current values after optimiser step number `step` (from 1)."""
        decay = min(self.decay, (1 + step) / (10 + step))
        current = [self._current[name] for name in self._averages]
        torch._foreach_lerp_(list(self._averages.values()), current, 1 - decay)

    def state_dict(self) -> dict[str, Tensor]:
        """Return the averages under the network's names; counters are the network's own."""
        return {**self._current, **self._averages}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Continue from averages stored earlier."""
        for name, average in self._averages.items():
            average.copy_(state[name])
