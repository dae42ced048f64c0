"""The training loop: Adam, decaying learning rate, clipped gradients, averaged weights."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch
from pydantic import Field
from torch import Tensor, nn

from graphscore.errors import CheckpointError, GraphDataError, TrainingError
from graphscore.graphs.batch import GraphBatch
from graphscore.seeding import torch_generator
from graphscore.settings import Settings
from graphscore.training.moving_average import MovingAverage
from graphscore.training.objective import score_matching_loss


class TrainingSettings(Settings):
    """How a network is trained."""

    steps: int = Field(default=5000, ge=1)
    """Optimiser steps in all."""
    batch_size: int = Field(default=32, ge=1)
    """Graphs per step; each is perturbed at every noise level."""
    learning_rate: float = Field(default=2e-3, gt=0)
    """Adam's learning rate at the start."""
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
        loss: equation 3.
        summed: the same without the factor 1/L, the scale of the paper's Table 3.
        per_pair: the same as a mean over pairs; 1 for a network that answers zero.
        per_level: equation 3's terms, largest sigma first.
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


class Trainer:
    """Trains a score network on graphs that stay on the network's device.

    All randomness is keyed by (seed, step), so a trainer restored from `state` continues exactly
    as one that was never interrupted (bit for bit on the CPU).

    Args:
        network: `network(adj, node_mask, sigma, node_feat)`; trained in place.
        data: the training graphs.
        sigmas: noise levels, largest first.
        settings: see `TrainingSettings`.
        seed: fixes the order of graphs and the noise.
        device: where to train.
    """

    def __init__(
        self,
        network: nn.Module,
        data: GraphBatch,
        sigmas: tuple[float, ...],
        settings: TrainingSettings,
        *,
        seed: int,
        device: torch.device | str = "cpu",
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
        self._sigmas = torch.tensor(sigmas, device=device, dtype=data.adj.dtype)
        self._parameters = list(network.parameters())
        # Hundreds of small tensors: one fused update is several times faster than a loop.
        fused = self.device.type in ("cpu", "cuda")
        self._optimiser = torch.optim.Adam(self._parameters, settings.learning_rate, fused=fused)
        self.average = MovingAverage(network, settings.ema_decay)

    def learning_rate(self, step: int) -> float:
        """Learning rate of optimiser step number `step` (from 0): half a cosine."""
        first, last = self.settings.learning_rate, self.settings.final_learning_rate
        progress = min(1.0, step / max(1, self.settings.steps - 1))
        return last + (first - last) * (1 + math.cos(math.pi * progress)) / 2

    def _batch(self, step: int) -> GraphBatch:
        """The graphs of one step: a window into one random order after the other."""
        count, size = len(self.data), self.settings.batch_size
        chosen: list[Tensor] = []
        position, needed = step * size, size
        while needed:
            epoch, offset = divmod(position, count)
            order = torch.randperm(count, generator=torch_generator(self.seed, "order", epoch))
            part = order[offset : offset + needed]
            chosen.append(part)
            position, needed = position + len(part), needed - len(part)
        return self.data[torch.cat(chosen).to(self.device)]

    def _train_step(self) -> Tensor:
        """One optimiser step; returns its numbers as one tensor, without waiting for the device."""
        generator = torch_generator(self.seed, "noise", self.step, device=self.device)
        for group in self._optimiser.param_groups:
            group["lr"] = self.learning_rate(self.step)
        self._optimiser.zero_grad(set_to_none=True)
        loss = score_matching_loss(
            self.network, self._batch(self.step), self._sigmas, generator=generator
        )
        loss.total.backward()  # type: ignore[no-untyped-call]
        norm = nn.utils.clip_grad_norm_(
            self._parameters, self.settings.gradient_clip, foreach=self.device.type != "mps"
        )
        self._optimiser.step()
        self.step += 1
        self.average.update(self.step)
        return torch.cat([norm.view(1), loss.per_pair.mean().view(1), loss.per_level.detach()])

    def run(
        self,
        *,
        on_record: Callable[[TrainingRecord], None] | None = None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Train until the last step, or until `should_stop()`.

        Args:
            on_record: called every `log_every` steps and at the end, after the numbers were found
                to be finite: the moment to write a checkpoint.
            should_stop: asked between steps.

        Returns:
            True when all steps are done.

        Raises:
            TrainingError: a loss or gradient is not finite.
        """
        started = time.perf_counter() - self.seconds
        pending: list[Tensor] = []
        while True:
            done = self.step >= self.settings.steps
            stopping = done or should_stop()
            if pending and (stopping or self.step % self.settings.log_every == 0):
                self.seconds = time.perf_counter() - started
                record = self._record(torch.stack(pending).mean(0))
                pending.clear()
                if on_record is not None:
                    on_record(record)
            if stopping:
                return done
            pending.append(self._train_step())

    def _record(self, means: Tensor) -> TrainingRecord:
        norm, per_pair, *per_level = means.tolist()
        loss = sum(per_level) / len(per_level)
        finite = all(bool(p.isfinite().all()) for p in self._parameters)
        if not (math.isfinite(loss) and math.isfinite(norm) and finite):
            raise TrainingError(
                f"the loss is not finite around step {self.step} (loss {loss}, gradient norm "
                f"{norm}). Lower the learning rate (now {self.learning_rate(self.step):.2g}) or "
                "gradient_clip and start a new run; the last checkpoint, from before, is kept."
            )
        return TrainingRecord(
            step=self.step,
            loss=loss,
            summed=sum(per_level),
            per_pair=per_pair,
            per_level=per_level,
            gradient_norm=norm,
            learning_rate=self.learning_rate(self.step - 1),
            seconds=self.seconds,
        )

    def state(self) -> dict[str, Tensor]:
        """Return everything that continues this training, by name."""
        tensors = {f"model.{k}": v for k, v in self.network.state_dict().items()}
        tensors |= {f"average.{k}": v for k, v in self.average.state_dict().items()}
        for index, values in self._optimiser.state_dict()["state"].items():
            tensors |= {f"adam.{index}.{k}": torch.as_tensor(v) for k, v in values.items()}
        return tensors

    def restore(self, tensors: dict[str, Tensor], *, step: int, seconds: float) -> None:
        """Continue from what `state` returned at `step`.

        Raises:
            CheckpointError: the tensors are not those of this network.
        """
        parts: dict[str, dict[str, Tensor]] = {"model": {}, "average": {}, "adam": {}}
        for name, tensor in tensors.items():
            part, _, rest = name.partition(".")
            parts.setdefault(part, {})[rest] = tensor
        adam: dict[int, dict[str, Tensor]] = {}
        try:
            for name, tensor in parts["adam"].items():
                index, _, key = name.partition(".")
                adam.setdefault(int(index), {})[key] = tensor
            if step and not adam:
                raise KeyError("the optimiser's state is missing")
            self.network.load_state_dict(parts["model"])
            self.average.load_state_dict(parts["average"])
            groups = self._optimiser.state_dict()["param_groups"]
            # Adam keeps the tensors it is given, and the caller's must not change with training.
            state = copy.deepcopy({"state": adam, "param_groups": groups})
            self._optimiser.load_state_dict(state)
        except (KeyError, RuntimeError, ValueError) as error:
            raise CheckpointError(
                f"the checkpoint does not fit this network: {error}. "
                "Continue with the settings it was started with."
            ) from None
        self.step, self.seconds = step, seconds
