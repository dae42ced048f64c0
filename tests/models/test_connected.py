"""Graphs that are not connected are drawn again, as they were asked for."""

from __future__ import annotations

import networkx as nx
import pytest
import torch

from graphscore.errors import SamplingError
from graphscore.models.connected import SampledGraphs, connected_only
from graphscore.models.request import SampleRequest

REQUEST = SampleRequest(torch.tensor([2, 3, 4, 5, 6]))
APART = [nx.empty_graph(3), nx.empty_graph(5)]
FIRST = [nx.path_graph(2), APART[0], nx.path_graph(4), APART[1], nx.path_graph(6)]


def test_each_round_draws_about_as_many_as_the_first():
    """Of those that are missing, each several times; the first connected one is taken."""
    seen = []

    def draw(asked, attempt):
        seen.append((attempt, asked.sizes.tolist()))
        if attempt == 1:
            return [nx.empty_graph(3), nx.empty_graph(5), nx.star_graph(2), nx.empty_graph(5)]
        return [nx.cycle_graph(5), *[nx.star_graph(4)] * 4]

    found = connected_only(FIRST, REQUEST, draw)
    assert seen == [(1, [3, 5, 3, 5]), (2, [5] * 5)]
    assert found.drawn == 5 + 4 + 5
    assert found[0] is FIRST[0]
    assert [graph.number_of_edges() for graph in found] == [1, 2, 3, 5, 5]


def test_nothing_is_drawn_again_where_all_are_connected():
    paths = [nx.path_graph(n) for n in REQUEST.sizes.tolist()]
    found = connected_only(paths, REQUEST, None)
    assert (found, found.drawn) == (paths, 5)
    assert SampledGraphs(paths).drawn == 5


def test_it_gives_up_after_a_hundred_for_each_graph():
    drawn = [len(FIRST)]

    def draw(asked, _):
        drawn.append(len(asked.sizes))
        return [nx.empty_graph(n) for n in asked.sizes.tolist()]

    with pytest.raises(SamplingError, match=r"for 5 connected ones, and 2 .* of 3 to 5 nodes\."):
        connected_only(FIRST, REQUEST, draw)
    assert 490 < sum(drawn) <= 500
