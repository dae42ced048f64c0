"""Which graphs a step sees, and which of them are computed together.

Batches are random and contain all graphs equally often. Within a batch, graphs of similar size are
put into buckets, so that little padding is computed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import Any, Protocol

import torch
from torch import Tensor

from graphscore.errors import GraphDataError
from graphscore.graphs.batch import GraphBatch
from graphscore.seeding import torch_generator

PREPARED = 8
"""Batches whose indices are brought to the device at a time."""


class Batches(Protocol):
    """Where the trainer's batches come from."""

    batch_size: int

    def batch(self, step: int) -> Any:
        """Return the batch of one step."""

    def widths(self, step: int) -> list[int]:
        """Return the width N that each graph of one step needs, ascending."""

    def largest(self) -> GraphBatch | None:
        """Return a batch of the largest graph, by which memory is planned; None: do not plan."""

    def load(self, step: int) -> None:
        """Bring the batch of one step to memory that stays where it is, for a CUDA graph."""

    def loaded(self) -> Any:
        """Return the batch that was loaded last; decides nothing on the host."""


class BatchSampler:
    """The graphs of every step, a function of the seed and the step alone.

    The batches laid end to end are one random order of all graphs after the other; within a batch
    the graphs may be sorted by width, which does not change the gradient.

    Args:
        data: all training graphs, on the device.
        batch_size: graphs per step; may be more than there are.
        seed: fixes the order.
        sort: sort the graphs of each batch by the width they need.
        trim: cut each batch to its largest graph; steps of fixed shape turn it off.

    Raises:
        GraphDataError: there are no graphs.
    """

    def __init__(
        self,
        data: GraphBatch,
        batch_size: int,
        *,
        seed: int,
        sort: bool = True,
        trim: bool = True,
    ) -> None:
        if not len(data):
            raise GraphDataError("no graphs to train on; give at least one.")
        self.data = data
        self.trim = trim
        self.batch_size = batch_size
        mask = data.node_mask.cpu()
        # The last node's place, not the number of nodes: a mask may have gaps.
        self._widths = (mask * torch.arange(1, mask.shape[1] + 1)).amax(1)
        self._seed = seed
        self._sort = sort
        self._prepared: dict[int, tuple[Tensor, list[list[int]]]] = {}
        self._loaded = torch.empty(batch_size, dtype=torch.int64, device=data.adj.device)

    def batch(self, step: int) -> GraphBatch:
        """Return the graphs of one step."""
        data = self.data.narrowed(max(1, *self.widths(step))) if self.trim else self.data
        return data[self.indices(step)]

    def load(self, step: int) -> None:
        """Choose the graphs of one step, for a CUDA graph."""
        self._loaded.copy_(self.indices(step))

    def loaded(self) -> GraphBatch:
        """Return the graphs that were chosen last, all as wide as the data."""
        return self.data[self._loaded]

    def indices(self, step: int) -> Tensor:
        """Return the numbers (batch,) of the graphs of one step, on the device."""
        indices, _ = self._window(step)
        return indices[step % PREPARED]

    def widths(self, step: int) -> list[int]:
        """Return the width N that each graph of one step needs."""
        _, widths = self._window(step)
        return widths[step % PREPARED]

    def largest(self) -> GraphBatch:
        """Return a batch of the graph that needs the largest width, as wide as it is computed."""
        widest = int(self._widths.argmax())
        graph = self.data[widest : widest + 1]
        return graph.trimmed() if self.trim else graph

    def _window(self, step: int) -> tuple[Tensor, list[list[int]]]:
        """Return the graphs and widths of the steps that are prepared with this one."""
        window = step // PREPARED
        if window not in self._prepared:
            chosen = self._choose(window)
            widths = self._widths[chosen].tolist()
            device = self.data.adj.device
            if device.type == "cuda":
                # From ordinary memory the copy would wait for everything the device has to do.
                chosen = chosen.pin_memory()
            self._prepared = {window: (chosen.to(device, non_blocking=True), widths)}
        return self._prepared[window]

    def _choose(self, window: int) -> Tensor:
        """Return the graphs (PREPARED, batch) of consecutive steps."""
        length = PREPARED * self.batch_size
        chosen = self._stream(window * length, length).view(PREPARED, -1)
        if self._sort:
            chosen = chosen.gather(1, self._widths[chosen].sort(dim=1, stable=True).indices)
        return chosen

    def _stream(self, position: int, length: int) -> Tensor:
        """Return part of the random orders of all graphs laid end to end."""
        count = len(self._widths)
        first, start = divmod(position, count)
        orders = [
            torch.randperm(count, generator=torch_generator(self._seed, "order", epoch))
            for epoch in range(first, math.ceil((position + length) / count))
        ]
        return torch.cat(orders)[start : start + length]


class SizeStratifiedSampler(BatchSampler):
    """Batches that all need the same widths: place i of a batch takes a graph of stratum i.

    The strata are equal parts of the graphs sorted by width. All graphs occur equally often, but
    are drawn anew at every step instead of once in every order.
    """

    def __init__(self, data: GraphBatch, batch_size: int, *, seed: int, trim: bool = True) -> None:
        super().__init__(data, batch_size, seed=seed, trim=trim)
        self._by_width = self._widths.sort(stable=True).indices
        count = len(self._widths)
        # A stratum may begin and end within a graph, which then belongs to two of them.
        last = [(place * count - 1) // batch_size for place in range(1, batch_size + 1)]
        self._last = torch.tensor(last)
        self._place_widths = self._widths[self._by_width[self._last]].tolist()

    def widths(self, step: int | None = None) -> list[int]:
        """Return the width N that each place of every batch needs, ascending."""
        return self._place_widths

    def _choose(self, window: int) -> Tensor:
        generator = torch_generator(self._seed, "order", window)
        shape = PREPARED, self.batch_size
        within = torch.rand(shape, generator=generator, dtype=torch.float64)
        position = (torch.arange(self.batch_size) + within) / self.batch_size
        # Rounding must not reach into the next stratum, whose graphs may be wider.
        return self._by_width[torch.minimum((position * len(self._widths)).long(), self._last)]


@dataclass(frozen=True)
class MicroBatch:
    """Items of a batch that are computed together.

    Attributes:
        items: which ones.
        nodes: width that they need.
    """

    items: slice
    nodes: int

    def __len__(self) -> int:
        return int(self.items.stop - self.items.start)

    def split(self, size: int) -> list[MicroBatch]:
        """Split into micro-batches of at most `size` items.

        >>> [part.items for part in MicroBatch(slice(0, 5), 9).split(2)]
        [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
        """
        start, stop = self.items.start, self.items.stop
        return [
            MicroBatch(slice(first, min(first + size, stop)), self.nodes)
            for first in range(start, stop, size)
        ]


def buckets_of_similar_width(
    widths: Sequence[int], overhead: int, *, fewest: int = 1
) -> list[MicroBatch]:
    """Cut a batch into buckets that are padded to their own largest graph, at the least cost.

    A bucket costs its pairs of nodes, padding included, and an overhead, and ends where widths
    change.

    Args:
        widths: of the graphs, ascending.
        overhead: of one more bucket, in pairs of nodes.
        fewest: graphs of a bucket; where there are not as many, all are one bucket.

    >>> for bucket in buckets_of_similar_width([3, 3, 4, 9, 9], overhead=20):
    ...     print(bucket.items, bucket.nodes)
    slice(0, 3, None) 4
    slice(3, 5, None) 9
    """
    runs = [(width, len(list(run))) for width, run in groupby(widths)]
    ends = [0, *accumulate(count for _, count in runs)]
    # The least cost of the first runs, and where the last bucket of that solution starts.
    costs = [0.0]
    starts: list[int] = []
    for (width, _), stop in zip(runs, ends[1:]):
        options = [
            cost + (stop - start) * width**2 + overhead if stop - start >= fewest else math.inf
            for cost, start in zip(costs, ends)
        ]
        costs.append(min(options))
        starts.append(options.index(costs[-1]))
    buckets: list[MicroBatch] = []
    last = len(runs)
    while last:
        first = starts[last - 1]
        buckets.append(MicroBatch(slice(ends[first], ends[last]), runs[last - 1][0]))
        last = first
    return buckets[::-1]
