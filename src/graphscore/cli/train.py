"""`graphscore train`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from graphscore.cli.data import ReadingOptions, load
from graphscore.cli.info import report
from graphscore.cli.whole_numbers import WholeNumber

if TYPE_CHECKING:
    from graphscore.config import RunSettings

MAX_NODES = 200
"""Memory and time grow with the square of the nodes; larger graphs want a deliberate choice."""

_READING = ReadingOptions()


def train(
    data: str,
    *,
    out: Annotated[Path, Parameter(name=("--out", "-o"))],
    resume: Annotated[bool, Parameter(negative="")] = False,
    config: Path | None = None,
    network: str | None = None,
    communities: Annotated[bool, Parameter(negative="")] = False,
    steps: WholeNumber | None = None,
    batch_size: WholeNumber | None = None,
    learning_rate: float | None = None,
    seed: WholeNumber | None = None,
    device: str = "auto",
    accelerate: Literal["auto", "off"] = "auto",
    max_seconds: float | None = None,
    validation: str | None = None,
    tensorboard: Annotated[bool, Parameter(negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
    reading: ReadingOptions = _READING,
) -> int:
    """Learn a distribution of graphs from DATA into the run folder OUT.

    Parameters
    ----------
    data
        Dataset name (its training part is used), or a file or folder of graphs.
    out
        New folder for settings, log and checkpoints.
    resume
        Continue the run in OUT with the same data and settings; --steps may be larger.
    config
        TOML file with the sections [noise], [denoising], [network], [training], [sampling];
        options win over it.
    network
        denoiser, edp-gnn, edp-gnn-released or gin; denoiser if not given. What is not said of a
        denoiser, of its training and of its sampler suits the graphs.
    communities
        Find the communities of every training graph and tell the denoiser which nodes belong
        together; new graphs have communities of the sizes that training graphs have.
    steps
        Optimiser steps in all.
    batch_size
        Graphs per step.
    learning_rate
        Learning rate at the start.
    seed
        Fixes everything random.
    device
        auto, cpu, cuda or mps.
    accelerate
        auto takes the fastest path that works on the device, off the plain one.
    max_seconds
        Stop after this time with a checkpoint to resume from.
    validation
        Dataset name (its validation part is used), file or folder of graphs that choose the
        sampler's settings when training is done; the model keeps the choice.
    tensorboard
        Also write TensorBoard scalars into OUT/tensorboard (extra 'tensorboard').
    json
        Print the result as JSON.
    """
    from graphscore.cli.interrupt import stop_requested
    from graphscore.errors import SettingsError
    from graphscore.generator import GraphGenerator
    from graphscore.training.tensorboard import tensorboard_writer

    if max_seconds is not None and not max_seconds >= 0:
        raise SettingsError(f"--max-seconds {max_seconds:g}: give at least 0.")
    overrides = _overrides(
        seed=seed, steps=steps, batch_size=batch_size, learning_rate=learning_rate
    )
    if communities:
        overrides["network"] = {"communities": True}
    settings = _settings(out if resume else None, config, network, overrides)
    if reading.max_nodes is None:
        reading = replace(reading, max_nodes=MAX_NODES)
    graphs = load(data, reading, split="train")
    # Before the long work, so that a wrong name costs nothing.
    held_out = None if validation is None else load(validation, reading, split="val")
    generator = GraphGenerator.from_settings(settings, device=device, accelerate=accelerate)
    on_record = tensorboard_writer(out / "tensorboard") if tensorboard else None
    with stop_requested(max_seconds) as stop:
        generator.fit(
            graphs, run=out, resume=resume, source=data, on_record=on_record, should_stop=stop
        )
    finished = generator.step >= generator.settings.training.steps
    if finished and held_out is not None:
        generator.select_sampling(held_out, run=out)
    report(out, json=json)
    if not finished:
        print(
            f"stopped early; continue with: graphscore train {data} --out {out} --resume"
            " and the same options for reading graphs",
            file=sys.stderr,
        )
    return 130 if stop.signalled else 0


def _overrides(
    *,
    seed: int | None,
    steps: int | None,
    batch_size: int | None,
    learning_rate: float | None,
) -> dict[str, Any]:
    training = {"steps": steps, "batch_size": batch_size, "learning_rate": learning_rate}
    chosen = {name: value for name, value in training.items() if value is not None}
    return {**({} if seed is None else {"seed": seed}), "training": chosen}


def _settings(
    stored: Path | None, config: Path | None, network: str | None, overrides: dict[str, Any]
) -> RunSettings:
    """Defaults or the stored settings of a run, then the file, then the options."""
    from graphscore.config import RunSettings, merge, named_network, read_config
    from graphscore.errors import SettingsError
    from graphscore.training.checkpoint import read_document

    base: dict[str, Any] = read_document(stored)["settings"] if stored is not None else {}
    if network is not None:
        base = {**base, "network": named_network(network)}
    if config is not None:
        base = merge(base, read_config(config))
        try:
            RunSettings(**base)
        except SettingsError as error:
            raise SettingsError(f"{config}: {error}") from None
    return RunSettings(**merge(base, overrides))
