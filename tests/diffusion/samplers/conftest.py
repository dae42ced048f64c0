"""A distribution of graphs so small that its posterior mean is known by enumeration."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from graphscore.graphs import GraphState

ROWS, COLUMNS = torch.triu_indices(3, 3, offset=1)


@dataclass(frozen=True)
class ThreeNodes:
    """Graphs on 3 nodes with 0 to 3 edges, by the probability of each number of edges.

    Attributes:
        probabilities: (4,); all graphs with the same number of edges are alike.
    """

    probabilities: Tensor

    @property
    def density(self) -> float:
        return float(self.probabilities @ torch.arange(4.0).double()) / 3

    def denoise(self, noisy: GraphState, sigma: Tensor) -> GraphState:
        """E[A | A~] by Bayes' rule over all 8 graphs."""
        adj = noisy.edges
        graphs = torch.tensor(list(itertools.product([0.0, 1.0], repeat=3))).double()
        edges = graphs.sum(1).long()
        prior = self.probabilities[edges] / edges.bincount()[edges]
        # -|a - g|^2 / 2 without what is the same for all graphs g.
        nearness = adj[:, ROWS, COLUMNS] @ graphs.mT - edges / 2
        posterior = (prior.log() + nearness / sigma.view(-1, 1) ** 2).softmax(1)
        result = torch.zeros_like(adj)
        result[:, ROWS, COLUMNS] = posterior @ graphs
        return GraphState(result + result.mT, noisy.node_mask)

    def frequencies(self, adj: Tensor) -> Tensor:
        """Share (4,) of the graphs that have 0 to 3 edges."""
        edges = adj[:, ROWS, COLUMNS].sum(1).long()
        return edges.bincount(minlength=4) / len(adj)


@pytest.fixture
def three_nodes() -> ThreeNodes:
    """Edges that depend on each other: with two of them the third is likely."""
    return ThreeNodes(torch.tensor([0.1, 0.4, 0.1, 0.4], dtype=torch.float64))
