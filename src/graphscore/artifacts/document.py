"""The typed document of a saved model: everything but the weights.

It is a JSON object, and may come from a stranger: every field has a type and bounds. Settings and
what was learned are typed by the model itself, see `models.stored_settings` and
`Model.from_learned`.
"""

from __future__ import annotations

import hashlib
import json
import platform
from typing import Annotated, Any, Literal, Self

import torch
from pydantic import Field, model_validator

from graphscore.models.resources import MOST_NODES
from graphscore.settings import MOST_STEPS, Settings
from graphscore.version import __version__

FORMAT = "graphscore model"
VERSION = 2

TENSOR_FILE = r"checkpoint-[0-9]{8,9}-[0-9a-f]{8}\.safetensors"
"""Names of tensor files: step, and the start of the sha256."""
SHA256 = r"^[0-9a-f]{64}$"
MOST_GRAPHS = 10**9
LONGEST_PATH = 4096
Name = Annotated[str, Field(max_length=200)]
Nodes = Annotated[int, Field(ge=1, le=MOST_NODES)]
Count = Annotated[int, Field(ge=1, le=MOST_GRAPHS)]


class TrainingGraphs(Settings):
    """The graphs that a model was trained on."""

    source: str = Field(max_length=LONGEST_PATH)
    """Name of the graphs: a dataset, a file, or "graphs"."""
    graphs: int = Field(ge=1, le=MOST_GRAPHS)
    """How many."""
    sha256: str = Field(pattern=SHA256)
    """Digest of their content and order."""


class MadeWith(Settings):
    """Versions and device of a training."""

    graphscore: Name
    torch: Name
    python: Name
    device: Name

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
    """The safetensors file that belongs to a document, in the same folder."""

    file: str = Field(pattern=rf"^{TENSOR_FILE}$")
    bytes: int = Field(ge=1, le=2**40)
    sha256: str = Field(pattern=SHA256)

    @model_validator(mode="after")
    def _is_named_by_its_digest(self) -> Self:
        if not self.file.endswith(f"-{self.sha256[:8]}.safetensors"):
            raise ValueError("the name of the tensor file and its sha256 do not belong together")
        return self


class ModelDocument(Settings):
    """What is stored of a model besides its tensors."""

    format: Literal["graphscore model"] = "graphscore model"
    version: Literal[2] = 2
    settings: dict[str, Any]
    """Complete settings of the run, with the kind of the model."""
    sizes: dict[Nodes, Count] = Field(min_length=1)
    """Numbers of nodes of the training graphs, and how often each occurred."""
    learned: dict[str, Any]
    """What the model learned besides its weights."""
    training_graphs: TrainingGraphs
    step: int = Field(ge=0, le=MOST_STEPS)
    """Optimiser steps."""
    seconds: float = Field(ge=0, le=1e10)
    """Training time."""
    made_with: MadeWith
    tensors: TensorFile | None = None
    """Set when the document is written."""

    @model_validator(mode="after")
    def _counts_every_graph(self) -> Self:
        if sum(self.sizes.values()) != self.training_graphs.graphs:
            raise ValueError("sizes do not add up to the number of training graphs")
        return self

    def to_json(self) -> bytes:
        """Return the text of the document, with a digest of itself."""
        body = json.loads(self.model_dump_json())  # as it will be read: keys are strings
        body["digest"] = digest(body)
        return (json.dumps(body, indent=1) + "\n").encode()


def digest(body: dict[str, Any]) -> str:
    """Return the digest of a document's content."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
