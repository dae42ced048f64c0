"""Input features of the denoiser: what noisy entries say by themselves.

All of it follows from the analytic posterior of independent entries: what a pair's own value says
about it, how many neighbours a node has, and where random walks lead.
"""

from __future__ import annotations

import torch
from torch import Tensor

from graphscore.diffusion.likelihood import GraphLikelihood
from graphscore.graphs.condition import Condition
from graphscore.graphs.state import GraphState
from graphscore.networks.pair_index import PairIndex
from graphscore.networks.settings import DenoiserSettings

NODE_FEATURES = 3
"""Features of a node whatever the likelihood: its degree in two forms, and the graph's size."""

NO_NEIGHBOURS = 1e-3
"""Added to every degree, so that walks from nodes without neighbours lead nowhere."""


def input_widths(likelihood: GraphLikelihood, settings: DenoiserSettings) -> tuple[int, int]:
    """Return how many features of pairs and of nodes there are."""
    walks = settings.walk_steps
    of_pairs = likelihood.edges.channels + walks
    of_nodes = likelihood.edges.sums + NODE_FEATURES + max(0, walks - 1) + settings.node_feat_dim
    if likelihood.nodes is not None:
        of_nodes += likelihood.nodes.channels
    # One more of each where communities are known.
    return of_pairs + settings.communities, of_nodes + settings.communities


def input_features(
    noisy: GraphState,
    pairs: PairIndex,
    sigma: Tensor,
    condition: Condition,
    likelihood: GraphLikelihood,
    settings: DenoiserSettings,
) -> tuple[Tensor, Tensor]:
    """Return the input features of pairs and of nodes, all of size about 1.

    Returns:
        (B,P,F) and (B,N,F'), as wide as `input_widths` says.
    """
    prior = likelihood.prior(noisy.node_mask, condition, noisy.edges.dtype)
    channels, connection, sums = likelihood.edges.features(
        noisy.edges, sigma, prior.edges, pairs.mask
    )
    # A long walk ends anywhere with probability 1/n, near its start with many times that.
    walks = [(pairs.sizes * walk).log1p() for walk in _walks(connection, settings.walk_steps)]
    matrices = [*channels, *walks]
    degree = connection.sum(2, keepdim=True)
    of_nodes = [
        *(values.sum(2, keepdim=True) / pairs.others.sqrt() for values in sums),
        degree / pairs.others,
        degree.log1p() / 2,
        pairs.sizes.log().expand_as(degree) / 4,
        *(walk.diagonal(dim1=1, dim2=2).unsqueeze(2) for walk in walks[1:]),
    ]
    if condition.node_feat is not None:
        of_nodes.append(condition.node_feat)
    if settings.communities:
        within = (condition.same_community() & pairs.mask).to(noisy.edges.dtype)
        matrices.append(within)
        of_nodes.append((1 + within.sum(2, keepdim=True)).log() / 4)
    if likelihood.nodes is not None:
        assert noisy.nodes is not None
        assert prior.nodes is not None
        found = likelihood.nodes.features(noisy.nodes, sigma, prior.nodes, noisy.node_mask)
        of_nodes += [channel.unsqueeze(2) for channel in found.channels]
    # All of them are symmetric, so that one triangle says it all.
    of_pairs = torch.stack([m[:, pairs.first, pairs.second] for m in matrices], dim=2)
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
