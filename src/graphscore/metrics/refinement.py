"""Coloured graphs, their equitable partitions, and the parts that partitions leave to compare.

A partition of the nodes into cells is equitable if all nodes of a cell have equally many neighbours
in every cell. Everything here depends on the graph and its colours only, never on the numbering of
its nodes, except for the order of nodes inside a cell.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

Rows = list[list[int]]
"""The neighbours of each node."""

Key = tuple[tuple[int, ...], ...]

Count = Callable[[int], None]


@dataclass(frozen=True)
class ColouredGraph:
    """A simple graph whose nodes have colours.

    Attributes:
        rows: the neighbours of each node.
        colours: the colour of each node.

    Example:
        >>> graph = ColouredGraph([[1], [0], []], [5, 7, 7])
        >>> graph.components(), graph.part([1, 0])
        ([[0, 1], [2]], ColouredGraph(rows=[[1], [0]], colours=[7, 5]))
    """

    rows: Rows
    colours: list[int]

    def part(self, nodes: Sequence[int]) -> ColouredGraph:
        """Return the graph on some of the nodes, which have no neighbour outside."""
        place = {node: index for index, node in enumerate(nodes)}
        rows = [[place[other] for other in self.rows[node]] for node in nodes]
        return ColouredGraph(rows, [self.colours[node] for node in nodes])

    def components(self) -> Rows:
        """Return the nodes of each connected component."""
        seen = [False] * len(self.rows)
        found: Rows = []
        for start in range(len(self.rows)):
            if seen[start]:
                continue
            seen[start] = True
            reached = [start]
            for node in reached:
                for other in self.rows[node]:
                    if not seen[other]:
                        seen[other] = True
                        reached.append(other)
            found.append(reached)
        return found

    def variety(self, node: int) -> int:
        """Return how many colours the neighbours of a node have."""
        return len({self.colours[other] for other in self.rows[node]})

    def marked(self, node: int) -> ColouredGraph:
        """Return the graph, coloured by numbers of cells, with a colour of its own for one node."""
        colours = self.colours.copy()
        colours[node] = len(colours)
        return ColouredGraph(self.rows, colours)


@dataclass(frozen=True)
class Partition:
    """The coarsest equitable partition of a coloured graph that refines its colours.

    Attributes:
        cells: the nodes of each cell; numbered alike for isomorphic coloured graphs.
        cell_of: the number of the cell of each node.
        key: colour, size and numbers of neighbours in other cells of every cell. Two graphs with
            equal keys differ at most in which nodes of the cells are joined.
    """

    cells: Rows
    cell_of: list[int]
    key: Key

    @classmethod
    def of(
        cls, graph: ColouredGraph, changed: Iterable[int] | None = None, count: Count | None = None
    ) -> Partition:
        """Refine the colours of a graph.

        Args:
            changed: if given, the colours were equitable before some nodes got these colours.
            count: called with the number of neighbours that are looked at next.

        Example:
            >>> Partition.of(ColouredGraph([[1], [0, 2], [1]], [0, 0, 0])).cells
            [[0, 2], [1]]
        """
        colours = sorted(set(graph.colours))
        number = {colour: index for index, colour in enumerate(colours)}
        cell_of = [number[colour] for colour in graph.colours]
        start = [number[colour] for colour in (colours if changed is None else changed)]
        _refine(graph.rows, cell_of, start, count)
        cells = _cells(cell_of)
        key = tuple(
            (graph.colours[cell[0]], len(cell), *_neighbour_counts(graph.rows[cell[0]], cell_of))
            for cell in cells
        )
        return cls(cells, cell_of, key)

    def sparse(self, graph: ColouredGraph) -> ColouredGraph:
        """Return the graph with cells as colours and few edges, in which the same is left to find.

        Between two cells, and inside one, the edges are replaced by the missing ones where these
        are fewer. An isomorphism that keeps cells is one for both, so cells that are joined
        completely fall apart, as do unions of cells seen through their complement.
        """
        dense: list[list[int]] = [[] for _ in self.cells]
        for index, row in enumerate(self.key):
            for other, joined in zip(row[2::2], row[3::2]):
                if 2 * joined > len(self.cells[other]) - (other == index):
                    dense[index].append(other)
        rows = [
            self._complemented(node, row, dense[index]) if dense[index] else row
            for node, (row, index) in enumerate(zip(graph.rows, self.cell_of))
        ]
        return ColouredGraph(rows, self.cell_of)

    def _complemented(self, node: int, row: Sequence[int], dense: Iterable[int]) -> list[int]:
        near, flipped = {node, *row}, set(dense)
        kept = [other for other in row if self.cell_of[other] not in flipped]
        for index in flipped:
            kept.extend(other for other in self.cells[index] if other not in near)
        return kept


def _neighbour_counts(row: Sequence[int], cell_of: Sequence[int]) -> list[int]:
    """Return cell, number of neighbours in it, next cell, ... in the order of cells."""
    counts: dict[int, int] = {}
    for other in row:
        index = cell_of[other]
        counts[index] = counts.get(index, 0) + 1
    return [value for pair in sorted(counts.items()) for value in pair]


def _cells(cell_of: Sequence[int]) -> Rows:
    """Return the nodes of each cell, in ascending order."""
    cells: Rows = [[] for _ in range(max(cell_of, default=-1) + 1)]
    for node, index in enumerate(cell_of):
        cells[index].append(node)
    return cells


def _refine(rows: Rows, cell_of: list[int], start: Iterable[int], count: Count | None) -> None:
    """Split cells in place until all are equitable, beginning with what some cells distinguish.

    Nodes that leave a cell are not removed from its list, because finding them there would take
    time for every node that stays. `cell_of` tells which nodes are left.
    """
    cells = _cells(cell_of)
    sizes = list(map(len, cells))
    waiting = deque(start)
    while waiting and len(cells) < len(rows):
        using = waiting.popleft()
        splitter = [node for node in cells[using] if cell_of[node] == using]
        if count is not None:
            count(sum(len(rows[node]) for node in splitter))
        joined: dict[int, int] = {}
        for node in splitter:
            for other in rows[node]:
                joined[other] = joined.get(other, 0) + 1
        touched: dict[int, dict[int, list[int]]] = {}
        for node, times in joined.items():
            index = cell_of[node]
            if sizes[index] > 1:
                touched.setdefault(index, {}).setdefault(times, []).append(node)
        for index in sorted(touched):
            parts, cell = touched[index], cells[index]
            lengths = [len(part) for part in parts.values()]
            rest = sizes[index] - sum(lengths)
            if rest >= max(lengths):
                parts[0] = cell
            elif rest:
                left = [node for node in cell if cell_of[node] == index]
                parts[0] = [node for node in left if node not in joined]
            ordered = [parts[times] for times in sorted(parts)]
            # The largest part keeps the number. If the cell was used before, this part tells
            # nothing that the cell and the other parts do not; if it is waiting, it still is.
            largest = max(range(len(ordered)), key=lambda place: len(ordered[place]))
            cells[index] = ordered.pop(largest)
            for part in ordered:
                sizes[index] -= len(part)
                sizes.append(len(part))
                for node in part:
                    cell_of[node] = len(cells)
                waiting.append(len(cells))
                cells.append(part)
