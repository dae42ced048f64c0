"""Which graphs a step sees: random, equally often, and in batches of similar size."""

from __future__ import annotations

import torch
from torch import Tensor

from graphscore.seeding import torch_generator

WINDOW = 8
"""Batches whose graphs are sorted among each other, and whose indices are prepared at a time."""


class BatchOrder:
    """The graphs of every step, a function of the seed and the step alone.

    The graphs follow each other in one random order of all of them after the other. A batch is as
    wide as its largest graph, and what a network does with the rest of the width is wasted.
    Therefore the graphs of several batches are sorted by size, cut into batches again, and the
    batches shuffled. Sorting never reaches over more graphs than there are, so that a batch does
    not fill with copies of a few graphs of its size.

    Attributes:
        widest: number of the graph that needs the largest width.
        sorts: whether graphs of similar size are put together.

    Args:
        node_mask: (B,N) of all graphs.
        batch_size: graphs per step; may be more than B.
        seed: fixes the order.
        device: where `indices` are wanted.
        bucketing: put graphs of similar size together.
    """

    def __init__(
        self,
        node_mask: Tensor,
        batch_size: int,
        *,
        seed: int,
        device: torch.device | str = "cpu",
        bucketing: bool = True,
    ) -> None:
        mask = node_mask.cpu()
        # The last node's place, not the number of nodes: a mask may have gaps.
        self._widths = (mask * torch.arange(1, mask.shape[1] + 1)).amax(1)
        self._batch_size = batch_size
        self._seed = seed
        self._device = torch.device(device)
        within = min(WINDOW, len(mask) // batch_size)
        one_width = bool((self._widths == self._widths[0]).all())
        self.sorts = bucketing and within > 1 and not one_width
        self._batches = within if self.sorts else WINDOW
        self.widest = int(self._widths.argmax())
        self._current = -1
        self._indices = torch.empty(0)
        self._batch_widths: list[int] = []

    def indices(self, step: int) -> Tensor:
        """Return the numbers (batch,) of the graphs of one step, on the device."""
        self._prepare(step)
        return self._indices[step % self._batches]

    def width(self, step: int) -> int:
        """Return the width N that the graphs of one step need."""
        self._prepare(step)
        return self._batch_widths[step % self._batches]

    def _prepare(self, step: int) -> None:
        window = step // self._batches
        if window == self._current:
            return
        chosen = self._window(window)
        self._batch_widths = self._widths[chosen].amax(1).tolist()
        if self._device.type == "cuda":
            # From ordinary memory the copy would wait for everything the device has to do.
            chosen = chosen.pin_memory()
        self._indices = chosen.to(self._device, non_blocking=True)
        self._current = window

    def _window(self, window: int) -> Tensor:
        """Return the graphs of a window's batches, (batches, batch)."""
        length = self._batches * self._batch_size
        chosen = self._stream(window * length, length)
        if not self.sorts:
            return chosen.view(self._batches, -1)
        # Stable, so graphs of one size stay in random order.
        order = self._widths[chosen].sort(stable=True).indices
        batches = chosen[order].view(self._batches, -1)
        generator = torch_generator(self._seed, "order of batches", window)
        return batches[torch.randperm(self._batches, generator=generator)]

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
