"""The registry of pretrained models, and which folder a name means."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from graphscore.artifacts.checkpoint import DOCUMENT, has_checkpoint
from graphscore.errors import CheckpointError, did_you_mean
from graphscore.regular import kind_of
from graphscore.settings import LONGEST_VALUE, quoted

MODELS = Path(__file__).resolve().parent / "pretrained"
"""One folder per model: `checkpoint.json`, its tensors, `card.json` and the card as `README.md`.
The path itself and not a link to it, since installers may link file by file."""


@dataclass(frozen=True)
class ModelPlace:
    """Where a model lies, and its name if it came with the package."""

    folder: Path
    pretrained: str | None = None


def list_pretrained() -> list[str]:
    """Names of the models that come with the package.

    >>> "no such model" in list_pretrained()
    False
    """
    return sorted(path.parent.name for path in MODELS.glob(f"*/{DOCUMENT}"))


def pretrained_folder(name: str) -> Path:
    """Return the folder of a model that comes with the package.

    Raises:
        CheckpointError: there is none of that name; the message says which there are.
    """
    if name not in list_pretrained():
        raise CheckpointError(f"no model {name!r} comes with graphscore. {_known(name)}")
    return MODELS / name


def find_model(given: str | os.PathLike[str]) -> ModelPlace:
    """Return what a user means by a folder or by the name of a model of the package.

    A path that exists is a path; only otherwise is it taken for a name.

    Raises:
        CheckpointError: it is neither, nobody may look, or what exists holds no model and hides one
            of the package.
    """
    name, path = os.fspath(given), Path(given)
    shown = name if len(name) <= LONGEST_VALUE and name.isprintable() else quoted(name)
    pretrained = name in list_pretrained()
    if _exists(name, shown):
        if pretrained and not has_checkpoint(path):
            raise CheckpointError(
                f"{shown}: no checkpoint here ({DOCUMENT} is missing). A path that exists is taken "
                "as a path; for the model of that name that comes with graphscore, give "
                f"{os.fspath(MODELS / name)}, or rename what is here."
            )
        return ModelPlace(path)
    if pretrained:
        return ModelPlace(MODELS / name, name)
    raise CheckpointError(
        f"{shown}: no checkpoint here, and no model of that name comes with graphscore. "
        f"{_known(name[:LONGEST_VALUE])} Or give the folder that `graphscore train --out` or "
        "`GraphGenerator.save` wrote."
    )


def _exists(name: str, shown: str) -> bool:
    """Return whether there is such a folder; a file is none, and says so.

    Raises:
        CheckpointError: it is no folder, or nobody may look whether it is there.
    """
    try:
        mode = os.stat(name).st_mode
    except PermissionError as error:
        raise CheckpointError(f"{shown}: cannot be read ({error.strerror}).") from error
    except (OSError, ValueError):  # also where no file can have that name
        return False
    if not stat.S_ISDIR(mode):
        what = "a file" if stat.S_ISREG(mode) else kind_of(mode)
        raise CheckpointError(f"{shown}: is {what}, but the folder of a model is expected.")
    return True


def _known(name: str) -> str:
    names = list_pretrained()
    if not names:
        return "This installation has none: train one with `graphscore train`."
    return f"{did_you_mean(name, names)} Use one of: {', '.join(names)}.".lstrip()
