"""Checkpoints: one JSON document and one safetensors file, replaced as a whole or not at all.

The tensors go to a new file first; then the document, which names that file and its sha256, is
replaced atomically; then older tensor files are removed. Whenever the process dies, the document on
disk points to complete tensors. The document carries a digest of itself, so that an edited or
truncated checkpoint is detected.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from pathlib import Path

import safetensors
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from graphscore.artifacts.document import FORMAT, VERSION, ModelDocument, TensorFile, digest
from graphscore.atomic import write_file
from graphscore.errors import CheckpointError, SettingsError

DOCUMENT = "checkpoint.json"
_OURS = re.compile(
    r"checkpoint-\d{8,}-[0-9a-f]{8}\.safetensors"
    r"|\.(checkpoint.*|settings\.json|log\.jsonl)\.[0-9a-f]{12}\.tmp"
)


def write_checkpoint(folder: Path, document: ModelDocument, tensors: dict[str, Tensor]) -> None:
    """Replace the checkpoint in `folder` by this one.

    Args:
        document: what else is to be kept; the name of its tensor file is filled in.
        tensors: by name.
    """
    # Copies, because the format refuses tensors that share memory.
    copies = {name: t.detach().to("cpu", copy=True).contiguous() for name, t in tensors.items()}
    payload = save_tensors(copies)
    # The digest is part of the name: a file that an earlier document points to is never replaced.
    sha256 = hashlib.sha256(payload).hexdigest()
    name = f"checkpoint-{document.step:08d}-{sha256[:8]}.safetensors"
    write_file(folder / name, payload)
    file = TensorFile(file=name, bytes=len(payload), sha256=sha256)
    complete = document.model_copy(update={"tensors": file})
    write_file(folder / DOCUMENT, complete.to_json())
    # Older tensors, and what a process killed while writing left; no other files.
    for path in folder.iterdir():
        if path.name != name and is_leftover(path.name):
            with contextlib.suppress(OSError):
                path.unlink()


def has_checkpoint(folder: Path) -> bool:
    """Return whether `folder` holds a checkpoint document."""
    return (folder / DOCUMENT).is_file()


def is_leftover(name: str) -> bool:
    """Return whether a name is that of a run's tensor file or of a half-written file of a run."""
    return _OURS.fullmatch(name) is not None


def read_document(folder: Path) -> ModelDocument:
    """Read and verify the checkpoint's document without its tensors.

    Raises:
        CheckpointError: missing, truncated, edited, or written by another version.
    """
    path = folder / DOCUMENT
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise CheckpointError(
            f"{folder}: no checkpoint here ({DOCUMENT} is missing). "
            "Give the folder that `graphscore train --out` or `GraphGenerator.save` wrote; "
            "pretrained models are read by name, with GraphGenerator.from_pretrained."
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: not readable as JSON ({error}). {_REMEDY}") from None
    known = (FORMAT, "graphscore checkpoint")
    if not isinstance(body, dict) or body.get("format") not in known:
        raise CheckpointError(f"{path}: not a graphscore checkpoint. {_REMEDY}")
    if body.get("version") != VERSION:
        raise CheckpointError(
            f"{path}: checkpoint version {body.get('version')}, but this graphscore reads version "
            f"{VERSION} only. Convert a model of version 1 with scripts/convert_v1.py of the "
            "source repository, use the graphscore that wrote it, or train again."
        )
    if body.pop("digest", None) != digest(body):
        raise CheckpointError(f"{path}: its content was changed after it was written. {_REMEDY}")
    try:
        return ModelDocument(**body)
    except SettingsError as error:
        raise CheckpointError(f"{path}: not the document of a model: {error} {_REMEDY}") from None


def read_checkpoint(folder: Path) -> tuple[ModelDocument, dict[str, Tensor]]:
    """Read and verify a checkpoint.

    Returns:
        The document and the tensors by name, on the CPU.

    Raises:
        CheckpointError: a file is missing, truncated, edited, or of another version.
    """
    document = read_document(folder)
    expected = document.tensors
    if expected is None:
        raise CheckpointError(f"{folder / DOCUMENT}: names no tensors. {_REMEDY}")
    path = folder / expected.file
    try:
        payload = path.read_bytes()
    except OSError as error:
        reason = error.strerror or error
        raise CheckpointError(f"{path}: cannot be read ({reason}). {_REMEDY}") from None
    if len(payload) != expected.bytes:
        raise CheckpointError(
            f"{path}: {len(payload)} bytes, but {expected.bytes} were written; "
            f"the file is truncated or was changed. {_REMEDY}"
        )
    if hashlib.sha256(payload).hexdigest() != expected.sha256:
        raise CheckpointError(f"{path}: its content was changed after it was written. {_REMEDY}")
    with contextlib.suppress(safetensors.SafetensorError):
        return document, load_tensors(payload)
    raise CheckpointError(f"{path}: not a safetensors file. {_REMEDY}")


_REMEDY = "Restore it from a copy, or train again."
