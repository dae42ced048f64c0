"""The program `graphscore`: commands, errors and exit codes."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from typing import NoReturn, TextIO

from cyclopts import App, CycloptsError

from graphscore.cli import datasets
from graphscore.cli.bench import bench
from graphscore.cli.demo import demo
from graphscore.cli.evaluate import evaluate
from graphscore.cli.guide import guide
from graphscore.cli.info import info
from graphscore.cli.sample import sample
from graphscore.cli.train import train
from graphscore.errors import GraphscoreError, GraphscoreWarning
from graphscore.version import __version__

app = App(
    name="graphscore",
    help="Learn a distribution of graphs from examples and generate new ones.",
    version=__version__,
    help_format="plaintext",
)
for command in (train, sample, guide, evaluate, demo, info, bench):
    app.command(command)
app.command(datasets.app)


def main(tokens: Sequence[str] | None = None) -> NoReturn:
    """Run one command; exit code 0 on success, 2 on bad input, 130 when interrupted."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", GraphscoreWarning)
            warnings.showwarning = _show_warning
            code = app(tokens, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        _fail(f"{error}\nTry 'graphscore --help' or 'graphscore COMMAND --help'.")
    except GraphscoreError as error:
        _fail(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
    except (RuntimeError, MemoryError) as error:
        # Here, because it loads torch, and --help is to be fast.
        from graphscore.training.memory import is_out_of_memory

        if not is_out_of_memory(error):
            raise
        _fail(
            "the device is out of memory. Use a smaller --batch-size for training, smaller --nodes "
            "or --communities for sampling, drop the largest graphs, or use a device with more "
            "memory."
        )
    except BrokenPipeError:
        # The reader went away (for instance `| head`); nothing is left to say to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    sys.exit(code if isinstance(code, int) else 0)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show warnings of graphscore as one line, without the place in the code."""
    if issubclass(category, GraphscoreWarning):
        text = f"graphscore: {message}\n"
    else:
        text = warnings.formatwarning(message, category, filename, lineno, line)
    print(text, end="", file=file or sys.stderr)


def _fail(message: str) -> NoReturn:
    print(f"graphscore: {message}", file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    main()
