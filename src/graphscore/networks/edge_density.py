"""How dense graphs of each size are: what is known of an edge before anything is seen.

Sparse graphs have a number of edges that grows with their nodes, not with their pairs. One density
for all sizes would tell a large graph that it has too few edges, and noise, averaged over all of
its pairs, does not hide that. Where the communities of a graph are known, edges inside and between
them have densities of their own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from graphscore.errors import SettingsError
from graphscore.graphs.batch import GraphBatch
from graphscore.networks.communities import same_community


@dataclass(frozen=True)
class EdgeDensity:
    """The share p of pairs that are edges, log(p / (1 - p)) = level + slope log(n) at n nodes.

    A slope of 0 is the same density at every size, and one of -1 the same mean degree in sparse
    graphs.

    >>> round(EdgeDensity.constant(0.3).at(10), 6)
    0.3
    """

    level: float
    slope: float = 0.0

    def at(self, nodes: float) -> float:
        """Return the density of graphs of so many nodes."""
        return 1 / (1 + math.exp(-(self.level + self.slope * math.log(nodes))))

    @staticmethod
    def constant(density: float) -> EdgeDensity:
        """Return one density for all sizes.

        Raises:
            SettingsError: it is not strictly between 0 and 1.
        """
        if not 0 < density < 1:
            raise SettingsError(
                f"a density of {density:g} leaves nothing to be learned; it must be above 0 and "
                "below 1. Use EdgeDensity.of(batch) of the training graphs."
            )
        return EdgeDensity(math.log(density / (1 - density)))

    @staticmethod
    def of(batch: GraphBatch, among: Tensor | None = None) -> EdgeDensity:
        """Return the density of graphs by logistic regression over all of their pairs.

        Half an edge and half a missing one are added, so that graphs without edges, or with all, do
        not make certain what was only seen. The slope is thought to be 0, give or take 1, before
        anything is seen, so that a few graphs of nearly the same size do not make a steep one.

        Args:
            batch: the graphs.
            among: (B,N,N) bool, the pairs that count; all if not given.

        >>> import torch
        >>> empty = GraphBatch(torch.zeros(1, 4, 4), torch.ones(1, 4, dtype=torch.bool))
        >>> round(EdgeDensity.of(empty).at(4), 6)
        0.071429
        """
        # Here, because it is slow to import and only training needs it.
        from scipy.optimize import minimize
        from scipy.special import expit

        counted = batch.pair_mask if among is None else batch.pair_mask & among
        pairs = counted.sum((1, 2)).double().numpy(force=True) / 2
        edges = (batch.adj * counted).double().sum((1, 2)).numpy(force=True) / 2
        has_pairs, total = pairs > 0, float(pairs.sum())
        share = (total * edges[has_pairs] / pairs[has_pairs] + 0.5) / (total + 1)
        constant = EdgeDensity.constant((float(edges.sum()) + 0.5) / (total + 1))
        log_sizes = np.log(batch.sizes.double().numpy(force=True)[has_pairs])
        if not len(log_sizes) or np.ptp(log_sizes) == 0:
            return constant
        weight = pairs[has_pairs] / total
        middle = float(weight @ log_sizes)
        offset = log_sizes - middle

        def cross_entropy(values: np.ndarray) -> tuple[float, np.ndarray]:
            log_odds = values[0] + values[1] * offset
            error = weight * (expit(log_odds) - share)
            cost = weight @ (np.logaddexp(0, log_odds) - share * log_odds)
            gradient = np.array([error.sum(), error @ offset + values[1] / total])
            return float(cost) + float(values[1]) ** 2 / (2 * total), gradient

        start = np.array([constant.level, 0.0])
        found = minimize(cross_entropy, start, jac=True, method="BFGS", options={"gtol": 1e-10}).x
        slope = float(found[1])
        return EdgeDensity(float(found[0]) - slope * middle, slope)


@dataclass(frozen=True)
class CommunityDensity:
    """Densities of edges between communities and inside them.

    Attributes:
        apart: of pairs in two communities.
        together: of pairs in the same one.
    """

    apart: EdgeDensity
    together: EdgeDensity

    @staticmethod
    def of(batch: GraphBatch) -> CommunityDensity:
        """Return both densities of graphs whose last node feature is the node's community.

        Where no graph has two communities, or none a pair inside one, nothing tells the two apart.
        """
        together = same_community(batch.node_feat)
        if not all((batch.pair_mask & pairs).any() for pairs in (together, ~together)):
            same = EdgeDensity.of(batch)
            return CommunityDensity(same, same)
        return CommunityDensity(EdgeDensity.of(batch, ~together), EdgeDensity.of(batch, together))


Density = EdgeDensity | CommunityDensity | float
"""What a network may be told: of each size, of each pair of communities too, or one for all."""
