"""A run on disk: resolved settings, training log, checkpoint; readable by a person."""

from __future__ import annotations

import json
import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from torch import Tensor

from graphscore.artifacts.checkpoint import (
    Stored,
    has_checkpoint,
    has_own_documents,
    is_leftover,
    read_checkpoint,
    replace_document,
    write_checkpoint,
)
from graphscore.artifacts.document import ModelDocument
from graphscore.artifacts.lock import LOCK, locked
from graphscore.artifacts.log import TrainingLog, set_aside
from graphscore.atomic import check_name, write_file
from graphscore.errors import CheckpointError, OutputError, SettingsError
from graphscore.settings import quoted
from graphscore.training.training_state import OPTIMISER

SETTINGS = "settings.json"
LOG = "log.jsonl"
KEEP = 2
"""Checkpoints that a run keeps."""


class RunFolder:
    """The folder `graphscore train --out` writes.

    `settings.json` holds the resolved settings, `log.jsonl` one training record per line,
    `checkpoint.json` and `checkpoint-*.safetensors` the state to sample from or to continue from.

    Args:
        keep: how many checkpoints stay; the older ones are for when the newest is damaged.

    Attributes:
        path: the folder.
        log: its records.

    Raises:
        SettingsError: `keep` is no whole number of at least 1.
    """

    def __init__(self, path: str | os.PathLike[str], *, keep: int = KEEP) -> None:
        if not isinstance(keep, int) or keep < 1:
            raise SettingsError(f"--keep {quoted(keep)}: give a whole number from 1 (keep=...).")
        self.path = Path(path)
        self._keep = keep
        self.log = TrainingLog(self.path / LOG)

    def locked(self) -> AbstractContextManager[None]:
        """Keep other processes from training in this folder; readers are not kept from reading.

        Raises:
            OutputError: another process trains there.
        """
        return locked(self.path)

    def check_new(self) -> None:
        """Refuse a folder that a new run cannot have.

        Raises:
            OutputError: there is something else already; nothing is overwritten.
        """
        check_name(self.path)
        if has_checkpoint(self.path):
            raise OutputError(
                f"{self.path}: already holds a run. Continue it with --resume (resume=True), "
                "or give another folder."
            )
        try:
            taken = self.path.exists() and not (self.path.is_dir() and self._nothing_to_lose())
        except OSError as error:
            raise OutputError(f"{self.path}: cannot be read ({error.strerror}).") from None
        if taken:
            raise OutputError(
                f"{self.path}: exists and is not an empty folder. Give a new folder for the run."
            )

    def is_run(self) -> bool:
        """Return whether the folder is that of a run, and not of a saved model."""
        return os.path.exists(self.path / LOG) or has_own_documents(self.path)

    def start(self, settings: dict[str, Any]) -> None:
        """Create the folder for a new run.

        Raises:
            OutputError: as `check_new`.
        """
        self.check_new()
        self.log.start()
        self._write_settings(settings)

    def _nothing_to_lose(self) -> bool:
        """Whether it is empty, or has only the remains of a run that died at its start."""
        names = {name for name in os.listdir(self.path) if not is_leftover(name)} - {LOCK}
        log = self.path / LOG
        died_early = names <= {SETTINGS, LOG} and log.is_file() and not log.stat().st_size
        return not names or died_early

    def _write_settings(self, settings: dict[str, Any]) -> None:
        path = self.path / SETTINGS
        if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
            set_aside(path, "no ordinary file")
        write_file(path, (json.dumps(settings, indent=1) + "\n").encode(), follow_links=False)

    def read(self) -> Stored:
        """Read a checkpoint that training can continue from.

        Raises:
            CheckpointError: there is none, it is damaged, or it is a model without training state.
        """
        document, tensors = read_checkpoint(self.path)
        if not any(name.startswith(OPTIMISER) for name in tensors) and document.step:
            raise CheckpointError(
                f"{self.path}: holds a model without its training state, so training cannot "
                "continue. Give the folder of the run itself."
            )
        return document, tensors

    def resume(self, step: int, settings: dict[str, Any]) -> None:
        """Cut the log back to `step`, where training continues, and store the settings."""
        self.log.cut(step)
        self._write_settings(settings)

    def store_settings(self, settings: dict[str, Any]) -> None:
        """Keep other settings with the model than it was trained with, of its sampler for instance.

        Raises:
            CheckpointError: there is no model, or it is damaged.
        """
        document, _ = read_checkpoint(self.path)
        changed = document.model_copy(update={"settings": settings})
        replace_document(self.path, changed, own=self.is_run())
        if self.is_run():
            self._write_settings(settings)

    def checkpoint(self, document: ModelDocument, tensors: dict[str, Tensor]) -> None:
        """Replace the checkpoint, and keep some older ones.

        Raises:
            OutputError: it cannot be written; the one before is intact.
        """
        self.log.sync()
        write_checkpoint(self.path, document, tensors, keep=self._keep)
