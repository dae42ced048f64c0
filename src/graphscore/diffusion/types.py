"""Entries of one of several types: edges, of which there may be none, and nodes.

The state of an entry of K types is K numbers, 1 at its type and 0 elsewhere; a missing edge is zero
everywhere. With one type, edges are those of `BernoulliEdges`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor
from torch.nn import functional

from graphscore.diffusion.bernoulli import BernoulliEdges
from graphscore.diffusion.likelihood import LARGEST_LOGIT, Features
from graphscore.graphs.attributes import MOST_VALUES
from graphscore.graphs.condition import Condition
from graphscore.graphs.state import per_graph


def shares_of(counts: Sequence[float]) -> tuple[float, ...]:
    """Return the share of each type; half a one is added, so that none is impossible.

    >>> shares_of([3, 0])
    (0.875, 0.125)
    """
    total = sum(counts) + len(counts) / 2
    return tuple((count + 0.5) / total for count in counts)


def stored_shares(values: Any) -> tuple[float, ...]:
    """Return shares of a stored model.

    Raises:
        ValueError: they are none.
    """
    are_numbers = isinstance(values, list) and all(type(value) is float for value in values)
    if not are_numbers or not 1 <= len(values) <= MOST_VALUES or min(values) <= 0:
        raise ValueError("shares of types are expected, numbers above 0")
    if not math.isclose(sum(values), 1, abs_tol=1e-6):
        raise ValueError("shares of types must add up to 1")
    return tuple(values)


def symmetric(entries: Tensor) -> Tensor:
    """Return entries (B,N,N,C) that rounding made unequal for a pair's two directions as equal."""
    return (entries + entries.transpose(1, 2)) / 2


def one_triangle(entries: Tensor) -> Tensor:
    """Return entries (B,N,N,C) of which one triangle decides for both; the diagonal is zero."""
    size = entries.shape[1]
    upper = torch.ones(size, size, dtype=torch.bool, device=entries.device).triu(1).unsqueeze(-1)
    kept = entries * upper
    return kept + kept.transpose(1, 2)


class _Categorical:
    """What entries of one of K types have in common."""

    shares: tuple[float, ...]

    @property
    def width(self) -> int:
        """Numbers of one entry."""
        return len(self.shares)

    @property
    def channels(self) -> int:
        """Number of input features."""
        return 3 * self.width

    def posterior(self, noisy: Tensor, sigma: Tensor, prior: Tensor) -> Tensor:
        """Return prior + (2 x_k - 1) / (2 sigma^2), Bayes' rule for x = e_k + sigma z."""
        return prior + (noisy - 0.5) / per_graph(sigma, noisy).square()


@dataclass(frozen=True)
class TypedEdges(_Categorical):
    """Edges of K types: (B,N,N,K), the unit vector of its type, or 0 where there is no edge.

    A logit is that of a type against no edge at all.

    Attributes:
        present: whether there is an edge.
        shares: of the types among edges.

    Example:
        >>> from graphscore.diffusion import EdgeDensity
        >>> likelihood = TypedEdges(BernoulliEdges(EdgeDensity.constant(0.5)), (0.75, 0.25))
        >>> prior = likelihood.prior(torch.ones(1, 2, dtype=torch.bool), Condition(), torch.float32)
        >>> likelihood.mean(prior, torch.ones(1), torch.ones(1, 1, 1, 1)).flatten().tolist()
        [0.375, 0.125]
    """

    present: BernoulliEdges
    shares: tuple[float, ...]

    @property
    def sums(self) -> int:
        """Number of input features whose sums over a node's pairs count."""
        return 2 * self.width

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, with its kind."""
        return {"kind": "typed-edges", "present": self.present.to_dict(), "shares": [*self.shares]}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return what `to_dict` gave as plain values.

        Raises:
            SettingsError, ValueError: it is another kind of likelihood, or not one.
        """
        check_kind(values, "typed-edges", {"present", "shares"})
        return cls(BernoulliEdges.from_dict(values["present"]), stored_shares(values["shares"]))

    def prior(self, node_mask: Tensor, condition: Condition, dtype: torch.dtype) -> Tensor:
        """Return the logits of the types at each graph's size, (B,1,1,K), or (B,N,N,K) by pair."""
        present = self.present.prior(node_mask, condition, dtype)
        return present.unsqueeze(-1) + log_shares(self.shares, dtype, present.device)

    def mean(self, logits: Tensor, sigma: Tensor, mask: Tensor) -> Tensor:
        """Return the probability of every type, exactly symmetric."""
        return symmetric(self._probability(logits) * mask)

    def _probability(self, logits: Tensor) -> Tensor:
        return _with_none(logits).softmax(-1)[..., 1:]

    def loss(self, logits: Tensor, sigma: Tensor, clean: Tensor) -> Tensor:
        """Return the cross-entropy of every pair's type, none being one of them, (B,N,N)."""
        return _with_none(logits).logsumexp(-1) - (logits * clean).sum(-1)

    def draw(
        self, mean: Tensor, sigma: Tensor, mask: Tensor, *, generator: torch.Generator
    ) -> Tensor:
        """Draw the type of each pair, or none, with its own probabilities, once per pair."""
        return one_triangle(drawn_types(mean, generator=generator) * mask)

    def decode(self, mean: Tensor, mask: Tensor, threshold: float) -> Tensor:
        """Return the likeliest type where an edge of any is likelier than the threshold."""
        present = (mean.sum(-1, keepdim=True) > threshold) & mask
        return likeliest_types(mean) * present.to(mean.dtype)

    def features(self, noisy: Tensor, sigma: Tensor, prior: Tensor, mask: Tensor) -> Features:
        """Return standardised values, bounded posterior logits and probabilities of all types."""
        return self.features_at(noisy, sigma, prior, self.posterior(noisy, sigma, prior), mask)

    def features_at(
        self, noisy: Tensor, sigma: Tensor, prior: Tensor, logits: Tensor, mask: Tensor
    ) -> Features:
        """Return the features where more than the types says what the posterior is."""
        before, after = self._probability(prior), self._probability(logits)
        channels = categorical_features(noisy, sigma, before, after, logits, mask.unsqueeze(-1))
        values, of_types = channels[: self.width], channels[2 * self.width :]
        return Features(channels, torch.stack(of_types).sum(0), [*values, *of_types])


@dataclass(frozen=True)
class NodeTypes(_Categorical):
    """Nodes of K types: (B,N,K), the unit vector of its type.

    Attributes:
        shares: of the types among nodes.
    """

    shares: tuple[float, ...]

    sums = 0

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, with its kind."""
        return {"kind": "node-types", "shares": [*self.shares]}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return what `to_dict` gave as plain values.

        Raises:
            ValueError: it is another kind of likelihood, or not one.
        """
        check_kind(values, "node-types", {"shares"})
        return cls(stored_shares(values["shares"]))

    def prior(self, node_mask: Tensor, condition: Condition, dtype: torch.dtype) -> Tensor:
        """Return the logits of the types, (1,1,K)."""
        return log_shares(self.shares, dtype, node_mask.device).view(1, 1, -1)

    def mean(self, logits: Tensor, sigma: Tensor, mask: Tensor) -> Tensor:
        """Return the probability of every type."""
        return logits.softmax(-1) * mask

    def loss(self, logits: Tensor, sigma: Tensor, clean: Tensor) -> Tensor:
        """Return the cross-entropy of every node's type, (B,N,1)."""
        return logits.logsumexp(-1, keepdim=True) - (logits * clean).sum(-1, keepdim=True)

    def draw(
        self, mean: Tensor, sigma: Tensor, mask: Tensor, *, generator: torch.Generator
    ) -> Tensor:
        """Draw the type of each node with its own probabilities."""
        # One of them for certain, although they may add up to less by rounding.
        others = 1 - mean[..., :-1].sum(-1, keepdim=True)
        certain = torch.cat([mean[..., :-1], others + 1], dim=-1)
        return drawn_types(certain, generator=generator) * mask

    def decode(self, mean: Tensor, mask: Tensor, threshold: float) -> Tensor:
        """Return the likeliest type."""
        return likeliest_types(mean) * mask.to(mean.dtype)

    def features(self, noisy: Tensor, sigma: Tensor, prior: Tensor, mask: Tensor) -> Features:
        """Return standardised values, bounded posterior logits and probabilities of all types."""
        logits = self.posterior(noisy, sigma, prior)
        relative = logits.log_softmax(-1)  # what all types have in common says nothing
        before, after = prior.softmax(-1), logits.softmax(-1)
        channels = categorical_features(noisy, sigma, before, after, relative, mask.unsqueeze(-1))
        return Features(channels, noisy.new_empty(0))


def log_shares(shares: Sequence[float], dtype: torch.dtype, device: torch.device) -> Tensor:
    """Return the logarithms of shares, (K,), without a copy from the host, for a CUDA graph."""
    each = [torch.full((1,), math.log(share), dtype=dtype, device=device) for share in shares]
    return torch.cat(each)


def check_kind(values: dict[str, Any], kind: str, names: set[str]) -> None:
    """Refuse plain values of another kind of likelihood, or with other names.

    Raises:
        ValueError: they are that.
    """
    if values.get("kind") != kind:
        raise ValueError(f"unknown kind of likelihood {values.get('kind')!r:.60}")
    if values.keys() != {"kind", *names}:
        raise ValueError(f"{sorted(values)!r:.200} in a likelihood of the kind {kind!r}")


def drawn_types(mean: Tensor, *, generator: torch.Generator) -> Tensor:
    """Draw one type (...,K) at most, each with its own probability."""
    shape = mean.shape[:-1]
    uniform = torch.rand(shape, generator=generator, device=mean.device, dtype=mean.dtype)
    below = (uniform.unsqueeze(-1) < mean.cumsum(-1)).to(mean.dtype)
    return below.diff(dim=-1, prepend=torch.zeros_like(below[..., :1]))


def likeliest_types(mean: Tensor) -> Tensor:
    """Return the type (...,K) of the largest probability."""
    return functional.one_hot(mean.argmax(-1), mean.shape[-1]).to(mean.dtype)


def categorical_features(
    noisy: Tensor, sigma: Tensor, before: Tensor, after: Tensor, logits: Tensor, mask: Tensor
) -> list[Tensor]:
    """Return what is seen of K numbers at first, as 3 K channels.

    Args:
        before, after: prior and posterior probabilities.
        logits: of the posterior.
        mask: of the entries.
    """
    spread = (per_graph(sigma, noisy).square() + before * (1 - before)).sqrt()
    bounded = logits.clamp(-LARGEST_LOGIT, LARGEST_LOGIT) / (LARGEST_LOGIT / 2)
    every = ((noisy - before) / spread, bounded, after)
    return [c for values in every for c in torch.where(mask, values, 0.0).unbind(-1)]


def _with_none(logits: Tensor) -> Tensor:
    """Put the logit of no edge before those of the types."""
    return functional.pad(logits, (1, 0))
