"""How a program of commands ends: errors as one message, warnings as one line, exit codes."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from functools import partial
from typing import NoReturn, TextIO

from cyclopts import App, CycloptsError

from graphscore.errors import GraphscoreError, GraphscoreWarning


def run(app: App, tokens: Sequence[str] | None, *, name: str, advice: str) -> NoReturn:
    """Run one command; exit code 0 on success, 2 on bad input, 130 when interrupted.

    Args:
        name: what messages begin with.
        advice: where a user who gave wrong options finds the right ones.
    """
    fail = partial(_fail, name)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", GraphscoreWarning)
            warnings.showwarning = partial(_show_warning, name)
            code = app(tokens, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        fail(f"{error}\n{advice}")
    except GraphscoreError as error:
        fail(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
    except (RuntimeError, MemoryError) as error:
        # Here, because it loads torch, and --help is to be fast.
        from graphscore.training.memory import is_out_of_memory

        if not is_out_of_memory(error):
            raise
        fail(
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
    name: str,
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show warnings of graphscore as one line, without the place in the code."""
    if issubclass(category, GraphscoreWarning):
        text = f"{name}: {message}\n"
    else:
        text = warnings.formatwarning(message, category, filename, lineno, line)
    print(text, end="", file=file or sys.stderr)


def _fail(name: str, message: str) -> NoReturn:
    print(f"{name}: {message}", file=sys.stderr)
    sys.exit(2)
