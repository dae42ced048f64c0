"""Artifact: a trained model with where it comes from, written to and read from a folder."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import networkx as nx
import torch

from graphscore.artifacts.checkpoint import read_checkpoint, read_document, write_checkpoint
from graphscore.artifacts.document import MadeWith, ModelDocument, TrainingGraphs
from graphscore.artifacts.reading import REMEDY
from graphscore.artifacts.run_folder import RunFolder
from graphscore.artifacts.stored import settings_of
from graphscore.config import RunSettings, changed_settings
from graphscore.errors import CheckpointError, OutputError, SettingsError
from graphscore.graphs import GraphBatch, Schema
from graphscore.models import MODELS, Model, SizeDistribution
from graphscore.streams import visible
from graphscore.training.training_state import AVERAGE


@dataclass(frozen=True)
class Artifact:
    """A trained model and what is known of its training.

    Attributes:
        model: with averaged weights.
        training_graphs: name, number and digest of the training graphs.
        step: optimiser steps.
        seconds: training time.
        graphs: the training graphs, where they are still at hand.
        made_with: versions and device of the training, where that was not here and now.
    """

    model: Model
    training_graphs: TrainingGraphs
    step: int = 0
    seconds: float = 0.0
    graphs: Sequence[nx.Graph[Any]] | None = None
    made_with: MadeWith | None = None

    def rows(self) -> list[tuple[str, str]]:
        """Return what a person wants to know first, as pairs of a heading and a text."""
        model, graphs, (low, high) = self.model, self.training_graphs, self.model.sizes.range
        parameters = sum(weights.numel() for weights in model.weights().values())
        carried = dict(model.schema.in_words())
        found = {
            "model": model.settings.model,
            "trained on": f"{graphs.source}, {graphs.graphs} graphs",
            "nodes": f"{low} to {high}",
            "communities": model.communities and model.communities.in_words(),
            "learns": ", ".join(["edges", *carried]),
            **carried,
            "what nodes carry": model.nodes and model.nodes.in_words(),
            "steps": model.settings.steps and f"{self.step} of {model.settings.steps}",
            "parameters": parameters and f"{parameters}",
            "training time": f"{self.seconds:.0f} s",
        }
        return [(heading, str(text)) for heading, text in found.items() if text]

    def document(self, device: torch.device) -> ModelDocument:
        """Return everything but the weights."""
        return ModelDocument(
            settings=self.model.settings.model_dump(mode="json"),
            sizes=self.model.sizes.counts,
            learned=self.model.learned(),
            training_graphs=self.training_graphs,
            step=self.step,
            seconds=self.seconds,
            made_with=self.made_with or MadeWith.here(device),
        )

    def write(self, folder: Path, device: torch.device) -> None:
        """Write the model, without training state.

        Raises:
            OutputError: the folder is that of a run, or cannot be written.
        """
        if RunFolder(folder).is_run():
            raise OutputError(
                f"{folder}: is the folder of a run, which holds this model already and needs its "
                "training state to be resumed. Save to another folder."
            )
        weights = {f"{AVERAGE}{name}": t for name, t in self.model.weights().items()}
        write_checkpoint(folder, self.document(device), weights)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read a model from a checkpoint.

        Raises:
            CheckpointError: missing, truncated, edited, or written by another version.
        """
        document, tensors = read_checkpoint(folder)
        model = model_of(document, folder)
        averaged = [name for name in tensors if name.startswith(AVERAGE)]
        weights = {name.removeprefix(AVERAGE): tensors[name] for name in averaged}
        if model.network is not None:
            model.network.to_empty(device="cpu").load_state_dict(weights)
        return cls(
            model,
            document.training_graphs,
            step=document.step,
            seconds=document.seconds,
            made_with=document.made_with,
        )

    def check_run(self, folder: Path) -> None:
        """Refuse a folder whose run did not train this model.

        Raises:
            CheckpointError: it did not, or there is no run.
        """
        check_continues(folder, read_document(folder), self.model.settings, self.training_graphs)

    def check_same_graphs(self, guide: Artifact) -> None:
        """Refuse a guide model that was trained on other graphs.

        Raises:
            SettingsError: it was.
        """
        own, other = self.training_graphs, guide.training_graphs
        if own.sha256 != other.sha256:
            raise SettingsError(
                f"the model was trained on {own.source} ({own.graphs} graphs) and its guide on "
                f"{other.source} ({other.graphs} graphs), which are others, in another order, or "
                "with other attributes. Train both on the same."
            )

    def with_model(self, model: Model, *, seconds: float = 0.0) -> Artifact:
        """Return another model of the same training graphs, with some more training time."""
        return replace(self, model=model, seconds=self.seconds + seconds)


def model_of(document: ModelDocument, folder: Path) -> Model:
    """Return the model that a document describes, with weights still to be loaded.

    Its network takes no memory until then, see `Model.from_learned`.

    Raises:
        CheckpointError: its settings, or what it learned, are not those of a known model.
    """
    settings = settings_of(document, folder)
    try:
        sizes = SizeDistribution(document.sizes)
        return MODELS[settings.model].model.from_learned(settings, document.learned, sizes)
    except (AttributeError, KeyError, TypeError, ValueError, SettingsError) as error:
        raise CheckpointError(
            f"{folder}: what the model learned is not that of a {settings.model!r} of this version "
            f"of graphscore ({type(error).__name__}: {error!s:.300}). {REMEDY}"
        ) from None


def describe_graphs(data: GraphBatch, source: str, schema: Schema) -> TrainingGraphs:
    """Describe training graphs: their name, number, and a digest of their content and order."""
    digest = hashlib.sha256()
    digest.update(data.sizes.to(torch.int64).numpy().tobytes())
    digest.update((data.adj > 0).numpy().tobytes())
    for entries in (data.edge_entries, data.node_entries):
        if entries is not None:
            digest.update(entries.numpy().tobytes())
    if schema != Schema():
        digest.update(schema.model_dump_json().encode())
    # JSON has no place for the bytes of a file name that are no text.
    return TrainingGraphs(source=visible(source), graphs=len(data), sha256=digest.hexdigest())


def check_continues(
    path: Path, document: ModelDocument, settings: RunSettings, graphs: TrainingGraphs
) -> None:
    """Refuse to continue a run with other settings or graphs than it was started with.

    Raises:
        CheckpointError: they differ; the message says in what.
    """
    changed = changed_settings(settings_of(document, path), settings)
    if changed:
        raise CheckpointError(
            f"{path}: was started with other settings ({'; '.join(changed)}). "
            "Continue with the same ones, or start a new run."
        )
    if settings.steps < document.step:
        raise CheckpointError(
            f"{path}: was trained for {document.step} steps already, but {settings.steps} are "
            "asked for in all. Give at least as many, or start a new run."
        )
    before = document.training_graphs
    if before.sha256 != graphs.sha256:
        raise CheckpointError(
            f"{path}: was started on other graphs ({before.source}, {before.graphs} graphs). "
            "Continue with the same ones, or start a new run."
        )
