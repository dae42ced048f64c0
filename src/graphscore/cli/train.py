"""`graphscore train`."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Literal

from graphscore.cli.attributes import NO_ATTRIBUTES, AttributeOptions, by_default
from graphscore.cli.data import READING, ReadingOptions, carried_by, load
from graphscore.cli.info import report
from graphscore.cli.network import NO_NETWORK, NetworkOptions, load_to_train
from graphscore.cli.option_types import Flag, Out, WholeNumber
from graphscore.streams import say

if TYPE_CHECKING:
    from graphscore.config import RunSettings
    from graphscore.generator import GraphGenerator
    from graphscore.settings import Settings
    from graphscore.verdict import Verdict


def train(
    data: str,
    *,
    out: Out,
    resume: Flag = False,
    config: Path | None = None,
    model: str | None = None,
    communities: Flag = False,
    steps: WholeNumber | None = None,
    batch_size: WholeNumber | None = None,
    learning_rate: float | None = None,
    seed: WholeNumber | None = None,
    device: str = "auto",
    accelerate: Literal["auto", "off"] = "auto",
    max_seconds: float | None = None,
    keep: WholeNumber = 2,
    structure_only: Flag = False,
    validation: str | None = None,
    no_holdout: Flag = False,
    tensorboard: Flag = False,
    json: Flag = False,
    reading: ReadingOptions = READING,
    network: NetworkOptions = NO_NETWORK,
    attributes: AttributeOptions = NO_ATTRIBUTES,
) -> int:
    """Learn a distribution of graphs from DATA into the run folder OUT.

    Of molecules (SMILES and SDF) elements and bonds are learned without being named.

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
        Random seed.
    device
        auto, cpu, cuda or mps.
    accelerate
        auto: the fastest path that works on the device; off: plain PyTorch.
    max_seconds
        Stop after this time with a checkpoint to resume from.
    keep
        Checkpoints to keep; older ones are used when the newest is damaged.
    structure_only
        Learn which edges there are and nothing else, also of a dataset or file whose nodes and
        edges carry something. Without it, what those of a dataset carry is learned too, or what is
        named of it.
    validation
        Dataset name (its validation part is used), file or folder of graphs. The loss on them is
        shown beside that of the training; when it is done, the sampler's settings are chosen by the
        distance to them and kept with the model.
    no_holdout
        Train on all graphs. Without it, of 50 graphs or more a tenth (at most 500) is held out to
        show the loss on them, unless --validation is given. A run that is resumed keeps its choice.
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
    training = {"steps": steps, "batch_size": batch_size, "learning_rate": learning_rate}
    overrides = _overrides(seed, communities, training, attributes)
    settings = _settings(out if resume else None, config, model, overrides)
    settings = _with_attributes(settings, overrides, structure_only, data, reading, resume)
    generator = GraphGenerator.from_settings(settings, device=device, accelerate=accelerate)
    kept = _kept(generator.settings, structure_only)
    graphs = load_to_train(data, reading, network, seed=generator.settings.seed, **kept)
    # Before the long work, so that a wrong name costs nothing.
    held_out = None if validation is None else load(validation, reading, split="val", **kept)
    _check_sections(generator.settings, validation, tensorboard)
    with stop_requested() as stop:
        generator.fit(
            graphs,
            run=out,
            resume=resume,
            source=data,
            keep=keep,
            on_record=tensorboard_writer(out / "tensorboard") if tensorboard else None,
            should_stop=stop,
            max_seconds=max_seconds,
            holdout=not no_holdout,
            validation=held_out,
        )
        finished = generator.step >= generator.settings.steps
        if stop.exit_code or not finished or held_out is None:
            _report(data, out, generator, finished=finished and held_out is None, json=json)
            return stop.exit_code
    generator.select_sampling(held_out, run=out)
    _report(data, out, generator, finished=True, json=json)
    return 0


def _report(data: str, out: Path, generator: GraphGenerator, *, finished: bool, json: bool) -> None:
    """Show the run, and the command that comes next."""
    verdict, history = generator.verdict, generator.history
    more = {
        "verdict": None if verdict is None else verdict.to_dict(),
        "history": [record.to_dict() for record in history],
    }
    report(out, json=json, more=more)
    again = f"graphscore train {quote(data)} --out"
    if not finished:
        say(
            f"stopped early; continue with: {again} {quote(str(out))}"
            " --resume (and --keep and options for reading graphs, if you gave any)"
        )
    elif verdict is not None:
        _say_next(verdict, again, out)


def _say_next(verdict: Verdict, again: str, out: Path) -> None:
    """Say which command comes next after a finished training."""
    if verdict.steps is None:
        run = quote(str(out))
        command = f"graphscore sample {run} -n 64 -o samples.g6 --picture samples.png"
    elif verdict.kind == "memorising":
        command = f"{again} {quote(f'{out}-shorter')} --steps {verdict.steps}"
    else:
        command = f"{again} {quote(str(out))} --resume --steps {verdict.steps}"
    say(f"next: {command}")


def _kept(settings: RunSettings, structure_only: bool) -> dict[str, Any]:
    """How graphs are read with what is learned of them."""
    from graphscore.graphs import NOTHING

    learned = getattr(settings, "attributes", NOTHING)
    return {"edge_attributes": learned.of_edges, "structure_only": structure_only}


def _overrides(
    seed: int | None, communities: bool, training: dict[str, Any], attributes: AttributeOptions
) -> dict[str, Any]:
    """Return the settings that options gave."""
    network = {"communities": communities or None}
    sections = {"network": _given(network), "training": _given(training)}
    return _given({"seed": seed, **sections, "attributes": attributes.given()})


def _with_attributes(
    settings: dict[str, Any],
    overrides: dict[str, Any],
    structure_only: bool,
    data: str,
    reading: ReadingOptions,
    resume: bool,
) -> dict[str, Any]:
    """Settings with attributes that nobody named, or without any where that was asked for."""
    from graphscore.errors import SettingsError

    if structure_only:
        if named := overrides.get("attributes"):
            raise SettingsError(
                f"--structure-only and --{min(named).replace('_', '-')} exclude each other. Give "
                "only one of them."
            )
        return {name: value for name, value in settings.items() if name != "attributes"}
    carried = carried_by(data, reading)
    if resume or not carried or "attributes" in settings:
        return settings
    learned = by_default(carried, settings["model"])
    return {**settings, "attributes": learned} if learned else settings


def _given(options: dict[str, Any]) -> dict[str, Any]:
    """Leave out options that were not given, and sections without any."""
    return {name: value for name, value in options.items() if value not in (None, {})}


def _settings(
    stored: Path | None, config: Path | None, model: str | None, overrides: dict[str, Any]
) -> dict[str, Any]:
    """The stored settings of a run, then the file, then the options; defaults are left open."""
    from graphscore.artifacts import read_document, settings_of
    from graphscore.config import merge, read_config
    from graphscore.errors import CheckpointError, SettingsError
    from graphscore.models import DEFAULT_MODEL
    from graphscore.models.registry import check_settings, find_entry

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
    _check_options(name, find_entry(name).model.Settings, overrides)
    if stored is not None and given["model"] != name:
        raise CheckpointError(
            f"{stored}: was started with the model {given['model']!r} and not {name!r}. "
            "Continue with the same one, or start a new run."
        )
    return merge({**merge(given, from_file), "model": name}, overrides)


def _check_sections(settings: RunSettings, validation: str | None, tensorboard: bool) -> None:
    """Refuse options that are given and need a section of settings that the model does not have."""
    from graphscore.errors import SettingsError

    needed = {"--validation": (validation, "sampling"), "--tensorboard": (tensorboard, "training")}
    for option, (given, section) in needed.items():
        if given and not hasattr(settings, section):
            raise SettingsError(
                f"{option} has no meaning for the model {settings.model!r}, which has no settings "
                f"for {section}. Leave it out."
            )


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
