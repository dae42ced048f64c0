"""Batches that do not fit in memory are computed in micro-batches, with the same gradient."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from graphscore.errors import TrainingError, warn
from graphscore.graphs.batch import GraphBatch
from graphscore.networks.normalisation import MaskedBatchNorm
from graphscore.training.batching import MicroBatch
from graphscore.training.memory import available_memory, saved_bytes

SHARE = 1 / 3
"""Part of the available memory for what is kept until the gradient is known: computing the gradient
needs as much again, and other programs need some."""

CHECKPOINTED = 8
"""How many times less is kept for the gradient with activation checkpointing, at best."""

MEASURED_NODES = 200
"""Nodes at which larger graphs are measured: what does not grow with pairs is small by then."""

REMEDY = (
    "Leave out the largest graphs, use a smaller network (network.pair_width and blocks of a "
    "denoiser, network.edge_width and channels of an EDP-GNN), or a device with more memory."
)


class MicroBatcher:
    """How many noisy items are computed at a time: all, or as many as fit.

    A micro-batch is bounded by its pairs of nodes, to which its memory is proportional, so that
    batches of smaller graphs have larger micro-batches. Splitting costs large graphs hardly any
    time; activation checkpointing does, and comes last.

    The micro-batches of a batch have the loss and gradient of the whole, up to rounding. The
    exception is batch normalisation (EDP-GNN as released), whose statistics are then those of each
    micro-batch.
    """

    def __init__(self, network: nn.Module, device: torch.device) -> None:
        self._network = network
        self._device = device
        self._pairs: int | None = None

    @property
    def uses_batch_statistics(self) -> bool:
        """Whether graphs of a batch change each other's answer, as batch statistics do."""
        return any(isinstance(part, MaskedBatchNorm) for part in self._network.modules())

    def size(self, items: int, nodes: int) -> int:
        """Return how many of `items` graphs padded to `nodes` are computed at a time."""
        if self._pairs is None:
            return items
        return min(items, max(1, self._pairs // max(1, nodes) ** 2))

    def split(self, buckets: Sequence[MicroBatch]) -> list[MicroBatch]:
        """Split buckets of items into micro-batches that fit."""
        return [
            part
            for bucket in buckets
            for part in bucket.split(self.size(len(bucket), bucket.nodes))
        ]

    def plan(self, largest: GraphBatch, items: int) -> None:
        """Choose a size that fits before any fails, since Linux ends a process that takes too much.

        Args:
            largest: the largest graph.
            items: noisy items in a batch.

        Raises:
            TrainingError: one graph alone is sure not to fit.
        """
        available = None if self._pairs is not None else available_memory(self._device)
        if available is None or not largest.max_nodes:
            return
        pairs = largest.max_nodes**2
        needed = pairs * self._bytes_per_pair(largest)
        if items * needed <= SHARE * available:
            return
        if needed > CHECKPOINTED * available:
            raise TrainingError(
                f"one graph padded to {largest.max_nodes} nodes needs about {needed / 2**30:.3g} "
                f"GiB of memory, and {available / 2**30:.3g} GiB are left. {REMEDY}"
            )
        fitting = int(SHARE * available / needed)
        self._pairs = max(1, fitting) * pairs
        gigabytes = f"about {needed * items / 2**30:.3g} GiB of memory"
        self._announce(items, max(1, fitting), largest.max_nodes, f"would need {gigabytes}")
        if not fitting and self._can_checkpoint:
            self._checkpoint(largest.max_nodes)

    def shrink(self, buckets: Sequence[MicroBatch]) -> None:
        """Choose smaller micro-batches after those that `split` made of the buckets did not fit.

        Raises:
            TrainingError: there are none.
        """
        # Of what was tried at a time, and not of the buckets, which may be split already.
        largest = max(buckets, key=lambda b: self.size(len(b), b.nodes) * b.nodes**2)
        nodes, size = largest.nodes, self.size(len(largest), largest.nodes)
        if size > 1:
            self._pairs = size // 2 * nodes**2
            reason = f"did not fit in memory {size} at a time"
            self._announce(len(largest), size // 2, nodes, reason)
        elif self._can_checkpoint:
            self._checkpoint(nodes)
        else:
            raise TrainingError(
                f"one graph padded to {nodes} nodes does not fit in the memory of {self._device}, "
                f"not even alone. {REMEDY}"
            )

    def _bytes_per_pair(self, largest: GraphBatch) -> float:
        """Bytes kept for the gradient, measured on a part that is sure to fit."""
        nodes = min(MEASURED_NODES, largest.max_nodes)
        part = largest.narrowed(nodes)
        sigma = part.adj.new_ones(len(part))
        statistics = [(buffer, buffer.clone()) for buffer in self._network.buffers()]
        kept = saved_bytes(lambda: self._network(part.state, sigma, part.condition))
        for buffer, before in statistics:
            buffer.copy_(before)
        return kept / nodes**2

    @property
    def _can_checkpoint(self) -> bool:
        """Whether the network can keep less for the gradient than it does."""
        return not getattr(self._network, "checkpoint_activations", True)

    def _checkpoint(self, nodes: int) -> None:
        """Have the network keep less for the gradient."""
        setattr(self._network, "checkpoint_activations", True)  # noqa: B010 - unknown to nn.Module
        warn(
            f"one graph padded to {nodes} nodes does not fit in memory with all that its gradient "
            "needs; activation checkpointing is used, which takes longer."
        )

    def _announce(self, items: int, size: int, nodes: int, reason: str) -> None:
        effect = (
            "batch statistics are now those of each micro-batch"
            if self.uses_batch_statistics
            else "the gradient is the same"
        )
        warn(
            f"{items} noisy graphs padded to {nodes} nodes {reason}; "
            f"computing {size} at a time ({effect})."
        )
