"""`graphscore reproduce`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from graphscore.cli.tables import print_json, print_table
from graphscore.cli.whole_numbers import WholeNumber

if TYPE_CHECKING:
    from graphscore.experiments import Experiment
    from graphscore.experiments.context import Context


def reproduce(
    name: str | None = None,
    *,
    list_: Annotated[bool, Parameter(name="--list", negative="")] = False,
    scale: str = "full",
    seeds: WholeNumber = 3,
    out: Annotated[Path, Parameter(name=("--out", "-o"))] = Path("results"),
    parts: str | None = None,
    finished: Annotated[bool, Parameter(negative="")] = False,
    device: str = "auto",
    accelerate: Literal["auto", "off"] = "auto",
    data_dir: Path | None = None,
    max_seconds: float | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Run the experiment NAME of the paper and write its record to OUT/NAME.json.

    What is finished is kept in OUT/work, so the same command goes on after an interruption.

    Parameters
    ----------
    name
        Which experiment; --list shows them.
    list_
        List the experiments, or with NAME its parts and which are finished.
    scale
        full fills the docs and wants a GPU; quick takes a few minutes on two CPU cores and writes
        OUT/NAME_quick.json.
    seeds
        How many trainings of each kind.
    out
        Folder for records and unfinished work.
    parts
        Compute only these parts, separated by commas, * for any text (ego-small*). Several
        processes can share the parts of one experiment out; a call without it writes the record.
    finished
        Compute nothing and write the record of the parts that are finished. Sets that nothing is
        finished of keep their rows in the record that is there.
    device
        auto, cpu, cuda or mps.
    accelerate
        auto takes the fastest path that works on the device, off the plain one.
    data_dir
        Folder of source files of datasets that are not part of the package.
    max_seconds
        Stop after this time; the same command goes on.
    json
        Print the record as JSON.
    """
    from graphscore.errors import SettingsError, StoppedError
    from graphscore.experiments import find_experiment, work_folder
    from graphscore.experiments.scale import OFFERED

    if name is None:
        if list_:
            _list_experiments(json)
            return 0
        raise SettingsError(
            "name the experiment to run; graphscore reproduce --list shows what there is."
        )
    if scale not in OFFERED:
        raise SettingsError(f"--scale {scale!r}: use {' or '.join(OFFERED)}.")
    if seeds < 1:
        raise SettingsError(f"--seeds {seeds}: give at least 1.")
    if max_seconds is not None and not max_seconds >= 0:
        raise SettingsError(f"--max-seconds {max_seconds:g}: give at least 0.")
    if finished and parts is not None:
        raise SettingsError("--finished computes nothing, so --parts has no meaning; give one.")
    experiment = find_experiment(name)

    from graphscore.cli.interrupt import stop_requested
    from graphscore.experiments.context import Context

    with stop_requested(max_seconds) as stop:
        context = Context(
            work_folder(out, name, scale),
            scale=scale,
            seeds=seeds,
            device=device,
            accelerate=accelerate,
            should_stop=stop,
            data_dir=data_dir,
        )
        if list_:
            _list_parts(experiment, context, json)
            return 0
        try:
            if parts is not None:
                _run_parts(experiment, context, parts, json)
            else:
                _write_record(experiment, context, out, finished, json)
            return 0
        except StoppedError as error:
            print(error, file=sys.stderr)
            return 130 if stop.signalled else 0


def _run_parts(experiment: Experiment, context: Context, parts: str, json: bool) -> None:
    from graphscore.errors import SettingsError

    patterns = [pattern.strip() for pattern in parts.split(",") if pattern.strip()]
    if not patterns:
        raise SettingsError("--parts names no part; --list shows them.")
    keys = experiment.matching(context, patterns)
    experiment.run_parts(context, keys)
    done = [key for key in keys if context.has_part(key)]
    missing = [key for key in experiment.keys(context) if not context.has_part(key)]
    if json:
        print_json({"finished": done, "missing": missing})
    else:
        print(f"finished: {', '.join(done) or 'nothing'}")
        print(f"not finished yet: {', '.join(missing) or 'nothing'}")


def _write_record(
    experiment: Experiment, context: Context, out: Path, finished: bool, json: bool
) -> None:
    from graphscore.experiments import read_record, write_record

    earlier = read_record(out, experiment.name, context.sizes.name) if finished else None
    record = experiment.run(context, finished=finished, earlier=earlier)
    file = write_record(record, out)
    pictures = experiment.pictures(record, context.folder / "pictures")
    if json:
        print_json(record)
        return
    for table in experiment.tables(record):
        print_table(table.title, table.columns, table.rows, text=table.text, wide=True)
    if "missing" in record:
        print(f"not finished yet: {', '.join(record['missing'])}")
    print("\n".join(f"written to {path}" for path in (file, *pictures)))


def _list_experiments(json: bool) -> None:
    from graphscore.experiments import TITLES

    if json:
        print_json(TITLES)
    else:
        print_table("Experiments", ["name", "what it shows"], list(TITLES.items()), text=2)


def _list_parts(experiment: Experiment, context: Context, json: bool) -> None:
    finished = {key: context.has_part(key) for key in experiment.keys(context)}
    if json:
        print_json(finished)
    else:
        rows = [[key, "yes" if done else "no"] for key, done in finished.items()]
        print_table(experiment.title, ["part", "finished"], rows, text=2)
