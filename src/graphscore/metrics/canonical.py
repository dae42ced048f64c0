"""Which coloured graphs are isomorphic: an exact search that can be stopped and may give up.

Graphs are told apart by equitable partitions, then by the classes of the components that are left
(`Partition.sparse`). Only a component whose nodes no partition tells apart is searched: it is
isomorphic to a known one exactly if it is with one of its nodes marked, the known one having a
given node marked, and marking a node makes a smaller question of the same kind. Every class is
numbered and remembered, so that symmetries shorten the search instead of multiplying it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from itertools import count

from graphscore.metrics.refinement import ColouredGraph, Key, Partition


class OutOfStepsError(Exception):
    """A search reached its limit; nothing was decided."""


@dataclass
class _Kind:
    """The components met so far that have the same key.

    Attributes:
        first: the first of them, its node to mark and its class.
        by_marked: class of a component with a node marked, to its own class; empty until there is
            something to compare with the first.
    """

    first: tuple[ColouredGraph, int, int] | None = None
    by_marked: dict[int, int] = field(default_factory=dict)


class CanonicalClasses:
    """Numbers for coloured graphs, equal exactly for isomorphic ones.

    Attributes:
        steps_left: how many steps may still be taken; to be set before they are. A step looks at a
            node or at one of its neighbours.

    Example:
        >>> classes = CanonicalClasses()
        >>> classes.steps_left = 100
        >>> path = ColouredGraph([[1], [0, 2], [1]], [0, 0, 0])
        >>> same = ColouredGraph([[1, 2], [0], [0]], [0, 0, 0])
        >>> triangle = ColouredGraph([[1, 2], [0, 2], [0, 1]], [0, 0, 0])
        >>> [classes.label(graph, classes.refined(graph)) for graph in (path, same, triangle)]
        [0, 0, 1]
    """

    steps_left: int

    def __init__(self) -> None:
        self._unused = count()
        self._labels: defaultdict[Hashable, int] = defaultdict(self._unused.__next__)
        self._kinds: defaultdict[Key, _Kind] = defaultdict(_Kind)

    def refined(self, graph: ColouredGraph, changed: Iterable[int] | None = None) -> Partition:
        """Return `Partition.of` a graph, if enough steps are left for it and for using it once.

        Raises:
            OutOfStepsError: no step is left.
        """
        self._count(len(graph.rows) + sum(map(len, graph.rows)))
        return Partition.of(graph, changed, self._count)

    def label(self, graph: ColouredGraph, partition: Partition) -> int:
        """Return the number of the class of a graph with a given equitable partition.

        Raises:
            OutOfStepsError: no step is left. What was found until then is kept.
        """
        if len(partition.cells) == len(graph.rows):
            return self._labels[partition.key]
        sparse = partition.sparse(graph)
        parts = sparse.components()
        if len(parts) == 1:
            return self._search(sparse, partition)
        found: list[int] = []
        for nodes in parts:
            if len(nodes) > 1:  # the number of nodes without edges follows from the key
                part = sparse.part(nodes)
                found.append(self.label(part, self.refined(part, ())))
        return self._labels[partition.key, tuple(sorted(found))]

    def _search(self, graph: ColouredGraph, partition: Partition) -> int:
        """Return the class of a connected graph with its cells as colours, none a single node."""
        # Marking a node tells most where its cell is joined to many others.
        cell = min(partition.cells, key=lambda cell: (-graph.variety(cell[0]), len(cell)))
        kind = self._kinds[partition.key]
        # Classes with a marked node are compared within one kind only: the key is not in them.
        found: list[int] = []
        if kind.first is not None:
            if not kind.by_marked:
                first, node, label = kind.first
                kind.by_marked[self._marked_label(first, node)] = label
            for node in cell:
                marked = self._marked_label(graph, node)
                if marked in kind.by_marked:
                    return kind.by_marked[marked]
                found.append(marked)
        label = next(self._unused)
        if kind.first is None:
            kind.first = graph, cell[0], label
        kind.by_marked.update(dict.fromkeys(found, label))
        return label

    def _marked_label(self, graph: ColouredGraph, node: int) -> int:
        marked = graph.marked(node)
        return self.label(marked, self.refined(marked, [marked.colours[node]]))

    def _count(self, steps: int) -> None:
        self.steps_left -= steps
        if self.steps_left < 0:
            raise OutOfStepsError
