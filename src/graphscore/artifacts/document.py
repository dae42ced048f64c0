"""The typed document of a saved model: everything but the weights.

It is a JSON object. Its settings and what was learned are typed by the model itself, see
`models.stored_settings` and `Model.from_learned`.
"""

from __future__ import annotations

import hashlib
import json
import platform
from typing import Any, Literal

import torch
from pydantic import Field, PositiveInt

from graphscore.settings import Settings
from graphscore.version import __version__

FORMAT = "graphscore model"
VERSION = 2


class TrainingGraphs(Settings):
    """The graphs that a model was trained on."""

    source: str
    """Name of the graphs: a dataset, a file, or "graphs"."""
    graphs: int = Field(ge=1)
    """How many."""
    sha256: str
    """Digest of their content and order."""


class MadeWith(Settings):
    """Versions and device of a training."""

    graphscore: str
    torch: str
    python: str
    device: str

    @classmethod
    def here(cls, device: object) -> MadeWith:
        """Return those of this process."""
        return cls(
            graphscore=__version__,
            torch=torch.__version__,
            python=platform.python_version(),
            device=str(device),
        )


class TensorFile(Settings):
    """The safetensors file that belongs to a document."""

    file: str
    bytes: int
    sha256: str


class ModelDocument(Settings):
    """What is stored of a model besides its tensors."""

    format: Literal["graphscore model"] = "graphscore model"
    version: Literal[2] = 2
    settings: dict[str, Any]
    """Complete settings of the run, with the kind of the model."""
    sizes: dict[PositiveInt, PositiveInt] = Field(min_length=1)
    """Numbers of nodes of the training graphs, and how often each occurred."""
    learned: dict[str, Any]
    """What the model learned besides its weights."""
    training_graphs: TrainingGraphs
    step: int = Field(ge=0)
    """Optimiser steps."""
    seconds: float = Field(ge=0)
    """Training time."""
    made_with: MadeWith
    tensors: TensorFile | None = None
    """Set when the document is written."""

    def to_json(self) -> bytes:
        """Return the text of the document, with a digest of itself."""
        body = json.loads(self.model_dump_json())  # as it will be read: keys are strings
        body["digest"] = digest(body)
        return (json.dumps(body, indent=1) + "\n").encode()


def digest(body: dict[str, Any]) -> str:
    """Return the digest of a document's content."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
