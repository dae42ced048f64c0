"""The log-density that a score network defines implicitly (Theorem 1)."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from graphscore.sampling.langevin import Score


@torch.no_grad()
def log_density_difference(
    score: Score, adj: Tensor, node_mask: Tensor, sigma: Tensor, *, points: int = 32
) -> Tensor:
    """Return log p(A) - log p(0) as the line integral of the score from 0 to A.

    The integral of <s(X), dX> along X = t A is computed by Gauss-Legendre quadrature, exact for
    scores that are polynomials of degree below 2 * points along the line. Each unordered pair is
    one degree of freedom, so the product runs over i < j, half of the Frobenius product.
    Invariant under permutation of the nodes if the score is equivariant.

    Args:
        score: `score(adj, node_mask, sigma)`.
        adj: (B,N,N) symmetric.
        node_mask: (B,N) bool.
        sigma: (B,) noise level at which the density is asked for.
        points: number of quadrature points, one network call each.

    Returns:
        (B,) differences.

    Example:
        A standard Gaussian has log p(A) - log p(0) = -sum_{i<j} A_ij^2 / 2.

        >>> adj = torch.tensor([[[0.0, 2.0], [2.0, 0.0]]], dtype=torch.float64)
        >>> mask = torch.ones(1, 2, dtype=torch.bool)
        >>> log_density_difference(lambda a, m, s: -a, adj, mask, torch.ones(1)).item()
        -2.0
    """
    nodes, weights = np.polynomial.legendre.leggauss(points)
    total = torch.zeros(len(adj), dtype=adj.dtype, device=adj.device)
    for node, weight in zip(nodes.tolist(), weights.tolist()):
        position = (node + 1) / 2
        product = (score(position * adj, node_mask, sigma) * adj).sum((1, 2)) / 2
        total += weight / 2 * product
    return total
