"""Which graphs a step sees: all equally often, similar sizes together, a function of the step."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import torch

from graphscore.graphs import node_mask_of_sizes
from graphscore.seeding import torch_generator
from graphscore.training.batches import WINDOW, BatchOrder

SIZES = torch.randint(3, 30, (70,), generator=torch.Generator().manual_seed(0))


def order(batch_size=8, *, sizes=SIZES, seed=0, bucketing=True):
    return BatchOrder(node_mask_of_sizes(sizes), batch_size, seed=seed, bucketing=bucketing)


def batches(made, steps):
    return [made.indices(step).tolist() for step in range(steps)]


def stream(seed, graphs, length):
    """One random order of all graphs after the other."""
    epochs = -(-length // graphs)
    orders = [
        torch.randperm(graphs, generator=torch_generator(seed, "order", epoch))
        for epoch in range(epochs)
    ]
    return torch.cat(orders)[:length].tolist()


@pytest.mark.parametrize("batch_size", [1, 3, 8, 10, 35, 36, 70, 200])
def test_every_graph_is_seen_equally_often(batch_size):
    """After every window the counts of any two graphs differ by one at most."""
    made = order(batch_size)
    window = min(WINDOW, len(SIZES) // batch_size) if made.sorts else WINDOW
    counts: Counter[int] = Counter()
    for step, batch in enumerate(batches(made, 10 * window), start=1):
        assert len(batch) == batch_size
        counts.update(batch)
        if step % window == 0:
            seen = [counts[graph] for graph in range(len(SIZES))]
            assert max(seen) - min(seen) <= 1
            assert sorted(counts.elements()) == sorted(stream(0, len(SIZES), step * batch_size))


def test_batches_hold_similar_sizes():
    """The batches of a window cover ranges of sizes that hardly overlap, in random order."""
    made = order()
    for start in range(0, 10 * WINDOW, WINDOW):
        window = [SIZES[made.indices(step)] for step in range(start, start + WINDOW)]
        window.sort(key=lambda sizes: (int(sizes.min()), int(sizes.max())))
        assert all(a.max() <= b.min() for a, b in pairwise(window))
    largest = [made.width(step) for step in range(10 * WINDOW)]
    places = {largest[start : start + WINDOW].index(29) for start in range(0, 80, WINDOW)}
    assert len(places) > 1


def test_graphs_of_one_size_are_in_random_order():
    """Ties are not broken by the number of the graph: companions change from epoch to epoch."""
    sizes = torch.tensor([5] * 20 + [9] * 20)
    made = order(10, sizes=sizes)
    assert made.sorts
    of_five = [frozenset(batch) for batch in batches(made, 40) if sizes[batch].max() == 5]
    assert len(of_five) == 20
    assert len(set(of_five)) > 10


def test_width_is_that_of_the_largest_graph():
    """Also where a mask has gaps, so that the last node's place is not the number of nodes."""
    made = order()
    for step in range(20):
        assert made.width(step) == SIZES[made.indices(step)].max()
    assert made.widest == SIZES.argmax()
    gaps = torch.tensor([[True, True, False, False], [True, False, False, True]])
    assert BatchOrder(gaps, 2, seed=0).width(0) == 4
    assert BatchOrder(gaps, 2, seed=0).widest == 1


@pytest.mark.parametrize(
    "made",
    [
        lambda seed: order(8, sizes=torch.full((70,), 9), seed=seed),
        lambda seed: order(8, seed=seed, bucketing=False),
        lambda seed: order(36, seed=seed),
        lambda seed: order(200, seed=seed),
    ],
    ids=["one size", "switched off", "one batch in an epoch", "more than all graphs"],
)
def test_where_sorting_gains_nothing_the_order_is_plainly_random(made):
    """The batches laid end to end are one random order of all graphs after the other."""
    for seed in (0, 1):
        assert not made(seed).sorts
        shown = [graph for batch in batches(made(seed), 30) for graph in batch]
        assert shown == stream(seed, 70, len(shown))
    assert batches(made(0), 30) != batches(made(1), 30)


def test_sorting_never_reaches_over_more_graphs_than_there_are():
    """A batch holds a graph twice only where two epochs meet."""
    made = order(32, sizes=torch.arange(3, 83))
    for batch in batches(made, 50):
        assert len(set(batch)) >= 16
        assert max(Counter(batch).values()) <= 2


@pytest.mark.parametrize("bucketing", [True, False])
def test_the_step_and_the_seed_decide(bucketing):
    """Any step can be asked first, in any order; another seed gives another order."""
    expected = batches(order(bucketing=bucketing), 40)
    backwards = order(bucketing=bucketing)
    for step in (39, 3, 17, 16, 0, 25, 15, 38):
        assert order(bucketing=bucketing).indices(step).tolist() == expected[step]
        assert backwards.indices(step).tolist() == expected[step]
    assert batches(order(bucketing=bucketing, seed=1), 40) != expected


def test_global_random_state_is_untouched():
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].copy()  # noqa: NPY002
    batches(order(), 20)
    assert torch.equal(torch.get_rng_state(), states[0])
    assert random.getstate() == states[1]
    assert np.array_equal(np.random.get_state()[1], states[2])  # noqa: NPY002
