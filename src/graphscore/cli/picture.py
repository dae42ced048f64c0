"""The picture of `graphscore sample`: samples, beside training graphs where they are at hand."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphscore.streams import say

if TYPE_CHECKING:
    import networkx as nx

    from graphscore.artifacts import ModelPlace
    from graphscore.graphs import Schema

PICTURED = 16
"""Graphs of each kind."""
MOST_TRAINING_GRAPHS, MOST_TRAINING_BYTES, MOST_SECONDS = 5000, 8 * 2**20, 5.0
"""Limits of training graphs that are read again only to be drawn."""


def draw_samples(
    graphs: Sequence[nx.Graph[Any]], picture: Path, place: ModelPlace, schema: Schema
) -> None:
    """Draw graphs; say what is missing to draw molecules as such."""
    from graphscore.errors import MissingExtraError
    from graphscore.graphs.molecules import is_molecular, rdkit
    from graphscore.plots import draw_comparison

    try:
        if is_molecular(schema.names):
            rdkit("Drawing structural formulae")
    except MissingExtraError as error:
        say(f"{picture}: molecules are drawn as other graphs. {error}")
    known = training_graphs(place, schema)
    shown = graphs[:PICTURED]
    training = {} if known is None else {"training graphs": known[: len(shown)]}
    draw_comparison({**training, "samples": shown}, picture, schema=schema)


def training_graphs(place: ModelPlace, schema: Schema) -> Sequence[nx.Graph[Any]] | None:
    """Read the training graphs of a model again; None if they are not there as they were.

    Datasets of which the package has the graphs are read, and what a run was trained on where it
    is small. Graphs are the same if their digest is that of the model.
    """
    from graphscore.artifacts import RunFolder, describe_graphs, read_document, settings_of
    from graphscore.cli.data import ReadingOptions, load
    from graphscore.datasets import list_datasets
    from graphscore.errors import GraphscoreError
    from graphscore.graphs import NOTHING, GraphBatch
    from graphscore.models import MODELS
    from graphscore.training_data import TrainingData

    document = read_document(place.folder)
    known, settings = document.training_graphs, settings_of(document, place.folder)
    needs_download = {info.name: info.needs_download for info in list_datasets()}
    # A stranger's model alone is no reason to read the file that it names.
    is_run = RunFolder(place.folder).is_run()
    if known.graphs > MOST_TRAINING_GRAPHS or needs_download.get(known.source, not is_run):
        return None
    options = ReadingOptions(max_bytes=MOST_TRAINING_BYTES, max_read_seconds=MOST_SECONDS)
    names = schema.names
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graphs = load(
                known.source,
                options,
                split="train",
                edge_attributes=names.of_edges,
                structure_only=names == NOTHING,
            )
            if len(graphs) != known.graphs:  # some were held out
                schema_of = MODELS[settings.model].model.schema_of
                graphs = TrainingData.of(
                    graphs, lambda kept: schema_of(kept, names), validation=None, seed=settings.seed
                ).graphs
            found = describe_graphs(
                GraphBatch.from_networkx(graphs, schema=schema), known.source, schema
            )
    except (GraphscoreError, OSError):
        return None
    return graphs if found == known else None
