"""Which entries of a sampled matrix of weights are edges (weighted graphs of section 2).

There, A_ij is the weight of an edge and 0 where there is none. Langevin dynamics ends with noise of
the smallest sigma on every entry: none is 0, and those of weak edges are like those of none.
"""

from __future__ import annotations

import math
from typing import Literal, Self

import torch
from pydantic import Field
from torch import Tensor

from graphscore.graphs import GraphBatch, GraphState
from graphscore.settings import Settings

MOST_WEIGHTS = 10_000
"""Weights that the threshold is computed from; of more, as many that are evenly spread."""
HALVINGS = 60


class WeightMatrix(Settings):
    """How a final matrix becomes weighted edges.

    Example:
        >>> noisy = torch.tensor([[[0.0, 0.4], [0.4, 0.0]]])
        >>> state = GraphState(noisy, torch.ones(1, 2, dtype=torch.bool))
        >>> WeightMatrix(weakest=0.7, signs="positive").decode(state, 0.5).edges[0, 0, 1]
        tensor([1.0000, 0.4000])
    """

    weakest: float = Field(gt=0, le=1e9)
    """Magnitude of an entry, in the units of the matrix, that counts as that of the weakest edge.
    The sampler's threshold is a share of it."""
    signs: Literal["positive", "negative", "both"]
    """Of the weights; an entry of another sign is no edge."""

    @classmethod
    def of(cls, batch: GraphBatch, sigma: float) -> Self:
        """Return the one of training graphs, whose `adj` has the weights.

        Half of `weakest` is where the training graphs under noise of sigma would get as many edges
        that they do not have as they would lose. So a perfect sampler gives as many edges as they
        have. Where sigma is small beside all weights, it is about half of the smallest; with
        weights of 1 only and as many pairs with an edge as without, exactly the paper's 1/2.

        >>> adj = torch.tensor([[[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]])
        >>> path = GraphBatch(adj, torch.ones(1, 3, dtype=torch.bool))
        >>> round(WeightMatrix.of(path, 0.1).weakest, 2)
        0.99
        """
        pairs = batch.adj[batch.pair_mask.triu()].double().cpu()
        weights = pairs[pairs != 0]
        # Half a missing edge is added, so that none is not impossible.
        missing = len(pairs) - len(weights) + 0.5
        signs = {float(sign) for sign in weights.sign()}
        both = len(signs) > 1
        sizes = weights.abs().sort().values[:: -(-len(weights) // MOST_WEIGHTS)]
        lost_each = len(weights) / len(sizes)

        def log_below(threshold: float, centre: Tensor) -> Tensor:
            share: Tensor = torch.special.log_ndtr((threshold - centre) / sigma)
            return share

        def gains(threshold: float) -> bool:
            """Return whether there are more edges than before; logarithms, as both are rare."""
            lost = log_below(threshold, sizes)
            if both:
                lost = lost + (-(log_below(-threshold, sizes) - lost).exp()).log1p()
            gained = log_below(-threshold, torch.zeros_like(sizes[:1])) + math.log(1 + both)
            return bool(gained + math.log(missing) > lost.logsumexp(0) + math.log(lost_each))

        low, high = 0.0, float(sizes[-1]) + 10 * sigma
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if gains(middle) else (low, middle)
        one = "positive" if signs == {1.0} else "negative"
        return cls(weakest=2 * high, signs="both" if both else one)

    def decode(self, state: GraphState, threshold: float) -> GraphState:
        """Return whether there is an edge, and its weight: edges (B,N,N,2).

        Args:
            state: the final matrices.
            threshold: share of `weakest` above which entries are edges.
        """
        factors = {"positive": state.edges, "negative": -state.edges, "both": state.edges.abs()}
        present = (factors[self.signs] > threshold * self.weakest) & state.pair_mask
        edges = torch.stack([present.to(state.edges.dtype), state.edges * present], dim=3)
        return GraphState(edges, state.node_mask)
