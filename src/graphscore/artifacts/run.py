"""A training run and its folder: what is written when, and what is shown meanwhile."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from graphscore.artifacts.artifact import Artifact, check_continues
from graphscore.artifacts.checkpoint import Stored, read_document
from graphscore.artifacts.document import TrainingGraphs
from graphscore.artifacts.run_folder import RunFolder
from graphscore.config import RunSettings
from graphscore.device import describe_device
from graphscore.errors import OutputError, SettingsError, warn
from graphscore.progress import progress
from graphscore.streams import say
from graphscore.training.holdout import HeldOutLoss
from graphscore.training.memory import is_out_of_memory

if TYPE_CHECKING:
    from graphscore.graphs import GraphBatch
    from graphscore.training import Trainer, TrainingRecord


@contextmanager
def open_run(
    path: str | os.PathLike[str] | None,
    resume: bool,
    settings: RunSettings,
    graphs: TrainingGraphs,
    *,
    keep: int,
) -> Iterator[tuple[RunFolder | None, Stored | None]]:
    """Hold the folder of a run, with what to continue from, before anything that takes long.

    Raises:
        SettingsError: there is no folder to resume from.
        OutputError: the folder of a new run is taken, or another process trains in it.
        CheckpointError: there is nothing to continue from, or it was started differently.
    """
    if path is None:
        if resume:
            raise SettingsError("resume needs the folder of the run: fit(..., run=FOLDER).")
        yield None, None
        return
    folder = RunFolder(path, keep=keep)
    # Before anything is written into a folder that is no run's.
    if resume:
        read_document(folder.path)
    else:
        folder.check_new()
    with folder.locked():
        stored = folder.read() if resume else None
        if stored is not None:
            check_continues(folder.path, stored[0], settings, graphs)
        yield folder, stored


class TrainingRun:
    """Trains a model, and writes settings, log and checkpoints into its folder, if it has one.

    Args:
        untrained: the model before training.
        trainer: what trains it; None for models that are not trained by gradients.
        folder: of the run; None writes nothing.
        device: where it trains.
        held_out: what it is measured on meanwhile; None for nothing.

    Attributes:
        records: of the training; of a run that is continued, all of its log.
    """

    def __init__(
        self,
        untrained: Artifact,
        trainer: Trainer | None,
        folder: RunFolder | None,
        device: torch.device,
        held_out: GraphBatch | None = None,
    ) -> None:
        self.records: list[TrainingRecord] = []
        self._held_out = held_out
        self._untrained = untrained
        self._trainer = trainer
        self._folder = folder
        self._device = device
        self._written = 0.0
        self._written_step: int | None = None
        self._failing = False

    def train(
        self,
        stored: Stored | None,
        *,
        checkpoint_seconds: float,
        on_record: Callable[[TrainingRecord], None] | None,
        should_stop: Callable[[], bool],
        stop_at: int | None,
        show_progress: bool,
    ) -> Artifact:
        """Train to the end, or until `should_stop()`, and return the model with averaged weights.

        Args:
            stored: checkpoint to continue from.
            checkpoint_seconds: time between checkpoints.
            on_record: called with each training record.
            should_stop: called between steps.
            stop_at: end early at this step.
            show_progress: show it on standard error.
        """
        self._start(stored)
        trainer, network = self._trainer, self._untrained.model.network
        if trainer is None or network is None:
            return self._untrained
        if show_progress:
            device = describe_device(self._device)
            say(f"training on {device}, {trainer.path} path")
        measure = None if self._held_out is None else HeldOutLoss(self._held_out, trainer)
        with progress("training", trainer.settings.steps, enabled=show_progress) as update:
            note = ""
            update(trainer.step, note)

            def report(record: TrainingRecord) -> None:
                nonlocal note
                if measure is not None:
                    record = measure.added_to(record)
                self.records.append(record)
                note = self._note(record)
                update(record.step, note)
                if self._folder is not None:
                    self._folder.log.append(record.to_dict())
                if time.monotonic() - self._written >= checkpoint_seconds:
                    self._try_checkpoint()
                if on_record is not None:
                    on_record(record)

            def stop() -> bool:
                # Between steps, since records may come seldom.
                update(trainer.step, note)
                return (stop_at is not None and trainer.step >= stop_at) or should_stop()

            trainer.run(on_record=report, should_stop=stop)
        self._checkpoint()
        network.load_state_dict(trainer.average.state_dict())
        network.eval()
        return self._artifact()

    def _note(self, record: TrainingRecord) -> str:
        """What is shown beside the progress: the loss, and the newest one on held-out graphs."""
        loss = f"loss {record.loss:.2f} ({record.per_pair:.3f} per pair)"
        known = (r for r in reversed(self.records) if r.held_out_at_small_noise is not None)
        newest = next(known, None)
        if newest is None or record.at_small_noise is None:
            return loss
        held_out = f"{newest.held_out_at_small_noise:.3g} held out"
        return f"{loss}, at small noise {record.at_small_noise:.3g} ({held_out})"

    def _artifact(self) -> Artifact:
        """The model as it is trained by now."""
        if self._trainer is None:
            return self._untrained
        return replace(self._untrained, step=self._trainer.step, seconds=self._trainer.seconds)

    def _start(self, stored: Stored | None) -> None:
        """Write the settings and a first checkpoint, or continue from a stored one."""
        settings = self._untrained.model.settings.model_dump(mode="json")
        if stored is not None:
            document, tensors = stored
            if self._trainer is not None:
                self._trainer.restore(tensors, step=document.step, seconds=document.seconds)
            if self._folder is not None:
                self._folder.resume(document.step, settings)
                self.records = self._folder.log.training_records()
        elif self._folder is not None:
            self._folder.start(settings)
        # At once, so that a run can be resumed from the start, with the settings it has now.
        self._checkpoint()

    def _checkpoint(self) -> None:
        """Replace the checkpoint of the folder."""
        artifact = self._artifact()
        if self._folder is not None:
            state = {} if self._trainer is None else self._trainer.state()
            try:
                self._folder.checkpoint(artifact.document(self._device), state)
            except OutputError as error:
                if self._written_step is None:
                    raise
                raise OutputError(
                    f"{error} The newest checkpoint is that of step {self._written_step}. Free "
                    "space or change permissions, and continue with --resume (resume=True)."
                ) from None
        self._written, self._written_step = time.monotonic(), artifact.step

    def _try_checkpoint(self) -> None:
        """Replace the checkpoint, or go on without; training ends with one that must succeed."""
        try:
            self._checkpoint()
            self._failing = False
        except (OutputError, MemoryError, RuntimeError) as error:
            if not (isinstance(error, OutputError) or is_out_of_memory(error)):
                raise
            self._written = time.monotonic()
            if not self._failing:
                full = "There is no memory for a checkpoint."
                why = error if isinstance(error, OutputError) else full
                warn(f"{why} Training goes on, and the next checkpoints are tried as usual.")
            self._failing = True
