"""Communities of nodes as networks are told of them: a number for each node."""

from __future__ import annotations

from torch import Tensor

from graphscore.errors import GraphDataError


def same_community(node_feat: Tensor | None) -> Tensor:
    """Return which pairs of nodes are in the same community, (B,N,N) bool, the diagonal too.

    Which number a community has does not matter.

    Args:
        node_feat: (B,N,F), the last feature being the number of a node's community.

    Raises:
        GraphDataError: there are no node features.

    >>> import torch
    >>> same_community(torch.tensor([[[5.0], [1.0], [5.0]]])).int().tolist()
    [[[1, 0, 1], [0, 1, 0], [1, 0, 1]]]
    """
    if node_feat is None:
        raise GraphDataError(
            "the network wants to be told the community of every node. Give node_feat, with its "
            "number as the last feature."
        )
    number = node_feat[..., -1]
    return number.unsqueeze(1) == number.unsqueeze(2)
