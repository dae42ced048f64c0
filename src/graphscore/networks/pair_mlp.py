"""The MLP that every pair of nodes passes through: one formula, and two faster ways on the CPU.

It is most of the network's work. Products with a long side of all pairs are fastest with the
features first, gradients of weights, which are sums over pairs, with the features last. So
without gradients everything is features first and in place; with gradients it is features last,
and they are written out, which saves passes over memory. A GPU does not care about the order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor
from torch.nn import functional


class PairWeights(NamedTuple):
    """The three linear layers of the MLP, for each graph; H is the hidden width.

    The first layer is x_ij W + row_i + column_j: what depends on one node is computed per node.
    """

    row: Tensor
    """(B,I,H), or (B,1,H) for all rows."""
    column: Tensor | None
    """(B,J,H)."""
    first: Tensor
    """(B,C,H)."""
    second: Tensor
    """(B,H,H)."""
    second_shift: Tensor
    """(B,1,H)."""
    last: Tensor
    """(B,H,C_out)."""
    last_shift: Tensor
    """(B,1,C_out)."""


def pair_mlp(x: Tensor, weights: PairWeights) -> Tensor:
    """Return (B,C_out,I,J) of x (B,C,I,J) by an MLP of three layers with SiLU between them."""
    if x.device.type != "cpu" or torch.compiler.is_compiling():
        return plain_pair_mlp(x, weights, functional.silu)
    if torch.is_grad_enabled():
        return cast("Tensor", _WithGradients.apply(x, *weights))  # type: ignore[no-untyped-call]
    return _without_gradients(x, weights)


def plain_pair_mlp(
    x: Tensor,
    weights: PairWeights,
    activation: Callable[[Tensor], Tensor],
    norms: Sequence[Callable[[Tensor], Tensor]] = (),
) -> Tensor:
    """`pair_mlp` step by step, for any device and activation; each activation comes after
    a norm of its input (B,I*J,H), if norms are given.
    """
    start = weights.row.mT.unsqueeze(3)
    if weights.column is not None:
        start = start + weights.column.mT.unsqueeze(2)
    start = start.expand(-1, -1, *x.shape[2:]).flatten(2)
    hidden = torch.baddbmm(start, weights.first.mT, x.flatten(2))
    if norms:
        hidden = norms[0](hidden.mT).mT
    hidden = torch.baddbmm(weights.second_shift.mT, weights.second.mT, activation(hidden))
    if norms:
        hidden = norms[1](hidden.mT).mT
    out = torch.baddbmm(weights.last_shift.mT, weights.last.mT, activation(hidden))
    return out.view(*out.shape[:2], *x.shape[2:])


def _without_gradients(x: Tensor, weights: PairWeights) -> Tensor:
    start = weights.row.mT.contiguous()
    if weights.column is None:
        hidden = torch.bmm(weights.first.mT, x.flatten(2)).add_(start)
    else:
        hidden = (start.unsqueeze(3) + weights.column.mT.contiguous().unsqueeze(2)).flatten(2)
        hidden.baddbmm_(weights.first.mT, x.flatten(2))
    hidden = torch.bmm(weights.second.mT, functional.silu(hidden, inplace=True))
    hidden.add_(weights.second_shift.mT)
    out = torch.bmm(weights.last.mT, functional.silu(hidden, inplace=True))
    out.add_(weights.last_shift.mT)
    return out.view(*out.shape[:2], *x.shape[2:])


class _WithGradients(torch.autograd.Function):
    """The formula with its gradients written out."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, *arguments: Tensor) -> Tensor:
        weights = PairWeights(*arguments)
        rows = x.flatten(2).mT
        if weights.column is None:
            first_in = torch.bmm(rows, weights.first).add_(weights.row)
        else:
            first_in = (weights.row.unsqueeze(2) + weights.column.unsqueeze(1)).flatten(1, 2)
            first_in.baddbmm_(rows, weights.first)
        first_out = functional.silu(first_in)
        second_in = torch.bmm(first_out, weights.second).add_(weights.second_shift)
        second_out = functional.silu(second_in)
        out = _features_first(second_out, weights.last).add_(weights.last_shift.mT)
        ctx.save_for_backward(x, *arguments, first_in, first_out, second_in, second_out)
        return out.view(*out.shape[:2], *x.shape[2:])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, *arguments, first_in, first_out, second_in, second_out = ctx.saved_tensors
        weights = PairWeights(*arguments)
        if torch.is_grad_enabled():
            # The gradient of the gradient is needed, which the plain formula gives.
            return _differentiable_gradients(grad, x, weights, ctx.needs_input_grad)
        # Few features against many pairs: these stay features first, as they come.
        grad = grad.flatten(2).contiguous()
        last, last_shift = torch.bmm(grad, second_out).mT, grad.sum(2).unsqueeze(1)
        grad = _through_silu(torch.bmm(grad.mT, weights.last.mT), second_in)
        second, second_shift = torch.bmm(first_out.mT, grad), grad.sum(1, keepdim=True)
        grad = _through_silu(torch.bmm(grad, weights.second.mT), first_in)
        first = torch.bmm(x.flatten(2), grad)
        row, column = _node_gradients(grad, weights)
        of_x = None
        if ctx.needs_input_grad[0]:
            of_x = torch.bmm(weights.first, grad.mT).view(x.shape)
        return of_x, row, column, first, second, second_shift, last, last_shift


def _features_first(rows: Tensor, weight: Tensor) -> Tensor:
    """The product (B,out,P) of rows (B,P,in) and weight (B,in,out), contiguous."""
    if weight.shape[2] == 1:
        # Both orders are the same in memory, and products with a single row are slow.
        return torch.bmm(rows, weight).mT.contiguous()
    # Products are also slow if both sides are transposed views.
    return torch.bmm(weight.mT.contiguous(), rows.mT)


def _through_silu(grad: Tensor, x: Tensor) -> Tensor:
    """The gradient of silu's input x, in place of that of its output."""
    result: Tensor = torch.ops.aten.silu_backward.grad_input(grad, x, grad_input=grad)
    return result


def _node_gradients(grad: Tensor, weights: PairWeights) -> tuple[Tensor, Tensor | None]:
    if weights.column is None:
        return grad.sum(1, keepdim=True), None
    shape = weights.row.shape[1], weights.column.shape[1], grad.shape[2]
    grad = grad.view(len(grad), *shape)
    return grad.sum(2), grad.sum(1)


def _differentiable_gradients(
    grad: Tensor, x: Tensor, weights: PairWeights, needed: tuple[bool, ...]
) -> tuple[Tensor | None, ...]:
    inputs = (x, *weights)
    out = plain_pair_mlp(x, weights, functional.silu)
    chosen = [tensor for tensor, wanted in zip(inputs, needed) if tensor is not None and wanted]
    found = iter(torch.autograd.grad(out, chosen, grad, create_graph=True))
    return tuple(next(found) if wanted else None for wanted in needed)
