"""Colours of nodes, by which most copies are found without a search."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
import rustworkx

from graphscore.metrics.disjoint_union import GraphUnion
from graphscore.metrics.isomorphism import (
    IsomorphismClasses,
    _mixed,
    _ordered_by_colour,
    _refined_colours,
    _segment_sums,
    classes_of_unions,
)
from graphscore.metrics.orbits import union_orbit_counts


def test_segments_are_summed_modulo_two_to_the_64():
    values = np.array([5, 7, 2**64 - 1, 3, 4], dtype=np.uint64)
    sums = _segment_sums(values, np.array([2, 0, 2, 1, 0]))
    assert sums.tolist() == [12, 0, 2, 4, 0]


BITS = np.uint64(1) << np.arange(64, dtype=np.uint64)
WORDS = np.random.default_rng(0).integers(0, 2**64, 2000, dtype=np.uint64)


def test_every_bit_of_a_word_changes_every_bit_of_its_hash_half_the_time():
    """Give or take six standard errors."""
    for bit in BITS:
        changed = _mixed(WORDS) ^ _mixed(WORDS ^ bit)
        often = ((changed[:, None] & BITS) > 0).mean(0)
        assert np.abs(often - 0.5).max() < 6 * 0.5 / len(WORDS) ** 0.5


def test_words_that_differ_in_two_bits_have_different_hashes():
    for one, other in itertools.combinations(BITS, 2):
        assert (_mixed(WORDS[:50] ^ one) != _mixed(WORDS[:50] ^ other)).all()


def test_nodes_are_renumbered_by_colour_inside_their_graphs():
    square = nx.Graph([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
    union = GraphUnion.of([square, nx.empty_graph(1), nx.path_graph(2), nx.empty_graph(0)])
    colours = np.array([40, 10, 30, 20, 5, 9, 8], dtype=np.uint64)
    edges, ordered = _ordered_by_colour(union, colours)
    assert ordered.tolist() == [10, 20, 30, 40, 5, 8, 9]
    # Nodes 1, 3, 2, 0 of the square become 0, 1, 2, 3.
    expected = [[[0, 2], [0, 3], [1, 2], [1, 3], [2, 3]], [], [[0, 1]], []]
    assert [one.tolist() for one in edges] == expected


def test_colours_tell_apart_what_orbits_do_not():
    """Nodes of a long path by their distance from its nearer end; orbits see two steps of it."""
    union = GraphUnion.of([nx.path_graph(20)])
    orbits = union_orbit_counts(union)
    assert (orbits[3] == orbits[4]).all()
    colours = _refined_colours(union, orbits).tolist()
    assert len(set(colours[:5])) == 5
    assert colours == colours[::-1]


def bipartite_and_more():
    return nx.disjoint_union(nx.complete_bipartite_graph(3, 3), nx.empty_graph(2))


@pytest.mark.parametrize(
    "graph",
    [
        nx.petersen_graph(),
        nx.hypercube_graph(4),
        nx.line_graph(nx.complete_graph(6)),
        nx.disjoint_union(nx.cycle_graph(5), nx.cycle_graph(7)),
        nx.random_regular_graph(3, 30, seed=0),
        bipartite_and_more(),
    ],
    ids=["petersen", "hypercube", "triangular", "cycles", "cubic", "bipartite"],
)
def test_most_copies_are_found_without_any_step_of_the_search(graph, shuffled):
    rng = np.random.default_rng(0)
    union = GraphUnion.of([shuffled(graph, rng) for _ in range(3)])
    found = classes_of_unions(union, max_steps=0)
    assert found == IsomorphismClasses([0, 0, 0], {}, frozenset())


def test_no_time_is_spent_on_a_quick_comparison_that_cannot_end(shuffled, monkeypatch):
    """One that may take fewer calls than there are nodes."""
    sizes = []
    compare = rustworkx.is_isomorphic

    def noted(one, other, **options):
        sizes.append(len(one))
        return compare(one, other, **options)

    monkeypatch.setattr("rustworkx.is_isomorphic", noted)
    monkeypatch.setattr("graphscore.metrics.isomorphism._QUICK_CALLS", 10)
    rng = np.random.default_rng(0)
    graphs = [shuffled(nx.cycle_graph(size), rng) for size in (10, 10, 11, 11)]
    assert classes_of_unions(GraphUnion.of(graphs)).labels == [0, 0, 1, 1]
    assert sizes == [10]


def test_nodes_without_edges_count_even_where_colours_tell_nothing(monkeypatch):
    monkeypatch.setattr("graphscore.metrics.isomorphism._mixed", np.zeros_like)
    graphs = [nx.disjoint_union(nx.path_graph(2), nx.empty_graph(more)) for more in range(3)]
    assert classes_of_unions(GraphUnion.of(graphs)).labels == [0, 1, 2]
