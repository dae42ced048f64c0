"""The training loop: decaying learning rate, clipped gradients, averaged weights."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from graphscore.errors import GraphDataError, TrainingError
from graphscore.graphs.batch import GraphBatch
from graphscore.seeding import torch_generator
from graphscore.settings import Settings
from graphscore.training.batches import BatchOrder
from graphscore.training.grouping import groups_of_similar_width
from graphscore.training.memory import free_memory, is_out_of_memory
from graphscore.training.moving_average import MovingAverage
from graphscore.training.muon import Muon
from graphscore.training.objective import Objective, Perturbed
from graphscore.training.pieces import Piece, Pieces
from graphscore.training.readout import ReadOut
from graphscore.training.training_state import restore_training_state, training_state

OPTIMISERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    "muon": Muon,
}
OVERHEAD = {"cpu": 10_000, "cuda": 500_000}
"""Pairs of nodes whose computation takes as long as starting one more group of graphs does."""


class TrainingSettings(Settings):
    """How a network is trained."""

    steps: int = Field(default=5000, ge=1)
    """Optimiser steps in all."""
    batch_size: int = Field(default=32, ge=1)
    """Graphs per step; the paper's objective perturbs each at every noise level."""
    optimiser: Literal["adam", "muon"] = "adam"
    """Adam, or Muon, which makes the singular values of a matrix's update alike."""
    learning_rate: float = Field(default=2e-3, gt=0)
    """Learning rate at the start; Muon wants a larger one than Adam."""
    final_learning_rate: float = Field(default=2e-5, gt=0)
    """Learning rate at the last step; it falls on a cosine in between."""
    gradient_clip: float = Field(default=100.0, gt=0)
    """Largest norm of the gradient; longer ones are scaled down to it."""
    ema_decay: float = Field(default=0.999, ge=0, lt=1)
    """Decay of the moving average of weights that sampling uses."""
    log_every: int = Field(default=25, ge=1)
    """Steps that one record of the log averages over."""


@dataclass(frozen=True)
class TrainingRecord:
    """Averages over the steps since the previous record.

    Attributes:
        step: optimiser steps done so far.
        loss: what is minimised; for the paper's objective equation 3.
        summed: the same over all perturbed copies of a graph: equation 3 without the factor 1/L,
            the scale of the paper's Table 3.
        per_pair: the same as a mean over pairs; equation 3's is 1 for a network that answers zero.
        per_level: equation 3's terms, largest sigma first; or the loss by parts of a range of
            noise levels, smallest first.
        gradient_norm: before clipping.
        learning_rate: at the last of the steps.
        seconds: training time so far, earlier parts of a resumed run included.
    """

    step: int
    loss: float
    summed: float
    per_pair: float
    per_level: list[float]
    gradient_norm: float
    learning_rate: float
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def _largest(tensors: Sequence[Tensor]) -> Tensor:
    """The largest absolute value, which is finite if and only if all values are."""
    with torch.no_grad():
        return torch.stack(torch._foreach_norm(list(tensors), math.inf)).max()


class Trainer:
    """Trains a score network on graphs that stay on the network's device.

    All randomness is keyed by (seed, step), so a trainer restored from `state` continues exactly
    as one that was never interrupted (bit for bit on the CPU).

    Args:
        network: `network(adj, node_mask, sigma, node_feat)`; trained in place.
        data: the training graphs.
        objective: what is minimised, `ScoreMatching(sigmas)` for instance.
        settings: see `TrainingSettings`.
        seed: fixes the order of graphs and the noise.
        device: where to train.
        bucketing: compute the graphs of a batch in groups of similar size, which saves padding;
            the gradient is that of the batch, up to rounding.
    """

    path: str = "plain"
    """Name of the way a step is computed."""
    trims_padding: bool = True
    """Whether each batch is cut to its largest graph; a step of fixed shape turns it off."""

    def __init__(
        self,
        network: nn.Module,
        data: GraphBatch,
        objective: Objective,
        settings: TrainingSettings,
        *,
        seed: int,
        device: torch.device | str = "cpu",
        bucketing: bool = True,
    ) -> None:
        if not len(data):
            raise GraphDataError("no graphs to train on; give at least one.")
        self.network = network.to(device).train()
        self.data = data.to(device)
        self.settings = settings
        self.seed = seed
        self.device = torch.device(device)
        self.step = 0
        self.seconds = 0.0
        self.objective = objective
        self._parameters = list(network.parameters())
        # Hundreds of small tensors: one fused update is several times faster than a loop.
        fused = self.device.type in ("cpu", "cuda")
        # A tensor, so that a recorded step reads the rate of the day.
        self._rate = torch.tensor(settings.learning_rate, device=device)
        self._optimiser = OPTIMISERS[settings.optimiser](
            self._parameters, self._rate, fused=fused, capturable=self.device.type == "cuda"
        )
        self.average = MovingAverage(network, settings.ema_decay)
        self._order = BatchOrder(
            self.data.node_mask,
            settings.batch_size,
            seed=seed,
            device=self.device,
            sort=bucketing,
        )
        self._bucketing = bucketing
        self._pieces = Pieces(self.network, self.device)

    def learning_rate(self, step: int) -> float:
        """Learning rate of optimiser step number `step` (from 0): half a cosine."""
        first, last = self.settings.learning_rate, self.settings.final_learning_rate
        progress = min(1.0, step / max(1, self.settings.steps - 1))
        return last + (first - last) * (1 + math.cos(math.pi * progress)) / 2

    def _indices(self, step: int) -> Tensor:
        """The numbers (batch,) of the graphs of one step, on the device already."""
        return self._order.indices(step)

    def _batch(self, step: int) -> GraphBatch:
        """The graphs of one step, not wider than the largest of them."""
        data = self.data
        if self.trims_padding:
            width = max(1, *self._order.widths(step))
            feat = None if data.node_feat is None else data.node_feat[:, :width]
            data = GraphBatch(data.adj[:, :width, :width], data.node_mask[:, :width], feat)
        return data[self._indices(step)]

    def _train_step(self) -> Tensor:
        """One optimiser step; returns its numbers as one tensor, without waiting for the device.

        The numbers are the gradient's norm, then those of `Perturbed.numbers`.
        """
        generator = torch_generator(self.seed, "noise", self.step, device=self.device)
        numbers = self._gradients(self._batch(self.step), generator)
        self._schedule(self.step)
        norm = self._apply()
        self.step += 1
        return torch.cat([norm.view(1), numbers])

    def _gradients(self, batch: GraphBatch, generator: torch.Generator) -> Tensor:
        """Set the gradient of the loss of this step's batch; returns its numbers.

        A batch that does not fit in memory is tried again in smaller pieces with the same noise.
        """
        perturbed = self._perturbed(batch, generator)
        groups = self._groups(perturbed)
        statistics = [(buffer, buffer.clone()) for buffer in self.network.buffers()]
        while True:
            try:
                return self._add_up(perturbed, self._pieces.cut(groups))
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
            # Behind the handler, because until it ends the error keeps alive what did not fit.
            free_memory(self.device)
            for buffer, before in statistics:
                buffer.copy_(before)
            self._pieces.shrink(groups)

    def _groups(self, perturbed: Perturbed) -> list[Piece]:
        """Those of the perturbed graphs that are computed together, if they fit."""
        if not (self.trims_padding and self._bucketing) or self._pieces.couples_graphs:
            return [Piece(slice(0, len(perturbed)), perturbed.max_nodes)]
        graphs, copies = self._order.widths(self.step), range(self.objective.copies)
        overhead = OVERHEAD.get(self.device.type, OVERHEAD["cuda"])
        return groups_of_similar_width(
            [max(1, width) for width in graphs for _ in copies], overhead
        )

    def _perturbed(self, batch: GraphBatch, generator: torch.Generator) -> Perturbed:
        try:
            return self.objective.perturb(batch, generator=generator)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
        raise TrainingError(
            f"the noise of {len(batch)} graphs padded to {batch.max_nodes} nodes, "
            f"{self.objective.copies} of each, does not fit in the memory of {self.device}. Use a "
            "smaller batch_size or leave out the largest graphs."
        )

    def _add_up(self, perturbed: Perturbed, pieces: Sequence[Piece]) -> Tensor:
        """Set the gradient, the sum of that of the pieces; returns as `_gradients`."""
        self._optimiser.zero_grad(set_to_none=True)
        costs = []
        for piece in pieces:
            part = perturbed.costs(self.network, piece.items, piece.nodes)
            # The objective is a mean over items, so the parts of its pieces add up.
            (part.sum() / len(perturbed)).backward()  # type: ignore[no-untyped-call]
            costs.append(part.detach())
        return perturbed.numbers(torch.cat(costs))

    def _schedule(self, step: int) -> None:
        """Set what changes from step to step (number `step`, from 0) apart from the graphs."""
        self._rate.fill_(self.learning_rate(step))
        self.average.schedule(step + 1)

    def _apply(self) -> Tensor:
        """Change the weights and their average by the gradient; returns its norm before clipping.

        Decides nothing on the host, so that it can be recorded once and replayed.
        """
        norm = nn.utils.clip_grad_norm_(
            self._parameters, self.settings.gradient_clip, foreach=self.device.type != "mps"
        )
        self._optimiser.step()
        self.average.update()
        return norm

    def run(
        self,
        *,
        on_record: Callable[[TrainingRecord], None] | None = None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Train until the last step, or until `should_stop()`.

        Args:
            on_record: called every `log_every` steps and at the end, after the numbers were found
                to be finite: the moment to write a checkpoint. On CUDA numbers arrive later, so
                `self.step` may be ahead of the record's step.
            should_stop: asked between steps.

        Returns:
            True when all steps are done.

        Raises:
            TrainingError: a loss or gradient is not finite, or one graph alone does not fit in
                memory.
        """
        started = time.perf_counter() - self.seconds
        self._plan()
        pending: list[Tensor] = []
        underway: list[ReadOut] = []
        while True:
            done = self.step >= self.settings.steps
            stopping = done or should_stop()
            if pending and (stopping or self.step % self.settings.log_every == 0):
                underway.append(self._read_out(pending))
                pending.clear()
            # Numbers are waited for only when the next ones are due or nothing else is left to do.
            while underway and (stopping or len(underway) > 1 or underway[0].arrived()):
                values = underway[0].values()
                self.seconds = time.perf_counter() - started
                record = self._record(underway.pop(0).step, values)
                if on_record is not None:
                    on_record(record)
            if stopping:
                return done
            pending.append(self._train_step())

    def _plan(self) -> None:
        """Choose how much of a batch is computed at a time."""
        widest = self._order.widest
        largest = self.data[widest : widest + 1]
        items = self.settings.batch_size * self.objective.copies
        self._pieces.plan(largest.trimmed() if self.trims_padding else largest, items)

    def _read_out(self, pending: list[Tensor]) -> ReadOut:
        """Send to the host the means of the steps' numbers, and the largest weight."""
        largest = _largest(self._parameters).to(pending[0].dtype)
        return ReadOut(torch.cat([largest.view(1), torch.stack(pending).mean(0)]), self.step)

    def _record(self, step: int, values: list[float]) -> TrainingRecord:
        largest, norm, loss, per_pair, *per_level = values
        if not all(math.isfinite(value) for value in (loss, norm, largest)):
            raise TrainingError(
                f"the loss is not finite around step {step} (loss {loss}, gradient norm "
                f"{norm}). Lower the learning rate (now {self.learning_rate(step):.2g}) or "
                "gradient_clip and start a new run; the last checkpoint, from before, is kept."
            )
        return TrainingRecord(
            step=step,
            loss=loss,
            summed=loss * self.objective.copies,
            per_pair=per_pair,
            per_level=per_level,
            gradient_norm=norm,
            learning_rate=self.learning_rate(step - 1),
            seconds=self.seconds,
        )

    def state(self) -> dict[str, Tensor]:
        """Return everything that continues this training, by name.

        Raises:
            TrainingError: it is not finite. The record that would tell may still be underway.
        """
        tensors = training_state(self.network, self.average, self._optimiser)
        # Counters may live elsewhere.
        here = [t for t in tensors.values() if t.device.type == self.device.type]
        floating = [tensor for tensor in here if tensor.is_floating_point()]
        if not math.isfinite(_largest(floating).item()):
            raise TrainingError(
                f"the weights are not finite at step {self.step}. Lower the learning rate (now "
                f"{self.learning_rate(self.step):.2g}) or gradient_clip and start a new run; the "
                "last checkpoint, from before, is kept."
            )
        return tensors

    def restore(self, tensors: dict[str, Tensor], *, step: int, seconds: float) -> None:
        """Continue from what `state` returned at `step`.

        Raises:
            CheckpointError: the tensors are not those of this network.
        """
        restore_training_state(tensors, self.network, self.average, self._optimiser, step=step)
        self.step, self.seconds = step, seconds
