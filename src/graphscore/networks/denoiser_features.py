"""What the log-odds denoiser is told about a noisy graph before it thinks for itself.

All of it follows from the posterior D of independent edges: what a pair's own value says about it,
how many neighbours a node has by D, and where random walks over D lead.
"""

from __future__ import annotations

import torch
from torch import Tensor

from graphscore.networks.log_odds import independent_log_odds
from graphscore.networks.unordered_pairs import Present

PAIR_FEATURES = 3
"""Features of a pair, apart from walks."""
NODE_FEATURES = 4
"""Features of a node, apart from walks that return and those of the data."""

LARGEST_LOG_ODDS = 8.0
"""Beyond it a pair counts as known."""
NO_NEIGHBOURS = 1e-3
"""Added to every degree, so that walks from nodes without neighbours lead nowhere."""


def first_features(
    adj: Tensor,
    present: Present,
    sigma: Tensor,
    prior_log_odds: Tensor,
    walk_steps: int,
    node_feat: Tensor | None,
    together: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return what is known of pairs and of nodes, all of size about 1.

    Args:
        adj: (B,N,N) noisy adjacency, zero off the pairs.
        sigma: (B,).
        prior_log_odds: of the density of edges, of a shape that broadcasts to (B,N,N).
        walk_steps: length of the longest random walks.
        node_feat: (B,N,F) or None.
        together: (B,N,N) which pairs are in the same community, or None.

    Returns:
        (B,P,PAIR_FEATURES + walk_steps) and (B,N,NODE_FEATURES + walk_steps - 1 + F), with
        `together` one more in both.
    """
    density = prior_log_odds.sigmoid()
    spread = (sigma.view(-1, 1, 1).square() + density * (1 - density)).sqrt()
    value = torch.where(present.pairs, (adj - density) / spread, 0.0)
    log_odds = independent_log_odds(adj, sigma, prior_log_odds)
    probability = torch.where(present.pairs, log_odds.sigmoid(), 0.0)
    bounded = log_odds.clamp(-LARGEST_LOG_ODDS, LARGEST_LOG_ODDS) / (LARGEST_LOG_ODDS / 2)
    # A long walk ends anywhere with probability 1/n, near its start with many times that.
    walks = [(present.sizes * walk).log1p() for walk in _walks(probability, walk_steps)]
    matrices = [value, bounded, probability, *walks]
    degree = probability.sum(2, keepdim=True)
    of_nodes = [
        value.sum(2, keepdim=True) / present.others.sqrt(),
        degree / present.others,
        degree.log1p() / 2,
        present.sizes.log().expand_as(degree) / 4,
        *(walk.diagonal(dim1=1, dim2=2).unsqueeze(2) for walk in walks[1:]),
    ]
    if node_feat is not None:
        of_nodes.append(node_feat)
    if together is not None:
        with_it = (together & present.pairs).to(adj.dtype)
        matrices.append(with_it)
        of_nodes.append((1 + with_it.sum(2, keepdim=True)).log() / 4)
    # Symmetric all of them, so that one triangle says it all.
    of_pairs = torch.stack([m[:, present.first, present.second] for m in matrices], dim=2)
    return of_pairs, torch.cat(of_nodes, dim=2)


def _walks(probability: Tensor, steps: int) -> list[Tensor]:
    """Probabilities (B,N,N) of walks of 1, 2, ... steps over D, the same in both directions.

    A step from i to j has probability R_ij = D_ij / d_i with the degree d_i. The geometric mean of
    (R^k)_ij and (R^k)_ji is the power k of the symmetric matrix D_ij / sqrt(d_i d_j).
    """
    scale = (probability.sum(2) + NO_NEIGHBOURS).rsqrt()
    step = probability * scale.unsqueeze(1) * scale.unsqueeze(2)
    walks = [step]
    # Long walks differ little, which half precision would round away.
    with torch.autocast(probability.device.type, enabled=False):
        for _ in range(steps - 1):
            walks.append(walks[-1] @ step)
    return walks[:steps]
