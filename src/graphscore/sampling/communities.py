"""Which communities new graphs have: those of training graphs with as many nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Self

import torch
from torch import Tensor

from graphscore.errors import GraphDataError

CommunitySizes = tuple[int, ...]
"""Numbers of nodes of the communities of a graph."""


@dataclass(frozen=True)
class CommunityDistribution:
    """Sizes of the communities of graphs and how often they occurred together, p(c | N).

    What `SizeDistribution` is for the number of nodes.

    >>> CommunityDistribution.of([[0, 0, 1], [4, 2, 4]])
    CommunityDistribution(counts={(2, 1): 2})
    """

    counts: dict[CommunitySizes, int]

    @classmethod
    def of(cls, numbers: Iterable[Iterable[int]]) -> Self:
        """Count the sizes of the communities of graphs, given the number of every node's.

        Raises:
            GraphDataError: there are none.
        """
        found = (Counter(graph).values() for graph in numbers)
        counts = Counter(tuple(sorted(sizes, reverse=True)) for sizes in found)
        if not counts:
            raise GraphDataError("no graphs to take communities from; give at least one.")
        return cls(dict(sorted(counts.items())))

    def to_dict(self) -> dict[str, int]:
        """Return it as plain values.

        >>> CommunityDistribution({(20, 12): 3}).to_dict()
        {'20+12': 3}
        """
        return {"+".join(map(str, sizes)): count for sizes, count in self.counts.items()}

    @classmethod
    def from_dict(cls, values: dict[str, int]) -> Self:
        """Return what `to_dict` gave as plain values."""
        return cls({tuple(map(int, sizes.split("+"))): n for sizes, n in values.items()})

    def in_words(self) -> str:
        """Return how many communities graphs have, and of which sizes.

        >>> CommunityDistribution({(20, 12): 3, (9,): 1}).in_words()
        '1 to 2 of 9 to 20 nodes'
        """
        numbers = [len(sizes) for sizes in self.counts]
        return f"{_span(numbers)} of {_span(list(chain.from_iterable(self.counts)))} nodes"

    def draw(self, sizes: Tensor, *, generator: torch.Generator) -> list[CommunitySizes]:
        """Draw communities for graphs of so many nodes each.

        They are those of a training graph with that many nodes or, where there is none, of one with
        the nearest number, in the same proportions.
        """
        return [self._draw_one(int(nodes), generator) for nodes in sizes]

    def _draw_one(self, nodes: int, generator: torch.Generator) -> CommunitySizes:
        nearest = min(abs(sum(known) - nodes) for known in self.counts)
        fitting = [known for known in self.counts if abs(sum(known) - nodes) == nearest]
        weights = torch.tensor([self.counts[known] for known in fitting], dtype=torch.float64)
        return scaled(fitting[int(torch.multinomial(weights, 1, generator=generator))], nodes)


def _span(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return f"{low}" if low == high else f"{low} to {high}"


def scaled(partition: CommunitySizes, nodes: int) -> CommunitySizes:
    """Return communities of so many nodes in all, in proportions as near as whole numbers can be.

    Communities that are left without nodes are left out.

    >>> scaled((6, 3), 9), scaled((6, 3), 13), scaled((6, 3, 1), 3)
    ((6, 3), (9, 4), (2, 1))
    """
    total = sum(partition)
    sizes = [size * nodes // total for size in partition]
    # To those that rounding down took most from.
    behind = sorted(range(len(sizes)), key=lambda i: -(partition[i] * nodes % total))
    for index in behind[: nodes - sum(sizes)]:
        sizes[index] += 1
    return tuple(size for size in sizes if size)


def numbered(sizes: CommunitySizes) -> list[int]:
    """Return the number of every node's community, one community after the other.

    >>> numbered((2, 1))
    [0, 0, 1]
    """
    return list(chain.from_iterable([number] * size for number, size in enumerate(sizes)))


def numbers_of(partitions: Sequence[CommunitySizes], nodes: int) -> Tensor:
    """Return the number of every node's community as a feature (B,nodes,1), zero on padding.

    >>> numbers_of([(2, 1), (1, 1)], 4).squeeze(2).tolist()
    [[0.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0]]
    """
    numbers = torch.zeros(len(partitions), nodes, 1)
    for row, sizes in zip(numbers, partitions):
        row[: sum(sizes), 0] = torch.tensor(numbered(sizes))
    return numbers
