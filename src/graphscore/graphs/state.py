"""GraphState: edges, nodes and mask of a batch of graphs, the one state of every diffusion.

Noise is added to it, samplers step it, and networks answer with one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from graphscore.errors import GraphDataError


def pair_mask(node_mask: Tensor) -> Tensor:
    """Return the (B,N,N) boolean mask of pairs of different, existing nodes.

    >>> pair_mask(torch.tensor([[True, True, False]])).sum().item()
    2
    """
    both = node_mask.unsqueeze(-1) & node_mask.unsqueeze(-2)
    off_diagonal = ~torch.eye(node_mask.shape[1], dtype=torch.bool, device=node_mask.device)
    return both & off_diagonal


def node_mask_of_sizes(sizes: Tensor, max_nodes: int | None = None) -> Tensor:
    """Return the (B,N) mask whose row b marks the first `sizes[b]` nodes.

    Raises:
        GraphDataError: a size exceeds `max_nodes`; nothing is cut off in silence.

    >>> node_mask_of_sizes(torch.tensor([1, 3])).tolist()
    [[True, False, False], [True, True, True]]
    """
    largest = int(sizes.max()) if len(sizes) else 0
    if max_nodes is not None and largest > max_nodes:
        raise GraphDataError(
            f"sizes reach {largest}, but the mask is {max_nodes} nodes wide. "
            f"Use max_nodes={largest} or more."
        )
    width = largest if max_nodes is None else max_nodes
    return torch.arange(width, device=sizes.device) < sizes.unsqueeze(1)


def per_graph(values: Tensor, entries: Tensor) -> Tensor:
    """Return values (B,) in a shape that broadcasts over the entries (B,...) of each graph."""
    return values.view(-1, *[1] * (entries.ndim - 1))


@dataclass(frozen=True)
class GraphState:
    """Real-valued entries of B graphs padded to N nodes; states add, subtract and scale.

    Attributes:
        edges: (B,N,N), or (B,N,N,C) for entries of several numbers; symmetric, zero on the
            diagonal and on padding.
        node_mask: (B,N) bool, True where a node exists.
        nodes: (B,N,F) entries of nodes, zero on padding; None where nodes carry none.

    Example:
        >>> state = GraphState(torch.ones(1, 2, 2), torch.ones(1, 2, dtype=torch.bool))
        >>> ((state + state) * 0.5 - state).edges.abs().sum().item()
        0.0
    """

    edges: Tensor
    node_mask: Tensor
    nodes: Tensor | None = None

    def __len__(self) -> int:
        return len(self.node_mask)

    @property
    def max_nodes(self) -> int:
        """Width N that the graphs are padded to."""
        return self.node_mask.shape[1]

    @property
    def pair_mask(self) -> Tensor:
        """(B,N,N) mask of pairs of different, existing nodes."""
        return pair_mask(self.node_mask)

    @property
    def masks(self) -> GraphState:
        """Which entries exist, as a state of bool: pairs (B,N,N), and nodes (B,N,1)."""
        nodes = None if self.nodes is None else self.node_mask.unsqueeze(2)
        pairs = self.pair_mask
        return GraphState(
            pairs if self.edges.ndim == 3 else pairs.unsqueeze(3), self.node_mask, nodes
        )

    @property
    def entries(self) -> list[Tensor]:
        """The tensors of entries: edges, and nodes where there are any."""
        return [self.edges] if self.nodes is None else [self.edges, self.nodes]

    def map(self, function: Callable[..., Tensor], *others: GraphState) -> GraphState:
        """Apply a function to the edges, and to the nodes, of this state and of others."""
        edges = function(self.edges, *(other.edges for other in others))
        nodes = None
        if self.nodes is not None:
            nodes = function(self.nodes, *(other.nodes for other in others))
        return GraphState(edges, self.node_mask, nodes)

    def __add__(self, other: GraphState) -> GraphState:
        return self.map(torch.add, other)

    def __sub__(self, other: GraphState) -> GraphState:
        return self.map(torch.sub, other)

    def __mul__(self, factor: float | Tensor) -> GraphState:
        return self.map(lambda entries: entries * factor)

    def __truediv__(self, divisor: float) -> GraphState:
        return self.map(lambda entries: entries / divisor)

    def scaled(self, factors: Tensor) -> GraphState:
        """Multiply the entries of each graph by its factor, (B,)."""
        return self.map(lambda entries: per_graph(factors, entries) * entries)

    def symmetrised(self) -> GraphState:
        """Make edges exactly symmetric, which a network's answer may be up to rounding only."""
        return replace(self, edges=(self.edges + self.edges.transpose(1, 2)) / 2)

    def isfinite(self) -> Tensor:
        """Return whether all entries are finite, as a tensor on the device."""
        return reduce(torch.logical_and, (entries.isfinite().all() for entries in self.entries))

    def part(self, items: slice, nodes: int | None = None) -> GraphState:
        """Return some of the graphs, cut to the first `nodes` nodes."""
        of_nodes = None if self.nodes is None else self.nodes[items, :nodes]
        return GraphState(
            self.edges[items, :nodes, :nodes], self.node_mask[items, :nodes], of_nodes
        )

    def extended(self, extra: int) -> GraphState:
        """Return the same graphs with `extra` more places for nodes, all empty."""
        channels = (0, 0) * (self.edges.ndim - 3)
        nodes = self.nodes
        return GraphState(
            functional.pad(self.edges, (*channels, 0, extra, 0, extra)),
            functional.pad(self.node_mask, (0, extra)),
            None if nodes is None else functional.pad(nodes, (0, 0, 0, extra)),
        )

    def repeated(self, copies: int) -> GraphState:
        """Return every graph `copies` times in a row."""
        every = (self.edges, self.node_mask, self.nodes)
        return GraphState(*(repeat_rows(values, copies) for values in every))


def repeat_rows(values: Any, copies: int) -> Any:
    """Return every row of a tensor `copies` times in a row; None for None."""
    if values is None:
        return None
    return values.unsqueeze(1).expand(-1, copies, *values.shape[1:]).flatten(0, 1)
