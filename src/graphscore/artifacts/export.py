"""Make the folder of a pretrained model from a trained run."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graphscore.artifacts import registry
from graphscore.artifacts.artifact import model_of
from graphscore.artifacts.card import CARD, README, ModelCard
from graphscore.artifacts.checkpoint import read_checkpoint, read_document, write_checkpoint
from graphscore.artifacts.document import ModelDocument
from graphscore.atomic import write_folder
from graphscore.datasets import list_datasets
from graphscore.errors import CheckpointError, GraphscoreError, OutputError
from graphscore.models import CommunityDistribution
from graphscore.training.training_state import AVERAGE

MAX_BYTES = 5_000_000
_NAMES = {"many": "samples", "mmd": "samples"}
"""Names in records that say little outside them."""


def export_model(
    run: Path,
    name: str,
    *,
    metrics: Mapping[str, Any] | None = None,
    sampling: Mapping[str, Any] | None = None,
    provenance: Mapping[str, Any] | None = None,
    note: str = "",
    models: Path | None = None,
    replace: bool = False,
    half: bool = False,
    unfinished: bool = False,
) -> Path:
    """Write the averaged weights of a run, without its training state, and a card.

    Args:
        run: folder of a run or of a saved model.
        name: of the model; a dataset's name adds its description and licence to the card.
        metrics: evaluations by name; a record that holds them is searched with `evaluations`.
        sampling: sampling settings that the model is to be used with, where they differ from the
            run's (those chosen on validation graphs, for instance).
        provenance: joined to what the run says of itself.
        models: folder to put it in, the package's own by default.
        replace: over a model of the same name.
        half: store weights in half precision; they are read as single precision.
        unfinished: also where the training was stopped before its last step.

    Returns:
        The new folder.

    Raises:
        CheckpointError: the run is missing or damaged, or has not been trained to its end.
        OutputError: the name is taken, or the folder would be larger than 5 MB.
    """
    document, tensors = read_checkpoint(run)
    weights = {key: tensor for key, tensor in tensors.items() if key.startswith(AVERAGE)}
    model = model_of(document, run)
    if document.step < model.settings.steps and not unfinished:
        raise CheckpointError(
            f"{run}: trained for {document.step} of {model.settings.steps} steps. "
            "Resume it to the end before it is exported."
        )
    if half:
        weights = {key: tensor.half() for key, tensor in weights.items()}
        if not all(bool(tensor.isfinite().all()) for tensor in weights.values()):
            raise OutputError(f"{run}: has weights that half precision cannot hold. Export all.")
    if sampling:
        model = model.with_options(sampling=dict(sampling))
    settings = model.settings.model_dump(mode="json")
    target = (models or registry.MODELS) / name
    if target.exists() and not replace:
        raise OutputError(f"{target}: a model of that name is there already. Say so to replace it.")
    network = model.network
    parameters = 0 if network is None else sum(p.numel() for p in network.parameters())
    with tempfile.TemporaryDirectory() as scratch:
        stage = Path(scratch) / name
        write_checkpoint(stage, document.model_copy(update={"settings": settings}), weights)
        card = make_card(
            name, read_document(stage), parameters, metrics or {}, provenance or {}, note
        )
        (stage / CARD).write_text(card.to_json(), encoding="utf-8")
        (stage / README).write_text(card.to_markdown(), encoding="utf-8")
        files = {path.name: path.read_bytes() for path in sorted(stage.iterdir())}
    size = sum(len(content) for content in files.values())
    if size > MAX_BYTES:
        raise OutputError(
            f"{run}: the model takes {size / 1e6:.2f} MB, but what comes with the package stays "
            f"below {MAX_BYTES / 1e6:g} MB. Train a narrower network."
        )
    # Complete beside the old model before that is removed.
    complete = target.with_name(f".{name}.new")
    shutil.rmtree(complete, ignore_errors=True)
    write_folder(complete, files)
    if target.exists():
        shutil.rmtree(target)
    return complete.rename(target)


def evaluations(record: Any) -> dict[str, dict[str, Any]]:
    """Find the evaluations in a record, by the names they have there.

    Takes what `graphscore evaluate --json` prints, the `metrics.json` of a demo, and rows of
    results files, of molecules too. Shares of valid graphs go with the samples they were counted
    in.

    Raises:
        GraphscoreError: there are none.

    >>> numbers = {"degree": 0, "clustering": 0, "orbit": 0, "average": 0, "sample_count": 8}
    >>> list(evaluations({"metrics": {"samples": numbers}}))
    ['samples']
    """
    needed = {"degree", "clustering", "orbit", "average", "sample_count"}
    if isinstance(record, dict):
        inner = record["metrics"] if isinstance(record.get("metrics"), dict) else record
        found = {
            _NAMES.get(key, key.replace("_", " ")): value
            for key, value in inner.items()
            if isinstance(value, dict) and needed <= value.keys()
        }
        shares = inner.get("vun")
        if isinstance(shares, dict) and "samples" in found:
            found["samples"] = {**found["samples"], "valid": shares["valid"], "vun": shares["vun"]}
        if found:
            return found
        if {"fcd", "nspdk", "valid", "sample_count"} <= inner.keys():
            return {"samples": _of_molecules(inner)}
    raise GraphscoreError(
        "no evaluations found: an object with degree, clustering, orbit, average and sample_count, "
        "under its name, is needed. `graphscore evaluate --json` prints such."
    )


def _of_molecules(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers of a `MoleculeResult` under the names of a card."""
    shares = {"valid": "valid", "connected": "connected", "unique": "uniqueness"}
    shares["novel"] = "novelty"
    return {
        **{name: record[name] for name in ("sample_count", "fcd", "nspdk")},
        **{shown: record[name]["share"] for name, shown in shares.items() if record.get(name)},
    }


def make_card(
    name: str,
    document: ModelDocument,
    parameters: int,
    metrics: Mapping[str, Any],
    provenance: Mapping[str, Any],
    note: str,
) -> ModelCard:
    """Return the card of a model from its document and its evaluations."""
    graphs = document.training_graphs
    known = {info.name: info for info in list_datasets()}.get(graphs.source)
    data: dict[str, Any] = {
        **graphs.model_dump(),
        "nodes": [min(document.sizes), max(document.sizes)],
    }
    counts = document.learned.get("communities")
    if counts is not None:
        data["communities"] = CommunityDistribution.from_dict(counts).in_words()
    if known is not None:
        data |= {
            "description": known.description,
            "origin": known.source,
            "licence": known.licence,
        }
    assert document.tensors is not None
    return ModelCard(
        name=name,
        data=data,
        settings=document.settings,
        steps=document.step,
        seconds=document.seconds,
        parameters=parameters,
        weights=document.tensors.model_dump(),
        metrics=dict(metrics),
        provenance={**document.made_with.model_dump(), **provenance},
        note=note,
    )
