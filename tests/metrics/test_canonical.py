"""Classes of coloured graphs, asked for directly."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from graphscore.metrics.canonical import CanonicalClasses, OutOfStepsError
from graphscore.metrics.refinement import ColouredGraph, Partition

PETERSEN, PRISM = nx.petersen_graph(), nx.circular_ladder_graph(5)


def label(classes, graph):
    rows = [sorted(graph[node]) for node in range(len(graph))]
    made = ColouredGraph(rows, [0] * len(rows))
    return classes.label(made, Partition.of(made))


def test_how_often_a_part_occurs_is_part_of_the_class(shuffled):
    """Complements of unions are connected, and their parts are found by complementing again."""
    rng = np.random.default_rng(0)
    classes = CanonicalClasses()
    classes.steps_left = 10**6
    unions = [[PETERSEN] * times + [PRISM] * (3 - times) for times in range(4)]
    graphs = [nx.complement(nx.disjoint_union_all(parts)) for parts in unions]
    labels = [label(classes, shuffled(graph, rng)) for graph in graphs]
    assert len(set(labels)) == 4
    assert [label(classes, shuffled(graph, rng)) for graph in graphs] == labels


def test_what_was_found_before_the_steps_ended_is_kept():
    classes = CanonicalClasses()
    classes.steps_left = 0
    first = label(classes, PETERSEN)  # nothing to compare it with
    classes.steps_left = 10
    with pytest.raises(OutOfStepsError):
        label(classes, PRISM)
    classes.steps_left = 10**6
    second = label(classes, PRISM)
    assert first != second
    assert (label(classes, PETERSEN), label(classes, PRISM)) == (first, second)
