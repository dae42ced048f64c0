"""Numbers of nodes of new graphs: the empirical distribution of the training graphs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from graphscore.errors import GraphDataError
from graphscore.models.resources import MOST_NODES


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
            GraphDataError: there are none, or one is too large.
        """
        counts = dict(sorted(Counter(int(size) for size in sizes).items()))
        if not counts:
            raise GraphDataError("no graphs to take sizes from; give at least one.")
        if max(counts) > MOST_NODES:
            raise GraphDataError(
                f"a graph of {max(counts)} nodes; models are made of pairs of nodes, and graphs of "
                f"more than {MOST_NODES} have too many. Leave out larger graphs, or learn from "
                "subgraphs of a large network: graphscore.subgraphs(graph, 40) in Python, "
                "--subgraphs 40 on the command line."
            )
        return cls(counts)

    @property
    def range(self) -> tuple[int, int]:
        """The smallest and the largest number of nodes."""
        return min(self.counts), max(self.counts)

    def outside(self, sizes: Tensor) -> str:
        """Say what is outside the range of these sizes; nothing if all are within it.

        >>> SizeDistribution.of([3, 5]).outside(torch.tensor([4, 5]))
        ''
        """
        low, high = self.range
        outside = sizes[(sizes < low) | (sizes > high)]
        if not len(outside):
            return ""
        return (
            f"{len(outside)} of {len(sizes)} graphs are to have {in_words(outside)}, but the "
            f"training graphs had {in_words(torch.tensor(self.range))}. The further from these, "
            "the less like them new graphs are."
        )

    def draw(self, number: int, *, generator: torch.Generator) -> Tensor:
        """Draw sizes independently, (number,) int64."""
        sizes = torch.tensor(list(self.counts))
        weights = torch.tensor(list(self.counts.values()), dtype=torch.float64)
        return sizes[torch.multinomial(weights, number, replacement=True, generator=generator)]


def in_words(sizes: Tensor) -> str:
    """Return the range of numbers of nodes.

    >>> in_words(torch.tensor([5, 3, 4])), in_words(torch.tensor([5]))
    ('3 to 5 nodes', '5 nodes')
    """
    low, high = int(sizes.min()), int(sizes.max())
    return f"{low} to {high} nodes" if low < high else f"{high} nodes"


def chunks_of_similar_size(sizes: Tensor, pairs: int) -> list[Tensor]:
    """Cut graphs, smallest first, into index chunks of at most `pairs` padded pairs each.

    >>> [chunk.tolist() for chunk in chunks_of_similar_size(torch.tensor([3, 1, 3]), 9)]
    [[1], [0], [2]]
    """
    nodes = sizes.tolist()
    chunks: list[list[int]] = []
    for index in sorted(range(len(nodes)), key=nodes.__getitem__):
        if not chunks or (len(chunks[-1]) + 1) * nodes[index] ** 2 > pairs:
            chunks.append([])
        chunks[-1].append(index)
    return [torch.tensor(chunk) for chunk in chunks]
