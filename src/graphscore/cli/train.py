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
    from graphscore.settings import Settings

MAX_NODES = 200
"""Memory and time grow with the square of the nodes; larger graphs want a deliberate choice."""

_READING = ReadingOptions()


def train(
    data: str,
    *,
    out: Annotated[Path, Parameter(name=("--out", "-o"))],
    resume: Annotated[bool, Parameter(negative="")] = False,
    config: Path | None = None,
    model: str | None = None,
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
        TOML file of settings: `model`, `seed`, and sections such as [network], [noise],
        [training], [sampling]; options win over it.
    model
        denoiser (if not given), edp-gnn, edp-gnn-released, gin or erdos-renyi. Unset options are
        chosen from the graphs' sizes.
    communities
        Find the communities of every training graph and condition the denoiser on them; new graphs
        have communities of the sizes that training graphs have.
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
        Dataset name (its validation part is used), file or folder of graphs. When training is done,
        the sampler's settings are chosen by the distance to them and kept with the model.
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
    settings = _settings(out if resume else None, config, model, overrides)
    if reading.max_nodes is None:
        reading = replace(reading, max_nodes=MAX_NODES)
    graphs = load(data, reading, split="train")
    # Before the long work, so that a wrong name costs nothing.
    held_out = None if validation is None else load(validation, reading, split="val")
    generator = GraphGenerator.from_settings(settings, device=device, accelerate=accelerate)
    if held_out is not None and not hasattr(generator.settings, "sampling"):
        raise SettingsError(
            f"--validation chooses the sampler's settings, and the model "
            f"{generator.settings.model!r} has none. Leave it out."
        )
    on_record = tensorboard_writer(out / "tensorboard") if tensorboard else None
    with stop_requested(max_seconds) as stop:
        generator.fit(
            graphs, run=out, resume=resume, source=data, on_record=on_record, should_stop=stop
        )
    finished = generator.step >= generator.settings.steps
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
    section = {"training": chosen} if chosen else {}
    return {**({} if seed is None else {"seed": seed}), **section}


def _settings(
    stored: Path | None, config: Path | None, model: str | None, overrides: dict[str, Any]
) -> dict[str, Any]:
    """The stored settings of a run, then the file, then the options; defaults are left open."""
    from graphscore.artifacts import read_document, settings_of
    from graphscore.config import merge, read_config
    from graphscore.errors import CheckpointError, SettingsError
    from graphscore.models import DEFAULT_MODEL
    from graphscore.models.defaults import check_settings, find_entry

    given: dict[str, Any] = {}
    if stored is not None:
        given = settings_of(read_document(stored), stored).model_dump(mode="json")
    from_file = {} if config is None else read_config(config)
    name = from_file.get("model", given.get("model", DEFAULT_MODEL)) if model is None else model
    if config is not None:
        try:
            check_settings({**from_file, "model": name}, on_cpu=True)
        except SettingsError as error:
            raise SettingsError(f"{config}: {error}") from None
    entry = find_entry(name)
    _check_options(name, entry.model.Settings, overrides)
    kind = entry.model.Settings.model_fields["model"].default
    if stored is not None and given["model"] != kind:
        raise CheckpointError(
            f"{stored}: was started with the model {given['model']!r} and not {name!r}. "
            "Continue with the same one, or start a new run."
        )
    # What a name stands for is compared with the stored run, as other settings are.
    given = merge(merge(given, entry.preset), from_file)
    return merge({**given, "model": name}, overrides)


def _check_options(name: str, settings: type[Settings], overrides: dict[str, Any]) -> None:
    """Refuse options that have no meaning for a model."""
    from graphscore.errors import SettingsError
    from graphscore.models import DEFAULT_MODEL
    from graphscore.settings import names_in

    for section, values in overrides.items():
        for key in values if isinstance(values, dict) else ():
            if key not in names_in(settings, section):
                raise SettingsError(
                    f"--{key.replace('_', '-')} has no meaning for the model {name!r}. Leave it "
                    f"out, or use another model, such as {DEFAULT_MODEL!r}."
                )
