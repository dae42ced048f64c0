"""The program `graphscore` and its commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from cyclopts import App

from graphscore.cli import datasets
from graphscore.cli.bench import bench
from graphscore.cli.demo import demo
from graphscore.cli.evaluate import evaluate
from graphscore.cli.examples import example_of
from graphscore.cli.guide import guide
from graphscore.cli.info import info
from graphscore.cli.program import run
from graphscore.cli.sample import sample
from graphscore.cli.split import split
from graphscore.cli.train import train
from graphscore.version import __version__

app = App(
    name="graphscore",
    help="Learn a distribution of graphs from examples and generate new ones. "
    "Signals, exit codes and run folders: docs/command-line.md.",
    version=__version__,
    help_format="markdown",
)
for command in (train, sample, guide, evaluate, split, demo, info, bench):
    app.command(command, help_epilogue=example_of(command.__name__))
datasets.app.help_epilogue = example_of("datasets")
app.command(datasets.app)
app.register_install_completion_command(
    help="Install completion of commands and options for your shell (bash, zsh, fish, PowerShell)."
)


def main(tokens: Sequence[str] | None = None) -> NoReturn:
    """Run one command of graphscore."""
    advice = "Try 'graphscore --help' or 'graphscore COMMAND --help'."
    run(app, tokens, name="graphscore", advice=advice)


if __name__ == "__main__":
    main()
