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
from torch.nn import functional

from graphscore.graphs.state import pair_mask

ROWS = 8
"""On CUDA pairs are padded to a multiple of this: matrix products in half precision are
slower if rows do not begin at multiples of 16 bytes."""


@dataclass(frozen=True)
class PairIndex:
    """Which pairs there are, of how many nodes, and where each is kept.

    A single node has no pair, but one place is kept for it, so that nothing is empty. On CUDA more
    places may follow, which stand for no pair and are not read.

    Attributes:
        mask: (B,N,N) bool, pairs that exist.
        exists: (B,1,N,N) the same as 0 or 1, since a product is faster than a choice.
        sizes: (B,1,1) number of nodes, at least 1.
        others: (B,1,1) number of other nodes, at least 1.
        first: (P,) the smaller node of every pair.
        second: (P,) the larger one.
        place: (N,N) the pair of two nodes; arbitrary on the diagonal.
        distinct: (N,N) bool, false on the diagonal.
    """

    mask: Tensor
    exists: Tensor
    sizes: Tensor
    others: Tensor
    first: Tensor
    second: Tensor
    place: Tensor
    distinct: Tensor

    @staticmethod
    def of(node_mask: Tensor, dtype: torch.dtype, *, multiple: int | None = None) -> PairIndex:
        """Number the pairs of graphs.

        Args:
            node_mask: (B,N) bool.
            dtype: of counts and masks.
            multiple: what the number of places is a multiple of; by the device if not given.
        """
        nodes, device = node_mask.shape[1], node_mask.device
        sizes = node_mask.sum(1).to(dtype).clamp_min(1).view(-1, 1, 1)
        first, second = torch.triu_indices(nodes, nodes, int(nodes > 1), device=device)
        multiple = multiple or (ROWS if node_mask.is_cuda else 1)
        padding = 0, -len(first) % multiple
        first, second = functional.pad(first, padding), functional.pad(second, padding)
        number = torch.arange(nodes, device=device)
        low = torch.minimum(number.unsqueeze(1), number)
        high = torch.maximum(number.unsqueeze(1), number)
        place = low * (2 * nodes - low - 1) // 2 + high - low - 1
        mask = pair_mask(node_mask)
        return PairIndex(
            mask=mask,
            exists=mask.to(dtype).unsqueeze(1),
            sizes=sizes,
            others=(sizes - 1).clamp_min(1),
            first=first,
            second=second,
            place=place.clamp(0, len(first) - 1),
            distinct=low != high,
        )

    def matrices_of(self, of_pairs: Tensor) -> Tensor:
        """Return symmetric matrices (B,C,N,N), zero where there is no pair, from (B,C,P)."""
        matrices: Tensor = _MatricesOf.apply(of_pairs, self)  # type: ignore[no-untyped-call]
        return matrices * self.exists.to(matrices.dtype)

    def pairs_of(self, matrices: Tensor) -> Tensor:
        """Return M_ij + M_ji (B,C,P) of every pair from (B,C,N,N)."""
        pairs: Tensor = _PairsOf.apply(matrices, self)  # type: ignore[no-untyped-call]
        return pairs

    def ends(self, of_nodes: Tensor) -> Tensor:
        """Return z_i + z_j (B,P,F) of every pair from (B,N,F)."""
        ends: Tensor = _Ends.apply(of_nodes, self)  # type: ignore[no-untyped-call]
        return ends


def _spread(of_pairs: Tensor, place: Tensor) -> Tensor:
    """Return (B,C,N,N) from (B,C,P), arbitrary on the diagonal."""
    return _picked(of_pairs, place.flatten()).view(*of_pairs.shape[:2], *place.shape)


def _sums(matrices: Tensor, index: PairIndex) -> Tensor:
    """Return M_ij + M_ji (B,C,P) from (B,C,N,N)."""
    ordered, nodes = matrices.flatten(2), len(index.place)
    upper = _picked(ordered, index.first * nodes + index.second)
    return upper + _picked(ordered, index.second * nodes + index.first)


def _picked(values: Tensor, places: Tensor) -> Tensor:
    """Return values[:, :, places]; on the CPU a gather is several times as fast as that."""
    return values.gather(2, places.expand(*values.shape[:2], -1))


class _MatricesOf(Function):
    @staticmethod
    def forward(ctx: Any, of_pairs: Tensor, index: PairIndex) -> Tensor:
        ctx.index = index
        return _spread(of_pairs, index.place)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return _sums(gradient, ctx.index), None


class _PairsOf(Function):
    @staticmethod
    def forward(ctx: Any, matrices: Tensor, index: PairIndex) -> Tensor:
        ctx.index = index
        return _sums(matrices, index)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        matrices = _spread(gradient, ctx.index.place)
        return torch.where(ctx.index.distinct, matrices, 0.0), None


class _Ends(Function):
    @staticmethod
    def forward(ctx: Any, of_nodes: Tensor, index: PairIndex) -> Tensor:
        ctx.index = index
        first = of_nodes.index_select(1, index.first)
        return first + of_nodes.index_select(1, index.second)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        place = ctx.index.place
        both = gradient.index_select(1, place.flatten()).view(len(gradient), *place.shape, -1)
        both = torch.where(ctx.index.distinct.unsqueeze(2), both, 0.0)
        return both.sum(2).to(gradient.dtype), None
