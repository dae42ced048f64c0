"""Training a denoiser at every noise level of a range: binary cross-entropy of edges under noise.

Every graph of a batch is perturbed once, with a sigma of its own. Cross-entropy is a proper scoring
rule: what minimises it is the posterior probability D of every edge, as with the paper's squared
loss (equation 3), but its gradient does not vanish where the answer is certain and wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor
from torch.nn import functional

from graphscore.graphs.batch import GraphBatch, pair_mask
from graphscore.noise import SigmaRange, draw_sigmas, perturb
from graphscore.settings import Settings

DATA_VARIANCE = 0.25
"""Variance of an entry that is 0 or 1 with equal odds, the largest there is."""
SIGMA_PARTS = 4
"""Parts of the range, equal in log sigma, that the loss is also given for."""


class Denoiser(Protocol):
    """What is trained: a network that answers in log-odds, see `networks.LogOddsNetwork`."""

    def __call__(
        self, adj: Tensor, node_mask: Tensor, sigma: Tensor, node_feat: Tensor | None
    ) -> Tensor:
        """The score (B,N,N)."""

    def log_odds(
        self, adj: Tensor, node_mask: Tensor, sigma: Tensor, node_feat: Tensor | None
    ) -> Tensor:
        """The log-odds of every edge (B,N,N)."""


class DenoisingSettings(Settings):
    """What is minimised when a network learns to denoise at every sigma."""

    loss: Literal["cross-entropy", "squared"] = "cross-entropy"
    """Cross-entropy of the log-odds, or the squared error of the posterior mean that the score
    stands for, which any score network has."""
    sigma_range: SigmaRange = SigmaRange()
    """Noise levels, drawn uniformly in log sigma."""
    half_precision: bool = True
    """On CUDA, compute products in bfloat16."""


@dataclass(frozen=True)
class DenoisingLoss:
    """The loss of a batch.

    Attributes:
        per_graph: (B,) mean over the pairs of each graph.
        per_part: (SIGMA_PARTS,) mean over the graphs whose sigma lies in each part of the range,
            smallest first; not a number where there is none.
    """

    per_graph: Tensor
    per_part: Tensor

    @property
    def total(self) -> Tensor:
        """The mean over graphs: the scalar that is minimised."""
        return self.per_graph.mean()


@dataclass(frozen=True)
class NoisyBatch:
    """B graphs, each perturbed once with its own sigma.

    All noise is drawn together, so that it does not depend on how many graphs are computed at a
    time.

    Attributes:
        adj_clean: (B,N,N).
        adj_noisy: (B,N,N).
        node_mask: (B,N) bool.
        sigma: (B,).
        node_feat: (B,N,F) or None.
        settings: what is minimised.
    """

    adj_clean: Tensor
    adj_noisy: Tensor
    node_mask: Tensor
    sigma: Tensor
    node_feat: Tensor | None
    settings: DenoisingSettings

    def __len__(self) -> int:
        return len(self.sigma)

    @property
    def max_nodes(self) -> int:
        """Width N that the graphs are padded to."""
        return self.adj_clean.shape[1]

    def costs(self, network: Denoiser, items: slice, nodes: int | None = None) -> Tensor:
        """Return the mean loss over the pairs of each of the items.

        The mean, and not the sum: a graph of 100 nodes has 25 times the pairs of one of 20, and
        would otherwise count as much as 25 of them. Both triangles of the matrix are the same.

        Args:
            items: those that are computed.
            nodes: width that they need; N if not given.
        """
        mask, sigma = self.node_mask[items, :nodes], self.sigma[items]
        clean = self.adj_clean[items, :nodes, :nodes]
        noisy = self.adj_noisy[items, :nodes, :nodes].contiguous()
        feat = None if self.node_feat is None else self.node_feat[items, :nodes]
        with torch.autocast(noisy.device.type, torch.bfloat16, enabled=self._halves(noisy.device)):
            entries = _ENTRIES[self.settings.loss](network, clean, noisy, mask, sigma, feat)
        pairs = pair_mask(mask)
        return torch.where(pairs, entries, 0.0).sum((1, 2)) / pairs.sum((1, 2)).clamp_min(1)

    def _halves(self, device: torch.device) -> bool:
        return self.settings.half_precision and device.type == "cuda"

    def numbers(self, costs: Tensor) -> Tensor:
        """Return the loss, which is one per pair already, and the loss per part of the range."""
        values = self.loss(costs)
        total = values.total.view(1)
        # Small batches do not have all parts; there the mean of the batch stands in.
        parts = torch.where(values.per_part.isnan(), total, values.per_part)
        return torch.cat([total, total, parts])

    def loss(self, costs: Tensor) -> DenoisingLoss:
        """Return the loss of the batch from the costs (B,) of all items."""
        sigmas = self.settings.sigma_range
        low, high = math.log(sigmas.sigma_min), math.log(sigmas.sigma_max)
        position = (self.sigma.log() - low) / (high - low) * SIGMA_PARTS
        part = position.floor().long().clamp(0, SIGMA_PARTS - 1)
        is_in = functional.one_hot(part, SIGMA_PARTS).to(costs.dtype)
        return DenoisingLoss(costs, costs.detach() @ is_in / is_in.sum(0))


def _cross_entropy(
    network: Denoiser,
    clean: Tensor,
    noisy: Tensor,
    node_mask: Tensor,
    sigma: Tensor,
    node_feat: Tensor | None,
) -> Tensor:
    """-A log D - (1 - A) log(1 - D) of every entry."""
    log_odds = network.log_odds(noisy, node_mask, sigma, node_feat)
    return functional.binary_cross_entropy_with_logits(log_odds, clean, reduction="none")


def _squared_error(
    network: Denoiser,
    clean: Tensor,
    noisy: Tensor,
    node_mask: Tensor,
    sigma: Tensor,
    node_feat: Tensor | None,
) -> Tensor:
    """(1 / sigma^2 + 1 / v) (D - A)^2 / 2 of every entry, v the variance of data.

    1 / sigma^2 is the paper's weight, under which large sigma would count for nothing here, where
    cross-entropy counts most. With 1 / v (Karras et al. 2022) the best linear answer loses 1/2 at
    every sigma, and where D is near 1/2 at large sigma, an error costs as much as in cross-entropy.
    """
    square = sigma.view(-1, 1, 1).square()
    denoised = noisy + square * network(noisy, node_mask, sigma, node_feat)
    return (1 / square + 1 / DATA_VARIANCE) * (denoised - clean).square() / 2


_ENTRIES: dict[str, Callable[..., Tensor]] = {
    "cross-entropy": _cross_entropy,
    "squared": _squared_error,
}


@dataclass(frozen=True)
class Denoising:
    """Cross-entropy, or its squared alternative, as an objective."""

    settings: DenoisingSettings

    @property
    def copies(self) -> int:
        return 1

    @property
    def parts(self) -> int:
        return SIGMA_PARTS

    def perturb(self, batch: GraphBatch, *, generator: torch.Generator) -> NoisyBatch:
        return add_noise(batch, self.settings, generator=generator)


def add_noise(
    batch: GraphBatch, settings: DenoisingSettings, *, generator: torch.Generator
) -> NoisyBatch:
    """Perturb every graph of a batch once, with a sigma drawn for it."""
    sigma = draw_sigmas(
        settings.sigma_range, len(batch), generator=generator, dtype=batch.adj.dtype
    )
    noisy = perturb(batch.adj, batch.node_mask, sigma, generator=generator)
    return NoisyBatch(batch.adj, noisy, batch.node_mask, sigma, batch.node_feat, settings)


def denoising_loss(
    network: Denoiser,
    batch: GraphBatch,
    settings: DenoisingSettings,
    *,
    generator: torch.Generator,
) -> DenoisingLoss:
    """Perturb every graph once and compare the network's answer with the graph.

    Args:
        network: called once with B graphs.
        batch: B clean graphs, binary.

    Example:
        >>> from graphscore.networks import DenoiserSettings, LogOddsDenoiser
        >>> generator = torch.Generator().manual_seed(0)
        >>> network = LogOddsDenoiser(DenoiserSettings(blocks=1), 0.3, generator=generator)
        >>> batch = GraphBatch(torch.zeros(8, 4, 4), torch.ones(8, 4, dtype=torch.bool))
        >>> loss = denoising_loss(network, batch, DenoisingSettings(), generator=generator)
        >>> loss.total.backward()
    """
    noisy = add_noise(batch, settings, generator=generator)
    return noisy.loss(noisy.costs(network, slice(None)))
