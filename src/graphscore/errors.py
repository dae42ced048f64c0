"""Every exception and warning a user can meet.

Each message says what happened, where, what was expected and what to do. The command line prints
the message of any `GraphscoreError` and exits with code 2; anything else is a bug.
"""

import difflib
import warnings
from collections.abc import Iterable

LONGEST = 100
"""Characters of a name that are compared with known ones."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint at the known name that is nearest to an unknown one; empty if none is near.

    >>> did_you_mean("Ego_smal", ["ego-small", "grid"])
    " Did you mean 'ego-small'?"
    """
    near = difflib.get_close_matches(name[:LONGEST].lower().replace("_", "-"), known, n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


class GraphscoreError(Exception):
    """Base of all errors caused by input, settings or files rather than by a bug."""


class GraphDataError(GraphscoreError):
    """A graph or a graph file that cannot be read or represented."""


class SettingsError(GraphscoreError):
    """A setting that is unknown, of the wrong type or out of range."""


class DatasetError(GraphscoreError):
    """An unknown dataset, or one whose source files are missing or damaged."""


class CheckpointError(GraphscoreError):
    """A run folder or checkpoint that is missing, truncated, edited or of another version."""


class OutputError(GraphscoreError):
    """A file or folder that cannot be written; what was there before is intact."""


class TrainingError(GraphscoreError):
    """Training that cannot go on, for instance because the loss is not finite."""


class SamplingError(GraphscoreError):
    """Sampling that cannot go on: its state is not finite, or the graphs do not fit in memory."""


class GraphscoreWarning(UserWarning):
    """Something was done in another way than usual; nothing is wrong, and nothing has to be done.

    The command line shows it as one line.
    """


def warn(message: str) -> None:
    """Issue a `GraphscoreWarning` at the caller of the function that calls this."""
    warnings.warn(message, GraphscoreWarning, stacklevel=3)


class MissingExtraError(GraphscoreError):
    """An optional dependency is not installed; the message names the extra that brings it."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package!r}, which is not installed. "
            f"Install it with: pip install 'graphscore[{extra}]'"
        )


class StoppedError(GraphscoreError):
    """Work that was asked to stop before its end; what is finished is kept."""
