"""Which graphs of a set are isomorphic."""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import numpy.typing as npt
import rustworkx

from graphscore.errors import warn
from graphscore.graphs import AttributeSettings
from graphscore.metrics.attributes import columns_of
from graphscore.metrics.canonical import CanonicalClasses, OutOfStepsError
from graphscore.metrics.disjoint_union import EDGE_TYPES, NODE_TYPES, GraphUnion, IntArray
from graphscore.metrics.orbits import union_orbit_counts
from graphscore.metrics.refinement import ColouredGraph

Hashes = npt.NDArray[np.uint64]

MAX_STEPS = 2_000_000
"""Steps after which comparing a graph with others gives up, by default: a few seconds."""

_REFINEMENTS = 3
_QUICK_CALLS_PER_NODE = 8
_QUICK_CALLS = 10_000

_Graph = tuple[list[int], list[list[int]]]
"""The colours of the nodes of a graph, and its edges."""

_Description = tuple[int, ...]
"""The classes of the components, in ascending order."""


class Group(NamedTuple):
    """How many classes of a group were not decided, and how many surely differ."""

    undecided: int
    decided: int


@dataclass(frozen=True)
class IsomorphismClasses:
    """Which graphs of a list are isomorphic, and which were not compared to the end.

    Attributes:
        labels: the class of each graph, in order of appearance; graphs of one class are isomorphic.
        alike: groups of classes of which some may be the same, as class to number of the group.
            All other classes differ.
        undecided: the classes that were compared with none of their group to the end; those of a
            group that are not among them differ.

    Example:
        >>> union = GraphUnion.of([nx.path_graph(3), nx.star_graph(2), nx.cycle_graph(3)])
        >>> classes_of_unions(union).labels
        [0, 0, 1]
    """

    labels: list[int]
    alike: dict[int, int]
    undecided: frozenset[int]

    def undecided_pairs(self, sample_count: int | None = None) -> int:
        """Return the number of pairs of classes that were not decided.

        Args:
            sample_count: if given, only pairs with at least one of so many first graphs.
        """
        count = len(self.labels) if sample_count is None else sample_count
        others = set(self.labels[count:]) - set(self.labels[:count])
        return self._pairs(set(self.labels)) - self._pairs(others)

    def groups(self, labels: Iterable[int]) -> dict[int, Group]:
        """Return how many of the given distinct classes each group has."""
        members: defaultdict[int, list[bool]] = defaultdict(list)
        for label in labels:
            if label in self.alike:
                members[self.alike[label]].append(label in self.undecided)
        return {group: Group(sum(m), len(m) - sum(m)) for group, m in members.items()}

    def _pairs(self, labels: Iterable[int]) -> int:
        return sum(
            one.undecided * (one.undecided - 1 + 2 * one.decided) // 2
            for one in self.groups(labels).values()
        )


def isomorphism_classes(
    graphs: Sequence[nx.Graph[Any]],
    *,
    node_type: str | None = None,
    edge_type: str | None = None,
    max_steps: int = MAX_STEPS,
) -> list[int]:
    """Number the graphs so that two get the same number exactly when they are isomorphic.

    Classes are numbered 0, 1, ... in order of first appearance. Hashes of orbit counts and
    neighbourhoods only decide which graphs are compared; the comparison itself is exact. A graph
    whose comparison takes too many steps gets a number of its own, and a warning says so.

    Args:
        graphs: the graphs.
        node_type: if given, the node attribute that isomorphic graphs have in common.
        edge_type: the same of edges.
        max_steps: steps after which comparing a graph gives up.

    Raises:
        GraphDataError: a graph is directed, a multigraph or has self-loops, or a node or edge has
            no type.

    Example:
        >>> two_triangles = nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
        >>> relabelled = nx.cycle_graph([5, 3, 1, 0, 2, 4])
        >>> isomorphism_classes([nx.cycle_graph(6), two_triangles, relabelled])
        [0, 1, 0]
        >>> ketene = nx.Graph([(0, 1, {"bond": 2}), (1, 2, {"bond": 2})])
        >>> isomorphism_classes([ketene, nx.path_graph(3)])
        [0, 0]
        >>> allyl = nx.Graph([(0, 1, {"bond": 1}), (1, 2, {"bond": 2})])
        >>> isomorphism_classes([ketene, allyl], edge_type="bond")
        [0, 1]
    """
    names = AttributeSettings(node_type=node_type, edge_type=edge_type)
    ((of_nodes, of_edges),) = columns_of({"graphs": graphs}, names)
    union = GraphUnion.of(graphs, of_nodes, of_edges)
    classes = classes_of_unions(union, max_steps=max_steps)
    if pairs := classes.undecided_pairs():
        warn(not_decided(pairs, max_steps))
    return classes.labels


def not_decided(pairs: int, max_steps: int) -> str:
    """Return what to say about pairs of graphs that were not decided.

    >>> not_decided(1, 2000)
    '1 pair of graphs not decided within 2,000 steps; counted as different'
    """
    graphs = "1 pair" if pairs == 1 else f"{pairs:,} pairs"
    return f"{graphs} of graphs not decided within {max_steps:,} steps; counted as different"


def classes_of_unions(*unions: GraphUnion, max_steps: int = MAX_STEPS) -> IsomorphismClasses:
    """Number the graphs of all unions, one after the other."""
    union = GraphUnion.concatenate(unions)
    return union_isomorphism_classes(union, union_orbit_counts(union), max_steps=max_steps)


def union_isomorphism_classes(
    union: GraphUnion, orbits: IntArray, *, max_steps: int = MAX_STEPS
) -> IsomorphismClasses:
    """Number the graphs of a union by isomorphism, which keeps types of nodes and edges.

    Args:
        union: G graphs with V nodes in all.
        orbits: (V,15) orbit counts of its nodes.
        max_steps: steps after which comparing a graph gives up.
    """
    colours = _refined_colours(union, orbits)
    buckets = _segment_sums(_mixed(colours), union.sizes).tolist()
    graphs = _Ordered.of(union, colours)
    first_of_form: dict[Hashable, int] = {}
    same_as: list[int] = []
    alike_by_hash: defaultdict[int, list[int]] = defaultdict(list)
    for index, bucket in enumerate(buckets):
        same_as.append(first_of_form.setdefault(graphs.form(index), index))
        if same_as[index] == index:
            alike_by_hash[bucket].append(index)
    groups: list[list[int]] = []
    undecided: set[int] = set()
    for first, *others in alike_by_hash.values():
        if not others:
            continue
        copies, compared = _Copies(graphs.coloured(first)), [first]
        for index in others:
            if copies.surely_has(graphs.coloured(index)):
                same_as[index] = first
            else:
                compared.append(index)
        if len(compared) > 1:
            comparison = _Comparison(max_steps)
            for index in compared:
                same_as[index] = comparison.same_as(index, *graphs.coloured(index))
            groups += comparison.groups()
            undecided |= comparison.undecided
    number: dict[int, int] = {}
    labels = [number.setdefault(same_as[first], len(number)) for first in same_as]
    alike = {number[first]: group for group, firsts in enumerate(groups) for first in firsts}
    return IsomorphismClasses(labels, alike, frozenset(number[first] for first in undecided))


@dataclass(frozen=True)
class _Ordered:
    """The graphs of a union, their nodes ordered by colour.

    Attributes:
        palettes: (n,) colours of the nodes of each graph; (n,2) with their types, if they have any.
        edges: (m,2) edges of each graph; (m,3) with their types, if they have any.
        frequent: the type of most edges.
    """

    palettes: list[Hashes]
    edges: list[IntArray]
    frequent: int

    @classmethod
    def of(cls, union: GraphUnion, colours: Hashes) -> _Ordered:
        """Order the nodes by (V,) colours."""
        types = union.of_nodes.get(NODE_TYPES)
        if types is not None:
            colours = np.column_stack([colours, types.astype(np.uint64)])
        edges, colours = _ordered_by_colour(union, colours)
        often = np.bincount(union.of_edges.get(EDGE_TYPES, []), minlength=1)
        return cls(np.split(colours, union.first[1:]), edges, int(often.argmax()))

    def form(self, index: int) -> Hashable:
        """Return what only isomorphic graphs have in common; not all of them have."""
        palette = self.palettes[index]
        nodes = len(palette) if palette.ndim == 1 else palette[:, 1].tobytes()
        return nodes, self.edges[index].tobytes()

    def coloured(self, index: int) -> _Graph:
        """Return a graph that only has colours, and is isomorphic exactly where this one is.

        The type of a node is part of its colour. An edge of any but the most frequent type gets a
        node in its middle, whose colour is the type.
        """
        palette, edges = self.palettes[index].tolist(), self.edges[index]
        if self.palettes[index].ndim == 2:
            palette = [colour << 32 | kind for colour, kind in palette]
        if edges.shape[1] == 2:
            return palette, edges.tolist()
        plain = edges[:, 2] == self.frequent
        joined: list[list[int]] = edges[plain, :2].tolist()
        for one, other, kind in edges[~plain].tolist():
            joined += [[one, len(palette)], [other, len(palette)]]
            palette.append(~kind)  # below zero, like no colour of a node
        return palette, joined


class _Copies:
    """Finds most copies of a graph quickly, because the search is cut short."""

    def __init__(self, graph: _Graph) -> None:
        self._graph = graph

    @cached_property
    def _native(self) -> rustworkx.PyGraph[int | None, None]:
        return _native(self._graph)

    def surely_has(self, graph: _Graph) -> bool:
        """Return whether a graph was found to be a copy; False tells nothing."""
        size = len(self._graph[0])
        if size > _QUICK_CALLS:  # each node takes a call
            return False
        return rustworkx.is_isomorphic(
            self._native,
            _native(graph),
            node_matcher=operator.eq,
            id_order=False,
            call_limit=min(_QUICK_CALLS_PER_NODE * size, _QUICK_CALLS),
        )


def _native(graph: _Graph) -> rustworkx.PyGraph[int | None, None]:
    palette, edges = graph
    made: rustworkx.PyGraph[int | None, None] = rustworkx.PyGraph()
    made.add_nodes_from(palette)
    made.extend_from_edge_list([(one, other) for one, other in edges])
    return made


class _Comparison:
    """Finds out which graphs of equal hash are isomorphic.

    Each graph that is not decided halves the steps of the next ones, so that a thousand hard graphs
    that look alike take no longer than two.
    """

    def __init__(self, max_steps: int) -> None:
        self.undecided: set[int] = set()
        self._max_steps = max_steps
        self._classes = CanonicalClasses()
        self._first: dict[_Description, int] = {}
        self._numbers: defaultdict[Hashable, int] = defaultdict(count().__next__)
        self._kinds_of: dict[int, tuple[int, int | None]] = {}

    def same_as(self, index: int, palette: list[int], edges: list[list[int]]) -> int:
        """Return the number of the first isomorphic graph.

        Args:
            index: number of the graph.
            palette: the colours of its nodes.
            edges: its edges.
        """
        rows: list[list[int]] = [[] for _ in palette]
        for one, other in edges:
            rows[one].append(other)
            rows[other].append(one)
        graph = ColouredGraph(rows, palette)
        self._classes.steps_left = self._max_steps
        parts = sorted(graph.components(), key=len)
        found = sorted(self._component(graph.part(nodes)) for nodes in parts)
        if any(label < 0 for label in found):
            self._max_steps //= 2
            self.undecided.add(index)
        return self._first.setdefault(tuple(found), index)

    def groups(self) -> list[list[int]]:
        """Return the graphs, first of their class, of which some may be isomorphic."""
        # Where one partition of a coarse kind is not known, no partition tells anything.
        coarse = {kind for kind, fine in self._kinds_of.values() if fine is None}
        kind_of = {
            component: kind if kind in coarse else fine
            for component, (kind, fine) in self._kinds_of.items()
        }
        # Of a kind with an undecided component, no component is told from another.
        kinds = {kind for component, kind in kind_of.items() if component < 0}
        seen = {
            component: (kind, kind if kind in kinds else component)
            for component, kind in kind_of.items()
        }
        groups: defaultdict[Hashable, list[int]] = defaultdict(list)
        for components, first in self._first.items():
            groups[tuple(sorted(seen[component] for component in components))].append(first)
        return [group for group in groups.values() if not self.undecided.isdisjoint(group)]

    def _component(self, graph: ColouredGraph) -> int:
        """Return the class of a connected graph; one of its own, below zero, if not decided."""
        coarse = self._numbers[sum(map(len, graph.rows)), tuple(sorted(graph.colours))]
        fine = None
        try:
            partition = self._classes.refined(graph)
            fine = self._numbers[partition.key]
            label = self._classes.label(graph, partition)
        except (OutOfStepsError, RecursionError):
            label = ~len(self._kinds_of)
        self._kinds_of[label] = coarse, fine
        return label


def _mixed(values: Hashes) -> Hashes:
    """Mix the bits of 64-bit words (a bijection), so that sums of different sets rarely agree."""
    for _ in range(2):
        values = (values ^ (values >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return values ^ (values >> np.uint64(32))


def _segment_sums(values: Hashes, lengths: IntArray) -> Hashes:
    """Sum consecutive segments modulo 2^64; empty segments give 0."""
    reached = np.concatenate([np.zeros(1, np.uint64), np.cumsum(values, dtype=np.uint64)])
    stop = np.cumsum(lengths)
    sums: Hashes = reached[stop] - reached[stop - lengths]
    return sums


def _refined_colours(union: GraphUnion, orbits: IntArray) -> Hashes:
    """Hash each node by its orbit counts and, repeatedly, the hashes of its neighbours, (V,).

    Types of nodes and edges are hashed too. An isomorphism maps every node to one of the same
    colour.
    """
    salt = _mixed(np.arange(1, orbits.shape[1] + 1, dtype=np.uint64))
    # Inverted, because zero stays zero, and nodes without edges count too.
    colours: Hashes = ~orbits.astype(np.uint64) @ salt
    of_nodes, of_edges = union.of_nodes.get(NODE_TYPES), union.of_edges.get(EDGE_TYPES)
    if of_nodes is not None:
        colours = np.column_stack([colours, _mixed(of_nodes.astype(np.uint64))]) @ salt[:2]
    for _ in range(_REFINEMENTS):
        neighbours = _mixed(colours)[union.dst]
        if of_edges is not None:
            neighbours = _mixed(neighbours ^ of_edges.astype(np.uint64))
        around = _segment_sums(neighbours, union.degrees)
        colours = np.column_stack([colours, around]) @ salt[:2]
    return colours


def _ordered_by_colour(union: GraphUnion, colours: Hashes) -> tuple[list[IntArray], Hashes]:
    """Renumber the nodes of each graph by colour; return edges (m,2) per graph, and colours (V,).

    Colours (V,2) are those with types of nodes; types of edges are a third column of these. Graphs
    whose edges and types agree after renumbering are isomorphic without further search. This finds
    nearly all copies, because most colours occur once or belong to interchangeable nodes.
    """
    order = np.lexsort((*np.atleast_2d(colours.T)[::-1], union.graph_of_node))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    types = [union.of_edges[EDGE_TYPES]] if EDGE_TYPES in union.of_edges else []
    ends = np.stack([place[union.src], place[union.dst], *types], axis=1)
    ends = ends[ends[:, 0] < ends[:, 1]]
    ends = ends[np.lexsort((ends[:, 1], ends[:, 0]))]
    owner = union.graph_of_node[ends[:, 0]]
    ends[:, :2] -= union.first[owner][:, None]
    return np.split(ends, np.searchsorted(owner, np.arange(1, len(union)))), colours[order]
