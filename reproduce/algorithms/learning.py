"""Solving graph problems edge by edge, as an objective and a source of batches of the trainer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from pydantic import Field
from torch import Tensor, nn

from graphscore.errors import SettingsError
from graphscore.seeding import torch_generator
from graphscore.training import TrainingSettings
from reproduce.algorithms.evaluation import edge_logits
from reproduce.algorithms.tasks import Problems, Task


class LearningSettings(TrainingSettings):
    """How a network is trained on a task; the graphs are those of the paper's section 5.1.

    >>> LearningSettings(steps=60).nodes
    12
    """

    nodes: int = Field(default=12, ge=1)
    """Nodes of every training graph."""
    probability: float = Field(default=0.3, ge=0, le=1)
    """Probability of an edge."""
    batches_at_once: int = Field(default=64, ge=1)
    """Steps whose graphs are drawn and solved together, which keeps a fast device busy."""
    steps: int = Field(ge=1)
    batch_size: int = Field(default=256, ge=1)
    learning_rate: float = Field(default=7e-4, gt=0)
    final_learning_rate: float = Field(default=1e-6, gt=0)
    warmup_steps: int = Field(default=200, ge=0)
    gradient_clip: float = Field(default=1.0, gt=0)
    log_every: int = Field(default=100, ge=1)


class ProblemBatches:
    """New problems for every step, drawn and solved on the device; see `training.batching.Batches`.

    The problems are a function of the seed and the step alone.

    Args:
        task: what is to be solved.
        settings: sizes of graphs, batches and pools.
        seed: fixes the problems.
        device: where they are drawn and solved.

    Raises:
        SettingsError: the device cannot solve the problems.
    """

    def __init__(
        self,
        task: Task,
        settings: LearningSettings,
        *,
        seed: int,
        device: torch.device | str = "cpu",
    ) -> None:
        self.device = torch.device(device)
        if self.device.type == "mps":
            raise SettingsError(
                "exact solutions need 64-bit numbers, which the device 'mps' does not have. "
                "Train on cpu or cuda."
            )
        self.batch_size = settings.batch_size
        self._task = task
        self._settings = settings
        self._seed = seed
        self._pool: tuple[int, Problems] | None = None
        self._loaded: list[Tensor] = []

    def batch(self, step: int) -> Problems:
        """Return the problems of one step."""
        size, several = self.batch_size, self._settings.batches_at_once
        number, offset = divmod(step, several)
        if self._pool is None or self._pool[0] != number:
            self._pool = None  # frees the memory before it is needed again
            generator = torch_generator(self._seed, "problems", number, device=self.device)
            drawn = self._task.draw(
                size * several,
                self._settings.nodes,
                self._settings.probability,
                generator=generator,
            )
            self._pool = number, drawn
        return self._pool[1][offset * size : (offset + 1) * size]

    def load(self, step: int) -> None:
        """Copy the problems of one step to memory that stays where it is, for a CUDA graph."""
        batch = self.batch(step)
        given = [batch.edges, batch.adj, batch.node_feat, batch.answer]
        if not self._loaded:
            self._loaded = [torch.empty_like(tensor) for tensor in given]
        for place, tensor in zip(self._loaded, given):
            place.copy_(tensor)

    def loaded(self) -> Problems:
        """Return the problems that were loaded last."""
        return Problems(*self._loaded)

    def widths(self, step: int) -> list[int]:
        """Return the number of nodes of each graph, which is the same for all."""
        return [self._settings.nodes] * self.batch_size

    def largest(self) -> None:
        """Return None: graphs are small, so memory is not planned."""


@dataclass(frozen=True)
class EdgeItems:
    """Problems of one step.

    Attributes:
        problems: graphs and answers.
        weight: () number of graphs over number of edges, both of the whole batch.
        correct: (items,) 1 where all edges of a graph are right; filled in by the loss.
    """

    problems: Problems
    weight: Tensor
    correct: Tensor

    def __len__(self) -> int:
        return len(self.problems)

    @property
    def max_nodes(self) -> int:
        """Nodes of every graph."""
        return self.problems.max_nodes

    def part(self, items: slice, nodes: int | None = None) -> Self:
        """Return some of the problems, which share memory with all; graphs have the same size."""
        return type(self)(self.problems[items], self.weight, self.correct[items])


class EdgeClassification:
    """Cross-entropy per edge of a batch; see `training.Objective`.

    Problems are solved without noise, so there is one item for each graph. In place of a loss per
    noise level, the share of graphs whose edges are all right is reported. The graphs are new to
    the network, so this is the test accuracy of the current weights.

    Example:
        >>> silent = lambda noisy, sigma, condition: noisy * 0.0
        >>> pair = torch.tensor([[[False, True], [True, False]]])
        >>> problems = Problems(pair, pair.float(), torch.zeros(1, 2, 0), pair)
        >>> objective = EdgeClassification()
        >>> items = objective.perturb(problems, generator=torch.Generator())
        >>> losses = objective.per_graph_loss(silent, items)
        >>> [round(value, 4) for value in objective.metrics(items, losses).tolist()]
        [0.6931, 0.6931, 0.0]
    """

    noise_copies = 1
    sigma_bins = 1

    def perturb(self, batch: Problems, *, generator: torch.Generator) -> EdgeItems:
        """Return the problems as they are; nothing is drawn."""
        weight = len(batch) / batch.edges.sum().clamp_min(1)
        return EdgeItems(batch, weight, batch.adj.new_zeros(len(batch)))

    def per_graph_loss(self, network: nn.Module, items: EdgeItems) -> Tensor:
        """Return the cross-entropies (items,), whose mean is that per edge of the batch."""
        problems = items.problems
        logits = edge_logits(network, problems.adj, problems.node_feat)
        losses = nn.functional.binary_cross_entropy_with_logits(
            logits, problems.answer.to(logits.dtype), reduction="none"
        )
        right = ((logits > 0) == problems.answer) | ~problems.edges
        items.correct.copy_(right.flatten(1).all(-1))
        return (losses * problems.edges).sum((1, 2)) * items.weight

    def metrics(self, items: EdgeItems, losses: Tensor) -> Tensor:
        """Return the loss, twice as it is per pair already, and the accuracy."""
        loss = losses.mean()
        return torch.stack([loss, loss, items.correct.mean()])
