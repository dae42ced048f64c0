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
from typing import Any

import safetensors
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from graphscore.atomic import write_file
from graphscore.errors import CheckpointError

DOCUMENT = "checkpoint.json"
VERSION = 1
_OURS = re.compile(
    r"checkpoint-\d{8,}-[0-9a-f]{8}\.safetensors"
    r"|\.(checkpoint.*|settings\.json|log\.jsonl)\.[0-9a-f]{12}\.tmp"
)


def write_checkpoint(
    folder: Path, step: int, document: dict[str, Any], tensors: dict[str, Tensor]
) -> None:
    """Replace the checkpoint in `folder` by this one.

    Args:
        step: training step, used to name the tensor file.
        document: whatever else is to be kept, JSON-able.
        tensors: by name.
    """
    # Copies, because the format refuses tensors that share memory.
    copies = {name: t.detach().to("cpu", copy=True).contiguous() for name, t in tensors.items()}
    payload = save_tensors(copies)
    # The digest is part of the name: a file that an earlier document points to is never replaced.
    digest = hashlib.sha256(payload).hexdigest()
    name = f"checkpoint-{step:08d}-{digest[:8]}.safetensors"
    write_file(folder / name, payload)
    body = {
        **document,
        "format": "graphscore checkpoint",
        "version": VERSION,
        "step": step,
        "tensors": {"file": name, "bytes": len(payload), "sha256": digest},
    }
    body = json.loads(json.dumps(body))  # as it will be read: keys of JSON objects are strings
    body["digest"] = _digest(body)
    write_file(folder / DOCUMENT, (json.dumps(body, indent=1) + "\n").encode())
    # Older tensors, and what a process killed while writing left; nobody else's files.
    for path in folder.iterdir():
        if path.name != name and is_leftover(path.name):
            with contextlib.suppress(OSError):
                path.unlink()


def has_checkpoint(folder: Path) -> bool:
    """Tell whether `folder` holds a checkpoint document."""
    return (folder / DOCUMENT).is_file()


def is_leftover(name: str) -> bool:
    """Tell whether a name is that of a run's tensor file or of a half-written file of a run."""
    return _OURS.fullmatch(name) is not None


def read_document(folder: Path) -> dict[str, Any]:
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
            "Give the folder that `graphscore train --out` or `GraphGenerator.save` wrote."
        ) from None
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path}: not readable as JSON ({error}). {_REMEDY}") from None
    if not isinstance(body, dict) or body.get("format") != "graphscore checkpoint":
        raise CheckpointError(f"{path}: not a graphscore checkpoint. {_REMEDY}")
    if body.get("version") != VERSION:
        raise CheckpointError(
            f"{path}: checkpoint version {body.get('version')}, but this graphscore reads "
            f"version {VERSION}. Use the graphscore that wrote it, or train again."
        )
    if body.pop("digest", None) != _digest(body):
        raise CheckpointError(f"{path}: its content was changed after it was written. {_REMEDY}")
    return body


def read_checkpoint(folder: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Read and verify a checkpoint.

    Returns:
        The document and the tensors by name, on the CPU.

    Raises:
        CheckpointError: a file is missing, truncated, edited, or of another version.
    """
    body = read_document(folder)
    expected = body["tensors"]
    path = folder / expected["file"]
    try:
        payload = path.read_bytes()
    except OSError as error:
        reason = error.strerror or error
        raise CheckpointError(f"{path}: cannot be read ({reason}). {_REMEDY}") from None
    if len(payload) != expected["bytes"]:
        raise CheckpointError(
            f"{path}: {len(payload)} bytes, but {expected['bytes']} were written; "
            f"the file is truncated or was changed. {_REMEDY}"
        )
    if hashlib.sha256(payload).hexdigest() != expected["sha256"]:
        raise CheckpointError(f"{path}: its content was changed after it was written. {_REMEDY}")
    with contextlib.suppress(safetensors.SafetensorError):
        return body, load_tensors(payload)
    raise CheckpointError(f"{path}: not a safetensors file. {_REMEDY}")


_REMEDY = "Restore it from a copy, or train again."


def _digest(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
