"""Exact solutions of many graphs at once: shortest paths and maximum spanning forests.

Every loop runs over nodes, none over graphs, and nothing waits for the device. Lengths are float64,
in which sums of integers and of 32-bit random numbers are exact, so that paths are compared without
rounding.
"""

from __future__ import annotations

import torch
from torch import Tensor

from graphscore.errors import GraphDataError
from reproduce.algorithms.graphs import symmetric, upper_pairs

SLACK = 1e-12
"""Paths whose lengths differ by less than this share count as equally long."""


def shortest_distances(lengths: Tensor) -> Tensor:
    """Return the lengths of the shortest paths between all pairs (Floyd and Warshall).

    Args:
        lengths: (B,N,N), positive on edges, infinite elsewhere, symmetric.

    Returns:
        (B,N,N) float64; 0 on the diagonal, infinite where no path leads.

    Raises:
        GraphDataError: `lengths` is no stack of square matrices.

    Example:
        >>> inf = float("inf")
        >>> path = torch.tensor([[[inf, 1, inf], [1, inf, 2], [inf, 2, inf]]])
        >>> shortest_distances(path)[0, 0].tolist()
        [0.0, 1.0, 3.0]
    """
    _check_square("lengths", lengths)
    distances = lengths.double()
    distances = distances.masked_fill(_diagonal(distances), 0.0)
    for node in range(lengths.shape[1]):
        through = distances[:, :, node, None] + distances[:, None, node, :]
        distances = torch.minimum(distances, through)
    return distances


def path_counts(lengths: Tensor, to_target: Tensor) -> tuple[Tensor, Tensor]:
    """Count the shortest paths from every node to one target.

    Args:
        lengths: (B,N,N) as in `shortest_distances`.
        to_target: (B,N) distances to the target, a row of what `shortest_distances` returns.

    Returns:
        The counts (B,N) float64, 1 at the target itself and 0 where no path leads, and the mask
        (B,N,N) of steps i to j that a shortest path from i to the target can begin with.

    Example:
        >>> inf = float("inf")
        >>> square = torch.tensor(
        ...     [[[inf, 1, inf, 1], [1, inf, 1, inf], [inf, 1, inf, 1], [1, inf, 1, inf]]]
        ... )
        >>> path_counts(square, shortest_distances(square)[:, 0])[0].tolist()
        [[1.0, 1.0, 2.0, 1.0]]
    """
    _check_square("lengths", lengths)
    through = lengths.double() + to_target.unsqueeze(1)
    reached = to_target.isfinite().unsqueeze(2)
    steps = reached & (through <= (to_target * (1 + SLACK)).unsqueeze(2))
    # Steps lead strictly towards the target, so that their matrix P is nilpotent and the counts
    # are the sum of P^k e_target over all k < N.
    ways = steps.double()
    target = (to_target == 0).double().unsqueeze(-1)
    counts = target
    for _ in range(lengths.shape[1] - 1):
        counts = target + ways @ counts
    return counts.squeeze(-1), steps


def random_shortest_path(
    lengths: Tensor,
    distances: Tensor,
    source: Tensor,
    target: Tensor,
    *,
    generator: torch.Generator,
) -> tuple[Tensor, Tensor]:
    """Draw one shortest path between two nodes, uniformly among all of them.

    The path is walked from the source; a step is taken with the share of paths that go through it.

    Args:
        lengths: (B,N,N) as in `shortest_distances`.
        distances: what that returns for them.
        source, target: (B,) the end points; the path is empty where they are the same or where
            none leads from one to the other.
        generator: source of the random numbers, which are drawn on its device.

    Returns:
        The edges of the path (B,N,N) bool, symmetric, and how many shortest paths there are (B,).

    Example:
        >>> inf = float("inf")
        >>> path = torch.tensor([[[inf, 1, inf], [1, inf, 2], [inf, 2, inf]]])
        >>> chosen, count = random_shortest_path(
        ...     path, shortest_distances(path), torch.tensor([0]), torch.tensor([2]),
        ...     generator=torch.Generator().manual_seed(0),
        ... )
        >>> chosen.int().tolist(), count.item()
        ([[[0, 1, 0], [1, 0, 1], [0, 1, 0]]], 1.0)
    """
    count, nodes = lengths.shape[:2]
    rows = torch.arange(count, device=lengths.device)
    counts, steps = path_counts(lengths, distances[rows, target])
    ways = steps * counts.unsqueeze(1)
    draws = torch.rand(nodes, count, generator=generator, device=generator.device)
    draws = draws.to(lengths.device, torch.float64)
    path = torch.zeros(count, nodes * nodes, dtype=torch.bool, device=lengths.device)
    here = source
    for draw in draws[1:]:
        onward = ways[rows, here].cumsum(-1)
        total = onward[:, -1:]
        chosen = (onward <= draw.unsqueeze(-1) * total).sum(-1)
        # At the target, and where no path leads, no step is left.
        chosen = torch.where(total.squeeze(-1) > 0, chosen, here)
        path.scatter_(1, (here * nodes + chosen).unsqueeze(-1), True)
        here = chosen
    path = path.view(count, nodes, nodes) & ~_diagonal(lengths)
    return path | path.mT, counts[rows, source]


def is_shortest_path(
    chosen: Tensor, lengths: Tensor, distances: Tensor, source: Tensor, target: Tensor
) -> Tensor:
    """Return whether the chosen edges are exactly the edges of some shortest path, (B,) bool.

    Edges that connect both ends contain a path between them; if all of them together are as long as
    the distance, they are that path and it is a shortest one.

    Args:
        chosen: (B,N,N) bool, symmetric; places without an edge must be False.
        lengths, distances, source, target: as in `random_shortest_path`.

    Example:
        >>> inf = float("inf")
        >>> path = torch.tensor([[[inf, 1, inf], [1, inf, 2], [inf, 2, inf]]])
        >>> distances, ends = shortest_distances(path), torch.tensor([[0], [2]])
        >>> is_shortest_path(path.isfinite(), path, distances, *ends).tolist()
        [True]
    """
    rows = torch.arange(len(lengths), device=lengths.device)
    distance = distances[rows, source, target]
    kept = lengths.double().masked_fill(~chosen, float("inf"))
    connected = shortest_distances(kept)[rows, source, target].isfinite()
    total = torch.triu(kept.masked_fill(~chosen, 0.0)).sum((1, 2))
    return connected & (total <= distance * (1 + SLACK))


def maximum_spanning_forest(weights: Tensor, edges: Tensor) -> Tensor:
    """Return the edges of the maximum spanning tree of every component.

    An edge belongs to it if and only if no other path between its ends has only larger weights:
    if and only if its weight is the bottleneck of its ends, the largest smallest weight of a path
    between them. Equal weights, which have probability zero among random ones, are ordered by
    their places, so that the answer always is a forest.

    Args:
        weights: (B,N,N), symmetric.
        edges: (B,N,N) bool, symmetric.

    Returns:
        (B,N,N) bool, symmetric.

    Raises:
        GraphDataError: `weights` is no stack of square matrices.

    Example:
        >>> weights = torch.tensor([[[0, 3, 1], [3, 0, 2], [1, 2, 0]]])
        >>> maximum_spanning_forest(weights, weights > 0).int().tolist()
        [[[0, 1, 0], [1, 0, 1], [0, 1, 0]]]
    """
    _check_square("weights", weights)
    nodes = weights.shape[1]
    upper = upper_pairs(nodes, weights.device)
    order = weights.flatten(1)[:, upper].argsort(dim=-1, stable=True)
    # Ranks from 1 replace the weights; 0 stands for no edge.
    ranks = torch.empty_like(order)
    ranks.scatter_(1, order, torch.arange(1, len(upper) + 1, device=order.device).expand_as(order))
    ranks = symmetric(ranks, nodes) * edges
    bottleneck = ranks
    for node in range(nodes):
        through = torch.minimum(bottleneck[:, :, node, None], bottleneck[:, None, node, :])
        bottleneck = torch.maximum(bottleneck, through)
    return edges & (ranks == bottleneck)


def _diagonal(like: Tensor) -> Tensor:
    return torch.eye(like.shape[-1], dtype=torch.bool, device=like.device)


def _check_square(name: str, matrices: Tensor) -> None:
    if matrices.ndim != 3 or matrices.shape[1] != matrices.shape[2]:
        raise GraphDataError(
            f"{name} must have shape (B,N,N), got {tuple(matrices.shape)}. "
            "Stack square matrices along the first axis."
        )
