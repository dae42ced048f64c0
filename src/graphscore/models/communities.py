"""Communities of graphs: found in training graphs, drawn for new ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Self

import networkx as nx
import torch
from torch import Tensor

from graphscore.errors import GraphDataError, warn
from graphscore.graphs import GraphBatch
from graphscore.metrics import find_blocks
from graphscore.metrics.blocks import MAX_BLOCKS
from graphscore.progress import progress

CommunitySizes = tuple[int, ...]
"""Numbers of nodes of the communities of a graph."""


_PARTITION = re.compile(rf"[1-9][0-9]{{0,5}}(?:\+[1-9][0-9]{{0,5}}){{0,{MAX_BLOCKS - 1}}}")
"""Sizes of communities as a model's document has them."""


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
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return what `to_dict` gave as plain values.

        Raises:
            ValueError: they are something else.
        """
        counts: dict[CommunitySizes, int] = {}
        for text, count in values.items():
            if _PARTITION.fullmatch(text) is None or type(count) is not int or count < 1:
                raise ValueError(f"{text!r:.60}: {count!r:.20} are not communities and how often")
            counts[tuple(map(int, text.split("+")))] = count
        return cls(counts)

    def check_sizes(self, nodes: Mapping[int, int]) -> None:
        """Refuse communities that are not those of graphs of these numbers of nodes.

        Raises:
            ValueError: they are not.
        """
        found: Counter[int] = Counter()
        for sizes, count in self.counts.items():
            found[sum(sizes)] += count
        if found != Counter(nodes):
            raise ValueError("the communities do not add up to the graphs' numbers of nodes")

    def in_words(self) -> str:
        """Return how many communities graphs have, and of which sizes.

        >>> CommunityDistribution({(20, 12): 3, (9,): 1}).in_words()
        '1 to 2 of 9 to 20 nodes'
        """
        numbers = [len(sizes) for sizes in self.counts]
        return f"{_span(numbers)} of {_span(list(chain.from_iterable(self.counts)))} nodes"

    def draw(self, sizes: Tensor, *, generator: torch.Generator) -> list[CommunitySizes]:
        """Draw communities for graphs of the given sizes.

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
    """Return communities with `nodes` nodes in all, in the same proportions up to rounding.

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


def community_numbers(sizes: CommunitySizes) -> list[int]:
    """Return the number of every node's community, one community after the other.

    >>> community_numbers((2, 1))
    [0, 0, 1]
    """
    return list(chain.from_iterable([number] * size for number, size in enumerate(sizes)))


def community_tensor(partitions: Sequence[CommunitySizes], nodes: int) -> Tensor:
    """Return the number of every node's community, (B,nodes) int64, zero on padding.

    >>> community_tensor([(2, 1), (1, 1)], 4).tolist()
    [[0, 0, 1, 0], [0, 1, 0, 0]]
    """
    numbers = torch.zeros(len(partitions), nodes, dtype=torch.int64)
    for row, sizes in zip(numbers, partitions):
        row[: sum(sizes)] = torch.tensor(community_numbers(sizes))
    return numbers


def with_communities(
    data: GraphBatch, graphs: Sequence[nx.Graph[Any]], *, show_progress: bool = False
) -> tuple[GraphBatch, CommunityDistribution]:
    """Find the communities of each graph; their number need not be given.

    They are the blocks of the partition with the shortest description length (`find_blocks`), the
    whole graph being one where it has none.

    Args:
        data: the graphs as a batch.
        graphs: the same, nodes in the same order.
        show_progress: show it on standard error.

    Returns:
        The batch with its communities, and which sizes occurred.

    >>> two = [nx.disjoint_union(nx.complete_graph(8), nx.complete_graph(7))]
    >>> batch, known = with_communities(GraphBatch.from_networkx(two), two)
    >>> batch.communities[0, [0, 7, 8]].tolist(), known.counts
    ([0, 0, 1], {(8, 7): 1})
    """
    found = []
    numbers = torch.zeros(data.node_mask.shape, dtype=torch.int64)
    with progress("finding communities", len(graphs), enabled=show_progress) as update:
        for row, exists, graph in zip(numbers, data.node_mask, graphs):
            blocks = find_blocks(graph)
            row[exists] = torch.from_numpy(blocks).to(row)
            found.append(blocks.tolist())
            update(len(found), "")
    known = CommunityDistribution.of(found)
    if all(len(sizes) == 1 for sizes in known.counts):
        warn("no graph has more than one community, so that conditioning changes nothing.")
    most = sum(count for sizes, count in known.counts.items() if len(sizes) == MAX_BLOCKS)
    if most:
        warn(f"graphs with {MAX_BLOCKS} communities, the most that are looked for: {most}.")
    return replace(data, communities=numbers), known
