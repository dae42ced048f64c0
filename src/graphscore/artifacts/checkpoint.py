"""Checkpoints: a JSON document and a safetensors file, replaced as a whole or not at all.

The tensors go to a new file first, then, for a run, a document of the same name, then
`checkpoint.json`, a copy of it, is replaced atomically; then older files are removed. Whenever the
process dies, `checkpoint.json` points to complete tensors. Documents carry a digest of themselves
and that of their tensors, so that damage is detected; the older checkpoints that a run keeps are
there for that case.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from pathlib import Path

from safetensors.torch import save as save_tensors
from torch import Tensor

from graphscore.artifacts.document import ModelDocument, TensorFile
from graphscore.artifacts.reading import DamagedError
from graphscore.artifacts.stored import read_document_file, read_tensors
from graphscore.atomic import make_folder, write_file
from graphscore.errors import CheckpointError, OutputError, warn

DOCUMENT = "checkpoint.json"
TRIES = 100
"""How often a checkpoint is read that is replaced each time."""
MOST_TRIED = 16
"""How many older checkpoints may take the place of a damaged one."""
NAME = r"checkpoint-(\d{8,})-[0-9a-f]{8}"
"""Of the files of a checkpoint, by step and digest."""
_OWN_DOCUMENT = re.compile(NAME + r"\.json")
_HALF_WRITTEN = r"\.(checkpoint.*|settings\.json|log\.jsonl)\.[0-9a-f]{12}\.tmp"
_OURS = re.compile(NAME + r"\.(safetensors|json)|" + _HALF_WRITTEN)
_LEFTOVER = re.compile(r"checkpoint-00000000-[0-9a-f]{8}\.safetensors|" + _HALF_WRITTEN)

Stored = tuple[ModelDocument, dict[str, Tensor]]
"""A checkpoint: its document, and its tensors by name, on the CPU."""


def write_checkpoint(
    folder: Path, document: ModelDocument, tensors: dict[str, Tensor], *, keep: int | None = None
) -> None:
    """Replace the checkpoint in `folder` by this one.

    Args:
        document: what else is to be kept; the name of its tensor file is filled in.
        tensors: by name.
        keep: how many checkpoints of a run stay, this one included; a saved model has one, without
            a document of its own name.

    Raises:
        OutputError: a file cannot be written; the checkpoint before is intact.
    """
    # Copies, because the format refuses tensors that share memory.
    copies = {name: t.detach().to("cpu", copy=True).contiguous() for name, t in tensors.items()}
    payload = save_tensors(copies)
    # The digest is part of the name: a file that an earlier document points to is never replaced.
    sha256 = hashlib.sha256(payload).hexdigest()
    name = f"checkpoint-{document.step:08d}-{sha256[:8]}.safetensors"
    try:
        make_folder(folder)
    except OSError as error:
        raise OutputError(f"{folder}: cannot write ({error.strerror}).") from None
    file = TensorFile(file=name, bytes=len(payload), sha256=sha256)
    complete = document.model_copy(update={"tensors": file})
    new = not os.path.lexists(folder / name)
    try:
        write_file(folder / name, payload, follow_links=False)
        replace_document(folder, complete, own=keep is not None)
    except OutputError:
        if new and not os.path.lexists((folder / name).with_suffix(".json")):
            with contextlib.suppress(OSError):  # a full disk has no room for tensors without use
                (folder / name).unlink()
        raise
    with contextlib.suppress(OSError):
        _sweep(folder, name, keep)


def replace_document(folder: Path, document: ModelDocument, *, own: bool) -> None:
    """Replace the document of tensors that are there already.

    Args:
        own: also write the document that has the name of the tensors, as a run has.
    """
    assert document.tensors is not None
    content = document.to_json()
    if own:
        copy = (folder / document.tensors.file).with_suffix(".json")
        write_file(copy, content, follow_links=False)
    write_file(folder / DOCUMENT, content, follow_links=False)


def _sweep(folder: Path, name: str, keep: int | None) -> None:
    """Remove older checkpoints, and what a process killed while writing left; no other files."""
    kept = {name}
    if keep is not None:
        own = folder / Path(name).with_suffix(".json")
        # What is of a later step was damaged, or training would not have gone back behind it.
        older = [path for path in _own_documents(folder) if _step(path.name) <= _step(own.name)]
        complete = [p for p in older if p != own and p.with_suffix(".safetensors").is_file()]
        kept_documents = [own, *complete[: keep - 1]]
        kept = {path.with_suffix(end).name for path in kept_documents for end in _ENDS}
    # Documents first, so that none is left without its tensors.
    for entry in sorted(os.listdir(folder), key=lambda entry: not entry.endswith(".json")):
        if entry not in kept and _OURS.fullmatch(entry):
            with contextlib.suppress(OSError):
                (folder / entry).unlink()


_ENDS = (".json", ".safetensors")


def _step(name: str) -> int:
    match = _OWN_DOCUMENT.fullmatch(name)
    return -1 if match is None else int(match[1])


def _own_documents(folder: Path) -> list[Path]:
    """The documents that have the name of their tensors, newest first."""
    found = []
    with contextlib.suppress(OSError, ValueError):  # ValueError: no folder can have this name
        for name in os.listdir(folder):
            if _step(name) >= 0:
                with contextlib.suppress(OSError):
                    found.append((_step(name), os.stat(folder / name).st_mtime_ns, name))
    return [folder / name for *_, name in sorted(found, reverse=True)]


def has_checkpoint(folder: Path) -> bool:
    """Return whether `folder` holds a checkpoint document."""
    return os.path.lexists(folder / DOCUMENT) or has_own_documents(folder)


def has_own_documents(folder: Path) -> bool:
    """Return whether `folder` holds documents that only runs have."""
    return bool(_own_documents(folder))


def is_leftover(name: str) -> bool:
    """Return whether a name is that of what a run leaves that dies before it has a checkpoint."""
    return _LEFTOVER.fullmatch(name) is not None


def read_document(folder: Path) -> ModelDocument:
    """Read and verify the newest document that is good, without its tensors.

    Raises:
        CheckpointError: missing, truncated, edited, or written by another version.
    """
    return _read(folder, with_tensors=False)[0][0]


def read_checkpoint(folder: Path) -> Stored:
    """Read and verify the newest checkpoint; with a warning the next older one if it is damaged.

    Returns:
        The document and the tensors by name, on the CPU.

    Raises:
        CheckpointError: a file is missing, truncated, edited, or of another version.
    """
    stored, damaged = _read(folder, with_tensors=True)
    if damaged:
        warn(
            f"{'; '.join(damaged)}. The checkpoint of step {stored[0].step} is used, the newest "
            "that is good."
        )
    return stored


def _read(folder: Path, *, with_tensors: bool) -> tuple[Stored, list[str]]:
    """Read the newest good checkpoint, again if it is replaced meanwhile; also what is damaged."""
    _check_there(folder)
    for tries_left in reversed(range(TRIES)):
        before = _fingerprint(folder / DOCUMENT)
        stored, damaged, refusal = _search(folder, with_tensors)
        # What vanished or changed because it was just replaced is not damaged.
        settled = not damaged and refusal is None
        if settled or not tries_left or before == _fingerprint(folder / DOCUMENT):
            break
    if stored is None:
        assert refusal is not None
        raise refusal
    return stored, damaged


def _search(
    folder: Path, with_tensors: bool
) -> tuple[Stored | None, list[str], CheckpointError | None]:
    """Return the newest good checkpoint, what is damaged, and the error if there is none."""
    damaged: list[DamagedError] = []
    for path in [folder / DOCUMENT, *_own_documents(folder)[:MOST_TRIED]]:
        try:
            document = read_document_file(path)
            tensors = read_tensors(folder, document) if with_tensors else {}
        except DamagedError as error:
            error.__context__ = None  # it holds the content of the file, as the trace does
            damaged.append(error.with_traceback(None))
        except CheckpointError as error:  # as it was written: nothing takes its place
            return None, _each(damaged), error
        else:
            return (document, tensors), _each(damaged), None
    refusal: CheckpointError = damaged[0]
    if len(found := _each(damaged)) > 1:
        refusal = CheckpointError(
            f"{folder}: none of its checkpoints is good ({'; '.join(found)}). "
            "Restore one from a copy, or train again."
        )
    return None, found, refusal


def _each(damaged: list[DamagedError]) -> list[str]:
    """What is damaged, each file once: two documents may name the same tensors."""
    return list(dict.fromkeys(error.what for error in damaged))


def _check_there(folder: Path) -> None:
    if has_checkpoint(folder):
        return
    try:
        os.stat(folder / DOCUMENT)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        pass
    except OSError as error:
        raise CheckpointError(
            f"{folder}: cannot be read ({error.strerror}). Change its permissions, or give the "
            "folder of another model."
        ) from None
    raise CheckpointError(
        f"{folder}: no checkpoint here ({DOCUMENT} is missing). "
        "Give the folder that `graphscore train --out` or `GraphGenerator.save` wrote; "
        "pretrained models are read by name, with GraphGenerator.from_pretrained."
    )


def _fingerprint(path: Path) -> tuple[int, ...] | None:
    """What changes when a file is replaced; None where there is none."""
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
