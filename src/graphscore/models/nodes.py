"""What nodes carry where it is taken and not learned: from training graphs, or as it is given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Self

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphscore.errors import GraphDataError, warn
from graphscore.graphs import Schema
from graphscore.graphs.attributes import Scale
from graphscore.graphs.schema import carried

MOST_KEPT = 200_000
"""Numbers that a model keeps of the nodes of its training graphs; its document has room for them.
Of more graphs, some are kept."""
Rows = NDArray[np.int64]
"""Places of the nodes of a graph among those of all."""


@dataclass(frozen=True, eq=False)
class KnownNodes:
    """The nodes of graphs and what they carry, p(X | N).

    What `SizeDistribution` is for the number of nodes.

    Attributes:
        schema: what they carry.
        sizes: nodes of each graph.
        types: (nodes,) the number of every node's type, one graph after the other; empty without.
        features: (nodes,F) as they are, in no units.

    Example:
        >>> from graphscore.graphs import AttributeSettings
        >>> graph = nx.path_graph(2)
        >>> nx.set_node_attributes(graph, {0: 0.5, 1: 2.0}, "h")
        >>> schema = Schema.of([graph], AttributeSettings(node_features=("h",)))
        >>> known = KnownNodes.of([graph], schema)
        >>> known.attributes(0)
        [{'h': 0.5}, {'h': 2.0}]
        >>> known.draw(torch.tensor([2, 4]), generator=torch.Generator()).sizes
        (2, 4)
    """

    schema: Schema
    sizes: tuple[int, ...]
    types: NDArray[np.int64]
    features: NDArray[np.float64]

    @classmethod
    def of(cls, graphs: Sequence[nx.Graph[Any]], schema: Schema) -> Self:
        """Return those of graphs, whose edges are not looked at.

        Raises:
            GraphDataError: a node lacks an attribute, or has one of another kind, or a number that
                the schema's units do not fit.
        """
        found = cls(schema, tuple(map(len, graphs)), *schema.node_values(graphs))
        wrong = ~found._fits()
        if wrong.any():
            of_graph = np.repeat(np.arange(len(graphs)), found.sizes)
            units = ", ".join(map(Scale.in_words, schema.node_features))
            raise GraphDataError(
                f"graph {of_graph[wrong.argmax()] + 1}: a node has a feature that the units of the "
                f"training graphs ({units}) have no place for. Give numbers like theirs; above 0 "
                "where the units are those of the logarithm."
            )
        return found

    def _fits(self) -> NDArray[np.bool_]:
        """Return which nodes have features that units and single precision hold."""
        finite: NDArray[np.bool_] = np.isfinite(
            self.schema.rows_of_nodes(self.types, self.features)
        ).all(1)
        return finite

    def _rows(self) -> list[Rows]:
        ends = np.cumsum(self.sizes)
        return [np.arange(end - size, end) for size, end in zip(self.sizes, ends)]

    def _chosen(self, rows: Sequence[Rows]) -> Self:
        """Return graphs whose nodes are in these places."""
        every = np.concatenate(rows)
        types = self.types[every] if len(self.types) else self.types
        return type(self)(self.schema, tuple(map(len, rows)), types, self.features[every])

    def chosen(self, places: Sequence[int]) -> Self:
        """Return the graphs at these places, which may occur several times."""
        rows = self._rows()
        return self._chosen([rows[place] for place in places])

    def kept(self, *, generator: torch.Generator) -> Self:
        """Return as many graphs as a model can keep, with a warning if that is not all.

        Of every number of nodes about as many, drawn at random.

        Raises:
            GraphDataError: not even one can be kept.
        """
        seen: Counter[int] = Counter()
        rank = {}
        for index in torch.randperm(len(self.sizes), generator=generator).tolist():
            rank[index] = seen[self.sizes[index]]
            seen[self.sizes[index]] += 1
        order = sorted(rank, key=rank.__getitem__)
        numbers = (self.schema.node_type is not None) + len(self.schema.node_features)
        totals = accumulate(1 + self.sizes[index] * numbers for index in order)
        few = sum(total <= MOST_KEPT for total in totals)
        if few == len(order):
            return self
        if not few:
            raise GraphDataError(
                f"a graph of {self.sizes[order[0]]} nodes with {numbers} attributes each: a model "
                f"keeps {MOST_KEPT} such numbers at most. Name fewer attributes."
            )
        warn(
            f"what nodes carry is kept of {few} of {len(order)} training graphs, as much as fits "
            "the document of a model. New graphs take theirs from these."
        )
        return self.chosen(sorted(order[:few]))

    def draw(self, sizes: Tensor, *, generator: torch.Generator) -> Self:
        """Draw a graph's nodes for each number of nodes.

        They are those of a graph with that many or, where there is none, of one with the nearest
        number: some of them, or all and some again.
        """
        rows, found = self._rows(), np.array(self.sizes)
        drawn = []
        for nodes in sizes.tolist():
            away = np.abs(found - nodes)
            fitting = np.flatnonzero(away == away.min())
            chosen = rows[fitting[int(torch.randint(len(fitting), (), generator=generator))]]
            if len(chosen) != nodes:
                order = torch.randperm(len(chosen), generator=generator).numpy()
                chosen = np.resize(chosen[order], nodes)
            drawn.append(chosen)
        return self._chosen(drawn)

    def entries(self, chosen: Sequence[int], width: int) -> Tensor:
        """Return the features (B,width,C) of the nodes of some graphs, as a network takes them."""
        rows = self._rows()
        entries = torch.zeros(len(chosen), width, self.schema.node_width)
        for place, index in zip(entries, chosen):
            of_graph = self._chosen([rows[index]])
            numbers = self.schema.rows_of_nodes(of_graph.types, of_graph.features)
            place[: len(numbers)] = torch.from_numpy(numbers)
        return entries

    def attributes(self, index: int) -> list[dict[str, Any]]:
        """Return the attributes of every node of a graph."""
        rows, schema = self._rows()[index], self.schema
        kinds = () if schema.node_type is None else self.types[rows].tolist()
        columns = carried(schema.node_type, kinds, schema.node_features, self.features[rows].T)
        return [dict(zip(columns, values)) for values in zip(*columns.values())]

    def in_words(self) -> str:
        """Return what new graphs do with it."""
        return f"taken from {len(self.sizes)} training graphs, not generated"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "sizes": [*self.sizes],
            "types": self.types.tolist(),
            "features": self.features.flatten().tolist(),
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any], schema: Schema, known: Mapping[int, int]) -> Self:
        """Return what `to_dict` gave as plain values.

        Args:
            schema: what the nodes carry.
            known: how many training graphs had each number of nodes.

        Raises:
            ValueError: they are something else, or not of these graphs.
        """
        if values.keys() != {"sizes", "types", "features"}:
            raise ValueError(f"{sorted(values)!r:.200} in place of what nodes carry")
        sizes = _numbers(values["sizes"], int)
        types = _numbers(values["types"], int)
        features = _numbers(values["features"], float)
        if not sizes or any(count > known.get(n, 0) for n, count in Counter(sizes).items()):
            raise ValueError("nodes of other graphs than the training graphs")
        total, width = sum(sizes), len(schema.node_features)
        of_types = 0 if schema.node_type is None else total
        if (len(types), len(features)) != (of_types, total * width):
            raise ValueError("attributes of more or fewer nodes than there are")
        if not all(0 <= number < schema.node_types for number in types):
            raise ValueError("a node of an unknown type")
        found = cls(
            schema,
            tuple(sizes),
            np.array(types, dtype=np.int64),
            np.array(features, dtype=np.float64).reshape(total, width),
        )
        if not found._fits().all():
            raise ValueError("a feature of a node that its units do not fit")
        return found


def _numbers(values: Any, kind: type) -> list[Any]:
    if not isinstance(values, list) or not all(type(value) is kind for value in values):
        raise ValueError(f"a list of numbers is expected, got {values!r:.60}")
    return values
