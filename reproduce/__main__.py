"""The program `python -m reproduce`: runs the experiments and renders the results page."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

from cyclopts import App, Parameter

from graphscore.cli.interrupt import stop_requested
from graphscore.cli.option_types import WholeNumber
from graphscore.cli.program import run
from graphscore.cli.tables import print_json, print_table
from graphscore.errors import SettingsError, StoppedError
from reproduce import plans
from reproduce.titles import TITLES

if TYPE_CHECKING:
    from reproduce.context import Context
    from reproduce.experiment import Experiment

app = App(
    name="python -m reproduce",
    help="Run the experiments of the paper and of the denoiser.",
    help_format="plaintext",
    version_flags=(),
)


@app.default
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
    """Run the experiment NAME and write its record to OUT/NAME.json.

    Finished parts are kept in OUT/work: run the same command again to continue after an
    interruption. "all" runs every experiment.

    Parameters
    ----------
    name
        The experiment, or all; --list shows them.
    list_
        List the experiments; with NAME, list its parts and which are finished.
    scale
        full gives the numbers of the docs and needs a GPU; quick takes a few minutes on two CPU
        cores and writes OUT/NAME_quick.json.
    seeds
        Number of seeds.
    out
        Folder for records and unfinished work.
    parts
        Compute only these parts, separated by commas, * for any text (ego-small*). Several
        processes can share the parts of one experiment; a run without --parts writes the record.
    finished
        Compute nothing and write the record of the finished parts. Sets without a finished part
        keep their rows in the existing record.
    device
        auto, cpu, cuda or mps.
    accelerate
        auto takes the fastest path that works on the device, off the plain one.
    data_dir
        Folder of source files of datasets that are not part of the package.
    max_seconds
        Stop after this time; run the same command again to continue.
    json
        Print the record as JSON.
    """
    if name is None:
        if list_:
            _list_experiments(json)
            return 0
        raise SettingsError("name an experiment; python -m reproduce --list shows them.")
    if scale not in plans.OFFERED:
        raise SettingsError(f"--scale {scale!r}: use {' or '.join(plans.OFFERED)}.")
    if seeds < 1:
        raise SettingsError(f"--seeds {seeds}: give at least 1.")
    if max_seconds is not None and not max_seconds >= 0:
        raise SettingsError(f"--max-seconds {max_seconds:g}: give at least 0.")
    if finished and parts is not None:
        raise SettingsError("--finished computes nothing, so it cannot be used with --parts.")
    if name == "all" and (list_ or finished or parts is not None):
        raise SettingsError("all: --list, --parts and --finished need the name of one experiment.")

    # Here, because they load torch, and --help and --list are to be fast.
    from reproduce.context import Context
    from reproduce.experiment import find_experiment
    from reproduce.records import work_folder

    experiments = [find_experiment(one) for one in (TITLES if name == "all" else [name])]
    with stop_requested(max_seconds) as stop:
        for experiment in experiments:
            context = Context(
                work_folder(out, experiment.name, scale),
                scale=scale,
                seeds=seeds,
                device=device,
                accelerate=accelerate,
                should_stop=stop,
                data_dir=data_dir,
            )
            try:
                if list_:
                    _list_parts(experiment, context, json)
                elif parts is not None:
                    _run_parts(experiment, context, parts, json)
                else:
                    _write_record(experiment, context, out, finished, json)
            except StoppedError as error:
                print(f"{error} Run the same command again to continue.", file=sys.stderr)
                return stop.exit_code
    return 0


@app.command
def render() -> None:
    """Write docs/results.md, its figures and the table of README.md from results/."""
    from reproduce.render import render_docs

    render_docs(Path(__file__).resolve().parents[1])


def _run_parts(experiment: Experiment, context: Context, parts: str, json: bool) -> None:
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
    from reproduce.records import read_record, write_record

    earlier = read_record(out, experiment.name, context.scale) if finished else None
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


def main(tokens: Sequence[str] | None = None) -> NoReturn:
    """Run one command of the laboratory."""
    run(app, tokens, name="reproduce", advice="Try 'python -m reproduce --help'.")


if __name__ == "__main__":
    main()
