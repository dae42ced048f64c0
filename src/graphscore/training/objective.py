"""What training minimises; the paper's: denoising score matching over all levels (equation 3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from graphscore.graphs.batch import GraphBatch, pair_mask
from graphscore.noise import perturb, perturbation_score

ScoreNetwork = Callable[..., Tensor]
"""score(adj, node_mask, sigma, node_feat) -> (B,N,N)"""


class Perturbed(Protocol):
    """Perturbed graphs of a batch, which are judged some at a time.

    The noise of all of them is drawn together, so that it does not depend on how many are computed
    at a time.
    """

    def __len__(self) -> int: ...

    @property
    def max_nodes(self) -> int:
        """Width that the graphs are padded to."""

    def costs(self, network: Any, items: slice, nodes: int | None = None) -> Tensor:
        """Return what each of the items costs; the mean over all items is minimised.

        Args:
            items: those that are computed.
            nodes: width that they need; all of it if not given.
        """

    def numbers(self, costs: Tensor) -> Tensor:
        """Return from the costs of all items: the loss, the loss per pair, the loss per level."""


class Objective(Protocol):
    """How graphs are perturbed for training and what a network's answer to them costs."""

    @property
    def copies(self) -> int:
        """Perturbed graphs that are made of one."""

    @property
    def parts(self) -> int:
        """Noise levels, or parts of their range, that the loss is told for."""

    def perturb(self, batch: GraphBatch, *, generator: torch.Generator) -> Perturbed:
        """Perturb the graphs of a batch."""


@dataclass(frozen=True)
class LossValues:
    """Equation 3 on a batch, term by term.

    Attributes:
        per_level: (L,) sigma_i^2 / 2 * E||s + (A~ - A) / sigma_i^2||^2, entries of the matrix
            summed.
        per_pair: (L,) the same as a mean over existing pairs, sigma_i^2 E[(s_ij + ...)^2]: 1 for a
            network that answers zero, whatever the size of the graphs.
    """

    per_level: Tensor
    per_pair: Tensor

    @property
    def total(self) -> Tensor:
        """Equation 3, the mean over levels: the scalar that is minimised."""
        return self.per_level.mean()

    @property
    def summed(self) -> Tensor:
        """The sum over levels, the scale of the paper's Table 3 and of the released program."""
        return self.per_level.sum()


@dataclass(frozen=True)
class PerturbedBatch:
    """B graphs, each perturbed at L noise levels: item b * L + i is graph b at level i.

    The noise of all items is drawn together, so that it does not depend on how many of them are
    computed at a time.

    Attributes:
        adj_clean: (B*L,N,N).
        adj_noisy: (B*L,N,N).
        node_mask: (B*L,N) bool.
        sigma: (B*L,).
        node_feat: (B*L,N,F) or None.
        levels: L.
    """

    adj_clean: Tensor
    adj_noisy: Tensor
    node_mask: Tensor
    sigma: Tensor
    node_feat: Tensor | None
    levels: int

    def __len__(self) -> int:
        return len(self.sigma)

    @property
    def max_nodes(self) -> int:
        """Width N that the graphs are padded to."""
        return self.adj_clean.shape[1]

    def squared_errors(
        self, network: ScoreNetwork, items: slice, nodes: int | None = None
    ) -> Tensor:
        """Return sigma^2 ||s + (A~ - A) / sigma^2||^2 of each of the items, entries summed.

        Args:
            items: those that are computed.
            nodes: width that they need; N if not given.
        """
        sigma, clean = self.sigma[items], self.adj_clean[items, :nodes, :nodes]
        noisy = self.adj_noisy[items, :nodes, :nodes].contiguous()
        feat = None if self.node_feat is None else self.node_feat[items, :nodes]
        score = network(noisy, self.node_mask[items, :nodes], sigma, feat)
        error = score - perturbation_score(noisy, clean, sigma)
        return error.square().sum((1, 2)) * sigma.square()

    def costs(self, network: ScoreNetwork, items: slice, nodes: int | None = None) -> Tensor:
        """Return the terms of equation 3, which is their mean."""
        return self.squared_errors(network, items, nodes) / 2

    def numbers(self, costs: Tensor) -> Tensor:
        """Return equation 3, the same per pair, and its terms per level."""
        values = self.loss(2 * costs)
        means = [values.total.view(1), values.per_pair.mean().view(1)]
        return torch.cat([*means, values.per_level])

    def loss(self, squared_errors: Tensor) -> LossValues:
        """Return equation 3 from the squared errors (B*L,) of all items."""
        per_graph = squared_errors.view(-1, self.levels)
        # Each graph occurs once per level and is counted once.
        pairs = pair_mask(self.node_mask[:: self.levels]).sum().clamp_min(1)
        return LossValues(per_graph.mean(0) / 2, per_graph.detach().sum(0) / pairs)


class ScoreMatching:
    """Equation 3 as an objective.

    Args:
        sigmas: noise levels, largest first.

    >>> ScoreMatching((1.0, 0.1)).copies
    2
    """

    def __init__(self, sigmas: tuple[float, ...]) -> None:
        self.sigmas = sigmas
        # Kept, because a recorded step may not wait for the host's memory.
        self._levels = torch.tensor(sigmas)

    @property
    def copies(self) -> int:
        return len(self.sigmas)

    @property
    def parts(self) -> int:
        return len(self.sigmas)

    def perturb(self, batch: GraphBatch, *, generator: torch.Generator) -> PerturbedBatch:
        if (self._levels.device, self._levels.dtype) != (batch.adj.device, batch.adj.dtype):
            self._levels = torch.tensor(self.sigmas).to(batch.adj)
        return perturb_batch(batch, self._levels, generator=generator)


def perturb_batch(
    batch: GraphBatch, sigmas: Tensor, *, generator: torch.Generator
) -> PerturbedBatch:
    """Perturb every graph of a batch at every level sigmas (L,)."""
    levels = len(sigmas)

    def at_every_level(values: Tensor) -> Tensor:
        return values.unsqueeze(1).expand(-1, levels, *values.shape[1:]).flatten(0, 1)

    sigma = sigmas.repeat(len(batch))
    adj_clean, node_mask = at_every_level(batch.adj), at_every_level(batch.node_mask)
    feat = None if batch.node_feat is None else at_every_level(batch.node_feat)
    adj_noisy = perturb(adj_clean, node_mask, sigma, generator=generator)
    return PerturbedBatch(adj_clean, adj_noisy, node_mask, sigma, feat, levels)


def score_matching_loss(
    network: ScoreNetwork, batch: GraphBatch, sigmas: Tensor, *, generator: torch.Generator
) -> LossValues:
    """Perturb every graph at every level and compare the scores with those of the noise.

    Args:
        network: called once with B*L graphs, `network(adj, node_mask, sigma, node_feat)`.
        batch: B clean graphs.
        sigmas: (L,) noise levels.

    Example:
        >>> batch = GraphBatch(torch.zeros(1, 4, 4), torch.ones(1, 4, dtype=torch.bool))
        >>> exact = lambda adj, mask, sigma, feat: -adj / sigma.view(-1, 1, 1) ** 2
        >>> loss = score_matching_loss(
        ...     exact, batch, torch.tensor([1.0, 0.1]), generator=torch.Generator()
        ... )
        >>> loss.total.item()
        0.0
    """
    perturbed = perturb_batch(batch, sigmas, generator=generator)
    return perturbed.loss(perturbed.squared_errors(network, slice(None)))
