"""Edges that exist or not, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor
from torch.nn import functional

from graphscore.diffusion.edge_density import EdgeDensity
from graphscore.diffusion.likelihood import LARGEST_LOGIT, Features
from graphscore.graphs.batch import GraphBatch
from graphscore.graphs.condition import Condition
from graphscore.graphs.state import per_graph


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

    width = 1
    channels = 3
    sums = 1

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

    def mean(self, logits: Tensor, sigma: Tensor, mask: Tensor) -> Tensor:
        """Return the probability of every edge, exactly symmetric."""
        mean = logits.sigmoid() * mask
        # On CPUs the last entries of a tensor may be rounded in another way than the others.
        return (mean + mean.mT) / 2

    def loss(self, logits: Tensor, sigma: Tensor, clean: Tensor) -> Tensor:
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
        channels = [value, torch.where(mask, bounded, 0.0), probability]
        return Features(channels, probability, [value])
