"""Convert a model of checkpoint version 1 to version 2, as was done with the pretrained ones.

    python scripts/convert_v1.py OLD_FOLDER NEW_FOLDER

The weights are the same under new names; the prior density of edges moves from the tensors to the
document, settings get explicit kinds, and the card beside the model is written anew.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from safetensors.torch import load
from torch import Tensor

from graphscore.artifacts.card import CARD, README, ModelCard
from graphscore.artifacts.checkpoint import DOCUMENT, read_document, write_checkpoint
from graphscore.artifacts.document import MadeWith, ModelDocument, TrainingGraphs
from graphscore.artifacts.export import make_card
from graphscore.atomic import check_folder_target
from graphscore.errors import CheckpointError, GraphscoreError
from graphscore.models import MODELS

AVERAGE = "average."


def read_v1(folder: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Read and verify a checkpoint of version 1."""
    try:
        body = json.loads((folder / DOCUMENT).read_text(encoding="utf-8"))
        digest = body.pop("digest", None)
    except (OSError, ValueError, AttributeError) as error:
        raise CheckpointError(f"{folder}: no checkpoint here ({error}).") from None
    expected = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    if body.get("version") != 1 or digest != expected:
        raise CheckpointError(f"{folder}: not an intact checkpoint of version 1.")
    file = folder / body["tensors"]["file"]
    payload = file.read_bytes() if file.is_file() else b""
    if hashlib.sha256(payload).hexdigest() != body["tensors"]["sha256"]:
        raise CheckpointError(f"{file}: missing, or changed after it was written.")
    return body, load(payload)


def convert_network(old: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a network under their new names."""
    new = {"kind": old.get("kind", "edp-gnn"), **old}
    if "closed_form" in new:
        new["analytic_skip"] = new.pop("closed_form")
    return new


def convert_sampling(old: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a sampler under their new names."""
    new = dict(old)
    kind = new.pop("sampler", "langevin")
    if kind == "renoising":
        kind = "ancestral"
        new["noise"] = {"fresh": "independent", "bridge": "posterior"}[new["noise"]]
    return {"kind": kind, **new}


def convert_settings(old: dict[str, Any]) -> dict[str, Any]:
    """Return complete settings of version 2."""
    new: dict[str, Any] = {
        "seed": old["seed"],
        "network": convert_network(old["network"]),
        "training": old["training"],
        "sampling": convert_sampling(old["sampling"]),
    }
    denoising = old.get("denoising")
    if denoising is None:
        new |= {"model": "edp-gnn", "noise": old["noise"]}
    else:
        objective = {key: denoising[key] for key in ("loss", "half_precision")}
        levels = denoising["sigma_range"]
        new |= {"model": "denoiser", "noise": levels, "objective": objective}
        if new["sampling"]["kind"] == "langevin":
            low, high = levels["sigma_min"], levels["sigma_max"]
            within = [sigma for sigma in old["noise"]["sigmas"] if low <= sigma <= high]
            new["sampling"]["sigmas"] = within or [low]
        if old.get("guide") is not None:
            network = convert_network(old["guide"]["network"])
            new["guide"] = {**old["guide"], "network": network, "noise": levels}
    return MODELS[new["model"]].model.Settings(**new).model_dump(mode="json")


def convert_names(tensors: dict[str, Tensor], settings: dict[str, Any]) -> dict[str, Tensor]:
    """Return averaged weights under their new names, without the prior and the training state."""
    guide = settings.get("guide")
    converted = {}
    for name, tensor in tensors.items():
        if not name.startswith(AVERAGE) or name.split(".")[-1] == "prior":
            continue
        part, inner = "network", name.removeprefix(AVERAGE)
        if guide is not None:
            part, inner = inner.split(".", 1)
        if settings["model"] == "denoiser":
            shape = guide["network"] if guide and part == "guide" else settings["network"]
            # Of an EDP-GNN that denoises, the network was inside already.
            inner = inner if shape["kind"] == "edp-gnn" else f"network.{inner}"
            inner = inner if guide is None else f"{part}.{inner}"
        converted[f"{AVERAGE}{inner.replace('.look.', '.projection.')}"] = tensor
    return converted


def likelihood_of(prior: Tensor) -> dict[str, Any]:
    """Return the prior of edges as the document has it."""
    lines = prior.view(-1, 2).tolist()
    named = dict(zip(("density", "within"), ({"level": a, "slope": b} for a, b in lines)))
    return {"kind": "bernoulli-edges", **named}


def learned_of(tensors: dict[str, Tensor]) -> dict[str, Any]:
    """Return the likelihood of a model, and of its guide model, from the tensors."""
    names = {
        "prior": "likelihood",
        "network.prior": "likelihood",
        "guide.prior": "guide_likelihood",
    }
    return {
        new: likelihood_of(tensors[f"{AVERAGE}{old}"])
        for old, new in names.items()
        if f"{AVERAGE}{old}" in tensors
    }


def convert(old: Path, new: Path) -> None:
    """Write the model of one folder in version 2 to another.

    Raises:
        CheckpointError: there is no intact model of version 1.
        OutputError: the other folder is not empty.
    """
    check_folder_target(new)
    body, tensors = read_v1(old)
    settings = convert_settings(body["settings"])
    learned = learned_of(tensors)
    if "communities" in body:
        learned["communities"] = body["communities"]
    document = ModelDocument(
        settings=settings,
        sizes=body["sizes"],
        learned=learned,
        training_graphs=TrainingGraphs(**body["training_graphs"]),
        step=body["step"],
        seconds=body["seconds"],
        made_with=MadeWith(**body["made_with"]),
    )
    write_checkpoint(new, document, convert_names(tensors, settings))
    if (old / CARD).is_file():
        card = ModelCard(**json.loads((old / CARD).read_text(encoding="utf-8")))
        remade = make_card(
            card.name, read_document(new), card.parameters, card.metrics, card.provenance, card.note
        )
        (new / CARD).write_text(remade.to_json(), encoding="utf-8")
        (new / README).write_text(remade.to_markdown(), encoding="utf-8")


def main(tokens: list[str] | None = None) -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", type=Path, help="folder of the model, version 1")
    parser.add_argument("new", type=Path, help="folder to write")
    given = parser.parse_args(tokens)
    try:
        convert(given.old, given.new)
    except GraphscoreError as error:
        sys.exit(f"convert_v1: {error}")


if __name__ == "__main__":
    main()
