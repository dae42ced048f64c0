"""NSPDK: features of pairs of neighbourhoods (Costa & De Grave 2010), and the MMD by them.

For a radius r and a distance d, a graph has a feature for each pair of neighbourhoods of radius r
whose centres are d apart, and one for the second neighbourhood alone; its value is how often it
occurs. Features of one (r, d) are scaled to length 1, then all of a graph. As in the code of
published tables, EDeN, a neighbourhood is described by labels and degrees of the nodes, and labels
of the edges, at each distance from the centre, and counts only if it has nodes at distance r.
Features are told apart by hashes of 64 bits; EDeN has 16, where some coincide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
Floats = NDArray[np.float64]
Matrix = Any
"""A sparse array, whose type depends on what it was computed from."""
LARGEST = 4
"""Largest radius and distance."""
AT_ONCE = 2000
"""Graphs whose features are counted together, which bounds the memory."""


@dataclass(frozen=True)
class Labelled:
    """A graph with labels.

    Attributes:
        nodes: (N,) labels of nodes.
        ends: (E,2) nodes of edges.
        edges: (E,) labels of edges.
    """

    nodes: NDArray[np.int64]
    ends: NDArray[np.int64]
    edges: NDArray[np.int64]


@dataclass(frozen=True)
class MeanFeatures:
    """The mean of the features of graphs.

    Attributes:
        keys: (K,) hashes of those that occur, sorted.
        values: (K,) their means.
    """

    keys: Hashes
    values: Floats

    @classmethod
    def of(cls, graphs: Iterable[Labelled]) -> MeanFeatures:
        """Return that of at least one graph.

        >>> pair = Labelled(np.array([6, 8]), np.array([[0, 1]]), np.array([2]))
        >>> len(MeanFeatures.of([pair]).keys)
        14
        """
        count, parts = 0, []
        for chunk in _chunks(graphs):
            count += len(chunk)
            parts.append(_totals(*_features(chunk)))
        keys, values = _totals(*(np.concatenate(part) for part in zip(*parts)))
        return cls(keys, values / count)


def squared_mmd(one: MeanFeatures, other: MeanFeatures) -> float:
    """Return the squared MMD of two sets of graphs for the linear kernel.

    That is the squared distance of their mean features.
    """
    keys = np.concatenate([one.keys, other.keys])
    _, difference = _totals(keys, np.concatenate([one.values, -other.values]))
    return float(difference @ difference)


def _chunks(graphs: Iterable[Labelled]) -> Iterator[list[Labelled]]:
    chunk: list[Labelled] = []
    for graph in graphs:
        chunk.append(graph)
        if len(chunk) == AT_ONCE:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _totals(keys: Hashes, values: Floats) -> tuple[Hashes, Floats]:
    """Return different keys, sorted, and the sum of the values of each."""
    found, place = np.unique(keys, return_inverse=True)
    totals: Floats = np.bincount(place, weights=values, minlength=len(found)).astype(np.float64)
    return found, totals


def _features(graphs: list[Labelled]) -> tuple[Hashes, Floats]:
    """Return features of all graphs, those of one after those of another, and their values."""
    graph_of = np.repeat(np.arange(len(graphs)), [len(graph.nodes) for graph in graphs])
    pairs, codes, exist = _neighbourhoods(graphs)
    blocks = np.zeros(len(graphs))
    found = []
    for radius in range(LARGEST + 1):
        for distance, (first, second) in enumerate(pairs):
            both = exist[radius][first] & exist[radius][second]
            first, second = first[both], second[both]
            one, other = codes[radius][first], codes[radius][second]
            place = np.uint64(radius * (LARGEST + 1) + distance)
            pair = _hash(place, np.minimum(one, other), np.maximum(one, other))
            keys = np.concatenate([pair, _hash(place, other)])
            owners, keys, counts = _counts(np.tile(graph_of[first], 2), keys)
            squares = np.bincount(owners, weights=counts**2, minlength=len(graphs))
            blocks += squares > 0
            found.append((owners, keys, counts / np.sqrt(squares[owners])))
    owners, keys, values = (np.concatenate(part) for part in zip(*found))
    return keys, values / np.sqrt(blocks[owners])


def _counts(owners: NDArray[np.int64], keys: Hashes) -> tuple[NDArray[np.int64], Hashes, Floats]:
    """Return the different keys of each owner, and how often it has them."""
    order = np.lexsort((keys, owners))
    owners, keys = owners[order], keys[order]
    new = np.ones(len(keys), dtype=bool)
    new[1:] = (owners[1:] != owners[:-1]) | (keys[1:] != keys[:-1])
    first = np.flatnonzero(new)
    return owners[first], keys[first], np.diff(first, append=len(keys)).astype(np.float64)


def _neighbourhoods(
    graphs: list[Labelled],
) -> tuple[list[tuple[NDArray[np.int64], ...]], list[Hashes], list[NDArray[np.bool_]]]:
    """Return what is around every node of all graphs, for each distance from 0 to `LARGEST`.

    Returns:
        (ordered) pairs of nodes that far apart; hashes of the neighbourhoods of that radius; and
        whether there are nodes that far away.
    """
    sizes = [len(graph.nodes) for graph in graphs]
    starts = np.cumsum([0, *sizes[:-1]])
    ends = np.concatenate([graph.ends + start for graph, start in zip(graphs, starts)])
    numbers = np.repeat(np.arange(len(ends)), 2)
    shape = (sum(sizes), len(ends))
    ones = np.ones(len(numbers), dtype=np.uint64)
    incidence: Matrix = sp.csr_array((ones, (ends.ravel(), numbers)), shape)
    degrees = np.bincount(ends.ravel(), minlength=shape[0]).astype(np.uint64)
    of_nodes = _hash(np.concatenate([graph.nodes for graph in graphs]).astype(np.uint64), degrees)
    of_edges = _hash(np.concatenate([graph.edges for graph in graphs]).astype(np.uint64))
    here: Matrix = sp.eye_array(shape[0], dtype=np.uint64, format="csr")
    seen, seen_edges = here, sp.csr_array(shape, dtype=np.uint64)
    pairs, codes, exist = [here.nonzero()], [_hash(of_nodes)], [np.ones(shape[0], dtype=bool)]
    for _ in range(LARGEST):
        edges = _without(here @ incidence, seen_edges)
        here = _without(edges @ incidence.T, seen)
        seen_edges, seen = seen_edges + edges, seen + here
        pairs.append(here.nonzero())
        # A sum of hashes is one of what is summed, in any order.
        codes.append(_hash(codes[-1], edges @ of_edges, here @ of_nodes))
        exist.append(np.diff(here.indptr) > 0)
    return pairs, codes, exist


def _without(reached: Matrix, seen: Matrix) -> Matrix:
    """Return ones where something is reached that was not seen before."""
    reached.data[:] = 1
    new = (reached - reached.multiply(seen)).tocsr()
    new.eliminate_zeros()
    return new


def _hash(*parts: Hashes | np.uint64) -> Hashes:
    """Return a hash of several numbers, in their order, by the finaliser of SplitMix64."""
    with np.errstate(over="ignore"):
        return reduce(_mixed, parts, np.array(len(parts), dtype=np.uint64))


def _mixed(state: Hashes, part: Hashes | np.uint64) -> Hashes:
    x = (state + np.uint64(0x9E3779B97F4A7C15)) ^ part
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Hashes = x ^ (x >> np.uint64(31))
    return mixed
