"""How a program of commands ends: errors as one message, warnings as one line, exit codes."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from functools import partial
from typing import NoReturn, TextIO

from cyclopts import App, CycloptsError

from graphscore.cli.interrupt import StopSignal, signals_end_the_program
from graphscore.cli.standard_streams import standard_streams
from graphscore.errors import GraphscoreError, GraphscoreWarning
from graphscore.streams import Unfailing, say

_BAD_INPUT = 2
_READER_LEFT = 141
"""128 + the number of SIGPIPE, as if that had ended the program."""


def run(app: App, tokens: Sequence[str] | None, *, name: str, advice: str) -> NoReturn:
    """Run one command; the exit codes are those of docs/command-line.md.

    Args:
        name: what messages begin with.
        advice: where a user who gave wrong options finds the right ones.
    """
    app.suppress_keyboard_interrupt = False  # by default it would end every signal with 130
    with standard_streams() as output:
        try:
            with signals_end_the_program():
                code = _run(app, tokens, name, advice)
                code = code or _lost_report(output, name)
        except StopSignal as stopped:
            code = stopped.exit_code
        except KeyboardInterrupt:
            code = 130
    sys.exit(code)


def _run(app: App, tokens: Sequence[str] | None, name: str, advice: str) -> int:
    fail = partial(_fail, name)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", GraphscoreWarning)
            warnings.showwarning = partial(_show_warning, name)
            code = app(tokens, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        return fail(f"{error}\n{advice}")
    except GraphscoreError as error:
        if isinstance(error.__cause__, BrokenPipeError):
            return _READER_LEFT
        return fail(str(error))
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            return _READER_LEFT
        where = "reading or writing" if error.filename is None else error.filename
        return fail(
            f"{where}: {error.strerror or error}. Check that the path is right, that you may read "
            "and write there, and that the disk is not full."
        )
    except (RuntimeError, MemoryError) as error:
        # Here, because it loads torch, and --help is to be fast.
        from graphscore.training.memory import is_out_of_memory

        if not is_out_of_memory(error):
            raise
        return fail(
            "the device is out of memory. Use a smaller --batch-size for training, smaller --nodes "
            "or --communities for sampling, drop the largest graphs, or use a device with more "
            "memory."
        )
    return code if isinstance(code, int) else 0


def _lost_report(output: Unfailing, name: str) -> int:
    """Return the exit code of a command that did its work but could not say so."""
    output.flush()
    if output.failure is None:
        return 0
    if isinstance(output.failure, BrokenPipeError):  # for instance `| head`
        return _READER_LEFT
    return _fail(
        name,
        f"standard output cannot be written ({output.failure}), so what was printed is lost. "
        "Files that were written are complete.",
    )


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
        say(f"{name}: {message}")
    else:
        say(warnings.formatwarning(message, category, filename, lineno, line).rstrip("\n"))


def _fail(name: str, message: str) -> int:
    say(f"{name}: {message}")
    return _BAD_INPUT
