"""Features of unordered pairs, each kept once, and of the ordered pairs that they stand for.

Pairs are numbered along the rows of the upper triangle: (0,1) (0,2) ... (0,N-1) (1,2) and so on.
Both directions are gathers, and so are their gradients, since each is the transpose of the other;
left to itself, the gradient of a gather is a scatter, which is slow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import FunctionCtx

from graphscore.graphs.batch import pair_mask


@dataclass(frozen=True)
class Present:
    """Which pairs there are, of how many nodes, and where each is kept.

    A single node has no pair, but one place is kept for it, so that nothing is empty.

    Attributes:
        pairs: (B,N,N) bool.
        exists: (B,1,N,N) the same as 0 or 1, since a product is faster than a choice.
        sizes: (B,1,1) number of nodes, at least 1.
        others: (B,1,1) number of other nodes, at least 1.
        first: (P,) the smaller node of every pair.
        second: (P,) the larger one.
        place: (N,N) the pair of two nodes; arbitrary on the diagonal.
        distinct: (N,N) bool, false on the diagonal.
    """

    pairs: Tensor
    exists: Tensor
    sizes: Tensor
    others: Tensor
    first: Tensor
    second: Tensor
    place: Tensor
    distinct: Tensor

    @staticmethod
    def of(node_mask: Tensor, dtype: torch.dtype) -> Present:
        nodes, device = node_mask.shape[1], node_mask.device
        sizes = node_mask.sum(1).to(dtype).clamp_min(1).view(-1, 1, 1)
        first, second = torch.triu_indices(nodes, nodes, int(nodes > 1), device=device)
        number = torch.arange(nodes, device=device)
        low = torch.minimum(number.unsqueeze(1), number)
        high = torch.maximum(number.unsqueeze(1), number)
        place = low * (2 * nodes - low - 1) // 2 + high - low - 1
        pairs = pair_mask(node_mask)
        return Present(
            pairs=pairs,
            exists=pairs.to(dtype).unsqueeze(1),
            sizes=sizes,
            others=(sizes - 1).clamp_min(1),
            first=first,
            second=second,
            place=place.clamp(0, len(first) - 1),
            distinct=low != high,
        )

    def both_ways(self, of_pairs: Tensor) -> Tensor:
        """Return the features (B,N*N,C) of ordered pairs from (B,P,C); arbitrary for i = j."""
        both: Tensor = _BothWays.apply(of_pairs, self)  # type: ignore[no-untyped-call]
        return both

    def pairs_of(self, matrices: Tensor) -> Tensor:
        """Return M_ij + M_ji (B,C,P) of every pair from (B,C,N,N)."""
        pairs: Tensor = _PairsOf.apply(matrices, self)  # type: ignore[no-untyped-call]
        return pairs

    def ends(self, of_nodes: Tensor) -> Tensor:
        """Return z_i + z_j (B,P,F) of every pair from (B,N,F)."""
        ends: Tensor = _Ends.apply(of_nodes, self)  # type: ignore[no-untyped-call]
        return ends

    def upper_and_lower(self, of_ordered: Tensor, dim: int) -> Tensor:
        """Return the sum of (i,j) and (j,i) for every pair along a dimension of length N*N."""
        nodes = len(self.place)
        upper = of_ordered.index_select(dim, self.first * nodes + self.second)
        return upper + of_ordered.index_select(dim, self.second * nodes + self.first)


class _BothWays(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, of_pairs: Tensor, present: Present) -> Tensor:
        ctx.present = present  # type: ignore[attr-defined]
        return of_pairs.index_select(1, present.place.flatten())

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return ctx.present.upper_and_lower(gradient, 1), None


class _PairsOf(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, matrices: Tensor, present: Present) -> Tensor:
        ctx.present = present  # type: ignore[attr-defined]
        return present.upper_and_lower(matrices.flatten(2), 2)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        place = ctx.present.place
        matrices = gradient.index_select(2, place.flatten()).view(*gradient.shape[:2], *place.shape)
        return torch.where(ctx.present.distinct, matrices, 0.0), None


class _Ends(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, of_nodes: Tensor, present: Present) -> Tensor:
        ctx.present = present  # type: ignore[attr-defined]
        first = of_nodes.index_select(1, present.first)
        return first + of_nodes.index_select(1, present.second)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        place = ctx.present.place
        both = gradient.index_select(1, place.flatten()).view(len(gradient), *place.shape, -1)
        both = torch.where(ctx.present.distinct.unsqueeze(2), both, 0.0)
        return both.sum(2).to(gradient.dtype), None
