"""Communities of new graphs: those that occurred, as often, and scaled where none fits."""

from __future__ import annotations

from collections import Counter

import networkx as nx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphscore.errors import GraphDataError, GraphscoreWarning
from graphscore.graphs import GraphBatch
from graphscore.metrics.blocks import MAX_BLOCKS
from graphscore.models.communities import (
    CommunityDistribution,
    community_tensor,
    scaled,
    with_communities,
)


def draw(known, sizes, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return known.draw(torch.tensor(sizes), generator=generator)


def test_communities_are_counted_whatever_their_numbers_and_order():
    known = CommunityDistribution.of([[0, 1, 1], [3, 3, 0], [0, 0, 0]])
    assert known.counts == {(2, 1): 2, (3,): 1}
    with pytest.raises(GraphDataError, match="at least one"):
        CommunityDistribution.of([])


def test_graphs_of_known_sizes_get_communities_as_often_as_they_occurred():
    known = CommunityDistribution({(3, 2): 3, (4, 1): 1, (9, 9): 5})
    found = Counter(draw(known, [5] * 4000))
    assert set(found) == {(3, 2), (4, 1)}
    # Three in four, give or take four standard errors.
    assert abs(found[3, 2] / 4000 - 0.75) < 4 * (0.75 * 0.25 / 4000) ** 0.5
    assert draw(known, [18, 5], seed=1)[0] == (9, 9)
    assert draw(known, [5] * 20) == draw(known, [5] * 20)


def test_other_sizes_get_the_proportions_of_the_nearest():
    known = CommunityDistribution({(3, 2): 1, (30, 10): 1})
    assert draw(known, [10, 38, 44, 1]) == [(6, 4), (29, 9), (33, 11), (1,)]


@given(st.lists(st.integers(1, 50), min_size=1, max_size=6), st.integers(1, 400))
def test_scaled_communities_have_all_nodes_and_are_within_one_of_their_share(sizes, nodes):
    found = scaled(tuple(sizes), nodes)
    assert sum(found) == nodes
    assert min(found) >= 1
    shares = [size * nodes / sum(sizes) for size in sizes]
    if len(found) == len(sizes):
        assert all(abs(size - share) < 1 for size, share in zip(found, shares))
    assert scaled(tuple(sizes), sum(sizes)) == tuple(sizes)


def test_what_is_left_by_rounding_goes_where_most_was_taken():
    assert scaled((5, 3, 3), 10) == (4, 3, 3)
    assert scaled((3, 5, 3), 10) == (3, 4, 3)


def test_plain_values_say_it_all():
    known = CommunityDistribution({(30, 10): 2, (7,): 1})
    assert known.to_dict() == {"30+10": 2, "7": 1}
    assert CommunityDistribution.from_dict(known.to_dict()) == known
    assert CommunityDistribution({(7, 7): 1}).in_words() == "2 of 7 nodes"


def test_numbers_are_those_of_nodes_that_stand_together():
    numbers = community_tensor([(1, 2), (4,)], 5)
    assert numbers.dtype == torch.int64
    assert numbers.tolist() == [[0, 1, 1, 0, 0], [0] * 5]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 1),
        ("x", 1),
        ("3+", 1),
        ("0+3", 1),
        ("3+1000000", 1),
        ("+".join("1" * (MAX_BLOCKS + 1)), 1),
        ("3+2", 0),
        ("3+2", -1),
        ("3+2", True),
        ("3+2", 1.0),
        ("3+2", "1"),
    ],
)
def test_plain_values_that_are_something_else_are_refused(text, count):
    with pytest.raises(ValueError, match="are not communities and how often"):
        CommunityDistribution.from_dict({"7": 1, text: count})


def test_plain_values_at_their_limits():
    most = "+".join("1" * MAX_BLOCKS)
    known = CommunityDistribution.from_dict({most: 1, "999999": 2})
    assert known.counts == {(1,) * MAX_BLOCKS: 1, (999_999,): 2}


def test_communities_must_be_those_of_as_many_graphs_of_every_size():
    known = CommunityDistribution({(3, 2): 2, (4, 1): 1, (7,): 1})
    known.check_sizes({7: 1, 5: 3})
    for nodes in ({7: 1, 5: 1}, {7: 1, 5: 2}, {5: 3}, {7: 2, 5: 3}, {7: 1, 5: 3, 4: 1}):
        with pytest.raises(ValueError, match="do not add up to the graphs' numbers of nodes"):
            known.check_sizes(nodes)


def cliques(*sizes):
    return nx.disjoint_union_all([nx.complete_graph(size) for size in sizes])


def found_in(*graphs, **options):
    return with_communities(GraphBatch.from_networkx(graphs), graphs, **options)


def test_graphs_with_the_most_communities_are_counted_and_said():
    most = cliques(*[8] * MAX_BLOCKS)
    with pytest.warns(GraphscoreWarning) as said:
        _, known = found_in(most, cliques(8, 7), most)
    assert known.counts == {(8,) * MAX_BLOCKS: 2, (8, 7): 1}
    (message,) = [str(one.message) for one in said]
    assert message == "graphs with 8 communities, the most that are looked for: 2."


def test_graphs_of_which_none_has_communities_are_said():
    whole = nx.complete_graph(7)
    with pytest.warns(GraphscoreWarning, match="no graph has more than one community") as said:
        batch, known = found_in(whole)
    assert (len(said), known.counts) == (1, {(7,): 1})
    assert not batch.communities.any()


def test_finding_communities_says_nothing_unless_asked(capsys, recwarn):
    batch, _ = found_in(nx.complete_graph(7), cliques(8, 7))
    assert batch.communities.tolist() == [[0] * 15, [0] * 8 + [1] * 7]
    assert capsys.readouterr().err == ""
    found_in(nx.complete_graph(7), cliques(8, 7), show_progress=True)
    assert "finding communities 2/2" in capsys.readouterr().err
    assert not recwarn
