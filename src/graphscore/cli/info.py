"""`graphscore info`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphscore.cli.option_types import Flag
from graphscore.cli.tables import print_json, print_table

if TYPE_CHECKING:
    from graphscore.artifacts import ModelCard, ModelPlace
    from graphscore.artifacts.document import ModelDocument


def info(run: str | None = None, *, json: Flag = False) -> int:
    """Show what the run folder RUN holds, or the card of a pretrained model.

    Without RUN, the pretrained models that come with the package are listed.

    Parameters
    ----------
    run
        Folder that `graphscore train` or `GraphGenerator.save` wrote, or the name of a model that
        comes with the package. An existing path takes precedence.
    json
        Print it as JSON.
    """
    from graphscore.artifacts import find_model, read_card, read_checkpoint

    if run is None:
        _list_pretrained(json=json)
        return 0
    place = find_model(run)
    document, _ = read_checkpoint(place.folder)  # a card beside a damaged model is not believed
    card = read_card(place.folder)
    # Nor is one that was written for other weights.
    if card is not None and document.tensors is not None:
        own = card.weights.get("sha256") == document.tensors.sha256
        card = card if own else None
    if card is None:
        report(place.folder, json=json, document=document)
    else:
        _show_card(card, place, json=json)
    return 0


def _list_pretrained(*, json: bool) -> None:
    from graphscore.artifacts import list_pretrained, pretrained_folder, read_card

    cards = {name: read_card(pretrained_folder(name)) for name in list_pretrained()}
    if json:
        print_json({name: card and card.to_dict() for name, card in cards.items()})
        return
    rows = [
        [name, card.data["source"], f"{card.parameters}", f"{card.steps}", f"{card.seconds:.0f}"]
        for name, card in cards.items()
        if card is not None
    ]
    title = "Models that come with graphscore: graphscore info NAME, graphscore sample NAME"
    print_table(title, ["", "trained on", "parameters", "steps", "seconds"], rows, text=2)


def _show_card(card: ModelCard, place: ModelPlace, *, json: bool) -> None:
    if json:
        print_json(
            {"run": str(place.folder), "pretrained": bool(place.pretrained), **card.to_dict()}
        )
        return
    origin = "comes with graphscore" if place.pretrained else str(place.folder)
    print_table(f"{card.name} ({origin})", ["", ""], [list(row) for row in card.rows()], text=2)
    if card.metrics:
        title = card.about_metrics()
        # One column for each evaluation: there are two or three, and ten numbers in each.
        names, *numbers = card.metric_columns()
        print_table(title, names, numbers)


def report(
    run: Path,
    *,
    json: bool,
    more: Mapping[str, Any] | None = None,
    document: ModelDocument | None = None,
) -> None:
    """Show what a run folder holds, as JSON with what is given besides.

    Args:
        document: of its checkpoint, where that was read already.
    """
    from graphscore.artifacts import Artifact, RunFolder, model_of, read_checkpoint
    from graphscore.settings import in_one_line

    document = document or read_checkpoint(run)[0]
    model = model_of(document, run)
    last = RunFolder(run).log.last({"loss", "summed", "per_pair"})
    low, high = min(document.sizes), max(document.sizes)
    settings, graphs = model.settings.model_dump(mode="json"), document.training_graphs
    steps, communities = model.settings.steps, model.communities
    schema, nodes = model.schema, model.nodes
    record = {
        "run": str(run),
        "model": settings["model"],
        "trained_on": graphs.source,
        "graphs": graphs.graphs,
        "nodes": [low, high],
        "communities": None if communities is None else communities.to_dict(),
        "schema": schema.model_dump(mode="json"),
        "nodes_taken_from": None if nodes is None else len(nodes.sizes),
        "step": document.step,
        "steps": steps,
        "finished": document.step >= steps,
        "loss": last["loss"] if last else None,
        "loss_summed": last["summed"] if last else None,
        "loss_per_pair": last["per_pair"] if last else None,
        "seconds": document.seconds,
        "made_with": document.made_with.model_dump(),
        "settings": settings,
        "files": _files(run),
    }
    if json:
        print_json({**record, **(more or {})})
        return
    rows = [
        *map(list, Artifact(model, graphs, document.step, document.seconds).rows()),
        *([_loss_row(last, settings)] if last else []),
        ["made with", in_one_line(record["made_with"])],
        ["files", ", ".join(record["files"])],
        *[[name, in_one_line(part)] for name, part in settings.items() if isinstance(part, dict)],
        ["seed", str(settings["seed"])],
    ]
    print_table(str(run), ["", ""], rows, text=2)


def _files(run: Path) -> list[str]:
    """The names of the files in a folder, without hidden ones."""
    from graphscore.errors import CheckpointError

    try:
        return sorted(name for name in os.listdir(run) if not name.startswith("."))
    except OSError as error:
        raise CheckpointError(
            f"{run}: cannot be listed ({error.strerror}). Change its permissions."
        ) from None


def _loss_row(last: Mapping[str, Any], settings: Mapping[str, Any]) -> list[str]:
    """What is minimised, and its last value."""
    objective = settings.get("objective")
    if objective is not None:
        return [f"loss ({objective['loss']})", f"{last['loss']:.4f} per pair"]
    return [
        "loss (equation 3)",
        f"{last['loss']:.2f} (summed over levels, as in the paper's tables: "
        f"{last['summed']:.1f}; per pair: {last['per_pair']:.3f})",
    ]
