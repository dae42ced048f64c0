"""Make the folder of a shipped model from a trained run."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from graphscore.assembly import make_network
from graphscore.atomic import write_folder
from graphscore.config import RunSettings
from graphscore.datasets import list_datasets
from graphscore.errors import CheckpointError, GraphscoreError, OutputError
from graphscore.pretrained import shelf
from graphscore.pretrained.card import CARD, README, ModelCard
from graphscore.sampling import CommunityDistribution
from graphscore.training.checkpoint import read_checkpoint, read_document, write_checkpoint
from graphscore.training.training_state import AVERAGE

MAX_BYTES = 2_000_000
_NAMES = {"many": "samples", "mmd": "samples"}
"""Names in records that say little outside them."""


def ship_model(
    run: Path,
    name: str,
    *,
    metrics: Mapping[str, Any] | None = None,
    sampling: Mapping[str, Any] | None = None,
    provenance: Mapping[str, Any] | None = None,
    note: str = "",
    models: Path | None = None,
    replace: bool = False,
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

    Returns:
        The new folder.

    Raises:
        CheckpointError: the run is missing or damaged, or has not been trained to its end.
        OutputError: the name is taken, or the folder would be larger than 2 MB.
    """
    document, tensors = read_checkpoint(run)
    weights = {key: tensor for key, tensor in tensors.items() if key.startswith(AVERAGE)}
    settings = RunSettings(**document["settings"])
    if document["step"] < settings.training.steps:
        raise CheckpointError(
            f"{run}: trained for {document['step']} of {settings.training.steps} steps. "
            "Resume it to the end before it is shipped."
        )
    if sampling:
        same = sampling.get("sampler", settings.sampling.sampler) == settings.sampling.sampler
        usual = settings.sampling.model_dump() if same else {}
        settings = settings.replaced(sampling={**usual, **sampling})
    document["settings"] = settings.model_dump(mode="json")
    target = (models or shelf.MODELS) / name
    if target.exists() and not replace:
        raise OutputError(f"{target}: a model of that name is there already. Say so to replace it.")
    with tempfile.TemporaryDirectory() as scratch:
        stage = Path(scratch) / name
        body = {key: value for key, value in document.items() if key not in ("step", "tensors")}
        write_checkpoint(stage, document["step"], body, weights)
        network = make_network(settings, density=0.5, generator=torch.Generator())
        parameters = sum(parameter.numel() for parameter in network.parameters())
        card = _card(name, read_document(stage), parameters, metrics or {}, provenance or {}, note)
        (stage / CARD).write_text(card.to_json(), encoding="utf-8")
        (stage / README).write_text(card.to_markdown(), encoding="utf-8")
        files = {path.name: path.read_bytes() for path in sorted(stage.iterdir())}
    size = sum(len(content) for content in files.values())
    if size > MAX_BYTES:
        raise OutputError(
            f"{run}: the model takes {size / 1e6:.2f} MB, but what comes with the package stays "
            f"below {MAX_BYTES / 1e6:g} MB. Train a narrower network."
        )
    if target.exists():
        shutil.rmtree(target)
    write_folder(target, files)
    return target


def evaluations(record: Any) -> dict[str, dict[str, Any]]:
    """Find the evaluations in a record, by the names they have there.

    Takes what `graphscore evaluate --json` prints, the `metrics.json` of a demo, and rows of
    results files. Shares of valid graphs go with the samples they were counted in.

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
    raise GraphscoreError(
        "no evaluations found: an object with degree, clustering, orbit, average and sample_count, "
        "under its name, is needed. `graphscore evaluate --json` prints such."
    )


def _card(
    name: str,
    document: dict[str, Any],
    parameters: int,
    metrics: Mapping[str, Any],
    provenance: Mapping[str, Any],
    note: str,
) -> ModelCard:
    sizes = [int(size) for size in document["sizes"]]
    origin = document["training_graphs"]
    known = {info.name: info for info in list_datasets()}.get(origin["source"])
    about = {} if known is None else {"description": known.description, "origin": known.source}
    licence = {} if known is None else {"licence": known.licence}
    counts = document.get("communities")
    told = (
        {}
        if counts is None
        else {"communities": CommunityDistribution.from_dict(counts).in_words()}
    )
    return ModelCard(
        name=name,
        data={**origin, "nodes": [min(sizes), max(sizes)], **told, **about, **licence},
        settings=document["settings"],
        steps=document["step"],
        seconds=document["seconds"],
        parameters=parameters,
        weights=document["tensors"],
        metrics=dict(metrics),
        provenance={**document["made_with"], **provenance},
        note=note,
    )
