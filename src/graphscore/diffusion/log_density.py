"""The log-density that a score network defines implicitly (Theorem 1)."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from graphscore.diffusion.posterior import Score
from graphscore.graphs.state import GraphState


@torch.no_grad()
def log_density_difference(
    score: Score, state: GraphState, sigma: Tensor, *, points: int = 32
) -> Tensor:
    """Return log p(A) - log p(0) as the line integral of the score from 0 to A.

    The integral of <s(X), dX> along X = t A is computed by Gauss-Legendre quadrature, exact for
    scores that are polynomials of degree below 2 * points along the line. Each unordered pair is
    one degree of freedom, so the product runs over i < j, half of the Frobenius product.
    Invariant under permutation of the nodes if the score is equivariant.

    Args:
        score: `score(state, sigma)`.
        state: A, with symmetric edges.
        sigma: (B,) noise level of the density.
        points: number of quadrature points, one network call each.

    Returns:
        (B,) differences.

    Example:
        A standard Gaussian has log p(A) - log p(0) = -sum_{i<j} A_ij^2 / 2.

        >>> adj = torch.tensor([[[0.0, 2.0], [2.0, 0.0]]], dtype=torch.float64)
        >>> state = GraphState(adj, torch.ones(1, 2, dtype=torch.bool))
        >>> log_density_difference(lambda state, sigma: state * -1.0, state, torch.ones(1)).item()
        -2.0
    """
    nodes, weights = np.polynomial.legendre.leggauss(points)
    total = torch.zeros(len(state), dtype=state.edges.dtype, device=state.edges.device)
    for node, weight in zip(nodes.tolist(), weights.tolist()):
        answer = score(state * ((node + 1) / 2), sigma)
        edges, *of_nodes = state.map(torch.mul, answer).entries
        product = edges.flatten(1).sum(1) / 2
        for entries in of_nodes:
            product = product + entries.sum((1, 2))
        total += weight / 2 * product
    return total
