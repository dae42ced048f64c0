"""The exponential moving average of weights that sampling uses."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class MovingAverage:
    """Average over training of a network's parameters and buffers.

    Buffers (batch statistics) take part because they belong to the weights they were seen with.
    The decay rises as (1 + t) / (10 + t) up to its final value, so that the first steps do not
    hold on to the random initial weights.

    All averages lie side by side in one tensor, so that an update is two operations and not two
    per weight.
    """

    def __init__(self, network: nn.Module, decay: float) -> None:
        self.decay = decay
        self._current = network.state_dict()
        self._names = [name for name, t in self._current.items() if t.is_floating_point()]
        self._averages = self._flat()
        self._weight = self._averages.new_zeros(())

    def _flat(self) -> Tensor:
        return torch.cat([self._current[name].flatten() for name in self._names])

    def schedule(self, step: int) -> None:
        """Set how far the update after optimiser step number `step` (from 1) moves."""
        self._weight.fill_(1 - min(self.decay, (1 + step) / (10 + step)))

    @torch.no_grad()
    def update(self) -> None:
        """Move towards the current values; decides nothing on the host."""
        self._averages.lerp_(self._flat(), self._weight)

    def state_dict(self) -> dict[str, Tensor]:
        """Return the averages under the network's names; counters are the network's own."""
        like = [self._current[name] for name in self._names]
        parts = torch.split(self._averages, [tensor.numel() for tensor in like])
        averages = [part.view_as(tensor) for part, tensor in zip(parts, like)]
        return {**self._current, **dict(zip(self._names, averages))}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Continue from averages stored earlier."""
        averages = self.state_dict()
        for name in self._names:
            averages[name].copy_(state[name])
