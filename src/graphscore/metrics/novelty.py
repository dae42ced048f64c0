"""Uniqueness and novelty: which graphs are isomorphic."""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt
import rustworkx

from graphscore.metrics.disjoint_union import GraphUnion, IntArray, union_of
from graphscore.metrics.orbits import union_orbit_counts

Hashes = npt.NDArray[np.uint64]
_Graph = rustworkx.PyGraph[int | None, None]

_REFINEMENTS = 3


def isomorphism_classes(graphs: Sequence[nx.Graph[Any]]) -> list[int]:
    """Number the graphs so that two get the same number exactly when they are isomorphic.

    Classes are numbered 0, 1, ... in order of first appearance. Hashes of orbit counts and
    neighbourhoods only decide which graphs are compared; the comparison itself is exact.

    Raises:
        GraphDataError: a graph is directed, a multigraph or has self-loops.

    Example:
        >>> two_triangles = nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
        >>> relabelled = nx.cycle_graph([5, 3, 1, 0, 2, 4])
        >>> isomorphism_classes([nx.cycle_graph(6), two_triangles, relabelled])
        [0, 1, 0]
    """
    return classes_of_unions(GraphUnion.of(graphs))


def uniqueness(samples: Sequence[nx.Graph[Any]], *, drop_isolated: bool = False) -> float:
    """Return the number of isomorphism classes among the samples divided by their number.

    Args:
        samples: at least one graph.
        drop_isolated: compare graphs after removing nodes without edges.

    Raises:
        GraphDataError: no sample is given, or a graph is not simple and undirected.

    Example:
        >>> uniqueness([nx.path_graph(3), nx.star_graph(2), nx.cycle_graph(3), nx.path_graph(2)])
        0.75
    """
    union = union_of(samples, "samples", drop_isolated=drop_isolated)
    return uniqueness_of_classes(classes_of_unions(union))


def novelty(
    samples: Sequence[nx.Graph[Any]],
    training: Sequence[nx.Graph[Any]],
    *,
    drop_isolated: bool = False,
) -> float:
    """Return the share of samples that are isomorphic to no training graph.

    Args:
        samples: at least one graph.
        training: at least one graph.
        drop_isolated: compare graphs after removing nodes without edges.

    Raises:
        GraphDataError: a list is empty, or a graph is not simple and undirected.

    Example:
        >>> novelty([nx.star_graph(2), nx.cycle_graph(3)], training=[nx.path_graph(3)])
        0.5
    """
    sampled = union_of(samples, "samples", drop_isolated=drop_isolated)
    known = union_of(training, "training", drop_isolated=drop_isolated)
    return novelty_of_classes(classes_of_unions(sampled, known), len(sampled))


def uniqueness_of_classes(classes: Sequence[int]) -> float:
    """Return the share of distinct classes.

    >>> uniqueness_of_classes([0, 1, 0, 0])
    0.5
    """
    return len(set(classes)) / len(classes)


def novelty_of_classes(classes: Sequence[int], sample_count: int) -> float:
    """Return the share of the first `sample_count` classes that do not occur among the rest.

    >>> novelty_of_classes([0, 1, 1, 2], sample_count=2)
    0.5
    """
    known = set(classes[sample_count:])
    return sum(label not in known for label in classes[:sample_count]) / sample_count


def classes_of_unions(*unions: GraphUnion) -> list[int]:
    """Number the graphs of all unions, one after the other; see `isomorphism_classes`."""
    union = GraphUnion.concatenate(unions)
    return union_isomorphism_classes(union, union_orbit_counts(union))


def union_isomorphism_classes(union: GraphUnion, orbits: IntArray) -> list[int]:
    """Number the graphs of a union by isomorphism; see `isomorphism_classes`.

    Args:
        union: G graphs with V nodes in all.
        orbits: (V,15) orbit counts of its nodes.
    """
    colours = _refined_colours(union, orbits)
    buckets = _graph_hashes(union, colours).tolist()
    edge_lists, colours = _ordered_by_colour(union, colours)
    palettes = np.split(colours, union.first[1:])
    classes: list[int] = []
    class_of_form: dict[tuple[int, bytes], int] = {}
    members: defaultdict[int, list[tuple[int, _Graph]]] = defaultdict(list)
    class_count = 0
    for bucket, palette, edges in zip(buckets, palettes, edge_lists):
        form = (len(palette), edges.tobytes())
        label = class_of_form.get(form)
        if label is None:
            graph = _coloured_graph(palette, edges)
            label = next((old for old, one in members[bucket] if _isomorphic(one, graph)), None)
            if label is None:
                label, class_count = class_count, class_count + 1
                members[bucket].append((label, graph))
            class_of_form[form] = label
        classes.append(label)
    return classes


def _mixed(values: Hashes) -> Hashes:
    """Mix the bits of 64-bit words (a bijection), so that sums of different sets rarely agree."""
    values = (values ^ (values >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(29))) * np.uint64(0xD1B54A32D192ED03)
    return values ^ (values >> np.uint64(32))


def _segment_sums(values: Hashes, lengths: IntArray) -> Hashes:
    """Sum consecutive segments modulo 2^64; empty segments give 0."""
    reached = np.concatenate([np.zeros(1, np.uint64), np.cumsum(values, dtype=np.uint64)])
    stop = np.cumsum(lengths)
    sums: Hashes = reached[stop] - reached[stop - lengths]
    return sums


def _refined_colours(union: GraphUnion, orbits: IntArray) -> Hashes:
    """Hash each node by its orbit counts and, repeatedly, the hashes of its neighbours, (V,).

    An isomorphism maps every node to one of the same colour.
    """
    salt = _mixed(np.arange(1, orbits.shape[1] + 1, dtype=np.uint64))
    colours: Hashes = _mixed(orbits.astype(np.uint64) + salt).sum(1, dtype=np.uint64)
    for _ in range(_REFINEMENTS):
        around = _segment_sums(_mixed(colours)[union.dst], union.degrees)
        colours = _mixed(colours * np.uint64(3) + around)
    return colours


def _graph_hashes(union: GraphUnion, colours: Hashes) -> Hashes:
    """Hash each graph by its size and the multiset of its colours, (G,)."""
    return _mixed(_segment_sums(_mixed(colours), union.sizes) + union.sizes.astype(np.uint64))


def _ordered_by_colour(union: GraphUnion, colours: Hashes) -> tuple[list[IntArray], Hashes]:
    """Renumber the nodes of each graph by colour; return edges (m,2) per graph, and colours (V,).

    Graphs whose edges agree after renumbering are isomorphic without further search. This finds
    nearly all copies, because most colours occur once or belong to interchangeable nodes.
    """
    order = np.lexsort((colours, union.graph_of_node))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    ends = np.stack([place[union.src], place[union.dst]], axis=1)
    ends = ends[ends[:, 0] < ends[:, 1]]
    ends = ends[np.lexsort((ends[:, 1], ends[:, 0]))]
    owner = union.graph_of_node[ends[:, 0]]
    edge_counts = np.bincount(owner, minlength=len(union))
    local = ends - union.first[owner][:, None]
    return np.split(local, np.cumsum(edge_counts)[:-1]) if len(union) else [], colours[order]


def _coloured_graph(palette: Hashes, edges: IntArray) -> _Graph:
    graph: _Graph = rustworkx.PyGraph(multigraph=False)
    graph.add_nodes_from(palette.tolist())
    graph.extend_from_edge_list(list(map(tuple, edges.tolist())))
    return graph


def _isomorphic(one: _Graph, other: _Graph) -> bool:
    if one.num_nodes() != other.num_nodes() or one.num_edges() != other.num_edges():
        return False
    return rustworkx.is_isomorphic(one, other, node_matcher=operator.eq, id_order=False)
