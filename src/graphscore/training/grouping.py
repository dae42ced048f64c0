"""Graphs of similar size together, so that padding is not computed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, groupby

from graphscore.training.pieces import Piece


def groups_of_similar_width(
    widths: Sequence[int], overhead: int, *, fewest: int = 1
) -> list[Piece]:
    """Cut a batch into groups that are padded to their own largest graph, at the least cost.

    A group costs its pairs of nodes, padding included, and an overhead, and ends where widths
    change.

    Args:
        widths: of the graphs, ascending.
        overhead: of one more group, in pairs of nodes.
        fewest: graphs of a group; where there are not as many, all are one group.

    >>> for group in groups_of_similar_width([3, 3, 4, 9, 9], overhead=20):
    ...     print(group.items, group.nodes)
    slice(0, 3, None) 4
    slice(3, 5, None) 9
    """
    runs = [(width, len(list(run))) for width, run in groupby(widths)]
    ends = [0, *accumulate(count for _, count in runs)]
    # The least cost of the first runs, and where the last group of that solution starts.
    costs, starts = [0.0], [0]
    for last, (width, _) in enumerate(runs, start=1):
        options = [
            costs[first] + number * width**2 + overhead if number >= fewest else math.inf
            for first, number in enumerate(ends[last] - end for end in ends[:last])
        ]
        costs.append(min(options))
        starts.append(options.index(costs[-1]))
    groups: list[Piece] = []
    last = len(runs)
    while last:
        first = starts[last]
        groups.append(Piece(slice(ends[first], ends[last]), runs[last - 1][0]))
        last = first
    return groups[::-1]
