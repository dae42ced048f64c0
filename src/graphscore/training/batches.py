"""Which graphs a step sees: random, and all equally often."""

from __future__ import annotations

import torch
from torch import Tensor

from graphscore.seeding import torch_generator

PREPARED = 8
"""Batches whose indices are brought to the device at a time."""


class BatchOrder:
    """The graphs of every step, a function of the seed and the step alone.

    The batches laid end to end are one random order of all graphs after the other; within a batch
    the graphs may be sorted by width, which changes nothing about what is learnt.

    Attributes:
        widest: number of the graph that needs the largest width.

    Args:
        node_mask: (B,N) of all graphs.
        batch_size: graphs per step; may be more than B.
        seed: fixes the order.
        device: where `indices` are wanted.
        sort: sort the graphs of each batch by the width they need.
    """

    def __init__(
        self,
        node_mask: Tensor,
        batch_size: int,
        *,
        seed: int,
        device: torch.device | str = "cpu",
        sort: bool = True,
    ) -> None:
        mask = node_mask.cpu()
        # The last node's place, not the number of nodes: a mask may have gaps.
        self._widths = (mask * torch.arange(1, mask.shape[1] + 1)).amax(1)
        self._batch_size = batch_size
        self._seed = seed
        self._device = torch.device(device)
        self._sort = sort
        self.widest = int(self._widths.argmax())
        self._current = -1
        self._indices = torch.empty(0)
        self._batch_widths: list[list[int]] = []

    def indices(self, step: int) -> Tensor:
        """Return the numbers (batch,) of the graphs of one step, on the device."""
        self._prepare(step)
        return self._indices[step % PREPARED]

    def widths(self, step: int) -> list[int]:
        """Return the width N that each graph of one step needs."""
        self._prepare(step)
        return self._batch_widths[step % PREPARED]

    def _prepare(self, step: int) -> None:
        window = step // PREPARED
        if window == self._current:
            return
        length = PREPARED * self._batch_size
        chosen = self._stream(window * length, length).view(PREPARED, -1)
        if self._sort:
            chosen = chosen.gather(1, self._widths[chosen].sort(dim=1, stable=True).indices)
        self._batch_widths = self._widths[chosen].tolist()
        if self._device.type == "cuda":
            # From ordinary memory the copy would wait for everything the device has to do.
            chosen = chosen.pin_memory()
        self._indices = chosen.to(self._device, non_blocking=True)
        self._current = window

    def _stream(self, position: int, length: int) -> Tensor:
        """Return part of the random orders of all graphs laid end to end."""
        count = len(self._widths)
        first, last = position // count, (position + length - 1) // count
        orders = [
            torch.randperm(count, generator=torch_generator(self._seed, "order", epoch))
            for epoch in range(first, last + 1)
        ]
        start = position - first * count
        return torch.cat(orders)[start : start + length]
