"""The MLP over pairs: its fast forms and written-out gradients against the plain formula."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from graphscore.networks.pair_mlp import PairWeights, pair_mlp, plain_pair_mlp

# (B, C, I, J): several graphs, one graph, one node, an output MLP's single row, no pair at all.
SHAPES = [(3, 2, 4, 4), (1, 4, 5, 5), (2, 1, 1, 1), (2, 5, 3, 2), (2, 3, 0, 1)]


def case(shape, *, columns=True, hidden=3, out=2):
    """An input and weights in float64, all of them wanting gradients."""
    generator = torch.Generator().manual_seed(0)
    batch, channels, rows, width = shape

    def normal(*sizes):
        values = torch.randn(*sizes, generator=generator, dtype=torch.float64)
        return values.requires_grad_()

    weights = PairWeights(
        row=normal(batch, rows if columns else 1, hidden),
        column=normal(batch, width, hidden) if columns else None,
        first=normal(batch, channels, hidden),
        second=normal(batch, hidden, hidden),
        second_shift=normal(batch, 1, hidden),
        last=normal(batch, hidden, out),
        last_shift=normal(batch, 1, out),
    )
    return normal(*shape), weights


def naive(x, weights, graph, i, j):
    """One pair of one graph, written out."""
    row = weights.row[graph, i if weights.column is not None else 0]
    column = 0 if weights.column is None else weights.column[graph, j]
    hidden = functional.silu(x[graph, :, i, j] @ weights.first[graph] + row + column)
    hidden = functional.silu(hidden @ weights.second[graph] + weights.second_shift[graph, 0])
    return hidden @ weights.last[graph] + weights.last_shift[graph, 0]


def without_gradients(x, weights):
    with torch.no_grad():
        return pair_mlp(x, weights)


def plain(x, weights):
    return plain_pair_mlp(x, weights, functional.silu)


@pytest.mark.parametrize("columns", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("compute", [pair_mlp, without_gradients, plain])
def test_every_form_is_the_formula(compute, shape, columns):
    x, weights = case(shape, columns=columns)
    before = [t.clone() for t in (x, *weights) if t is not None]
    result = compute(x, weights)
    batch, _, rows, width = shape
    assert result.shape == (batch, 2, rows, width)
    for graph in range(batch):
        for i in range(rows):
            for j in range(width):
                expected = naive(x, weights, graph, i, j)
                torch.testing.assert_close(result[graph, :, i, j], expected, rtol=1e-10, atol=1e-10)
    after = [t for t in (x, *weights) if t is not None]
    assert all(torch.equal(one, other) for one, other in zip(before, after))


def flat(function, columns):
    """`function` of tensors only, as gradcheck wants it."""

    def call(x, row, *others):
        column, *rest = others if columns else (None, *others)
        return function(x, PairWeights(row, column, *rest))

    return call


@pytest.mark.parametrize("columns", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_gradients_and_their_gradients(shape, columns):
    """Every input's gradient by finite differences, and the gradient of the gradient."""
    x, weights = case(shape, columns=columns)
    inputs = [t for t in (x, *weights) if t is not None]
    assert torch.autograd.gradcheck(flat(pair_mlp, columns), inputs)
    if x.numel() and x.numel() < 40:
        assert torch.autograd.gradgradcheck(flat(pair_mlp, columns), inputs)


@pytest.mark.parametrize("out", [4, 1])
def test_gradients_are_those_of_the_plain_formula(out):
    """To rounding, also where the output's gradient is a view that is not contiguous."""
    x, weights = case((5, 4, 7, 7), hidden=16, out=out)
    inputs = (x, *weights)
    results = []
    for compute in (pair_mlp, plain):
        out = compute(x, weights)
        results.append(torch.autograd.grad((out + out.mT).pow(3).sum(), inputs))
    assert pair_mlp(x, weights).is_contiguous()
    for ours, expected in zip(*results):
        torch.testing.assert_close(ours, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("wanted", range(8))
def test_an_input_may_be_the_only_one_with_a_gradient(wanted):
    """A frozen network still has gradients of its input, and a fixed input those of weights."""
    x, weights = case((2, 3, 4, 4))
    inputs = [t.detach().requires_grad_(i == wanted) for i, t in enumerate((x, *weights))]
    results = [
        torch.autograd.grad(compute(inputs[0], PairWeights(*inputs[1:])).sum(), inputs[wanted])
        for compute in (pair_mlp, plain)
    ]
    torch.testing.assert_close(*results, rtol=1e-10, atol=1e-10)


def test_norms_see_the_input_of_each_activation():
    """The released variant normalises (B,P,H) before both activations."""
    x, weights = case((2, 3, 4, 4))
    seen = []

    def norm(hidden):
        seen.append(hidden.shape)
        return 2 * hidden

    result = plain_pair_mlp(x, weights, functional.silu, [norm, norm])
    assert seen == [(2, 16, 3)] * 2
    doubled = lambda hidden: functional.silu(2 * hidden)  # noqa: E731
    torch.testing.assert_close(result, plain_pair_mlp(x, weights, doubled))
