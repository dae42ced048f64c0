"""What one kind of entry is: its prior, its analytic posterior under noise, its loss, its decoding.

A likelihood describes the clean values of one kind of entry. Samplers, objectives, the trainer and
accelerated paths only use its methods, so they need no change for a new kind of entry.
`GraphLikelihood` puts the likelihoods of edges and nodes together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import torch
from torch import Tensor
from torch.nn import functional

from graphscore.diffusion.edge_density import EdgeDensity
from graphscore.diffusion.noise import noise_like
from graphscore.graphs.batch import GraphBatch
from graphscore.graphs.condition import Condition
from graphscore.graphs.state import GraphState, per_graph

LARGEST_LOGIT = 8.0
"""Beyond it an entry counts as known."""


class Features(NamedTuple):
    """What a network sees of noisy entries at first, all of size about 1.

    Attributes:
        channels: (B,N,N) of pairs or (B,N) of nodes, zero where there is no entry.
        connection: for pairs, the probability (B,N,N) that there is an edge.
    """

    channels: list[Tensor]
    connection: Tensor


class Likelihood(Protocol):
    """One kind of entry. `mask` marks entries that exist; logits are the parameters of p(clean)."""

    def prior(self, node_mask: Tensor, condition: Condition, dtype: torch.dtype) -> Tensor:
        """Return the logits before anything is seen, in a shape that broadcasts to the entries."""

    def posterior(self, noisy: Tensor, sigma: Tensor, prior: Tensor) -> Tensor:
        """Return the logits given an entry's own noisy value alone (the analytic posterior)."""

    def mean(self, logits: Tensor, mask: Tensor) -> Tensor:
        """Return the posterior mean of the entries, zero where there is none."""

    def loss(self, logits: Tensor, clean: Tensor) -> Tensor:
        """Return the negative log-likelihood of every entry."""

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
class BernoulliEdges:
    """Edges that exist or not: 0 or 1, one per unordered pair.

    The posterior mean D is the probability of an edge, and a logit is log(D / (1 - D)).

    Attributes:
        density: share of pairs that are edges, by the number of nodes; where communities are
            known, of pairs between two communities.
        within: the same of pairs within one community; None without communities.

    Example:
        >>> likelihood = BernoulliEdges(EdgeDensity.constant(0.5))
        >>> noisy = torch.tensor([[[0.0, 1.0], [1.0, 0.0]]])
        >>> likelihood.posterior(noisy, torch.ones(1), torch.zeros(1, 1, 1))[0, 0, 1].item()
        0.5
    """

    density: EdgeDensity
    within: EdgeDensity | None = None

    @classmethod
    def of(cls, batch: GraphBatch) -> Self:
        """Return the likelihood whose prior fits training graphs.

        Where no graph has two communities, or none a pair within one, both densities are the same.
        """
        if batch.communities is None:
            return cls(EdgeDensity.of(batch))
        within = batch.condition.same_community()
        if not all((batch.pair_mask & pairs).any() for pairs in (within, ~within)):
            same = EdgeDensity.of(batch)
            return cls(same, same)
        return cls(EdgeDensity.of(batch, ~within), EdgeDensity.of(batch, within))

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, with its kind."""
        lines = {"density": self.density, "within": self.within}
        return {
            "kind": "bernoulli-edges",
            **{name: line.to_dict() for name, line in lines.items() if line is not None},
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return what `to_dict` gave as plain values.

        Raises:
            SettingsError, ValueError: it is another kind of likelihood, or not one.
        """
        if values["kind"] != "bernoulli-edges":
            raise ValueError(f"unknown kind of likelihood {values['kind']!r:.60}")
        if unknown := values.keys() - {"kind", "density", "within"}:
            raise ValueError(f"unknown in a likelihood: {min(unknown)!r:.60}")
        within = values.get("within")
        density = EdgeDensity.from_dict(values["density"])
        return cls(density, None if within is None else EdgeDensity.from_dict(within))

    def expected_edges(self, nodes: int, communities: Sequence[int] = ()) -> float:
        """Return how many edges the prior expects in a graph.

        >>> BernoulliEdges(EdgeDensity.constant(0.5)).expected_edges(5)
        5.0
        """
        inside = sum(math.comb(size, 2) for size in communities)
        between = (math.comb(nodes, 2) - inside) * self.density.at(nodes)
        return between + inside * (self.within or self.density).at(nodes)

    def prior(self, node_mask: Tensor, condition: Condition, dtype: torch.dtype) -> Tensor:
        """Return the logits of the density at each graph's size, (B,1,1), or (B,N,N) by pair."""
        log_sizes = node_mask.sum(1).clamp_min(1).to(dtype).log().view(-1, 1, 1)
        between = self.density.level + self.density.slope * log_sizes
        if self.within is None:
            return between
        within = self.within.level + self.within.slope * log_sizes
        return torch.where(condition.same_community(), within, between)

    def posterior(self, noisy: Tensor, sigma: Tensor, prior: Tensor) -> Tensor:
        """Return prior + (2 A~ - 1) / (2 sigma^2), Bayes' rule for A~ = A + sigma z.

        It is exact if edges are independent.
        """
        return prior + (noisy - 0.5) / per_graph(sigma, noisy).square()

    def mean(self, logits: Tensor, mask: Tensor) -> Tensor:
        """Return the probability of every edge, exactly symmetric."""
        mean = logits.sigmoid() * mask
        # On CPUs the last entries of a tensor may be rounded in another way than the others.
        return (mean + mean.mT) / 2

    def loss(self, logits: Tensor, clean: Tensor) -> Tensor:
        """Return the cross-entropy -A log D - (1 - A) log(1 - D) of every entry."""
        return functional.binary_cross_entropy_with_logits(logits, clean, reduction="none")

    def draw(
        self, mean: Tensor, sigma: Tensor, mask: Tensor, *, generator: torch.Generator
    ) -> Tensor:
        """Draw each edge with its own probability, once per unordered pair."""
        uniform = torch.rand(mean.shape, generator=generator, device=mean.device, dtype=mean.dtype)
        # Probabilities may be symmetric up to rounding only, so one triangle decides for both; the
        # mask leaves the diagonal out.
        edges = ((uniform < mean) & mask).to(mean.dtype).triu()
        return edges + edges.mT

    def decode(self, mean: Tensor, mask: Tensor, threshold: float) -> Tensor:
        """Return the binary adjacency 1[A_ij > threshold], equation 4."""
        return ((mean > threshold) & mask).to(mean.dtype)

    def features(self, noisy: Tensor, sigma: Tensor, prior: Tensor, mask: Tensor) -> Features:
        """Return the standardised value, the bounded posterior logit and the probability."""
        density = prior.sigmoid()
        spread = (sigma.view(-1, 1, 1).square() + density * (1 - density)).sqrt()
        value = torch.where(mask, (noisy - density) / spread, 0.0)
        logits = self.posterior(noisy, sigma, prior)
        probability = torch.where(mask, logits.sigmoid(), 0.0)
        bounded = logits.clamp(-LARGEST_LOGIT, LARGEST_LOGIT) / (LARGEST_LOGIT / 2)
        return Features([value, torch.where(mask, bounded, 0.0), probability], probability)


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
        return Prior(self.mean(self.prior(node_mask, condition, dtype)), self)

    def posterior(self, noisy: GraphState, sigma: Tensor, prior: GraphState) -> GraphState:
        """Return the logits of the analytic posterior of every entry."""
        return self._each(lambda kind, x, p: kind.posterior(x, sigma, p), noisy, prior)

    def mean(self, logits: GraphState) -> GraphState:
        """Return the posterior mean of every entry, zero where there is none."""
        return self._each(lambda kind, x, mask: kind.mean(x, mask), logits, logits.masks)

    def loss(self, logits: GraphState, clean: GraphState) -> GraphState:
        """Return the negative log-likelihood of every entry."""
        return self._each(lambda kind, x, target: kind.loss(x, target), logits, clean)

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
