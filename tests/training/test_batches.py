"""Which graphs a step sees: all equally often, at random, a function of the seed and the step."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from graphscore.graphs import node_mask_of_sizes
from graphscore.seeding import torch_generator
from graphscore.training.batches import PREPARED, BatchOrder, SizeStrata

SIZES = torch.randint(3, 30, (70,), generator=torch.Generator().manual_seed(0))


def order(batch_size=8, *, sizes=SIZES, seed=0, sort=True):
    return BatchOrder(node_mask_of_sizes(sizes), batch_size, seed=seed, sort=sort)


def batches(made, steps):
    return [made.indices(step).tolist() for step in range(steps)]


def stream(seed, length):
    """One random order of all graphs after the other."""
    orders = [
        torch.randperm(len(SIZES), generator=torch_generator(seed, "order", epoch))
        for epoch in range(-(-length // len(SIZES)))
    ]
    return torch.cat(orders)[:length].tolist()


@pytest.mark.parametrize("batch_size", [1, 3, 8, 10, 35, 36, 70, 200])
@pytest.mark.parametrize("seed", [0, 1])
def test_batches_laid_end_to_end_are_random_orders(batch_size, seed):
    """Every graph once before any graph twice, and so on; over several preparations."""
    steps = 3 * PREPARED + 1
    shown = [g for b in batches(order(batch_size, seed=seed, sort=False), steps) for g in b]
    assert shown == stream(seed, steps * batch_size)
    assert len(set(shown)) == min(70, len(shown))


@pytest.mark.parametrize("batch_size", [1, 3, 8, 35, 200])
def test_sorting_keeps_the_graphs_of_each_batch(batch_size):
    """The same graphs, smallest first; those of one size still in random order."""
    plain, made = order(batch_size, sort=False), order(batch_size)
    for step in range(3 * PREPARED):
        expected = sorted(plain.indices(step).tolist(), key=lambda graph: int(SIZES[graph]))
        assert made.indices(step).tolist() == expected


def test_widths_are_those_of_the_graphs():
    """Also where a mask has gaps, so that the last node's place is not the number of nodes."""
    made = order()
    for step in range(20):
        assert made.widths(step) == SIZES[made.indices(step)].tolist()
    assert made.widest == SIZES.argmax()
    gaps = torch.tensor([[True, True, True, False, False], [True, False, False, True, False]])
    assert BatchOrder(gaps, 2, seed=0).widths(0) == [3, 4]
    assert BatchOrder(gaps, 2, seed=0).widest == 1


@pytest.mark.parametrize("sort", [True, False])
def test_the_step_and_the_seed_decide(sort):
    """Any step can be asked first, in any order; another seed gives another order."""
    expected = batches(order(sort=sort), 40)
    backwards = order(sort=sort)
    for step in (39, 3, 17, 16, 0, 25, 15, 38):
        assert order(sort=sort).indices(step).tolist() == expected[step]
        assert backwards.indices(step).tolist() == expected[step]
    assert batches(order(sort=sort, seed=1), 40) != expected


def test_global_random_state_is_untouched():
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].copy()  # noqa: NPY002
    batches(order(), 20)
    assert torch.equal(torch.get_rng_state(), states[0])
    assert random.getstate() == states[1]
    assert np.array_equal(np.random.get_state()[1], states[2])  # noqa: NPY002


def test_places_of_a_batch_take_graphs_of_their_own_size():
    """Every graph fits the width of its place, and all graphs come equally often."""
    sizes = torch.tensor([9, 2, 3, 3, 7, 5, 2])
    mask = torch.arange(9) < sizes.unsqueeze(1)
    strata = SizeStrata(mask, 3, seed=0)
    assert strata.widths() == [3, 5, 9]
    steps = 4000
    drawn = torch.stack([strata.indices(step) for step in range(steps)])
    assert (sizes[drawn] <= torch.tensor(strata.widths())).all()
    counts = drawn.flatten().bincount(minlength=7) / (3 * steps)
    assert counts.tolist() == pytest.approx([1 / 7] * 7, abs=0.01)
    again = SizeStrata(mask, 3, seed=0)
    torch.testing.assert_close(again.indices(17), drawn[17])


def test_a_batch_of_more_graphs_than_there_are_takes_all_of_them():
    mask = torch.arange(5) < torch.tensor([[5], [3]])
    strata = SizeStrata(mask, 4, seed=0)
    assert strata.widths() == [3, 3, 5, 5]
    assert strata.indices(0).tolist() == [1, 1, 0, 0]
