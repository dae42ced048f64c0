"""A run on disk: resolved settings, training log, checkpoint; readable by a person."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from torch import Tensor

from graphscore.artifacts.checkpoint import (
    has_checkpoint,
    is_leftover,
    read_checkpoint,
    write_checkpoint,
)
from graphscore.artifacts.document import ModelDocument
from graphscore.atomic import write_file
from graphscore.errors import CheckpointError, OutputError
from graphscore.training.training_state import OPTIMISER

SETTINGS = "settings.json"
LOG = "log.jsonl"


class RunFolder:
    """The folder `graphscore train --out` writes.

    `settings.json` holds the resolved settings, `log.jsonl` one training record per line,
    `checkpoint.json` and `checkpoint-*.safetensors` the state to sample from or to continue from.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def check_new(self) -> None:
        """Refuse a folder that a new run cannot have.

        Raises:
            OutputError: there is something else already; nothing is overwritten.
        """
        if has_checkpoint(self.path):
            raise OutputError(
                f"{self.path}: already holds a run. Continue it with --resume (resume=True), "
                "or give another folder."
            )
        if self.path.exists() and not (self.path.is_dir() and self._nothing_to_lose()):
            raise OutputError(
                f"{self.path}: exists and is not an empty folder. Give a new folder for the run."
            )

    def has_log(self) -> bool:
        """Return whether the folder is that of a run."""
        return (self.path / LOG).exists()

    def start(self, settings: dict[str, Any]) -> None:
        """Create the folder for a new run.

        Raises:
            OutputError: as `check_new`.
        """
        self.check_new()
        write_file(self.path / LOG, b"")
        self._write_settings(settings)

    def _nothing_to_lose(self) -> bool:
        """Whether it is empty, or has only the remains of a run that died at its start."""
        names = {entry.name for entry in self.path.iterdir() if not is_leftover(entry.name)}
        log = self.path / LOG
        died_early = names <= {SETTINGS, LOG} and log.is_file() and not log.stat().st_size
        return not names or died_early

    def _write_settings(self, settings: dict[str, Any]) -> None:
        write_file(self.path / SETTINGS, (json.dumps(settings, indent=1) + "\n").encode())

    def read(self) -> tuple[ModelDocument, dict[str, Tensor]]:
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
        kept = [record for record in self.records() if record["step"] <= step]
        lines = "".join(json.dumps(record) + "\n" for record in kept)
        write_file(self.path / LOG, lines.encode())
        self._write_settings(settings)

    def store_settings(self, settings: dict[str, Any]) -> None:
        """Keep other settings with the model than it was trained with, of its sampler for instance.

        Raises:
            CheckpointError: there is no model, or it is damaged.
        """
        document, tensors = read_checkpoint(self.path)
        write_checkpoint(self.path, document.model_copy(update={"settings": settings}), tensors)
        self._write_settings(settings)

    def append(self, record: dict[str, Any]) -> None:
        """Add one record to the log."""
        try:
            with (self.path / LOG).open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(record) + "\n")
        except OSError as error:
            raise OutputError(
                f"{self.path / LOG}: cannot write ({error.strerror}). Free space or change "
                "permissions, and continue with --resume (resume=True)."
            ) from None

    def records(self) -> list[dict[str, Any]]:
        """Read the log; a last line cut short by a crash is left out."""
        try:
            lines = (self.path / LOG).read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        records = []
        for line in lines:
            try:
                records.append(json.loads(line))
            except ValueError:
                break
        return records

    def checkpoint(self, document: ModelDocument, tensors: dict[str, Tensor]) -> None:
        """Replace the checkpoint."""
        write_checkpoint(self.path, document, tensors)
