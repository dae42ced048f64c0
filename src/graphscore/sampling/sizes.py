"""How many nodes new graphs have: the empirical distribution of the training graphs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from graphscore.errors import GraphDataError


@dataclass(frozen=True)
class SizeDistribution:
    """Numbers of nodes and how often each occurred, p(N) of section 3.2.

    >>> SizeDistribution.of([3, 5, 5])
    SizeDistribution(counts={3: 1, 5: 2})
    """

    counts: dict[int, int]

    @classmethod
    def of(cls, sizes: Iterable[int]) -> SizeDistribution:
        """Count the sizes of graphs.

        Raises:
            GraphDataError: there are none.
        """
        counts = dict(sorted(Counter(int(size) for size in sizes).items()))
        if not counts:
            raise GraphDataError("no graphs to take sizes from; give at least one.")
        return cls(counts)

    @property
    def max_nodes(self) -> int:
        return max(self.counts)

    def draw(self, number: int, *, generator: torch.Generator) -> Tensor:
        """Draw sizes independently, (number,) int64."""
        sizes = torch.tensor(list(self.counts))
        weights = torch.tensor(list(self.counts.values()), dtype=torch.float64)
        return sizes[torch.multinomial(weights, number, replacement=True, generator=generator)]
