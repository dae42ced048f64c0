"""A training run and its folder: what is written when, and what is shown meanwhile."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from graphscore.artifacts.artifact import Artifact
from graphscore.artifacts.document import ModelDocument
from graphscore.artifacts.run_folder import RunFolder
from graphscore.device import describe_device
from graphscore.progress import progress

if TYPE_CHECKING:
    from graphscore.training import Trainer, TrainingRecord


class TrainingRun:
    """Writes the settings, log and checkpoints of a training into its folder, if it has one.

    Args:
        untrained: the model before training.
        trainer: what trains it; None for models that are not trained by gradients.
        folder: of the run; None writes nothing.
        device: where it trains.
    """

    def __init__(
        self,
        untrained: Artifact,
        trainer: Trainer | None,
        folder: RunFolder | None,
        device: torch.device,
    ) -> None:
        self._untrained = untrained
        self._trainer = trainer
        self._folder = folder
        self._device = device

    def artifact(self) -> Artifact:
        """Return the model as it is trained by now."""
        if self._trainer is None:
            return self._untrained
        return replace(self._untrained, step=self._trainer.step, seconds=self._trainer.seconds)

    def start(self, stored: tuple[ModelDocument, dict[str, Tensor]] | None) -> None:
        """Write the settings and a first checkpoint, or continue from a stored one."""
        settings = self._untrained.model.settings.model_dump(mode="json")
        if stored is not None:
            document, tensors = stored
            if self._trainer is not None:
                self._trainer.restore(tensors, step=document.step, seconds=document.seconds)
            if self._folder is not None:
                self._folder.resume(document.step, settings)
        elif self._folder is not None:
            self._folder.start(settings)
        # At once, so that a run can be resumed from the start, with the settings it has now.
        self.checkpoint()

    def checkpoint(self) -> None:
        """Replace the checkpoint of the folder."""
        if self._folder is not None:
            state = {} if self._trainer is None else self._trainer.state()
            self._folder.checkpoint(self.artifact().document(self._device), state)

    @contextmanager
    def shown(
        self,
        checkpoint_seconds: float,
        on_record: Callable[[TrainingRecord], None] | None,
        *,
        enabled: bool,
    ) -> Iterator[Callable[[TrainingRecord], None]]:
        """Show the training on standard error; gives what is to be called with every record."""
        trainer = self._trainer
        assert trainer is not None
        if enabled:
            device = describe_device(self._device)
            print(f"training on {device}, {trainer.path} path", file=sys.stderr, flush=True)
        written = time.monotonic()
        with progress("training", trainer.settings.steps, enabled=enabled) as update:
            update(trainer.step, "")

            def report(record: TrainingRecord) -> None:
                nonlocal written
                update(record.step, f"loss {record.loss:.2f} ({record.per_pair:.3f} per pair)")
                if self._folder is not None:
                    self._folder.append(record.to_dict())
                if time.monotonic() - written >= checkpoint_seconds:
                    self.checkpoint()
                    written = time.monotonic()
                if on_record is not None:
                    on_record(record)

            yield report
