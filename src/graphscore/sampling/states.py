"""Where sampling starts and how a continuous state becomes a graph."""

from __future__ import annotations

import torch
from torch import Tensor

from graphscore.graphs.batch import pair_mask
from graphscore.noise import symmetric_noise


def folded_normal(
    node_mask: Tensor, *, generator: torch.Generator, dtype: torch.dtype = torch.float32
) -> Tensor:
    """Draw the initial state |e_ij| with standard normal e, one per pair (section 3.2).

    Args:
        node_mask: (B,N) bool.

    Returns:
        (B,N,N), symmetric, zero on the diagonal and on padding.
    """
    return symmetric_noise(node_mask, generator=generator, dtype=dtype).abs()


def quantise(adj: Tensor, node_mask: Tensor, threshold: float = 0.5) -> Tensor:
    """Return the binary adjacency 1[A_ij > threshold], equation 4.

    >>> quantise(torch.tensor([[[0.0, 0.7], [0.7, 0.0]]]), torch.tensor([[True, True]]))
    tensor([[[0., 1.],
             [1., 0.]]])
    """
    return ((adj > threshold) & pair_mask(node_mask)).to(adj.dtype)
