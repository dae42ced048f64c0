"""What a model is trained on, and what is held out to see whether it learns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
import torch

from graphscore.errors import GraphDataError
from graphscore.graphs import GraphBatch, PackedGraphs, Schema, given, prepare_graphs, sizes_of
from graphscore.models import Model, SizeDistribution
from graphscore.training.holdout import held_out_numbers
from graphscore.training.memory import available_memory

Graphs = Sequence["nx.Graph[Any]"]


@dataclass(frozen=True)
class TrainingData:
    """Graphs to train on and graphs held out.

    Attributes:
        graphs: what is trained on.
        held_out: others; empty if there are none.
        schema: what nodes and edges of `graphs` carry.
        own_split: whether they were taken from the same list.
    """

    graphs: Graphs
    held_out: Graphs
    schema: Schema
    own_split: bool = False

    @classmethod
    def of(
        cls,
        graphs: Graphs,
        schema_of: Callable[[Graphs], Schema],
        *,
        validation: given.Graphs | None,
        seed: int | None,
    ) -> TrainingData:
        """Hold out validation graphs, or else a tenth of the graphs where there are enough.

        A graph with a type of node or edge that none of the others has is not held out.

        Args:
            graphs: clean ones.
            schema_of: finds what nodes and edges of graphs carry.
            validation: graphs to hold out in place of some of `graphs`.
            seed: decides which are held out; None for none.

        Raises:
            GraphDataError: a graph cannot be represented, or lacks an attribute.
        """
        if validation is not None:
            schema = schema_of(graphs)
            others = prepare_graphs(
                validation,
                source="validation graphs",
                edge_attributes=schema.names.of_edges,
                split="val",
            )
            SizeDistribution.of(sizes_of(others))
            return cls(graphs, others, schema)
        numbers = [] if seed is None else held_out_numbers(len(graphs), seed)
        while True:
            left = np.setdiff1d(np.arange(len(graphs)), numbers)
            kept = chosen(graphs, left.tolist()) if numbers else graphs
            schema = schema_of(kept)
            known = [number for number in numbers if _is_known(graphs[number], schema)]
            if len(known) == len(numbers):
                return cls(kept, chosen(graphs, numbers), schema, own_split=bool(numbers))
            numbers = known

    def batch(self) -> GraphBatch:
        """Return what is trained on.

        Raises:
            GraphDataError: its matrices do not fit in memory.
        """
        largest = int(max(sizes_of(self.graphs)))
        needed = len(self.graphs) * largest**2 * (4 + self.schema.edge_width)
        available = available_memory(torch.device("cpu"))
        if available is not None and needed > available:
            raise GraphDataError(
                f"the matrices of {len(self.graphs)} graphs of up to {largest} nodes take "
                f"{needed / 1e9:.3g} GB of memory, and {available / 1e9:.3g} GB are left. Leave "
                "out the largest graphs, or train on subgraphs of them (--subgraphs 40)."
            )
        return GraphBatch.from_networkx(self.graphs, schema=self.schema)

    def held_out_batch(self, model: Model) -> GraphBatch | None:
        """Return what is held out as the model takes it; None for nothing.

        Raises:
            GraphDataError: a graph lacks an attribute, or has a value that no training graph has.
        """
        if not len(self.held_out):
            return None
        batch = GraphBatch.from_networkx(self.held_out, schema=self.schema)
        return model.batch_of(self.held_out, batch)


def chosen(graphs: Graphs, numbers: Sequence[int]) -> Graphs:
    """Return graphs by their numbers."""
    if isinstance(graphs, PackedGraphs):
        packed: Graphs = graphs[np.asarray(numbers, dtype=np.int64)]
        return packed
    return [graphs[number] for number in numbers]


def _is_known(graph: nx.Graph[Any], schema: Schema) -> bool:
    """Whether a graph carries nothing that the schema does not have."""
    try:
        schema.edge_entries([graph], len(graph))
        schema.node_entries([graph], len(graph))
    except GraphDataError:
        return False
    return True
