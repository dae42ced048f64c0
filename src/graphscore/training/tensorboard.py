"""Training records as TensorBoard scalars (extra `tensorboard`)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from graphscore.atomic import check_ordinary
from graphscore.errors import MissingExtraError, warn
from graphscore.training.trainer import TrainingRecord


def tensorboard_writer(folder: str | os.PathLike[str]) -> Callable[[TrainingRecord], None]:
    """Return an `on_record` function that writes scalars for TensorBoard into `folder`.

    Raises:
        OutputError: `folder` is a link.
        MissingExtraError: tensorboard is not installed.
    """
    check_ordinary(Path(folder))
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise MissingExtraError("tensorboard", "tensorboard", "Writing TensorBoard logs") from None
    writer: SummaryWriter | None = None
    failed = False

    def write(record: TrainingRecord) -> None:
        nonlocal failed
        if failed:
            return
        try:
            add(record)
        except OSError as error:
            failed = True
            warn(
                f"{folder}: cannot write ({error.strerror or error}). Training goes on, without "
                "more scalars for TensorBoard."
            )

    def add(record: TrainingRecord) -> None:
        nonlocal writer
        # Made late: a run folder must be empty when the run starts.
        # Whatever an interrupted run wrote beyond the point it resumes from is hidden.
        writer = writer or SummaryWriter(str(folder), purge_step=record.step)
        for name in ("loss", "per_pair", "gradient_norm", "learning_rate"):
            writer.add_scalar(name, getattr(record, name), record.step)
        for level, value in enumerate(record.per_level):
            writer.add_scalar(f"loss_per_level/{level}", value, record.step)
        writer.flush()

    return write
