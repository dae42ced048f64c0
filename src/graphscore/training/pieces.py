"""Batches that do not fit in memory are computed piece by piece, with the same gradient."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from graphscore.errors import GraphscoreNotice, TrainingError
from graphscore.graphs.batch import GraphBatch
from graphscore.networks.normalisation import MaskedBatchNorm
from graphscore.training.memory import available_memory, saved_bytes

SHARE = 1 / 3
"""Part of the available memory for what is kept until the gradient is known: computing the gradient
needs as much again, and other programs need some."""

MEASURED_NODES = 200
"""Nodes that tell the memory of larger graphs: what does not grow with pairs is small by then."""


@dataclass(frozen=True)
class Piece:
    """Perturbed graphs of a batch that are computed together.

    Attributes:
        items: which ones.
        nodes: width that they need.
    """

    items: slice
    nodes: int

    def __len__(self) -> int:
        return int(self.items.stop - self.items.start)

    def cut(self, size: int) -> list[Piece]:
        """Cut into pieces of at most `size` graphs.

        >>> [piece.items for piece in Piece(slice(0, 5), 9).cut(2)]
        [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
        """
        start, stop = self.items.start, self.items.stop
        return [
            Piece(slice(first, min(first + size, stop)), self.nodes)
            for first in range(start, stop, size)
        ]


class Pieces:
    """How many perturbed graphs are computed at a time: all, or as many as fit.

    A piece is bounded by its pairs of nodes, to which its memory is proportional, so that batches
    of smaller graphs have larger pieces. Splitting costs large graphs hardly any time; computing
    inner results again does, and comes last.

    The pieces of a batch have the loss and gradient of the whole, up to rounding. The exception is
    batch normalisation (the `released` network), whose statistics are then those of each piece.
    """

    def __init__(self, network: nn.Module, device: torch.device) -> None:
        self._network = network
        self._device = device
        self._pairs: int | None = None

    @property
    def couples_graphs(self) -> bool:
        """Whether graphs of a batch change each other's score, as batch statistics do."""
        return any(isinstance(part, MaskedBatchNorm) for part in self._network.modules())

    def size(self, items: int, nodes: int) -> int:
        """Return how many of `items` graphs padded to `nodes` are computed at a time."""
        if self._pairs is None:
            return items
        return min(items, max(1, self._pairs // max(1, nodes) ** 2))

    def cut(self, groups: Sequence[Piece]) -> list[Piece]:
        """Cut groups of graphs into pieces that fit."""
        return [
            piece for group in groups for piece in group.cut(self.size(len(group), group.nodes))
        ]

    def plan(self, largest: GraphBatch, items: int) -> None:
        """Choose pieces that fit before any fails, since Linux ends a process that takes too much.

        Args:
            largest: the largest graph.
            items: perturbed graphs in a batch.
        """
        available = None if self._pairs is not None else available_memory(self._device)
        if available is None:
            return
        pairs = largest.max_nodes**2
        needed = int(pairs * self._bytes_per_pair(largest))
        fitting = int(SHARE * available / max(1, needed))
        if fitting >= items:
            return
        self._pairs = max(1, fitting) * pairs
        gigabytes = f"about {needed * items / 2**30:.3g} GiB of memory"
        self._announce(items, max(1, fitting), largest.max_nodes, f"would need {gigabytes}")
        if not fitting:
            self._recompute(largest.max_nodes)

    def shrink(self, groups: Sequence[Piece]) -> None:
        """Choose smaller pieces after those that `cut` made of the groups did not fit.

        Raises:
            TrainingError: there are none.
        """
        # Of what was tried at a time, and not of the groups, which may be in many pieces already.
        largest = max(groups, key=lambda g: self.size(len(g), g.nodes) * g.nodes**2)
        nodes, size = largest.nodes, self.size(len(largest), largest.nodes)
        if size > 1:
            self._pairs = size // 2 * nodes**2
            reason = f"did not fit in memory {size} at a time"
            self._announce(len(largest), size // 2, nodes, reason)
        elif not self._recompute(nodes):
            raise TrainingError(
                f"one graph padded to {nodes} nodes does not fit in the memory of {self._device}, "
                "not even alone. Leave out the largest graphs, use a smaller network "
                "(network.edge_width, network.channels), or a device with more memory."
            )

    def _bytes_per_pair(self, largest: GraphBatch) -> float:
        """Bytes kept for the gradient, measured on a part that is sure to fit."""
        nodes = min(MEASURED_NODES, largest.max_nodes)
        adj, node_mask = largest.adj[:, :nodes, :nodes], largest.node_mask[:, :nodes]
        feat = None if largest.node_feat is None else largest.node_feat[:, :nodes]
        statistics = [(buffer, buffer.clone()) for buffer in self._network.buffers()]
        kept = saved_bytes(lambda: self._network(adj, node_mask, adj.new_ones(len(adj)), feat))
        for buffer, before in statistics:
            buffer.copy_(before)
        return kept / max(1, nodes) ** 2

    def _recompute(self, nodes: int) -> bool:
        """Have the network keep less for the gradient, if it can and does not do so already."""
        if getattr(self._network, "recompute_layers", True):
            return False
        setattr(self._network, "recompute_layers", True)  # noqa: B010 - unknown to nn.Module
        warnings.warn(
            f"one graph padded to {nodes} nodes does not fit in memory with all that its gradient "
            "needs; inner results are computed twice instead of being kept, which takes longer.",
            GraphscoreNotice,
            stacklevel=2,
        )
        return True

    def _announce(self, items: int, size: int, nodes: int, reason: str) -> None:
        effect = (
            "batch statistics are now those of each piece"
            if self.couples_graphs
            else "the gradient is the same"
        )
        warnings.warn(
            f"{items} perturbed graphs padded to {nodes} nodes {reason}; "
            f"computing {size} at a time ({effect}).",
            GraphscoreNotice,
            stacklevel=2,
        )
