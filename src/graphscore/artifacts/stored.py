"""Read the two files of a checkpoint, its document and its tensors; nothing in them is believed.

Both may come from a stranger, or have been damaged. Digests find damage; they are no signatures.
"""

from __future__ import annotations

import hashlib
import math
import os
from pathlib import Path
from typing import Annotated, Literal

import safetensors
import torch
from pydantic import Field
from safetensors.torch import load as load_tensors
from torch import Tensor

from graphscore.artifacts.document import FORMAT, VERSION, ModelDocument, digest
from graphscore.artifacts.reading import (
    MOST_VALUES,
    REMEDY,
    DamagedError,
    Place,
    open_own,
    parse_json,
    read_json,
)
from graphscore.config import RunSettings
from graphscore.errors import CheckpointError, SettingsError
from graphscore.models import MODELS, stored_settings
from graphscore.models.resources import MOST_NODES
from graphscore.settings import Settings, quoted
from graphscore.training.training_state import AVERAGE, NETWORK, OPTIMISER, mismatch

MOST_DOCUMENT_BYTES = 8_000_000
"""Those that come with graphscore have 5,000; 100,000 kinds of communities take 6 million."""
LONGER: dict[Place, int] = {
    ("sizes",): MOST_NODES,
    ("learned", "communities"): MOST_VALUES,
    **{("learned", "nodes", name): MOST_VALUES for name in ("sizes", "types", "features")},
}
"""The objects and lists of a document that may have more entries than others, and how many."""
STATES = 8
"""Tensor files are at most so many times as large as the weights: a run's state is four times."""
SMALL_FILE = 16_000_000
"""Tensor files up to this size are read in any case."""
MOST_HEADER_BYTES = 8_000_000
_PIECE = 2**20
MOST_TENSORS = 25_000
"""In a file; a run's state of the deepest network that settings allow has fewer."""
DTYPES = {"F32": torch.float32, "F64": torch.float64, "I64": torch.int64}
"""Types of tensors in checkpoints."""
Count = Annotated[int, Field(ge=0, le=2**40)]


class TensorPlace(Settings):
    """Type, shape and place of a tensor in a safetensors file."""

    dtype: Literal["F32", "F64", "I64"]
    shape: tuple[Count, ...] = Field(max_length=8)
    data_offsets: tuple[Count, Count]


def read_document_file(path: Path) -> ModelDocument:
    """Read and verify a document.

    Raises:
        DamagedError: missing, truncated or edited.
        CheckpointError: written by another version, or not the document of a model.
    """
    body = read_json(path, MOST_DOCUMENT_BYTES, LONGER)
    ours = isinstance(body, dict) and body.get("format") in (FORMAT, "graphscore checkpoint")
    foreign = f"{path}: not a graphscore checkpoint"
    if not isinstance(body, dict):
        raise DamagedError(foreign)
    version = body.get("version")
    other = (
        f"{path}: checkpoint version {version!s:.20}, but this graphscore reads version {VERSION} "
        "only"
    )
    if body.pop("digest", None) != digest(body):
        changed = "its content was changed after it was written"
        # Another version may have another digest.
        what = f"{path}: {changed}" if version == VERSION else f"{other}; or {changed}"
        raise DamagedError(what if ours else foreign)
    if not ours:
        raise CheckpointError(f"{foreign}. {REMEDY}")
    if version != VERSION:
        raise CheckpointError(
            f"{other}. Convert a model of version 1 with scripts/convert_v1.py of the source "
            "repository, use the graphscore that wrote it, or train again."
        )
    try:
        return ModelDocument(**body)
    except SettingsError as error:
        raise CheckpointError(f"{path}: not the document of a model: {error} {REMEDY}") from None


def settings_of(document: ModelDocument, folder: Path) -> RunSettings:
    """Return the settings of a stored model.

    Raises:
        CheckpointError: they are not those of a known model.
    """
    try:
        return stored_settings(document.settings)
    except SettingsError as error:
        raise CheckpointError(
            f"{folder}: not the settings of a model of this version of graphscore: {error} {REMEDY}"
        ) from None


def read_tensors(folder: Path, document: ModelDocument) -> dict[str, Tensor]:
    """Read and verify the tensors that a document names, on the CPU.

    Size, digest and header, with names and shapes of the weights, are checked before memory is
    taken.

    Raises:
        DamagedError: the file is missing, truncated or was changed.
        CheckpointError: it is not what the document stands for.
    """
    expected = document.tensors
    if expected is None:
        raise CheckpointError(f"{folder}: its document names no tensors. {REMEDY}")
    path = folder / expected.file
    weights = _blank_weights(document, folder)
    most = SMALL_FILE + STATES * sum(tensor.nbytes for tensor in weights.values())
    if expected.bytes > most:
        raise CheckpointError(
            f"{path}: {expected.bytes} bytes, but a model of these settings has {most} at most. "
            f"{REMEDY}"
        )
    with open_own(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size != expected.bytes:
            raise DamagedError(
                f"{path}: {size} bytes, but {expected.bytes} were written; "
                "the file is truncated or was changed"
            )
        # A piece at a time, so that refusing takes little memory.
        digest_found = hashlib.sha256()
        while piece := stream.read(_PIECE):
            digest_found.update(piece)
        if digest_found.hexdigest() != expected.sha256:
            raise DamagedError(f"{path}: its content was changed after it was written")
        try:
            stream.seek(0)
            places = _places(stream.read(min(size, 8 + MOST_HEADER_BYTES)), size)
            _check_weights(path, places, weights)
            stream.seek(0)
            tensors = load_tensors(stream.read(size))
        except (
            ValueError,
            TypeError,
            RecursionError,
            SettingsError,
            safetensors.SafetensorError,
        ) as error:
            raise CheckpointError(
                f"{path}: not a safetensors file of a model ({error!s:.200}). {REMEDY}"
            ) from None
    for name, tensor in tensors.items():
        if not bool(tensor.isfinite().all()):
            raise CheckpointError(f"{path}: {name} is not finite. Train again.")
    return tensors


def _blank_weights(document: ModelDocument, folder: Path) -> dict[str, Tensor]:
    """Return weights of the model of a document, without memory."""
    settings = settings_of(document, folder)
    try:
        return MODELS[settings.model].model.blank_weights(settings, document.learned)
    except (KeyError, TypeError, ValueError, SettingsError) as error:
        raise CheckpointError(f"{folder}: {error!s:.300} {REMEDY}") from None


def _check_weights(path: Path, places: dict[str, TensorPlace], weights: dict[str, Tensor]) -> None:
    """Check names, shapes and types of weights; those of an optimiser's state are not known here.

    Raises:
        CheckpointError: they are not those of the model.
    """
    parts: dict[str, dict[str, Tensor]] = {AVERAGE: {}, NETWORK: {}, OPTIMISER: {}}
    for name, place in places.items():
        part = next((part for part in parts if name.startswith(part)), None)
        if part is None:
            raise CheckpointError(f"{path}: {quoted(name)} is of no part of a model. {REMEDY}")
        tensor = torch.empty(place.shape, dtype=DTYPES[place.dtype], device="meta")
        parts[part][name.removeprefix(part)] = tensor
    wrong = mismatch(parts[AVERAGE], weights) or (
        mismatch(parts[NETWORK], weights) if parts[NETWORK] else ""
    )
    if wrong:
        raise CheckpointError(
            f"{path}: the weights do not fit the settings beside them: {wrong}. {REMEDY}"
        )


def _places(beginning: bytes, size: int) -> dict[str, TensorPlace]:
    """Return where tensors are, which lie one after the other and are all that is in the file.

    Args:
        beginning: of the file, with the header.
        size: of the file.

    Raises:
        ValueError: they do not, or are not of our types.
    """
    length = int.from_bytes(beginning[:8], "little")
    if not 2 <= length <= min(MOST_HEADER_BYTES, size - 8):
        raise ValueError(f"a header of {length} bytes")
    header = parse_json(beginning[8 : 8 + length], {(): MOST_TENSORS})
    if not isinstance(header, dict):
        raise ValueError("a header that is not an object")
    header.pop("__metadata__", None)
    places = {name: TensorPlace(**values) for name, values in header.items()}
    end = 0
    for part in sorted(places.values(), key=lambda place: place.data_offsets):
        start, stop = part.data_offsets
        if start != end or stop - start != math.prod(part.shape) * DTYPES[part.dtype].itemsize:
            raise ValueError("tensors overlap, leave gaps, or are not as long as their shapes")
        if math.prod(max(side, 1) for side in part.shape) > size:
            raise ValueError("an empty tensor whose other sides are larger than the file")
        end = stop
    if 8 + length + end != size:
        raise ValueError("the tensors are not all that is in it")
    return places
