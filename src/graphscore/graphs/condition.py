"""Condition: what a network is given about graphs besides their noisy state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from graphscore.errors import GraphDataError
from graphscore.graphs.state import repeat_rows


@dataclass(frozen=True)
class Condition:
    """Known facts about B graphs of N nodes; an empty condition says nothing.

    Attributes:
        node_feat: (B,N,F) float features of nodes from the data.
        communities: (B,N) int64, number of the community of every node. Which number a community
            has does not matter.

    Example:
        >>> Condition(communities=torch.tensor([[5, 1, 5]])).same_community().int().tolist()
        [[[1, 0, 1], [0, 1, 0], [1, 0, 1]]]
    """

    node_feat: Tensor | None = None
    communities: Tensor | None = None

    @property
    def feature_width(self) -> int:
        """Width F of the node features; 0 without any."""
        return 0 if self.node_feat is None else self.node_feat.shape[-1]

    def same_community(self) -> Tensor:
        """Return which pairs of nodes are in the same community, (B,N,N) bool.

        Raises:
            GraphDataError: communities are not given.
        """
        if self.communities is None:
            raise GraphDataError(
                "the network is conditioned on communities, but none are given. "
                "Give a Condition with the community of every node."
            )
        return self.communities.unsqueeze(1) == self.communities.unsqueeze(2)

    def _map(self, function: Callable[[Tensor], Tensor]) -> Condition:
        if self.node_feat is None and self.communities is None:
            return self
        return Condition(
            None if self.node_feat is None else function(self.node_feat),
            None if self.communities is None else function(self.communities),
        )

    def part(self, items: slice, nodes: int | None = None) -> Condition:
        """Return the condition of some of the graphs, cut to the first `nodes` nodes."""
        return self._map(lambda values: values[items, :nodes])

    def to(self, device: torch.device | str) -> Condition:
        """Move to a device."""
        return self._map(lambda values: values.to(device))

    def extended(self, extra: int) -> Condition:
        """Return the condition of the same graphs with `extra` more places for nodes."""
        return self._map(
            lambda values: functional.pad(values, (*(0, 0) * (values.ndim - 2), 0, extra))
        )

    def repeated(self, copies: int) -> Condition:
        """Return the condition of every graph `copies` times in a row."""
        return self._map(lambda values: repeat_rows(values, copies))


NO_CONDITION = Condition()
"""Nothing is known."""


def check_feature_width(condition: Condition, width: int) -> None:
    """Refuse node features of another width than a network was made for.

    Raises:
        GraphDataError: the widths differ.
    """
    if condition.feature_width != width:
        raise GraphDataError(
            f"got {condition.feature_width} node features, but the network was made for {width}. "
            "Set node_feat_dim to the width of the data's."
        )
