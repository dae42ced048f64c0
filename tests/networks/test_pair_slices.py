"""Every unordered pair once, and back to a matrix."""

from __future__ import annotations

import pytest
import torch

from graphscore.networks.pair_slices import matrix_of_pairs, one_of_each_pair


def symmetric(batch, nodes):
    raw = torch.randn(batch, nodes, nodes, generator=torch.Generator().manual_seed(0)).triu(1)
    return (raw + raw.mT).double()


@pytest.mark.parametrize("nodes", range(1, 12))
def test_every_pair_is_there_and_few_are_twice(nodes):
    """All pairs i < j, none of the diagonal; half a row too many if the number is odd."""
    low = torch.arange(nodes)
    names = torch.minimum(low[:, None], low) * nodes + torch.maximum(low[:, None], low)
    chosen = one_of_each_pair(names.view(1, 1, nodes, nodes)).flatten().tolist()
    expected = {i * nodes + j for j in range(nodes) for i in range(j)}
    assert set(chosen) == expected
    assert len(chosen) == len(expected) + (nodes % 2) * (nodes - 1) // 2


@pytest.mark.parametrize("nodes", [1, 2, 3, 4, 7, 8])
@pytest.mark.parametrize("batch", [0, 1, 3])
def test_there_and_back(batch, nodes):
    """The matrix comes back, with gradients that count each pair as often as the matrix does."""
    matrix = symmetric(batch, nodes).requires_grad_()
    back = matrix_of_pairs(one_of_each_pair(matrix.unsqueeze(1)).squeeze(1), nodes)
    assert back.shape == matrix.shape
    torch.testing.assert_close(back, matrix)
    (gradient,) = torch.autograd.grad(back.sum(), matrix)
    off_diagonal = 2 - 2 * torch.eye(nodes, dtype=torch.float64)
    torch.testing.assert_close(gradient + gradient.mT, off_diagonal.expand_as(matrix))
