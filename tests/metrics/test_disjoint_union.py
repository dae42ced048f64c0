"""Conversion of networkx graphs and what it refuses."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from graphscore.errors import GraphDataError
from graphscore.metrics.disjoint_union import GraphUnion


def edges_of(union: GraphUnion) -> set[tuple[int, int]]:
    return set(zip(union.src.tolist(), union.dst.tolist()))


def test_labels_other_than_integers_follow_the_order_of_the_graph():
    graph = nx.Graph([("b", "a"), ("a", "c")])
    union = GraphUnion.of([nx.path_graph(2), graph])
    assert union.sizes.tolist() == [2, 3]
    assert edges_of(union) == {(0, 1), (1, 0), (2, 3), (3, 2), (3, 4), (4, 3)}


def test_integer_labels_in_another_order_are_not_mixed_up():
    graph = nx.Graph()
    graph.add_nodes_from([2, 0, 1])
    graph.add_edge(2, 1)
    union = GraphUnion.of([graph])
    assert union.degrees.tolist() == [1, 0, 1]


def test_dropping_isolated_nodes_keeps_every_edge():
    graph = nx.Graph([(1, 3), (3, 4)])
    graph.add_nodes_from([0, 2])
    union = GraphUnion.of([nx.empty_graph(3), graph, nx.empty_graph(0)]).without_isolated()
    assert union.sizes.tolist() == [0, 3, 0]
    assert sorted(union.degrees.tolist()) == [1, 1, 2]
    filled = union.with_node_in_empty()
    assert filled.sizes.tolist() == [1, 3, 1]
    assert filled.degrees[0] == filled.degrees[-1] == 0
    assert sorted(filled.degrees[1:4].tolist()) == [1, 1, 2]


def test_selection_returns_the_chosen_graphs(random_graphs):
    graphs = random_graphs(6, 0, 7)
    chosen = np.array([4, 0, 3])
    part, nodes = GraphUnion.of(graphs).select(chosen)
    direct = GraphUnion.of([graphs[index] for index in chosen])
    assert edges_of(part) == edges_of(direct)
    assert part.sizes.tolist() == direct.sizes.tolist()
    assert len(nodes) == part.node_count


def test_no_graphs_at_all():
    union = GraphUnion.of([])
    assert len(union) == 0
    assert union.node_count == 0


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (nx.DiGraph([(0, 1)]), "graph 1: .*simple undirected"),
        (nx.MultiGraph([(0, 1)]), "graph 1: .*simple undirected"),
        (nx.Graph([(0, 0)]), "graph 1: .*self-loops"),
        (np.zeros((2, 2)), "graph 1: expected a networkx.Graph"),
    ],
)
def test_what_is_not_a_simple_graph_is_refused(graph, message):
    with pytest.raises(GraphDataError, match=message):
        GraphUnion.of([nx.path_graph(2), graph])
