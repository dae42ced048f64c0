"""What is to be learnt: for every edge of a random graph, whether it belongs to the answer.

How a problem is given to a network. Missing edges are 0 in the adjacency matrix and edges lie well
above it, so that an edge of any weight differs from none: a spanning tree's edge of weight w is
1 + w, a path's edge of length w is 2 - w, a closeness (the shorter, the nearer). The two ends of a
path are node features.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Protocol, Self

import torch
from torch import Tensor

from graphscore.errors import SettingsError
from reproduce.algorithms.graphs import random_edges, random_weights
from reproduce.algorithms.solvers import (
    is_shortest_path,
    maximum_spanning_forest,
    random_shortest_path,
    shortest_distances,
)


@dataclass(frozen=True)
class Problems:
    """B graphs of N nodes as a network sees them, and the answers.

    Attributes:
        edges: (B,N,N) bool; only edges are classified.
        adj: (B,N,N) float32, what a network is given.
        node_feat: (B,N,F) float32, F may be 0.
        answer: (B,N,N) bool, symmetric, a part of `edges`.
    """

    edges: Tensor
    adj: Tensor
    node_feat: Tensor
    answer: Tensor

    def __len__(self) -> int:
        return len(self.edges)

    @property
    def max_nodes(self) -> int:
        """N, the same for all graphs."""
        return self.edges.shape[1]

    def __getitem__(self, index: slice) -> Self:
        """Return some of the problems, without copying."""
        return type(self)(**{f.name: getattr(self, f.name)[index] for f in fields(self)})


@dataclass(frozen=True)
class PathProblems(Problems):
    """Problems whose answer is a shortest path.

    Attributes:
        lengths: (B,N,N) float64, infinite where there is no edge.
        distances: (B,N,N) float64, lengths of the shortest paths between all pairs.
        source, target: (B,) the ends.
        paths: (B,) how many shortest paths connect them.
    """

    lengths: Tensor
    distances: Tensor
    source: Tensor
    target: Tensor
    paths: Tensor


def is_right(problems: Problems, predicted: Tensor) -> Tensor:
    """Return for which graphs every edge is classified as in the answer, (B,) bool.

    >>> yes = torch.ones(1, 2, 2, dtype=torch.bool)
    >>> problems = Problems(yes, yes.float(), torch.zeros(1, 2, 0), yes)
    >>> is_right(problems, yes).tolist(), is_right(problems, ~yes).tolist()
    ([True], [False])
    """
    return ((predicted == problems.answer) | ~problems.edges).flatten(1).all(-1)


def share_right(problems: Problems, predicted: Tensor) -> Tensor:
    """Return the share of edges that are classified as in the answer, (B,); NaN without edges."""
    right = (predicted == problems.answer) & problems.edges
    return right.sum((1, 2)).double() / problems.edges.sum((1, 2))


class Task(Protocol):
    """A graph algorithm to be learnt."""

    @property
    def name(self) -> str:
        """How the task is called on the command line and in results."""

    @property
    def node_feat_dim(self) -> int:
        """F, the number of node features that describe a problem."""

    def draw(
        self,
        count: int,
        nodes: int,
        probability: float,
        *,
        generator: torch.Generator,
        device: torch.device | str | None = None,
    ) -> Problems:
        """Draw `count` Erdős–Rényi graphs and solve them; the arguments are `random_edges`'."""

    def metrics(self, problems: Problems, predicted: Tensor) -> dict[str, Tensor]:
        """Return numbers per graph, (B,) float, whose means say how good predictions are.

        "accuracy", the first of them, is 1 where all edges are right. Where a number does not apply
        to a graph it is NaN.

        Args:
            problems: what `draw` returned.
            predicted: (B,N,N) bool, symmetric.
        """


class ShortestPath:
    """The edges of a shortest path between two marked nodes.

    The marked pair is drawn uniformly among the pairs of different nodes that a path connects,
    neighbours included; a graph without edges has none, and there a node is paired with itself and
    the answer is empty. Of several shortest paths one is the answer, drawn uniformly.

    Args:
        weighted: whether edges have random lengths, or all of them length 1.

    Example:
        >>> task = ShortestPath(weighted=True)
        >>> problems = task.draw(4, 12, 0.3, generator=torch.Generator().manual_seed(0))
        >>> problems.node_feat.shape, problems.node_feat.sum(1).unique().tolist()
        (torch.Size([4, 12, 2]), [1.0])
        >>> task.metrics(problems, problems.answer)["accuracy"].tolist()
        [1.0, 1.0, 1.0, 1.0]
    """

    node_feat_dim = 2

    def __init__(self, *, weighted: bool) -> None:
        self.weighted = weighted
        self.name = "weighted-shortest-path" if weighted else "shortest-path"

    def draw(
        self,
        count: int,
        nodes: int,
        probability: float,
        *,
        generator: torch.Generator,
        device: torch.device | str | None = None,
    ) -> PathProblems:
        """Draw graphs, marked pairs and the answers; see `Task.draw`."""
        edges = random_edges(count, nodes, probability, generator=generator, device=device)
        weights = random_weights(edges, generator=generator) if self.weighted else edges
        lengths = weights.double().masked_fill(~edges, float("inf"))
        distances = shortest_distances(lengths)
        source, target = _random_pair(distances, generator=generator)
        answer, paths = random_shortest_path(
            lengths, distances, source, target, generator=generator
        )
        ends = torch.stack([source, target], -1).unsqueeze(1)
        node_feat = torch.arange(nodes, device=edges.device).view(1, -1, 1) == ends
        adj = edges * (2 - weights) if self.weighted else edges
        return PathProblems(
            edges=edges,
            adj=adj.float(),
            node_feat=node_feat.float(),
            answer=answer,
            lengths=lengths,
            distances=distances,
            source=source,
            target=target,
            paths=paths,
        )

    def metrics(self, problems: Problems, predicted: Tensor) -> dict[str, Tensor]:
        """Return numbers per graph, (B,) float.

        - accuracy: all edges are as in the answer.
        - edge_accuracy: the share of edges that are.
        - accuracy_apart: the same, for marked pairs that are no neighbours.
        - accuracy_any_path: the chosen edges are exactly some shortest path.
        - best_possible: one over the number of shortest paths, the probability with which whoever
          names one of them names the answer.
        - unique_answer: there is only one shortest path. Its mean is all that the most probable
          label of each edge can be sure of: two equally short paths have probability 1/2 each.
        """
        if not isinstance(problems, PathProblems):
            raise TypeError("metrics of paths need what ShortestPath.draw returned")
        p = problems
        right = is_right(p, predicted).double()
        rows = torch.arange(len(p), device=p.edges.device)
        neighbours = p.edges[rows, p.source, p.target]
        chosen = predicted & p.edges
        any_path = is_shortest_path(chosen, p.lengths, p.distances, p.source, p.target)
        return {
            "accuracy": right,
            "edge_accuracy": share_right(p, predicted),
            "accuracy_apart": right.masked_fill(neighbours, float("nan")),
            "accuracy_any_path": any_path.double(),
            "best_possible": 1 / p.paths,
            "unique_answer": (p.paths == 1).double(),
        }


class MaximumSpanningTree:
    """The edges of the maximum spanning tree; of every component where there are several.

    Example:
        >>> task = MaximumSpanningTree()
        >>> problems = task.draw(1, 12, 1.0, generator=torch.Generator().manual_seed(0))
        >>> problems.answer.sum().item() // 2
        11
    """

    name = "maximum-spanning-tree"
    node_feat_dim = 0

    def draw(
        self,
        count: int,
        nodes: int,
        probability: float,
        *,
        generator: torch.Generator,
        device: torch.device | str | None = None,
    ) -> Problems:
        """Draw weighted graphs and their trees; see `Task.draw`."""
        edges = random_edges(count, nodes, probability, generator=generator, device=device)
        weights = random_weights(edges, generator=generator)
        return Problems(
            edges=edges,
            adj=edges + weights,
            node_feat=weights.new_zeros(count, nodes, 0),
            answer=maximum_spanning_forest(weights, edges),
        )

    def metrics(self, problems: Problems, predicted: Tensor) -> dict[str, Tensor]:
        """Return accuracy and edge_accuracy as for paths, (B,) float; the answer is unique."""
        return {
            "accuracy": is_right(problems, predicted).double(),
            "edge_accuracy": share_right(problems, predicted),
        }


TASKS: dict[str, Task] = {
    task.name: task
    for task in (ShortestPath(weighted=False), ShortestPath(weighted=True), MaximumSpanningTree())
}
"""The tasks of the paper's Table 1 by name."""


def find_task(name: str) -> Task:
    """Return the named task.

    Raises:
        SettingsError: there is none of that name.

    >>> find_task("maximum-spanning-tree").node_feat_dim
    0
    """
    if name not in TASKS:
        raise SettingsError(f"unknown task {name!r}; known are {', '.join(TASKS)}.")
    return TASKS[name]


def _random_pair(distances: Tensor, *, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw a pair of different, connected nodes of each graph; a node twice if there is none."""
    count, nodes = distances.shape[:2]
    draws = torch.rand(count, nodes, nodes, generator=generator, device=generator.device)
    draws = draws.to(distances.device)
    itself = torch.eye(nodes, dtype=torch.bool, device=distances.device)
    # Connected pairs lie in [0, 1), a node with itself in [-1, 0), everything else below.
    scores = torch.where(itself, draws - 1, draws.masked_fill(distances.isinf(), -2))
    chosen = scores.flatten(1).argmax(-1)
    return chosen // nodes, chosen % nodes
