"""How dense graphs of each size are: the prior of an edge before anything is seen.

Sparse graphs have a number of edges that grows with their nodes, not with their pairs. One density
for all sizes would give large graphs too many edges, and noise, averaged over all of their pairs,
does not hide that.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import Field
from torch import Tensor

from graphscore.errors import SettingsError
from graphscore.graphs.batch import GraphBatch
from graphscore.settings import Settings

Coefficient = Annotated[float, Field(ge=-10_000, le=10_000)]
"""Graphs of 5 nodes that are all empty and of 6 that are all complete give one of some hundreds."""


class _Stored(Settings):
    """The values of an `EdgeDensity` in a file."""

    level: Coefficient
    slope: Coefficient


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

    def to_dict(self) -> dict[str, float]:
        """Return level and slope as plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> EdgeDensity:
        """Return what `to_dict` gave as plain values.

        Raises:
            SettingsError: they are something else.
        """
        stored = _Stored(**values)
        return cls(stored.level, stored.slope)

    def at(self, nodes: float) -> float:
        """Return the density of graphs with this number of nodes."""
        logit = self.level + self.slope * math.log(nodes)
        # Of numbers of 0 and below, since exp of a large number overflows.
        return math.exp(min(logit, 0.0)) / (1 + math.exp(-abs(logit)))

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

        Half an edge and half a missing one are added, so that graphs without edges, or with all,
        leave both possible. The slope has a standard normal prior, so that a few graphs of nearly
        the same size do not make a steep one.

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
        pairs = np.array(counted.sum((1, 2)).tolist()) / 2
        edges = np.array((batch.adj * counted).double().sum((1, 2)).tolist()) / 2
        has_pairs, total = pairs > 0, float(pairs.sum())
        share = (total * edges[has_pairs] / pairs[has_pairs] + 0.5) / (total + 1)
        constant = EdgeDensity.constant((float(edges.sum()) + 0.5) / (total + 1))
        log_sizes = np.log(np.array(batch.sizes.tolist())[has_pairs])
        if len(set(log_sizes.tolist())) < 2:
            return constant
        weight = pairs[has_pairs] / total
        middle = float(weight @ log_sizes)
        offset = log_sizes - middle

        def cross_entropy(values: np.ndarray) -> tuple[float, np.ndarray]:
            logits = values[0] + values[1] * offset
            error = weight * (expit(logits) - share)
            cost = weight @ (np.logaddexp(0, logits) - share * logits)
            gradient = np.array([error.sum(), error @ offset + values[1] / total])
            return float(cost) + float(values[1]) ** 2 / (2 * total), gradient

        start = np.array([constant.level, 0.0])
        found = minimize(cross_entropy, start, jac=True, method="BFGS", options={"gtol": 1e-10}).x
        slope = float(found[1])
        return EdgeDensity(float(found[0]) - slope * middle, slope)
