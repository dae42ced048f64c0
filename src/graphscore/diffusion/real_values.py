"""Real numbers that edges and nodes carry: weights of edges, features of nodes.

They are in standard units: of mean 0 and variance 1 over the training graphs. Under noise of
standard deviation sigma an independent standard normal entry has the posterior N(x / (1 + sigma^2),
s^2) with s^2 = sigma^2 / (1 + sigma^2). A logit is a posterior mean in units of s, so that what a
network adds is of the same size at every sigma.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor

from graphscore.diffusion.likelihood import Features
from graphscore.diffusion.types import (
    NodeTypes,
    TypedEdges,
    check_kind,
    one_triangle,
    symmetric,
)
from graphscore.graphs.condition import Condition
from graphscore.graphs.state import per_graph

MOST_FEATURES = 1000
"""Of a node; a state holds so many numbers for each."""
RAREST = 1e-12
"""Probability of an edge below which nothing is known about its weight."""


def spread(sigma: Tensor, entries: Tensor) -> Tensor:
    """Return the standard deviation s of the posterior; 1 where nothing was seen.

    >>> spread(torch.tensor([torch.inf]), torch.zeros(1, 1)).item()
    1.0
    """
    return (1 + per_graph(sigma, entries) ** -2).rsqrt()


def standard_posterior(noisy: Tensor, sigma: Tensor, prior: Tensor) -> Tensor:
    """Return the posterior mean of a standard normal entry in units of s."""
    level = per_graph(sigma, noisy)
    return prior + noisy / (level * (1 + level.square()).sqrt())


def squared_error(logits: Tensor, sigma: Tensor, clean: Tensor) -> Tensor:
    """Return the negative log-likelihood of every entry, up to a constant: 1/2 for the best one."""
    return (logits - clean / spread(sigma, clean)).square() / 2


@dataclass(frozen=True)
class WeightedEdges:
    """Edges with a weight: (B,N,N,K+1), the type, and the weight where there is an edge.

    Whether there is an edge is a number of its own, because a weight near zero is no missing edge.

    Attributes:
        types: of edges, one or several.
    """

    types: TypedEdges

    @property
    def width(self) -> int:
        """Numbers of one entry."""
        return self.types.width + 1

    @property
    def channels(self) -> int:
        """Number of input features."""
        return self.types.channels + 2

    @property
    def sums(self) -> int:
        """Number of input features whose sums over a node's pairs count."""
        return self.types.sums + 1

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, with its kind."""
        return {"kind": "weighted-edges", "types": self.types.to_dict()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return what `to_dict` gave as plain values.

        Raises:
            SettingsError, ValueError: it is another kind of likelihood, or not one.
        """
        check_kind(values, "weighted-edges", {"types"})
        return cls(TypedEdges.from_dict(values["types"]))

    def prior(self, node_mask: Tensor, condition: Condition, dtype: torch.dtype) -> Tensor:
        """Return the logits of the types, and 0 for the weight."""
        types = self.types.prior(node_mask, condition, dtype)
        return torch.cat([types, torch.zeros_like(types[..., :1])], dim=-1)

    def posterior(self, noisy: Tensor, sigma: Tensor, prior: Tensor) -> Tensor:
        """Return the logits of the types, and the mean of the weight given that there is an edge.

        Being N(0, 1 + sigma^2) where there is an edge and N(0, sigma^2) where not, the noisy weight
        also says something about whether there is one.
        """
        weight, square = noisy[..., -1:], per_graph(sigma, noisy).square()
        evidence = weight.square() / square / (1 + square) - (1 / square).log1p()
        types = self.types.posterior(noisy[..., :-1], sigma, prior[..., :-1]) + evidence / 2
        return torch.cat([types, standard_posterior(weight, sigma, prior[..., -1:])], dim=-1)

    def mean(self, logits: Tensor, sigma: Tensor, mask: Tensor) -> Tensor:
        """Return the probability of every type and the mean weight, 0 counting where no edge is."""
        types = self.types.mean(logits[..., :-1], sigma, mask)
        weight = symmetric(logits[..., -1:] * spread(sigma, logits))
        return torch.cat([types, types.sum(-1, keepdim=True) * weight], dim=-1)

    def loss(self, logits: Tensor, sigma: Tensor, clean: Tensor) -> Tensor:
        """Return the cross-entropy of types, and where there is an edge the error of its weight."""
        types, present = clean[..., :-1], clean[..., :-1].sum(-1)
        error = squared_error(logits[..., -1:], sigma, clean[..., -1:]).squeeze(-1)
        return self.types.loss(logits[..., :-1], sigma, types) + present * error

    def draw(
        self, mean: Tensor, sigma: Tensor, mask: Tensor, *, generator: torch.Generator
    ) -> Tensor:
        """Draw types, then weights as if edges were independent, once per pair."""
        types = self.types.draw(mean[..., :-1], sigma, mask, generator=generator)
        normal = torch.randn(
            mean.shape[:-1], generator=generator, device=mean.device, dtype=mean.dtype
        ).unsqueeze(-1)
        weight = _given_edge(mean) + one_triangle(normal) * spread(sigma, mean)
        return torch.cat([types, types.sum(-1, keepdim=True) * weight], dim=-1)

    def decode(self, mean: Tensor, mask: Tensor, threshold: float) -> Tensor:
        """Return types, and the mean weight given that there is an edge."""
        types = self.types.decode(mean[..., :-1], mask, threshold)
        return torch.cat([types, types.sum(-1, keepdim=True) * _given_edge(mean)], dim=-1)

    def features(self, noisy: Tensor, sigma: Tensor, prior: Tensor, mask: Tensor) -> Features:
        """Return those of the types, the standardised weight and its posterior mean."""
        logits = self.posterior(noisy, sigma, prior)
        types = self.types.features_at(
            noisy[..., :-1], sigma, prior[..., :-1], logits[..., :-1], mask
        )
        weight, square = noisy[..., -1], per_graph(sigma, mask).square()
        value = torch.where(mask, weight * (1 + square).rsqrt(), 0.0)
        expected = types.connection * weight / (1 + square)
        channels = [*types.channels, value, expected]
        return Features(channels, types.connection, [*types.sums, expected])


@dataclass(frozen=True)
class NodeFeatures:
    """Real numbers of nodes: (B,N,F).

    Attributes:
        width: how many.
    """

    width: int

    @property
    def channels(self) -> int:
        """Number of input features."""
        return 2 * self.width

    sums = 0

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, with its kind."""
        return {"kind": "node-features", "width": self.width}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return what `to_dict` gave as plain values.

        Raises:
            ValueError: it is another kind of likelihood, or not one.
        """
        check_kind(values, "node-features", {"width"})
        width = values["width"]
        if type(width) is not int or not 1 <= width <= MOST_FEATURES:
            raise ValueError(f"{width!r:.60} node features; 1 to {MOST_FEATURES} are expected")
        return cls(width)

    def prior(self, node_mask: Tensor, condition: Condition, dtype: torch.dtype) -> Tensor:
        """Return 0, (1,1,F)."""
        return torch.zeros(1, 1, self.width, dtype=dtype, device=node_mask.device)

    def posterior(self, noisy: Tensor, sigma: Tensor, prior: Tensor) -> Tensor:
        """Return the mean of independent features."""
        return standard_posterior(noisy, sigma, prior)

    def mean(self, logits: Tensor, sigma: Tensor, mask: Tensor) -> Tensor:
        """Return the mean of every feature."""
        return logits * spread(sigma, logits) * mask

    def loss(self, logits: Tensor, sigma: Tensor, clean: Tensor) -> Tensor:
        """Return the error of every node, (B,N,1)."""
        return squared_error(logits, sigma, clean).sum(-1, keepdim=True)

    def draw(
        self, mean: Tensor, sigma: Tensor, mask: Tensor, *, generator: torch.Generator
    ) -> Tensor:
        """Draw every feature as if all were independent."""
        normal = torch.randn(mean.shape, generator=generator, device=mean.device, dtype=mean.dtype)
        return (mean + normal * spread(sigma, mean)) * mask

    def decode(self, mean: Tensor, mask: Tensor, threshold: float) -> Tensor:
        """Return the mean."""
        return mean * mask

    def features(self, noisy: Tensor, sigma: Tensor, prior: Tensor, mask: Tensor) -> Features:
        """Return the standardised features and their posterior means."""
        noisy = torch.where(mask.unsqueeze(-1), noisy, 0.0)
        square = 1 + per_graph(sigma, noisy).square()
        channels = [*(noisy * square.rsqrt()).unbind(-1), *(noisy / square).unbind(-1)]
        return Features(channels, noisy.new_empty(0))


@dataclass(frozen=True)
class JoinedNodes:
    """Nodes with a type and features, side by side: (B,N,K+F).

    Attributes:
        parts: their likelihoods.
    """

    parts: tuple[NodeTypes, NodeFeatures]

    @property
    def width(self) -> int:
        """Numbers of one entry."""
        return sum(part.width for part in self.parts)

    @property
    def channels(self) -> int:
        """Number of input features."""
        return sum(part.channels for part in self.parts)

    sums = 0

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, with its kind."""
        return {"kind": "joined-nodes", "parts": [part.to_dict() for part in self.parts]}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return what `to_dict` gave as plain values.

        Raises:
            ValueError: it is another kind of likelihood, or not one.
        """
        check_kind(values, "joined-nodes", {"parts"})
        types, features = values["parts"]
        return cls((NodeTypes.from_dict(types), NodeFeatures.from_dict(features)))

    def _split(self, *entries: Tensor) -> list[tuple[Any, ...]]:
        """Return every part with its share of the entries."""
        widths = [part.width for part in self.parts]
        return list(zip(self.parts, *(torch.split(values, widths, dim=-1) for values in entries)))

    def prior(self, node_mask: Tensor, condition: Condition, dtype: torch.dtype) -> Tensor:
        """Return the logits of all parts."""
        return torch.cat([part.prior(node_mask, condition, dtype) for part in self.parts], dim=-1)

    def posterior(self, noisy: Tensor, sigma: Tensor, prior: Tensor) -> Tensor:
        """Return the logits of all parts."""
        each = self._split(noisy, prior)
        return torch.cat([part.posterior(x, sigma, p) for part, x, p in each], dim=-1)

    def mean(self, logits: Tensor, sigma: Tensor, mask: Tensor) -> Tensor:
        """Return the means of all parts."""
        return torch.cat([part.mean(x, sigma, mask) for part, x in self._split(logits)], dim=-1)

    def loss(self, logits: Tensor, sigma: Tensor, clean: Tensor) -> Tensor:
        """Return the sum over the parts, (B,N,1)."""
        each = self._split(logits, clean)
        return torch.stack([part.loss(x, sigma, target) for part, x, target in each]).sum(0)

    def draw(
        self, mean: Tensor, sigma: Tensor, mask: Tensor, *, generator: torch.Generator
    ) -> Tensor:
        """Draw all parts, independently of each other."""
        each = self._split(mean)
        drawn = [part.draw(x, sigma, mask, generator=generator) for part, x in each]
        return torch.cat(drawn, dim=-1)

    def decode(self, mean: Tensor, mask: Tensor, threshold: float) -> Tensor:
        """Return what all parts stand for."""
        each = self._split(mean)
        return torch.cat([part.decode(x, mask, threshold) for part, x in each], dim=-1)

    def features(self, noisy: Tensor, sigma: Tensor, prior: Tensor, mask: Tensor) -> Features:
        """Return the features of all parts."""
        each = self._split(noisy, prior)
        found = [part.features(x, sigma, p, mask).channels for part, x, p in each]
        return Features([c for channels in found for c in channels], noisy.new_empty(0))


def _given_edge(mean: Tensor) -> Tensor:
    """Return the mean weight given that there is an edge, (B,N,N,1)."""
    return mean[..., -1:] / mean[..., :-1].sum(-1, keepdim=True).clamp_min(RAREST)
