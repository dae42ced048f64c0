"""Groups of similar size: all graphs, wide enough, and no cheaper way to cut them."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

from graphscore.training.grouping import groups_of_similar_width


def cost(widths, cuts, overhead):
    """Pairs of nodes of the groups between the cuts, padded to the last of each, and overheads."""
    ends = [0, *cuts, len(widths)]
    return sum((b - a) * widths[b - 1] ** 2 + overhead for a, b in pairwise(ends))


def cheapest(widths, overhead, fewest=1):
    """By trying all ways to cut where widths change."""
    places = [place for place in range(1, len(widths)) if widths[place] > widths[place - 1]]
    ways = [cuts for n in range(len(widths)) for cuts in combinations(places, n)]
    allowed = [
        cuts for cuts in ways if min(map(len, groups_between(cuts, widths)), default=0) >= fewest
    ]
    return min(cost(widths, cuts, overhead) for cuts in allowed or [()])


def groups_between(cuts, widths):
    ends = [0, *cuts, len(widths)]
    return [widths[a:b] for a, b in pairwise(ends)]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("overhead", [0, 7, 50, 400, 10**6])
@pytest.mark.parametrize("fewest", [1, 2, 3])
def test_no_other_cut_is_cheaper(seed, overhead, fewest):
    rng = np.random.default_rng(seed)
    widths = sorted(rng.integers(1, 12, size=rng.integers(1, 9)).tolist())
    groups = groups_of_similar_width(widths, overhead, fewest=fewest)
    ends = [0, *(group.items.stop for group in groups)]
    assert [(group.items.start, group.items.stop) for group in groups] == list(pairwise(ends))
    assert ends[-1] == len(widths)
    assert all(group.nodes == max(widths[group.items]) for group in groups)
    assert cost(widths, ends[1:-1], overhead) == cheapest(widths, overhead, fewest)
    assert all(len(group) >= min(fewest, len(widths)) for group in groups)


def test_the_extremes():
    """One group where another costs too much or saves nothing; one per width where it is free."""
    assert len(groups_of_similar_width([3, 5, 9], 10**9)) == 1
    assert len(groups_of_similar_width([5] * 100, 0)) == 1
    assert [group.nodes for group in groups_of_similar_width([3, 3, 5, 9], 0)] == [3, 5, 9]
