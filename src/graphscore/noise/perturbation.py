"""The paper's noise distribution (equation 2): one Gaussian per unordered pair of nodes."""

from __future__ import annotations

import torch
from torch import Tensor

from graphscore.graphs.batch import pair_mask


def symmetric_noise(
    node_mask: Tensor, *, generator: torch.Generator, dtype: torch.dtype = torch.float32
) -> Tensor:
    """Draw standard normal noise z_ij = z_ji for i < j; zero on the diagonal and on padding.

    Args:
        node_mask: (B,N) bool.

    Returns:
        (B,N,N) noise.

    >>> mask = torch.tensor([[True, True, False]])
    >>> z = symmetric_noise(mask, generator=torch.Generator().manual_seed(0))
    >>> bool((z == z.mT).all()), int((z != 0).sum())
    (True, 2)
    """
    batch, width = node_mask.shape
    full = torch.randn(
        batch, width, width, generator=generator, device=node_mask.device, dtype=dtype
    )
    upper = full.triu(1)
    return (upper + upper.mT) * pair_mask(node_mask)


def perturb(
    adj_clean: Tensor, node_mask: Tensor, sigma: Tensor, *, generator: torch.Generator
) -> Tensor:
    """Draw A~ from q_sigma(A~ | A), equation 2: A~ = A + sigma z with symmetric z.

    Args:
        adj_clean: (B,N,N).
        node_mask: (B,N) bool.
        sigma: (B,) standard deviation of each graph.

    Returns:
        (B,N,N) noisy adjacency.
    """
    noise = symmetric_noise(node_mask, generator=generator, dtype=adj_clean.dtype)
    return adj_clean + sigma.view(-1, 1, 1) * noise


def perturbation_score(adj_noisy: Tensor, adj_clean: Tensor, sigma: Tensor) -> Tensor:
    """Return the exact score of the noise, grad log q_sigma(A~ | A) = -(A~ - A) / sigma^2."""
    return (adj_clean - adj_noisy) / sigma.view(-1, 1, 1).square()
