"""What one kind of entry is: its prior, its analytic posterior under noise, its loss, its decoding.

A likelihood describes the clean values of one kind of entry. Samplers, objectives, the trainer and
accelerated paths only use its methods, so they need no change for a new kind of entry.
`GraphLikelihood` puts the likelihoods of edges and nodes together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from graphscore.diffusion.noise import noise_like
from graphscore.graphs.condition import Condition
from graphscore.graphs.state import GraphState

LARGEST_LOGIT = 8.0
"""Beyond it an entry counts as known."""


class Features(NamedTuple):
    """What a network sees of noisy entries at first, all of size about 1, zero where there is none.

    Attributes:
        channels: (B,N,N) of pairs or (B,N) of nodes.
        connection: for pairs, the probability (B,N,N) that there is an edge; empty for nodes.
        sums: which of the channels of pairs say something of a node when they are summed over its
            pairs.
    """

    channels: list[Tensor]
    connection: Tensor
    sums: Sequence[Tensor] = ()


class Likelihood(Protocol):
    """One kind of entry. `mask` marks entries that exist; logits are the parameters of p(clean).

    Both have the shape of the entries: (B,N,N) or (B,N,N,C) for pairs, (B,N,C) for nodes.
    """

    @property
    def width(self) -> int:
        """Numbers C of one entry."""

    @property
    def channels(self) -> int:
        """Number of channels of `features`."""

    @property
    def sums(self) -> int:
        """Number of those whose sums count."""

    def prior(self, node_mask: Tensor, condition: Condition, dtype: torch.dtype) -> Tensor:
        """Return the logits before anything is seen, in a shape that broadcasts to the entries."""

    def posterior(self, noisy: Tensor, sigma: Tensor, prior: Tensor) -> Tensor:
        """Return the logits given an entry's own noisy value alone (the analytic posterior)."""

    def mean(self, logits: Tensor, sigma: Tensor, mask: Tensor) -> Tensor:
        """Return the posterior mean of the entries, zero where there is none."""

    def loss(self, logits: Tensor, sigma: Tensor, clean: Tensor) -> Tensor:
        """Return the negative log-likelihood of every entry, (B,N,N) or (B,N,1)."""

    def draw(
        self, mean: Tensor, sigma: Tensor, mask: Tensor, *, generator: torch.Generator
    ) -> Tensor:
        """Draw clean entries, independently of each other, from their posteriors.

        Args:
            mean: of the posteriors.
            sigma: (B,) noise level that they were seen under; infinite if they were not seen.
        """

    def decode(self, mean: Tensor, mask: Tensor, threshold: float) -> Tensor:
        """Return the clean entries that a final posterior mean stands for."""

    def features(self, noisy: Tensor, sigma: Tensor, prior: Tensor, mask: Tensor) -> Features:
        """Return what a network sees of noisy entries at first."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, with its kind."""


@dataclass(frozen=True)
class GraphLikelihood:
    """The likelihoods of all entries of a graph: edges, and nodes where they carry something."""

    edges: Likelihood
    nodes: Likelihood | None = None

    def _each(
        self, function: Callable[..., Tensor], first: GraphState, second: GraphState
    ) -> GraphState:
        """Call function(likelihood, entries, entries) for edges, and for nodes, of two states."""
        edges = function(self.edges, first.edges, second.edges)
        nodes = None
        if self.nodes is not None:
            nodes = function(self.nodes, first.nodes, second.nodes)
        return GraphState(edges, first.node_mask, nodes)

    def prior(self, node_mask: Tensor, condition: Condition, dtype: torch.dtype) -> GraphState:
        """Return the logits before anything is seen, in shapes that broadcast to the entries."""
        nodes = None if self.nodes is None else self.nodes.prior(node_mask, condition, dtype)
        return GraphState(self.edges.prior(node_mask, condition, dtype), node_mask, nodes)

    def prior_of(
        self, node_mask: Tensor, condition: Condition, dtype: torch.dtype = torch.float32
    ) -> Prior:
        """Return the prior of graphs of these sizes, which sampling starts from."""
        unseen = torch.full((len(node_mask),), math.inf, dtype=dtype, device=node_mask.device)
        return Prior(self.mean(self.prior(node_mask, condition, dtype), unseen), self)

    def posterior(self, noisy: GraphState, sigma: Tensor, prior: GraphState) -> GraphState:
        """Return the logits of the analytic posterior of every entry."""
        return self._each(lambda kind, x, p: kind.posterior(x, sigma, p), noisy, prior)

    def mean(self, logits: GraphState, sigma: Tensor) -> GraphState:
        """Return the posterior mean of every entry, zero where there is none."""
        return self._each(lambda kind, x, mask: kind.mean(x, sigma, mask), logits, logits.masks)

    def loss(self, logits: GraphState, sigma: Tensor, clean: GraphState) -> GraphState:
        """Return the negative log-likelihood of every entry."""
        return self._each(lambda kind, x, target: kind.loss(x, sigma, target), logits, clean)

    def draw(self, mean: GraphState, sigma: Tensor, *, generator: torch.Generator) -> GraphState:
        """Draw clean entries from their posteriors under noise: edges first, then nodes."""

        def draw(kind: Likelihood, x: Tensor, mask: Tensor) -> Tensor:
            return kind.draw(x, sigma, mask, generator=generator)

        return self._each(draw, mean, mean.masks)

    def decode(self, mean: GraphState, threshold: float) -> GraphState:
        """Return the clean entries that a final posterior mean stands for."""
        return self._each(lambda kind, x, mask: kind.decode(x, mask, threshold), mean, mean.masks)


@dataclass(frozen=True)
class Prior:
    """What is known of new graphs before sampling.

    Attributes:
        mean: of every entry; its mask fixes the sizes of the graphs.
        likelihood: of the entries.
    """

    mean: GraphState
    likelihood: GraphLikelihood

    def sample(self, sigma: float, *, generator: torch.Generator) -> GraphState:
        """Draw where sampling starts: the mean graph under noise of the largest sigma.

        The right start is A + sigma z with A a graph of the data, which is what sampling is to
        find. With A's mean in its place every pair is right on average, and its variance too small
        by p (1 - p) against sigma^2, which sigma 4 makes 1 in 64 at most. Leaving out the mean as
        well would matter: a graph's number of edges, summed over its pairs, is off by
        p sqrt(pairs) / sigma standard deviations, 1 for graphs of 64 nodes with a tenth of the
        edges.
        """
        return self.mean + noise_like(self.mean, generator=generator) * sigma
