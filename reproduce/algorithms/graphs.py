"""Random graphs in batches: Erdős–Rényi edges and uniform weights, drawn on any device."""

from __future__ import annotations

import torch
from torch import Tensor

from graphscore.errors import SettingsError


def upper_pairs(nodes: int, device: torch.device | str = "cpu") -> Tensor:
    """Return the places (P,) of the pairs i < j in a flattened (N,N) matrix.

    >>> upper_pairs(3).tolist()
    [1, 2, 5]
    """
    pairs = torch.triu_indices(nodes, nodes, 1, device=device)
    return pairs[0] * nodes + pairs[1]


def symmetric(values: Tensor, nodes: int) -> Tensor:
    """Return the symmetric (B,N,N) matrices that hold `values` (B,P) on the pairs i < j.

    >>> symmetric(torch.tensor([[1, 2, 3]]), 3).tolist()
    [[[0, 1, 2], [1, 0, 3], [2, 3, 0]]]
    """
    full = values.new_zeros(len(values), nodes * nodes)
    full[:, upper_pairs(nodes, values.device)] = values
    full = full.view(-1, nodes, nodes)
    return full | full.mT if values.dtype == torch.bool else full + full.mT


def random_edges(
    count: int,
    nodes: int,
    probability: float,
    *,
    generator: torch.Generator,
    device: torch.device | str | None = None,
) -> Tensor:
    """Draw the edges of Erdős–Rényi graphs G(n, p).

    Args:
        count: B, how many graphs.
        nodes: N, nodes of every graph.
        probability: that a pair of nodes has an edge, independently of the others.
        generator: source of the random numbers, which are drawn on its device.
        device: where the graphs go; the generator's if None. A generator of the CPU gives the same
            graphs on every device.

    Returns:
        (B,N,N) bool, symmetric, False on the diagonal.

    Raises:
        SettingsError: `count` or `nodes` is below 1, or `probability` is none.

    Example:
        >>> edges = random_edges(1000, 12, 0.3, generator=torch.Generator().manual_seed(0))
        >>> edges.shape, round(edges.float().mean().item() * 12 / 11, 1)
        (torch.Size([1000, 12, 12]), 0.3)
    """
    if count < 1 or nodes < 1:
        raise SettingsError(
            f"{count} random graphs of {nodes} nodes were asked for; both must be at least 1."
        )
    if not 0 <= probability <= 1:
        raise SettingsError(f"the probability of an edge is {probability}; give one in [0, 1].")
    draws = _uniform(count, nodes, generator, device)
    return symmetric(draws < probability, nodes)


def random_weights(edges: Tensor, *, generator: torch.Generator) -> Tensor:
    """Draw a weight for every edge, uniformly from (0, 1], and 0 where there is no edge.

    Zero itself is left out (its probability is nil), so that an edge of a weighted adjacency matrix
    is never mistaken for a missing one.

    Args:
        edges: (B,N,N) bool, symmetric.
        generator: source of the random numbers, which are drawn on its device.

    Returns:
        (B,N,N) float32, symmetric.

    Example:
        >>> edges = torch.tensor([[[False, True], [True, False]]])
        >>> weights = random_weights(edges, generator=torch.Generator().manual_seed(0))
        >>> bool(weights[0, 0, 1] == weights[0, 1, 0] > 0), weights[0, 0, 0].item()
        (True, 0.0)
    """
    count, nodes = edges.shape[:2]
    return symmetric(1 - _uniform(count, nodes, generator, edges.device), nodes) * edges


def _uniform(
    count: int, nodes: int, generator: torch.Generator, device: torch.device | str | None
) -> Tensor:
    """One number in [0, 1) for each of the P pairs, (B,P)."""
    pairs = nodes * (nodes - 1) // 2
    draws = torch.rand(count, pairs, generator=generator, device=generator.device)
    return draws.to(device or generator.device)
