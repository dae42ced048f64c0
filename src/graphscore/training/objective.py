"""The contract between the trainer and what it minimises."""

from __future__ import annotations

from typing import Any, Protocol, Self

import torch
from torch import Tensor


class Items(Protocol):
    """What a network answers in one step, computed in micro-batches."""

    def __len__(self) -> int: ...

    @property
    def max_nodes(self) -> int:
        """Width that the graphs are padded to."""

    def part(self, items: slice, nodes: int | None = None) -> Self:
        """Return some of the items, cut to the first `nodes` nodes."""


class Objective(Protocol):
    """What training minimises: the mean of a loss per item."""

    @property
    def noise_copies(self) -> int:
        """Items made of one graph."""

    @property
    def sigma_bins(self) -> int:
        """Further numbers that `metrics` reports: the loss per noise level, or per bin of them."""

    def perturb(self, batch: Any, *, generator: torch.Generator) -> Any:
        """Return the `Items` of a batch; all randomness of a step is drawn here."""

    def per_graph_loss(self, network: Any, items: Any) -> Tensor:
        """Return the loss (items,) of each of the items."""

    def metrics(self, items: Any, losses: Tensor) -> Tensor:
        """Return from the losses of all items: the loss, the loss per pair, `sigma_bins` more."""
