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


def test_what_nodes_and_edges_carry_goes_with_them():
    """Each number names its place, and is found again wherever the place goes."""
    first = nx.Graph([("b", "a"), ("c", "b"), ("a", "c")])
    first.add_node("alone")
    second = nx.Graph([(2, 0), (0, 1)])
    graphs = [first, nx.empty_graph(0), second]
    edges = [edge for graph in graphs for edge in graph.edges]
    columns = {"number": np.arange(1, 8)}, {"number": np.arange(1, len(edges) + 1)}
    union = GraphUnion.of(graphs, *columns)
    place = {("b", "a"): (0, 1), ("b", "c"): (0, 2), ("a", "c"): (1, 2), (2, 0): (4, 5)}
    place[0, 1] = (5, 6)

    def ends(union):
        """The ends of every directed edge, by the numbers that the nodes carry."""
        of = union.of_nodes["number"]
        return {
            frozenset((of[src] - 1, of[dst] - 1)): number
            for src, dst, number in zip(union.src, union.dst, union.of_edges["number"])
        }

    expected = {
        frozenset(place[edge] if edge in place else place[edge[::-1]]): number
        for number, edge in enumerate(edges, start=1)
    }
    assert ends(union) == expected
    assert (union.of_edges["number"] == union.of_edges["number"][_reverse(union)]).all()
    dropped = union.without_isolated()
    assert dropped.of_nodes["number"].tolist() == [1, 2, 3, 5, 6, 7]
    filled = dropped.with_node_in_empty()
    assert filled.of_nodes["number"].tolist() == [1, 2, 3, 0, 5, 6, 7]
    part, _ = filled.select(np.array([2, 0]))
    assert part.of_nodes["number"].tolist() == [5, 6, 7, 1, 2, 3]
    twice = GraphUnion.concatenate([part, union])
    assert twice.of_nodes["number"].tolist() == [5, 6, 7, 1, 2, 3, *range(1, 8)]
    for changed in (dropped, filled, part, twice):
        assert ends(changed) == expected
        assert (changed.of_edges["number"] == changed.of_edges["number"][_reverse(changed)]).all()


def _reverse(union):
    """The place of the other direction of every directed edge."""
    places = {(src, dst): k for k, (src, dst) in enumerate(zip(union.src, union.dst))}
    return [places[dst, src] for src, dst in zip(union.src, union.dst)]
