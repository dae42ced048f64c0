"""Training a network to solve graph problems edge by edge, on problems drawn as it goes."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import torch
from pydantic import Field
from torch import Tensor, nn

from graphscore.errors import SettingsError, TrainingError
from graphscore.seeding import torch_generator
from graphscore.settings import Settings
from graphscore.training.moving_average import MovingAverage
from graphscore.training.training_state import restore_training_state, training_state
from reproduce.algorithms.evaluation import edge_logits
from reproduce.algorithms.tasks import Problems, Task


class LearningSettings(Settings):
    """How a network is trained on a task; the graphs are those of the paper's section 5.1.

    >>> LearningSettings(steps=60).nodes
    12
    """

    nodes: int = Field(default=12, ge=1)
    """Nodes of every training graph."""
    probability: float = Field(default=0.3, ge=0, le=1)
    """Probability of an edge."""
    steps: int = Field(ge=1)
    """Optimiser steps."""
    batch_size: int = Field(default=256, ge=1)
    """Graphs per step."""
    batches_at_once: int = Field(default=64, ge=1)
    """Steps whose graphs are drawn and solved together, which keeps a fast device busy."""
    learning_rate: float = Field(default=7e-4, gt=0)
    """Adam's learning rate after the warm-up."""
    final_learning_rate: float = Field(default=1e-6, gt=0)
    """Learning rate at the end; it falls on a cosine."""
    warmup_steps: int = Field(default=200, ge=0)
    """Steps over which the learning rate rises from zero."""
    gradient_clip: float = Field(default=1.0, gt=0)
    """Largest norm of the gradient; longer ones are scaled down to it."""
    ema_decay: float = Field(default=0.999, ge=0, lt=1)
    """Decay of the moving average of weights that is evaluated."""
    log_every: int = Field(default=100, ge=1)
    """Steps that one record of the log averages over."""


@dataclass(frozen=True)
class LearningRecord:
    """Averages over the steps since the previous record.

    Attributes:
        step: optimiser steps done so far.
        loss: cross-entropy per edge.
        accuracy: share of graphs whose edges are all right. The graphs are new to the network, so
            this is the test accuracy of the current weights.
        gradient_norm: before clipping.
        learning_rate: at the last of the steps.
        seconds: training time so far, earlier parts of a resumed run included.
    """

    step: int
    loss: float
    accuracy: float
    gradient_norm: float
    learning_rate: float
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def edge_loss(
    network: nn.Module, adj: Tensor, node_feat: Tensor, edges: Tensor, answer: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the cross-entropy per edge and the share of graphs whose edges are all right.

    A function of tensors of fixed shapes, without random numbers and without decisions on the host,
    so that it can be recorded or compiled as it is.

    Args:
        network: see `edge_logits`.
        adj, node_feat, edges, answer: as `Problems` holds them.

    Example:
        >>> silent = lambda adj, node_mask, sigma, node_feat: 0 * adj
        >>> pair = torch.tensor([[[False, True], [True, False]]])
        >>> loss, accuracy = edge_loss(silent, pair.float(), torch.zeros(1, 2, 0), pair, pair)
        >>> round(loss.item(), 4), accuracy.item()
        (0.6931, 0.0)
    """
    logits = edge_logits(network, adj, node_feat)
    losses = nn.functional.binary_cross_entropy_with_logits(
        logits, answer.to(logits.dtype), reduction="none"
    )
    loss = (losses * edges).sum() / edges.sum().clamp_min(1)
    right = (((logits > 0) == answer) | ~edges).flatten(1).all(-1)
    return loss, right.to(logits.dtype).mean()


class Recorder(Protocol):
    """Records a step and returns what replays it, like `graphscore.acceleration.capture.captured`.

    It may run the step any number of times before; `undo` then puts everything back.
    """

    def __call__(
        self, step: Callable[[], None], *, generator: torch.Generator, undo: Callable[[], None]
    ) -> Callable[[], None]: ...


class EdgeLearner:
    """Trains a network on problems that are drawn and solved on its device.

    All randomness is keyed by the seed and the step, so a learner restored from `state` continues
    exactly as one that was never interrupted (bit for bit on the CPU).

    Args:
        network: see `edge_logits`; trained in place.
        task: what it is to learn.
        settings: see `LearningSettings`.
        seed: fixes the problems.
        device: where to train.
        record: how a step is recorded to be replayed; if None, each is computed anew.

    Raises:
        SettingsError: the device cannot solve the problems.
    """

    def __init__(
        self,
        network: nn.Module,
        task: Task,
        settings: LearningSettings,
        *,
        seed: int,
        device: torch.device | str = "cpu",
        record: Recorder | None = None,
    ) -> None:
        self.device = torch.device(device)
        if self.device.type == "mps":
            raise SettingsError(
                "exact solutions need 64-bit numbers, which the device 'mps' does not have. "
                "Train on cpu or cuda."
            )
        self.network = network.to(device).train()
        self.task = task
        self.settings = settings
        self.seed = seed
        self.step = 0
        self.seconds = 0.0
        self._parameters = list(network.parameters())
        # A tensor, so that a replayed step reads the current rate.
        self._rate = torch.tensor(settings.learning_rate, device=device)
        # Hundreds of small tensors: one fused update is several times faster than a loop.
        self._optimiser = torch.optim.Adam(
            self._parameters, self._rate, fused=True, capturable=self.device.type == "cuda"
        )
        self.average = MovingAverage(network, settings.ema_decay)
        self._pool: tuple[int, Problems] | None = None
        self._recorder = record
        self._replay: Callable[[], None] | None = None
        # What a step reads and writes stays in one place.
        self._inputs: list[Tensor] = []
        self._numbers = torch.zeros(3, device=device)

    def learning_rate(self, step: int) -> float:
        """Return the learning rate of step number `step` (from 0): a short rise, half a cosine."""
        first, last = self.settings.learning_rate, self.settings.final_learning_rate
        rise = min(1.0, (step + 1) / (self.settings.warmup_steps + 1))
        fall = (1 + math.cos(math.pi * step / self.settings.steps)) / 2
        return rise * (last + (first - last) * fall)

    def problems(self, step: int) -> Problems:
        """Return the problems of step number `step` (from 0)."""
        size, several = self.settings.batch_size, self.settings.batches_at_once
        number, offset = divmod(step, several)
        if self._pool is None or self._pool[0] != number:
            self._pool = None  # frees the memory before it is needed again
            generator = torch_generator(self.seed, "problems", number, device=self.device)
            drawn = self.task.draw(
                size * several,
                self.settings.nodes,
                self.settings.probability,
                generator=generator,
            )
            self._pool = number, drawn
        return self._pool[1][offset * size : (offset + 1) * size]

    def _train_step(self, rate: float) -> Tensor:
        """One optimiser step; returns loss, accuracy and gradient norm without waiting for them."""
        batch = self.problems(self.step)
        given = [batch.adj, batch.node_feat, batch.edges, batch.answer]
        if not self._inputs:
            self._inputs = [torch.empty_like(tensor) for tensor in given]
        for place, tensor in zip(self._inputs, given):
            place.copy_(tensor)
        self._rate.fill_(rate)
        self.average.schedule(self.step + 1)
        if self._replay is None:
            self._replay = self._update if self._recorder is None else self._recorded()
        self._replay()
        self.step += 1
        return self._numbers.clone()

    def _update(self) -> None:
        """Change the weights by the gradient of the inputs' loss; decides nothing on the host."""
        self._optimiser.zero_grad(set_to_none=True)
        loss, accuracy = edge_loss(self.network, *self._inputs)
        loss.backward()  # type: ignore[no-untyped-call]
        norm = nn.utils.clip_grad_norm_(self._parameters, self.settings.gradient_clip)
        self._optimiser.step()
        self.average.update()
        self._numbers.copy_(torch.stack([loss.detach(), accuracy, norm]))

    def _recorded(self) -> Callable[[], None]:
        """Record `_update`; the runs that this takes leave no trace."""
        before = [(tensor, tensor.clone()) for tensor in self.state().values()]
        had_state = bool(self._optimiser.state)

        def undo() -> None:
            with torch.no_grad():
                for tensor, value in before:
                    tensor.copy_(value)
                if not had_state:
                    for state in self._optimiser.state.values():
                        for tensor in state.values():
                            tensor.zero_()

        assert self._recorder is not None
        # A step draws nothing, but recording wants to know from where it would.
        generator = torch.Generator(self.device)
        return self._recorder(self._update, generator=generator, undo=undo)

    def run(
        self,
        *,
        on_record: Callable[[LearningRecord], None] | None = None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Train to the last step, or until `should_stop()`.

        Args:
            on_record: called every `log_every` steps and at the end, after the numbers were found
                to be finite: the moment to write a checkpoint.
            should_stop: asked between steps.

        Returns:
            True when the last step is done.

        Raises:
            TrainingError: a loss or gradient is not finite.
        """
        started = time.perf_counter() - self.seconds
        pending: list[Tensor] = []
        rate = 0.0
        while True:
            done = self.step >= self.settings.steps
            stopping = done or should_stop()
            if pending and (stopping or self.step % self.settings.log_every == 0):
                record = self._record(torch.stack(pending).mean(0), rate, started)
                pending.clear()
                if on_record is not None:
                    on_record(record)
            if stopping:
                return done
            rate = self.learning_rate(self.step)
            pending.append(self._train_step(rate))

    def _record(self, means: Tensor, rate: float, started: float) -> LearningRecord:
        loss, accuracy, norm = means.tolist()  # waits for the device, so that the time is right
        self.seconds = time.perf_counter() - started
        if not (math.isfinite(loss) and math.isfinite(norm)):
            raise TrainingError(
                f"the loss is not finite around step {self.step} (loss {loss}, gradient norm "
                f"{norm}). Lower the learning rate (now {rate:.2g}) or gradient_clip and start a "
                "new run; the last checkpoint, from before, is kept."
            )
        return LearningRecord(self.step, loss, accuracy, norm, rate, self.seconds)

    def predictor(self) -> Callable[[Problems], Tensor]:
        """Return a function of problems: the edges (B,N,N) bool that belong to the answer.

        It uses a copy of the averaged weights and does not change with further training.
        """
        network = copy.deepcopy(self.network).eval()
        network.load_state_dict(self.average.state_dict())

        @torch.no_grad()
        def predict(problems: Problems) -> Tensor:
            return edge_logits(network, problems.adj, problems.node_feat) > 0

        return predict

    def state(self) -> dict[str, Tensor]:
        """Return everything that continues this training, by name."""
        return training_state(self.network, self.average, self._optimiser)

    def restore(self, tensors: dict[str, Tensor], *, step: int, seconds: float) -> None:
        """Continue from what `state` returned at `step`.

        Raises:
            CheckpointError: the tensors are not those of this network.
        """
        restore_training_state(tensors, self.network, self.average, self._optimiser, step=step)
        # The optimiser's state has moved to new tensors.
        self._replay = None
        self.step, self.seconds = step, seconds
