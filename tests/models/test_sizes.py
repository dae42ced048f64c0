"""The empirical distribution of the number of nodes."""

from __future__ import annotations

import pytest
import torch

from graphscore.errors import GraphDataError
from graphscore.models.sizes import SizeDistribution, chunks_of_similar_size


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_frequencies():
    """Sizes are drawn as often as they occurred, to 5 standard errors, and no others."""
    sizes = SizeDistribution.of([4, 10, 4, 4, 7, 10, 4, 4, 4, 4])
    assert sizes.counts == {4: 7, 7: 1, 10: 2}
    assert sizes.range == (4, 10)
    drawn = sizes.draw(20_000, generator=generator())
    assert drawn.dtype == torch.int64
    assert set(drawn.tolist()) == {4, 7, 10}
    for size, count in sizes.counts.items():
        p = count / 10
        error = (p * (1 - p) / len(drawn)) ** 0.5
        assert abs((drawn == size).double().mean() - p) < 5 * error


def test_reproducible():
    """The generator decides, and nothing else."""
    sizes = SizeDistribution.of(range(1, 50))
    before = torch.get_rng_state()
    first, again, other = (sizes.draw(30, generator=generator(s)) for s in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_counts_do_not_depend_on_the_order_of_graphs():
    """The same graphs in another order give the same draws."""
    one, two = SizeDistribution.of([5, 3, 5]), SizeDistribution.of(torch.tensor([3, 5, 5]))
    assert list(one.counts.items()) == list(two.counts.items()) == [(3, 1), (5, 2)]


def test_no_graphs_is_an_error():
    with pytest.raises(GraphDataError, match="at least one"):
        SizeDistribution.of([])


def test_chunks_hold_every_graph_once_and_as_many_pairs_as_fit():
    sizes = torch.tensor([9, 3, 5, 3, 12, 5])
    chunks = chunks_of_similar_size(sizes, 80)
    assert sorted(torch.cat(chunks).tolist()) == list(range(6))
    assert [sizes[chunk].tolist() for chunk in chunks] == [[3, 3, 5], [5], [9], [12]]


@pytest.mark.parametrize(
    ("sizes", "pairs", "chunks"),
    [
        ([3, 3, 3, 3], 18, [[0, 1], [2, 3]]),
        ([3, 3, 3, 3], 17, [[0], [1], [2], [3]]),
        ([2, 1] * 10, 30, [[*range(1, 20, 2)], [*range(0, 14, 2)], [14, 16, 18]]),
        ([9, 9], 1, [[0], [1]]),
    ],
)
def test_chunks_are_full_and_keep_the_order_of_equal_sizes(sizes, pairs, chunks):
    """As many pairs as allowed fit, one less does not; what fits nowhere is alone."""
    found = chunks_of_similar_size(torch.tensor(sizes), pairs)
    assert [chunk.tolist() for chunk in found] == chunks


def test_the_largest_graph_may_have_as_many_nodes_as_models_allow():
    """One node more is refused, whatever the other graphs are."""
    assert SizeDistribution.of([20_000, 3]).range == (3, 20_000)
    words = r"a graph of 20001 nodes.*more than 20000 have.*graphscore\.subgraphs.*--subgraphs"
    with pytest.raises(GraphDataError, match=words):
        SizeDistribution.of([20_001, 3])


def test_sizes_outside_the_range_are_named():
    known = SizeDistribution.of([4, 9, 6])
    assert known.outside(torch.tensor([4, 9, 5])) == ""
    said = known.outside(torch.tensor([3, 9, 12]))
    assert said.startswith(
        "2 of 3 graphs are to have 3 to 12 nodes, but the training graphs had 4 "
    )
    said = SizeDistribution.of([5]).outside(torch.tensor([8]))
    assert said.startswith(
        "1 of 1 graphs are to have 8 nodes, but the training graphs had 5 nodes."
    )
