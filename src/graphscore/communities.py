"""Communities of training graphs, as a network is told of them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import networkx as nx
import torch

from graphscore.errors import GraphscoreNotice
from graphscore.graphs import GraphBatch
from graphscore.metrics import find_blocks
from graphscore.metrics.blocks import MAX_BLOCKS
from graphscore.progress import progress
from graphscore.sampling import CommunityDistribution


def _notify(message: str) -> None:
    warnings.warn(message, GraphscoreNotice, stacklevel=3)


def with_communities(
    data: GraphBatch, graphs: Sequence[nx.Graph[Any]], *, show_progress: bool = False
) -> tuple[GraphBatch, CommunityDistribution]:
    """Find the communities of graphs, each by itself, without being told how many there are.

    They are the blocks of the partition that describes a graph most briefly (`find_blocks`), the
    whole graph being one where it has none.

    Args:
        data: the graphs as a batch without node features.
        graphs: the same, nodes in the same order.
        show_progress: show it on standard error.

    Returns:
        The batch with the number of every node's community as its feature (B,N,1), and which sizes
        occurred.

    >>> two = [nx.disjoint_union(nx.complete_graph(8), nx.complete_graph(7))]
    >>> batch, known = with_communities(GraphBatch.from_networkx(two), two)
    >>> batch.node_feat[0, [0, 7, 8], 0].tolist(), known.counts
    ([0.0, 0.0, 1.0], {(8, 7): 1})
    """
    found = []
    numbers = data.adj.new_zeros(*data.node_mask.shape, 1)
    with progress("finding communities", len(graphs), enabled=show_progress) as update:
        for row, exists, graph in zip(numbers, data.node_mask, graphs):
            blocks = find_blocks(graph)
            row[exists, 0] = torch.from_numpy(blocks).to(row)
            found.append(blocks.tolist())
            update(len(found), "")
    known = CommunityDistribution.of(found)
    if all(len(sizes) == 1 for sizes in known.counts):
        _notify("no graph has more than one community, so that telling them changes nothing.")
    most = sum(count for sizes, count in known.counts.items() if len(sizes) == MAX_BLOCKS)
    if most:
        _notify(f"graphs with {MAX_BLOCKS} communities, the most that are looked for: {most}.")
    return replace(data, node_feat=numbers), known
