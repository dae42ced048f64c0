"""What diffusion models minimise: score matching at fixed levels, or denoising over a range.

Both perturb every graph of a batch and compare a network's answer with the clean graph. The noise
of a whole batch is drawn together, so it does not depend on how many graphs are computed at a time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

from graphscore.diffusion.noise import mean_of_score, perturb, score_of_mean
from graphscore.diffusion.sigmas import SigmaRange, draw_sigmas
from graphscore.graphs.batch import GraphBatch
from graphscore.graphs.condition import Condition
from graphscore.graphs.state import GraphState, per_graph
from graphscore.settings import Settings

DATA_VARIANCE = 0.25
"""Variance of an entry that is 0 or 1 with equal odds, the largest there is."""
SIGMA_BINS = 4
"""Bins of a range, equal in log sigma, that the loss is also reported for."""


@dataclass(frozen=True)
class NoisyBatch:
    """Graphs under noise: the items that a network answers.

    Attributes:
        clean, noisy: states of all items.
        sigma: (items,) noise level of each.
        condition: what the network is given besides.
    """

    clean: GraphState
    noisy: GraphState
    sigma: Tensor
    condition: Condition

    def __len__(self) -> int:
        return len(self.sigma)

    @property
    def max_nodes(self) -> int:
        """Width N that the graphs are padded to."""
        return self.clean.max_nodes

    def part(self, items: slice, nodes: int | None = None) -> NoisyBatch:
        """Return some of the items, cut to the first `nodes` nodes: a micro-batch."""
        noisy = self.noisy.part(items, nodes).map(torch.Tensor.contiguous)
        return NoisyBatch(
            self.clean.part(items, nodes),
            noisy,
            self.sigma[items],
            self.condition.part(items, nodes),
        )


def mean_over_entries(entries: GraphState) -> Tensor:
    """Return the mean over the pairs of each graph, (B,), plus that over its nodes.

    The mean, and not the sum: a graph of 100 nodes has 25 times the pairs of one of 20, and would
    otherwise count as much as 25 of them. Both triangles of the matrix are the same.
    """
    total = torch.zeros(len(entries), dtype=entries.edges.dtype, device=entries.edges.device)
    for values, mask in zip(entries.entries, entries.masks.entries):
        over = tuple(range(1, values.ndim))
        count = mask.sum(over).clamp_min(1)
        total = total + torch.where(mask, values, 0.0).sum(over) / count
    return total


class ScoreMatching:
    """Denoising score matching over fixed noise levels, the paper's equation 3.

    Every graph is perturbed at every level: item b * L + i is graph b at level i. The per-graph
    loss is sigma_i^2 / 2 * ||s + (A~ - A) / sigma_i^2||^2, entries of the matrix summed.

    Args:
        sigmas: noise levels, largest first.

    >>> ScoreMatching((1.0, 0.1)).noise_copies
    2
    """

    def __init__(self, sigmas: tuple[float, ...]) -> None:
        self.sigmas = sigmas
        # Kept, because a CUDA graph may not wait for the host's memory.
        self._levels = torch.tensor(sigmas)

    @property
    def noise_copies(self) -> int:
        """Noisy items made of one graph."""
        return len(self.sigmas)

    @property
    def sigma_bins(self) -> int:
        """Noise levels that the loss is reported for."""
        return len(self.sigmas)

    @property
    def structure(self) -> slice:
        """The smaller half of them, at which structure is decided."""
        return slice(len(self.sigmas) // 2, None)

    def perturb(self, batch: GraphBatch, *, generator: torch.Generator) -> NoisyBatch:
        """Perturb every graph of a batch at every level."""
        if (self._levels.device, self._levels.dtype) != (batch.adj.device, batch.adj.dtype):
            self._levels = torch.tensor(self.sigmas).to(batch.adj)
        clean = batch.state.repeated(len(self.sigmas))
        sigma = self._levels.repeat(len(batch))
        noisy = perturb(clean, sigma, generator=generator)
        return NoisyBatch(clean, noisy, sigma, batch.condition.repeated(len(self.sigmas)))

    def per_graph_loss(self, network: Any, items: NoisyBatch) -> Tensor:
        """Return the terms of equation 3, which is their mean."""
        score = network(items.noisy, items.sigma, items.condition)
        error = score - score_of_mean(items.clean, items.noisy, items.sigma)
        squares = [entries.square().flatten(1).sum(1) for entries in error.entries]
        total = squares[0] if len(squares) == 1 else torch.stack(squares).sum(0)
        return total * items.sigma.square() / 2

    def metrics(self, items: NoisyBatch, losses: Tensor) -> Tensor:
        """Return equation 3, the same per pair, and its terms per level.

        Per pair it is 1 for a network that answers zero, whatever the size of the graphs.
        """
        by_level = losses.view(-1, len(self.sigmas))
        # Each graph occurs once per level and is counted once.
        pairs = items.clean.part(slice(None, None, len(self.sigmas))).pair_mask.sum().clamp_min(1)
        per_level, per_pair = by_level.mean(0), 2 * by_level.detach().sum(0) / pairs
        return torch.cat([per_level.mean().view(1), per_pair.mean().view(1), per_level])


class DenoisingSettings(Settings):
    """What is minimised when a network learns to denoise at every sigma of a range."""

    loss: Literal["cross-entropy", "squared"] = "cross-entropy"
    """Cross-entropy of the logits, or the squared error of the posterior mean."""
    half_precision: bool = True
    """On CUDA, compute products in bfloat16 in training."""


@dataclass(frozen=True)
class Denoising:
    """The likelihood of clean entries at noise levels drawn from a range.

    Every graph is perturbed once, with a sigma of its own. Cross-entropy is a proper scoring rule:
    what minimises it is the posterior probability of every edge, as with the paper's squared loss
    (equation 3), but its gradient does not vanish where the answer is certain and wrong.
    """

    sigma_range: SigmaRange
    settings: DenoisingSettings = field(default_factory=DenoisingSettings)

    @property
    def noise_copies(self) -> int:
        """Noisy items made of one graph."""
        return 1

    @property
    def sigma_bins(self) -> int:
        """Bins of the range that the loss is reported for."""
        return SIGMA_BINS

    @property
    def structure(self) -> slice:
        """Those of the smaller half, at which structure is decided."""
        return slice(0, SIGMA_BINS // 2)

    def perturb(self, batch: GraphBatch, *, generator: torch.Generator) -> NoisyBatch:
        """Perturb every graph of a batch once, with a sigma drawn for it."""
        sigma = draw_sigmas(
            self.sigma_range, len(batch), generator=generator, dtype=batch.adj.dtype
        )
        noisy = perturb(batch.state, sigma, generator=generator)
        return NoisyBatch(batch.state, noisy, sigma, batch.condition)

    def per_graph_loss(self, network: Any, items: NoisyBatch) -> Tensor:
        """Return the mean loss over the entries of each item."""
        device = items.sigma.device.type
        half = self.settings.half_precision and device == "cuda"
        with torch.autocast(device, torch.bfloat16, enabled=half):
            if self.settings.loss == "cross-entropy":
                logits = network.logits(items.noisy, items.sigma, items.condition)
                entries = network.likelihood.loss(logits, items.sigma, items.clean)
            else:
                entries = _squared_error(network, items)
        return mean_over_entries(entries)

    def metrics(self, items: NoisyBatch, losses: Tensor) -> Tensor:
        """Return the loss twice, as it is per pair already, and the loss per bin of the range.

        Small batches do not fill all bins; there the mean of the batch stands in.
        """
        low, high = math.log(self.sigma_range.sigma_min), math.log(self.sigma_range.sigma_max)
        position = (items.sigma.log() - low) / (high - low) * SIGMA_BINS
        bins = position.floor().long().clamp(0, SIGMA_BINS - 1)
        each = torch.arange(SIGMA_BINS, device=bins.device)
        is_in = (bins.unsqueeze(1) == each).to(losses.dtype)
        per_bin = losses.detach() @ is_in / is_in.sum(0)
        total = losses.mean().view(1)
        return torch.cat([total, total, torch.where(per_bin.isnan(), total, per_bin)])


def _squared_error(network: Any, items: NoisyBatch) -> GraphState:
    """(1 / sigma^2 + 1 / v) (D - A)^2 / 2 of every entry, v the variance of data.

    1 / sigma^2 is the paper's weight, under which large sigma would count for nothing here, where
    cross-entropy counts most. With 1 / v (Karras et al. 2022) the best linear answer loses 1/2 at
    every sigma, and where D is near 1/2 at large sigma, an error costs as much as in cross-entropy.
    """
    score = network(items.noisy, items.sigma, items.condition)
    error = mean_of_score(score, items.noisy, items.sigma) - items.clean

    def weighted(entries: Tensor) -> Tensor:
        square = per_graph(items.sigma, entries).square()
        return (1 / square + 1 / DATA_VARIANCE) * entries.square() / 2

    return error.map(weighted)
