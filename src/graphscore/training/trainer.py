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

from graphscore.errors import TrainingError
from graphscore.graphs.batch import GraphBatch
from graphscore.seeding import torch_generator
from graphscore.settings import MOST_STEPS, Settings
from graphscore.training.batching import (
    Batches,
    BatchSampler,
    MicroBatch,
    buckets_of_similar_width,
)
from graphscore.training.memory import free_memory, is_out_of_memory
from graphscore.training.micro_batches import MicroBatcher
from graphscore.training.moving_average import MovingAverage
from graphscore.training.objective import Items, Objective
from graphscore.training.optimisers import OPTIMISERS
from graphscore.training.pending_metrics import PendingMetrics
from graphscore.training.training_state import restore_training_state, training_state

OVERHEAD = {"cpu": 10_000, "cuda": 500_000}
"""Pairs of nodes whose computation takes as long as starting one more bucket does."""


class TrainingSettings(Settings):
    """How a network is trained."""

    steps: int = Field(default=5000, ge=1, le=MOST_STEPS)
    """Optimiser steps in all."""
    batch_size: int = Field(default=32, ge=1, le=100_000)
    """Graphs per step; score matching perturbs each at every noise level."""
    optimiser: Literal["adam", "muon"] = "adam"
    """Adam, or Muon, which makes the singular values of a matrix's update alike."""
    learning_rate: float = Field(default=2e-3, gt=0, le=1e6)
    """Learning rate at the start; Muon needs a larger one than Adam."""
    final_learning_rate: float = Field(default=2e-5, gt=0, le=1e6)
    """Learning rate at the last step; it falls on a cosine in between."""
    warmup_steps: int = Field(default=0, ge=0, le=MOST_STEPS)
    """Steps over which the learning rate rises from zero."""
    gradient_clip: float = Field(default=100.0, gt=0)
    """Largest norm of the gradient; longer ones are scaled down to it."""
    ema_decay: float = Field(default=0.999, ge=0, lt=1)
    """Decay of the moving average of weights that sampling uses."""
    log_every: int = Field(default=25, ge=1, le=100_000)
    """Steps that one record of the log averages over."""


@dataclass(frozen=True)
class TrainingRecord:
    """Averages over the steps since the previous record.

    Attributes:
        step: optimiser steps done so far.
        loss: what is minimised; for the paper's objective equation 3.
        summed: the same over all noise copies of a graph: equation 3 without the factor 1/L, the
            scale of the paper's Table 3.
        per_pair: the same as a mean over pairs; equation 3's is 1 for a network that answers zero.
        per_level: equation 3's terms, largest sigma first; or the loss per bin of a range of noise
            levels, smallest first.
        gradient_norm: before clipping.
        learning_rate: at the last of the steps.
        seconds: training time so far, earlier parts of a resumed run included.
        at_small_noise: mean of `per_level` over the noise levels at which structure is decided; for
            what is below, None in a record without it.
        held_out: loss per pair of the averaged weights on held-out graphs.
        held_out_per_level: the same per level or bin.
        held_out_at_small_noise: its mean over the levels at which structure is decided.
    """

    step: int
    loss: float
    summed: float
    per_pair: float
    per_level: list[float]
    gradient_norm: float
    learning_rate: float
    seconds: float
    at_small_noise: float | None = None
    held_out: float | None = None
    held_out_per_level: list[float] | None = None
    held_out_at_small_noise: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return what is known, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def _largest(tensors: Sequence[Tensor]) -> Tensor:
    """The largest absolute value, which is finite if and only if all values are."""
    with torch.no_grad():
        return torch.stack(torch._foreach_norm(list(tensors), math.inf)).max()


class Trainer:
    """Trains a network on batches that stay on its device.

    All randomness is keyed by (seed, step), so a trainer restored from `state` continues exactly
    as one that was never interrupted (bit for bit on the CPU).

    Args:
        network: trained in place.
        data: the training graphs, or another source of batches.
        objective: what is minimised, `ScoreMatching(sigmas)` for instance.
        settings: see `TrainingSettings`.
        seed: fixes the order of graphs and the noise.
        device: where to train.
        bucketing: compute the graphs of a batch in buckets of similar size, which saves padding;
            the gradient is that of the batch, up to rounding.
    """

    path: str = "plain"
    """Name of the way a step is computed."""

    def __init__(
        self,
        network: nn.Module,
        data: GraphBatch | Batches,
        objective: Objective,
        settings: TrainingSettings,
        *,
        seed: int,
        device: torch.device | str = "cpu",
        bucketing: bool = True,
    ) -> None:
        if isinstance(data, GraphBatch):
            data = BatchSampler(data.to(device), settings.batch_size, seed=seed, sort=bucketing)
        self.network = network.to(device).train()
        self.batches: Batches = data
        self.settings = settings
        self.seed = seed
        self.device = torch.device(device)
        self.step = 0
        self.seconds = 0.0
        self.objective = objective
        self._parameters = list(network.parameters())
        # Hundreds of small tensors: one fused update is several times faster than a loop.
        fused = self.device.type in ("cpu", "cuda")
        # A tensor, so that a CUDA graph reads the present rate.
        self._rate = torch.tensor(settings.learning_rate, device=device)
        self._last_rate: float
        self._optimiser = OPTIMISERS[settings.optimiser](
            self._parameters, self._rate, fused=fused, capturable=self.device.type == "cuda"
        )
        self.average = MovingAverage(network, settings.ema_decay)
        self._bucketing = bucketing
        self._micro = MicroBatcher(self.network, self.device)

    @property
    def finished(self) -> bool:
        """Whether all steps are done."""
        return self.step >= self.settings.steps

    def learning_rate(self) -> float:
        """Return the learning rate of the next step: a rise, then half a cosine."""
        first, last = self.settings.learning_rate, self.settings.final_learning_rate
        rise = min(1.0, (self.step + 1) / (self.settings.warmup_steps + 1))
        done = min(1.0, self.step / max(1, self.settings.steps - 1))
        return rise * (last + (first - last) * (1 + math.cos(math.pi * done)) / 2)

    def train_step(self) -> Tensor:
        """Take one optimiser step; returns its metrics without waiting for the device.

        They are the gradient's norm, then `Objective.metrics`. The noise of the whole batch is
        drawn first, so that it does not depend on micro-batches.
        """
        generator = torch_generator(self.seed, "noise", self.step, device=self.device)
        items = self._perturb(self.batches.batch(self.step), generator)
        metrics = self.accumulate_gradients(items, self._buckets(items))
        self._schedule()
        norm = self._clip_gradient()
        self._optimiser.step()
        self.average.update()
        self.step += 1
        return torch.cat([norm.view(1), metrics])

    def accumulate_gradients(self, items: Items, buckets: Sequence[MicroBatch]) -> Tensor:
        """Set the gradient of the loss of a batch; returns its metrics.

        A batch that does not fit in memory is tried again in smaller micro-batches.
        """
        statistics = [(buffer, buffer.clone()) for buffer in self.network.buffers()]
        while True:
            try:
                return self._sum_gradients(items, self._micro.split(buckets))
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
            # Behind the handler, because until it ends the error keeps alive what did not fit.
            free_memory(self.device)
            for buffer, before in statistics:
                buffer.copy_(before)
            self._micro.shrink(buckets)

    def _sum_gradients(self, items: Items, micro_batches: Sequence[MicroBatch]) -> Tensor:
        """Set the gradient, the sum of that of the micro-batches; returns the metrics."""
        self._optimiser.zero_grad()
        losses = []
        for micro_batch in micro_batches:
            part = items.part(micro_batch.items, micro_batch.nodes)
            loss = self.objective.per_graph_loss(self.network, part)
            # The objective is a mean over items, so the shares of micro-batches add up.
            (loss.sum() / len(items)).backward()  # type: ignore[no-untyped-call]
            losses.append(loss.detach())
        return self.objective.metrics(items, torch.cat(losses))

    def _buckets(self, items: Items) -> list[MicroBatch]:
        """Those of the items that are computed together, if they fit."""
        if not self._bucketing or self._micro.uses_batch_statistics:
            return [MicroBatch(slice(0, len(items)), items.max_nodes)]
        widths, copies = self.batches.widths(self.step), range(self.objective.noise_copies)
        overhead = OVERHEAD.get(self.device.type, OVERHEAD["cuda"])
        return buckets_of_similar_width(
            [max(1, width) for width in widths for _ in copies], overhead
        )

    def _perturb(self, batch: Any, generator: torch.Generator) -> Items:
        try:
            items: Items = self.objective.perturb(batch, generator=generator)
            return items
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
        raise TrainingError(
            f"the noise of {len(batch)} graphs padded to {batch.max_nodes} nodes, "
            f"{self.objective.noise_copies} of each, does not fit in the memory of {self.device}. "
            "Use a smaller batch_size or leave out the largest graphs."
        )

    def _schedule(self) -> None:
        """Set what changes from step to step apart from the graphs."""
        self._last_rate = self.learning_rate()
        self._rate.fill_(self._last_rate)
        self.average.schedule(self.step + 1)

    def _clip_gradient(self) -> Tensor:
        """Clip the gradient; returns its norm before. Decides nothing on the host."""
        return nn.utils.clip_grad_norm_(
            self._parameters, self.settings.gradient_clip, foreach=self.device.type != "mps"
        )

    def run(
        self,
        *,
        on_record: Callable[[TrainingRecord], None] | None = None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Train until the last step, or until `should_stop()`.

        Args:
            on_record: called every `log_every` steps and at the end, after the metrics were found
                to be finite: the moment to write a checkpoint. On CUDA metrics arrive later, so
                `self.step` may be ahead of the record's step.
            should_stop: called between steps.

        Returns:
            True when all steps are done.

        Raises:
            TrainingError: a loss or gradient is not finite, or one graph alone does not fit in
                memory.
        """
        started = time.perf_counter() - self.seconds
        self._plan()
        pending: list[Tensor] = []
        underway: list[PendingMetrics] = []
        while True:
            done = self.finished
            stopping = done or should_stop()
            if pending and (stopping or self.step % self.settings.log_every == 0):
                underway.append(self._send(pending))
                pending.clear()
            # Metrics are waited for only when the next ones are due or nothing else is to do.
            while underway and (stopping or len(underway) > 1 or underway[0].arrived()):
                values = underway[0].values()
                self.seconds = time.perf_counter() - started
                record = self._record(underway.pop(0), values)
                if on_record is not None:
                    on_record(record)
            if stopping:
                return done
            pending.append(self.train_step())

    def _plan(self) -> None:
        """Choose how much of a batch is computed at a time."""
        largest = self.batches.largest()
        if largest is not None:
            self._micro.plan(largest, self.batches.batch_size * self.objective.noise_copies)

    def _send(self, pending: list[Tensor]) -> PendingMetrics:
        """Send to the host the means of the steps' metrics, and the largest weight."""
        largest = _largest(self._parameters).to(pending[0].dtype)
        means = torch.cat([largest.view(1), torch.stack(pending).mean(0)])
        return PendingMetrics(means, self.step, self._last_rate)

    def _record(self, sent: PendingMetrics, values: list[float]) -> TrainingRecord:
        largest, norm, loss, per_pair, *per_level = values
        if not all(math.isfinite(value) for value in (loss, norm, largest)):
            raise TrainingError(
                f"the loss is not finite around step {sent.step} (loss {loss}, gradient norm "
                f"{norm}). Lower the learning rate (now {sent.rate:.2g}) or gradient_clip and "
                "start a new run; the last checkpoint, from before, is kept."
            )
        return TrainingRecord(
            step=sent.step,
            loss=loss,
            summed=loss * self.objective.noise_copies,
            per_pair=per_pair,
            per_level=per_level,
            gradient_norm=norm,
            learning_rate=sent.rate,
            seconds=self.seconds,
        )

    def state(self) -> dict[str, Tensor]:
        """Return everything that continues this training, by name.

        Raises:
            TrainingError: it is not finite, which the records may not show yet.
        """
        tensors = training_state(self.network, self.average, self._optimiser)
        # Counters may live elsewhere.
        here = [t for t in tensors.values() if t.device.type == self.device.type]
        floating = [tensor for tensor in here if tensor.is_floating_point()]
        if not math.isfinite(_largest(floating).item()):
            raise TrainingError(
                f"the weights are not finite at step {self.step}. Lower the learning rate (now "
                f"{self.learning_rate():.2g}) or gradient_clip and start a new run; the "
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
