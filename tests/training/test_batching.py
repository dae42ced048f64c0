"""Which graphs a step sees, and which of them are computed together.

All graphs equally often, at random, a function of the seed and the step; buckets of similar size
that no other cut would make cheaper.
"""

from __future__ import annotations

import random
from itertools import combinations, pairwise

import numpy as np
import pytest
import torch

from graphscore.errors import GraphDataError
from graphscore.graphs import GraphBatch, node_mask_of_sizes
from graphscore.seeding import torch_generator
from graphscore.training.batching import (
    PREPARED,
    BatchSampler,
    SizeStratifiedSampler,
    buckets_of_similar_width,
)

SIZES = torch.randint(3, 30, (70,), generator=torch.Generator().manual_seed(0))


def empty_graphs(mask):
    """Graphs without edges, with the nodes of a mask."""
    return GraphBatch(torch.zeros(*mask.shape, mask.shape[1]), mask)


def sampler(batch_size=8, *, seed=0, sort=True):
    data = empty_graphs(node_mask_of_sizes(SIZES))
    return BatchSampler(data, batch_size, seed=seed, sort=sort)


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
    shown = [g for b in batches(sampler(batch_size, seed=seed, sort=False), steps) for g in b]
    assert shown == stream(seed, steps * batch_size)
    assert len(set(shown)) == min(70, len(shown))


@pytest.mark.parametrize("batch_size", [1, 3, 8, 35, 200])
def test_sorting_keeps_the_graphs_of_each_batch(batch_size):
    """The same graphs, smallest first; those of one size still in random order."""
    plain, made = sampler(batch_size, sort=False), sampler(batch_size)
    for step in range(3 * PREPARED):
        expected = sorted(plain.indices(step).tolist(), key=lambda graph: int(SIZES[graph]))
        assert made.indices(step).tolist() == expected


def test_widths_are_those_of_the_graphs():
    """Also where a mask has gaps, so that the last node's place is not the number of nodes."""
    made = sampler()
    for step in range(20):
        assert made.widths(step) == SIZES[made.indices(step)].tolist()
    assert made.largest().max_nodes == SIZES.max()
    gaps = torch.tensor([[True, True, True, False, False], [True, False, False, True, False]])
    assert BatchSampler(empty_graphs(gaps), 2, seed=0).widths(0) == [3, 4]
    largest = BatchSampler(empty_graphs(gaps), 2, seed=0).largest()
    assert torch.equal(largest.node_mask, gaps[1:, :4])


def test_batches_are_sorted_and_trimmed_unless_asked_otherwise():
    data = empty_graphs(node_mask_of_sizes(SIZES))
    plain = BatchSampler(data, 8, seed=0)
    assert plain.widths(0) == sorted(plain.widths(0))
    assert plain.batch(0).max_nodes == plain.widths(0)[-1] < data.max_nodes
    assert plain.largest().max_nodes == SIZES.max()
    strata = SizeStratifiedSampler(data.padded(40), 8, seed=0)
    assert strata.batch(0).max_nodes == strata.widths()[-1] == SIZES.max()


@pytest.mark.parametrize("size", [0, 1])
def test_batches_of_the_smallest_graphs_have_one_column(size):
    """Also where no graph has a node, since networks want an entry."""
    data = empty_graphs(node_mask_of_sizes(torch.tensor([size, size]), 3))
    assert BatchSampler(data, 2, seed=0).batch(0).max_nodes == 1


def test_no_graphs_are_refused():
    with pytest.raises(GraphDataError, match="no graphs to train on"):
        BatchSampler(empty_graphs(torch.zeros(0, 3, dtype=torch.bool)), 2, seed=0)


@pytest.mark.parametrize("sort", [True, False])
def test_the_step_and_the_seed_decide(sort):
    """Any step can be asked first, in any order; another seed gives another order."""
    expected = batches(sampler(sort=sort), 40)
    backwards = sampler(sort=sort)
    for step in (39, 3, 17, 16, 0, 25, 15, 38):
        assert sampler(sort=sort).indices(step).tolist() == expected[step]
        assert backwards.indices(step).tolist() == expected[step]
    assert batches(sampler(sort=sort, seed=1), 40) != expected


def test_global_random_state_is_untouched():
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].copy()  # noqa: NPY002
    batches(sampler(), 20)
    assert torch.equal(torch.get_rng_state(), states[0])
    assert random.getstate() == states[1]
    assert np.array_equal(np.random.get_state()[1], states[2])  # noqa: NPY002


def test_places_of_a_batch_take_graphs_of_their_own_stratum():
    """Every graph fits the width of its place, and all graphs come equally often."""
    sizes = torch.tensor([9, 2, 3, 3, 7, 5, 2])
    mask = torch.arange(9) < sizes.unsqueeze(1)
    strata = SizeStratifiedSampler(empty_graphs(mask), 3, seed=0)
    assert strata.widths() == [3, 5, 9]
    steps = 4000
    drawn = torch.stack([strata.indices(step) for step in range(steps)])
    assert (sizes[drawn] <= torch.tensor(strata.widths())).all()
    counts = drawn.flatten().bincount(minlength=7) / (3 * steps)
    assert counts.tolist() == pytest.approx([1 / 7] * 7, abs=0.01)
    again = SizeStratifiedSampler(empty_graphs(mask), 3, seed=0)
    torch.testing.assert_close(again.indices(17), drawn[17])


def test_as_many_strata_as_graphs_are_the_graphs_by_size():
    """Those of one size in the order of the data."""
    strata = SizeStratifiedSampler(empty_graphs(node_mask_of_sizes(SIZES)), 70, seed=0)
    expected = sorted(range(70), key=lambda graph: int(SIZES[graph]))
    assert strata.indices(3).tolist() == expected


def test_a_batch_of_more_graphs_than_there_are_takes_all_of_them():
    mask = torch.arange(5) < torch.tensor([[5], [3]])
    strata = SizeStratifiedSampler(empty_graphs(mask), 4, seed=0)
    assert strata.widths() == [3, 3, 5, 5]
    assert strata.indices(0).tolist() == [1, 1, 0, 0]


def test_batches_are_trimmed_to_their_largest_graph(ragged):
    """Each step's batch is that of the data, without the columns that nobody uses."""
    data = ragged(torch.float32)
    trimmed, untrimmed = (BatchSampler(data, 2, seed=0, trim=trim) for trim in (True, False))
    widths = set()
    for step in range(10):
        batch, wide = trimmed.batch(step), untrimmed.batch(step)
        widths.add(batch.max_nodes)
        assert wide.max_nodes == 7
        assert batch.max_nodes == wide.sizes.max()
        assert torch.equal(batch.padded(7).adj, wide.adj)
        assert torch.equal(batch.padded(7).node_mask, wide.node_mask)
        assert torch.equal(wide.adj, data.adj[trimmed.indices(step)])
    assert len(widths) > 1


# ---------------------------------------------------------------- buckets


def cost(widths, cuts, overhead):
    """Pairs of nodes of the buckets between the cuts, padded to the last of each, and overheads."""
    ends = [0, *cuts, len(widths)]
    return sum((b - a) * widths[b - 1] ** 2 + overhead for a, b in pairwise(ends))


def cheapest(widths, overhead, fewest=1):
    """By trying all ways to cut where widths change."""
    places = [place for place in range(1, len(widths)) if widths[place] > widths[place - 1]]
    ways = [cuts for n in range(len(widths)) for cuts in combinations(places, n)]
    allowed = [
        cuts for cuts in ways if min(map(len, buckets_between(cuts, widths)), default=0) >= fewest
    ]
    return min(cost(widths, cuts, overhead) for cuts in allowed or [()])


def buckets_between(cuts, widths):
    ends = [0, *cuts, len(widths)]
    return [widths[a:b] for a, b in pairwise(ends)]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("overhead", [0, 7, 50, 400, 10**6])
@pytest.mark.parametrize("fewest", [1, 2, 3])
def test_no_other_cut_is_cheaper(seed, overhead, fewest):
    rng = np.random.default_rng(seed)
    widths = sorted(rng.integers(1, 12, size=rng.integers(1, 9)).tolist())
    buckets = buckets_of_similar_width(widths, overhead, fewest=fewest)
    ends = [0, *(bucket.items.stop for bucket in buckets)]
    assert [(bucket.items.start, bucket.items.stop) for bucket in buckets] == list(pairwise(ends))
    assert ends[-1] == len(widths)
    assert all(bucket.nodes == max(widths[bucket.items]) for bucket in buckets)
    assert cost(widths, ends[1:-1], overhead) == cheapest(widths, overhead, fewest)
    assert all(len(bucket) >= min(fewest, len(widths)) for bucket in buckets)


def test_extreme_overheads():
    """One bucket where another costs too much or saves nothing; one per width where it is free."""
    assert len(buckets_of_similar_width([3, 5, 9], 10**9)) == 1
    assert len(buckets_of_similar_width([5] * 100, 0)) == 1
    assert [bucket.nodes for bucket in buckets_of_similar_width([3, 3, 5, 9], 0)] == [3, 5, 9]


@pytest.mark.parametrize("made", [BatchSampler, SizeStratifiedSampler])
def test_loaded_graphs_are_those_of_the_step_and_stay_in_place(made):
    """A CUDA graph reads the numbers of the graphs where they were when it was made."""
    data = empty_graphs(node_mask_of_sizes(SIZES))
    loading = made(data, 3, seed=0, trim=False)
    place = loading._loaded.data_ptr()
    for step in (0, PREPARED + 1, 2):
        loading.load(step)
        expected = data[loading.indices(step)].node_mask
        assert torch.equal(loading.loaded().node_mask, expected)
        assert torch.equal(loading.batch(step).node_mask, expected)
        assert loading._loaded.data_ptr() == place


def test_steps_prepared_together_share_one_tensor():
    """Indices go to the device once in so many steps, not at every step."""
    made = sampler()
    first, last, after = (made.indices(step) for step in (0, PREPARED - 1, PREPARED))
    assert first.untyped_storage().data_ptr() == last.untyped_storage().data_ptr()
    assert after.untyped_storage().data_ptr() != first.untyped_storage().data_ptr()
