"""Each unordered pair once, by slicing: gathering the upper triangle is slow, its gradient more so.

Without its first entry, an N x N matrix read in rows of N + 1 is, in row i,

    (i,i+1) ... (i,N-1) (i+1,0) ... (i+1,i) (i+1,i+1).

Column k holds pairs that are k apart and, from the next row of the matrix, N + 1 - k apart. So the
first half of the columns holds every unordered pair; if N is odd, its last column holds each of its
pairs twice.
"""

from __future__ import annotations

import torch
from torch import Tensor


def one_of_each_pair(matrices: Tensor) -> Tensor:
    """Return (B,C,N-1,ceil(N/2)) with every pair of (B,C,N,N), which are symmetric.

    >>> import torch
    >>> one_of_each_pair(torch.arange(16).view(1, 1, 4, 4))  # rows 0 to 3 begin at 0, 4, 8, 12
    tensor([[[[ 1,  2],
              [ 6,  7],
              [11, 12]]]])
    """
    return _in_longer_rows(matrices.flatten(2), matrices.shape[-1])


def matrix_of_pairs(pairs: Tensor, nodes: int) -> Tensor:
    """Return symmetric matrices (B,N,N) with zero diagonal from what `one_of_each_pair` chose.

    >>> import torch
    >>> matrix_of_pairs(torch.tensor([[[1.0, 2.0], [3.0, 2.0]]]), 3)
    tensor([[[0., 1., 2.],
             [1., 0., 3.],
             [2., 3., 0.]]])
    """
    if nodes % 2:
        # On the device from the start: a CUDA graph cannot set an entry from the host.
        column = torch.arange(pairs.shape[-1], device=pairs.device)
        pairs = pairs * (1 - 0.5 * (column == pairs.shape[-1] - 1).to(pairs.dtype))
    matrix = pairs.new_zeros(len(pairs), nodes * nodes)
    _in_longer_rows(matrix, nodes).copy_(pairs)
    matrix = matrix.view(len(pairs), nodes, nodes)
    return matrix + matrix.mT


def _in_longer_rows(flat: Tensor, nodes: int) -> Tensor:
    rows = flat[..., 1:].view(*flat.shape[:-1], nodes - 1, nodes + 1)
    return rows[..., : (nodes + 1) // 2]
