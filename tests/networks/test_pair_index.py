"""Each pair once, and back: what is gathered and what its gradient is."""

from __future__ import annotations

import pytest
import torch

from graphscore.graphs import node_mask_of_sizes
from graphscore.networks.pair_index import PairIndex


def index_of(*sizes):
    return PairIndex.of(node_mask_of_sizes(torch.tensor(sizes)), torch.float64)


def draw(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.parametrize("nodes", [2, 3, 6, 7])
def test_pairs_are_those_of_the_upper_triangle(nodes):
    index = index_of(nodes)
    pairs = list(zip(index.first.tolist(), index.second.tolist()))
    assert pairs == [(i, j) for i in range(nodes) for j in range(i + 1, nodes)]
    for number, (i, j) in enumerate(pairs):
        assert index.place[i, j] == index.place[j, i] == number


def test_matrices_are_symmetric_and_zero_where_there_is_no_pair():
    index, pairs = index_of(5, 3), draw(2, 2, 10)
    matrices = index.matrices_of(pairs)
    assert torch.equal(matrices, matrices.mT)
    assert torch.equal(matrices[0, :, 3, 1], pairs[0, :, index.place[1, 3]])
    assert (matrices != 0).sum((1, 2, 3)).tolist() == [2 * 20, 2 * 6]


def test_pairs_of_matrices_are_sums_of_both_directions():
    index, matrices = index_of(4, 4), draw(2, 3, 4, 4)
    pairs = index.pairs_of(matrices)
    torch.testing.assert_close(pairs[:, :, 4], matrices[:, :, 1, 3] + matrices[:, :, 3, 1])
    torch.testing.assert_close(index.pairs_of(index.matrices_of(pairs)), 2 * pairs)


def test_ends_are_sums_of_both_nodes():
    index, nodes = index_of(4, 4), draw(2, 4, 3)
    torch.testing.assert_close(index.ends(nodes)[:, 4], nodes[:, 1] + nodes[:, 3])


def test_a_single_node_has_one_place_and_no_pair():
    index = index_of(1, 1)
    assert not index.matrices_of(draw(2, 3, 1)).any()
    assert index.pairs_of(draw(2, 3, 1, 1)).shape == (2, 3, 1)
    assert index.ends(draw(2, 1, 3)).shape == (2, 1, 3)


def test_gradients_are_those_of_the_function():
    index = index_of(5, 5)
    for function, shape in [
        (index.matrices_of, (2, 2, 10)),
        (index.pairs_of, (2, 2, 5, 5)),
        (index.ends, (2, 5, 2)),
    ]:
        assert torch.autograd.gradcheck(function, draw(*shape).requires_grad_())


def test_places_without_a_pair_are_not_read():
    """Those that CUDA has for aligned rows, with whatever stands there."""
    mask = node_mask_of_sizes(torch.tensor([5, 3]))
    index, plain = PairIndex.of(mask, torch.float64, multiple=8), index_of(5, 3)
    assert len(index.first) == len(index.second) == 16
    pairs, matrices, nodes = draw(2, 2, 16).requires_grad_(), draw(2, 2, 5, 5), draw(2, 5, 3)
    made = index.matrices_of(pairs)
    assert torch.equal(made, plain.matrices_of(pairs[:, :, :10]))
    made.sum().backward()
    assert not pairs.grad[:, :, 10:].any()
    assert torch.equal(index.pairs_of(matrices)[:, :, :10], plain.pairs_of(matrices))
    assert torch.equal(index.ends(nodes)[:, :10], plain.ends(nodes))
