"""Requests: new graphs as asked for, else as in training graphs."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from graphscore.errors import SettingsError
from graphscore.graphs import NO_CONDITION
from graphscore.models.communities import CommunityDistribution
from graphscore.models.request import resolve_request
from graphscore.models.sizes import SizeDistribution
from graphscore.seeding import torch_generator

SIZES = SizeDistribution({5: 1, 8: 1})
COMMUNITIES = CommunityDistribution({(3, 2): 1, (4, 1): 1, (5, 3): 1})


def request(number, sizes=None, communities=None, known=COMMUNITIES, seed=0):
    def random(name):
        return torch_generator(seed, name)

    return resolve_request(number, sizes, communities, SIZES, known, random=random)


def test_what_is_not_asked_for_is_drawn():
    found = request(50)
    assert [sum(sizes) for sizes in found.communities] == found.sizes.tolist()
    assert set(found.communities) == set(COMMUNITIES.counts)
    again, other = request(50), request(50, seed=1)
    assert again.communities == found.communities != other.communities
    # Communities by the seed too, and not sizes alone.
    assert request(50, sizes=[5] * 50).communities != request(50, [5] * 50, seed=1).communities
    assert request(3, known=None).communities is None


@pytest.mark.parametrize("number", [0, -1, 10**7 + 1, 10**30, 10**5000], ids=range(5))
def test_numbers_of_graphs_that_make_no_sense_are_refused(number):
    with pytest.raises(SettingsError, match=r"^number .*: ask for 1 to 10000000 graphs\.$"):
        request(number)


def test_the_condition_is_that_of_the_chosen_graphs():
    found = request(3, communities=[(1, 2), (2, 2), (4,)])
    condition = found.condition(torch.tensor([2, 0]), 5)
    assert condition.communities.tolist() == [[0] * 5, [0, 1, 1, 0, 0]]
    assert request(3, known=None).condition(torch.tensor([0]), 5) is NO_CONDITION


@pytest.mark.parametrize(
    "given",
    [
        [(3, 4), [5]],
        [np.array([3, 4], dtype=np.uint8), np.array([5.0])],
        (iter([3, 4]), torch.tensor([5])),
        (sizes for sizes in [(3, 4), (5,)]),
    ],
    ids=["lists", "arrays", "iterators", "generator"],
)
def test_communities_can_be_given_in_many_ways(given):
    found = request(2, communities=given)
    assert found.communities == [(3, 4), (5,)]
    assert found.sizes.tolist() == [7, 5]


def test_large_sizes_of_small_types_add_up():
    assert request(1, communities=[np.array([200, 100], dtype=np.uint8)]).sizes.tolist() == [300]


@pytest.mark.parametrize(
    "wrong",
    [
        [8, 8],
        [(8,)],
        [(8,), ()],
        [(8,), (8, 0)],
        [(8,), (1.5,)],
        [(8,), None],
        [(8,), "88"],
        [(8,), (float("nan"),)],
        [(8,), (float("inf"),)],
        [(8,), ((8,),)],
        "8,8",
        5,
        True,
        [(8,), iter([3.9, 4.2])],
        [(8,), iter([0, 5])],
        [(8,), iter([-3, 10])],
        [(8,), map(str.strip, ["3", "4"])],
        (sizes for sizes in [(3, 4)]),
    ],
)
def test_communities_that_make_no_sense(wrong):
    with pytest.raises(SettingsError, match=r"those of 2 graphs, each as whole numbers"):
        request(2, communities=wrong)


def test_messages_show_the_first_that_is_wrong_and_not_all_of_it():
    given = [(3, 4)] * 50 + [(3, 0)]
    with pytest.raises(SettingsError, match=r"such as \[\(20, 25\), .*got \(3, 0\)\.$"):
        request(51, communities=given)
    with pytest.raises(SettingsError) as refused:
        request(1000, sizes=[0] * 1000)
    assert len(str(refused.value)) < 300
    with pytest.raises(SettingsError, match=r"got 'abc'\.$"):
        request(2, sizes="abc")


@pytest.mark.parametrize("nodes", [20_001, 10**30])
def test_more_nodes_than_any_memory_holds(nodes):
    for how in ({"sizes": [4, nodes]}, {"communities": [(4, 1), (nodes, 4)]}):
        with pytest.raises(SettingsError, match=r"more than 20000 has too many pairs"):
            request(2, **how)


def test_as_many_nodes_as_models_allow():
    assert request(1, sizes=[20_000]).sizes.tolist() == [20_000]
    assert request(1, communities=[(19_000, 1000)]).sizes.tolist() == [20_000]


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        0,
        -3,
        2.5,
        True,
        range(30, 20),
        [3, 0],
        [3, 2.5],
        [3, None],
        [3, "4"],
        [3, float("nan")],
        iter([3.9, 2]),
        iter([-3, 2]),
    ],
)
def test_sizes_that_make_no_sense(wrong):
    with pytest.raises(
        SettingsError, match=r"^sizes must be whole numbers .* at least 1, such as 24"
    ):
        request(2, sizes=wrong)


def test_one_size_for_all():
    for size in (7, np.int64(7)):
        assert request(3, sizes=size).sizes.tolist() == [7, 7, 7]


def test_sizes_are_drawn_evenly_from_those_that_are_given():
    """To 5 standard errors, by the seed; as many as there are graphs are taken one by one."""
    drawn = request(11_000, sizes=range(20, 31)).sizes
    assert drawn.dtype == torch.int64
    counts = torch.bincount(drawn)[20:]
    assert len(counts) == 11
    assert (counts - 1000).abs().max() < 5 * (1000 * 10 / 11) ** 0.5
    again, other = request(50, sizes=range(20, 31)), request(50, sizes=range(20, 31), seed=1)
    assert torch.equal(again.sizes, request(50, sizes=(n for n in range(20, 31))).sizes)
    assert not torch.equal(again.sizes, other.sizes)
    assert request(11, sizes=range(20, 31)).sizes.tolist() == [*range(20, 31)]


def test_sizes_without_end_are_refused():
    with pytest.raises(SettingsError, match="too many pairs"):
        request(2, sizes=range(1, 10**15))


def test_some_of_the_graphs_that_are_asked_for():
    found = request(3, communities=[(1, 2), (2, 2), (4,)]).chosen([2, 0, 2])
    assert found.sizes.tolist() == [4, 3, 4]
    assert found.communities == [(4,), (1, 2), (4,)]
    assert request(3, known=None).chosen([1]).communities is None


def test_requests_that_contradict_themselves_or_the_model():
    with pytest.raises(SettingsError, match="leave out sizes"):
        request(1, sizes=[5], communities=[(3, 2)])
    with pytest.raises(SettingsError, match=r"not conditioned on communities.*--communities"):
        request(1, communities=[(3, 2)], known=None)
