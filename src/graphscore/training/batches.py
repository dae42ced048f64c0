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
        chosen = self._choose(window)
        self._batch_widths = self._widths[chosen].tolist()
        if self._device.type == "cuda":
            # From ordinary memory the copy would wait for everything the device has to do.
            chosen = chosen.pin_memory()
        self._indices = chosen.to(self._device, non_blocking=True)
        self._current = window

    def _choose(self, window: int) -> Tensor:
        """Return the graphs (PREPARED, batch) of some steps that follow each other."""
        length = PREPARED * self._batch_size
        chosen = self._stream(window * length, length).view(PREPARED, -1)
        if self._sort:
            chosen = chosen.gather(1, self._widths[chosen].sort(dim=1, stable=True).indices)
        return chosen

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


class SizeStrata(BatchOrder):
    """Batches that all need the same widths: place i of a batch takes one of the i-th of its equal
    parts of the graphs sorted by width.

    All graphs come equally often, but are drawn anew at every step instead of once in every order.

    Args:
        node_mask, batch_size, seed, device: as of `BatchOrder`.
    """

    def __init__(
        self, node_mask: Tensor, batch_size: int, *, seed: int, device: torch.device | str = "cpu"
    ) -> None:
        super().__init__(node_mask, batch_size, seed=seed, device=device)
        self._by_width = self._widths.sort(stable=True).indices
        count = len(self._widths)
        # A part may begin and end within a graph, which then belongs to two of them.
        last = [(place * count - 1) // batch_size for place in range(1, batch_size + 1)]
        self._last = torch.tensor(last)
        self._place_widths = self._widths[self._by_width[self._last]].tolist()

    def widths(self, _: int = 0) -> list[int]:
        """Return the width N that each place of every batch needs, ascending."""
        return self._place_widths

    def _choose(self, window: int) -> Tensor:
        generator = torch_generator(self._seed, "order", window)
        shape = PREPARED, self._batch_size
        within = torch.rand(shape, generator=generator, dtype=torch.float64)
        part = (torch.arange(self._batch_size) + within) / self._batch_size
        # Rounding must not reach into the next part, whose graphs may be wider.
        return self._by_width[torch.minimum((part * len(self._widths)).long(), self._last)]
