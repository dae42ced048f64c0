"""Gaussian noise on graph states (equation 2), on edges one draw per unordered pair."""

from __future__ import annotations

import torch
from torch import Tensor

from graphscore.graphs.state import GraphState, pair_mask, per_graph


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
    upper = full.triu()  # the mask leaves the diagonal out
    return (upper + upper.mT) * pair_mask(node_mask)


def noise_like(state: GraphState, *, generator: torch.Generator) -> GraphState:
    """Draw standard normal noise for every entry of a state: edges first, then nodes."""
    mask, dtype = state.node_mask, state.edges.dtype
    if state.edges.ndim == 3:
        edges = symmetric_noise(mask, generator=generator, dtype=dtype)
    else:
        channels = range(state.edges.shape[3])
        drawn = [symmetric_noise(mask, generator=generator, dtype=dtype) for _ in channels]
        edges = torch.stack(drawn, dim=3)
    nodes = state.nodes
    if nodes is not None:
        full = torch.randn(nodes.shape, generator=generator, device=nodes.device, dtype=nodes.dtype)
        nodes = full * mask.unsqueeze(2)
    return GraphState(edges, mask, nodes)


def perturb(clean: GraphState, sigma: Tensor, *, generator: torch.Generator) -> GraphState:
    """Draw a noisy state from q_sigma(. | clean), equation 2: clean + sigma z.

    Args:
        sigma: (B,) standard deviation of each graph.
    """
    return clean + noise_like(clean, generator=generator).scaled(sigma)


def score_of_mean(mean: GraphState, noisy: GraphState, sigma: Tensor) -> GraphState:
    """Return the score (D - A~) / sigma^2 of the posterior mean D (Tweedie's formula).

    With the clean state in place of D it is the exact score of the noise, grad log q_sigma(A~ | A).
    """
    return (mean - noisy).map(lambda entries: entries / per_graph(sigma, entries).square())


def mean_of_score(score: GraphState, noisy: GraphState, sigma: Tensor) -> GraphState:
    """Return the posterior mean D = A~ + sigma^2 s of the score s (Tweedie's formula)."""
    return noisy + score.map(lambda entries: per_graph(sigma, entries).square() * entries)
