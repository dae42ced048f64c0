"""The tiny training that campaigns disturb, and what it arrives at undisturbed."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import networkx as nx
import torch
from torch import Tensor

from graphscore import GraphGenerator
from graphscore.artifacts import RunFolder, has_checkpoint, read_checkpoint
from graphscore.artifacts.checkpoint import DOCUMENT
from graphscore.errors import GraphscoreError, GraphscoreWarning
from graphscore.training import TrainingRecord

STEPS = 4
GRAPHS: list[nx.Graph[Any]] = [nx.path_graph(4), nx.cycle_graph(5), nx.star_graph(5)]
State = tuple[dict[str, Tensor], list[tuple[int, float]]]
"""All tensors of a finished training, and the steps and losses in its log."""


def scratch() -> tempfile.TemporaryDirectory[str]:
    """Return a temporary folder, in memory where that is possible."""
    memory = Path("/dev/shm")
    return tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None)


def train(
    run: Path,
    *,
    resume: bool | None = None,
    stop_at: int | None = None,
    on_record: Callable[[TrainingRecord], None] | None = None,
) -> None:
    """Begin or continue the training, with a checkpoint after each of its steps."""
    torch.set_num_threads(1)
    generator = GraphGenerator(
        "edp-gnn",
        network={"channels": [2], "message_steps": 1, "features": 4, "edge_width": 4},
        training={"steps": STEPS, "batch_size": 2, "log_every": 1},
        sampling={"steps_per_level": 1},
        device="cpu",
        show_progress=False,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphscoreWarning)
        generator.fit(
            GRAPHS,
            run=run,
            resume=has_checkpoint(run) if resume is None else resume,
            checkpoint_seconds=0,
            stop_at=stop_at,
            on_record=on_record,
        )


def state(run: Path) -> State:
    """Return what a run holds."""
    _, tensors = read_checkpoint(run)
    return tensors, [(record["step"], record["loss"]) for record in RunFolder(run).log.records()]


@cache
def undisturbed() -> State:
    """Return what the training arrives at if nothing happens."""
    with scratch() as folder:
        train(Path(folder) / "run")
        return state(Path(folder) / "run")


def newest_lost(run: Path) -> str | None:
    """Say what is wrong with the newest checkpoint, whose place an older one may take."""
    if (run / DOCUMENT).exists():  # which the very first checkpoint gets last
        with warnings.catch_warnings():
            warnings.simplefilter("error", GraphscoreWarning)
            try:
                read_checkpoint(run)
            except (GraphscoreError, GraphscoreWarning) as wrong:
                return f"the newest checkpoint is lost: {wrong}"
    return None


def difference(run: Path, *, log: bool = True) -> str | None:
    """Say what is not as in an undisturbed run, bit for bit; None if nothing is.

    Args:
        log: whether all records are asked for.
    """
    tensors, records = state(run)
    expected, logged = undisturbed()
    if tensors.keys() != expected.keys():
        return "other tensors"
    if not all(torch.equal(tensors[name], expected[name]) for name in expected):
        return "other weights"
    if log and records != logged:
        return f"another log: {records}"
    return None
