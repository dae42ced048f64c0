"""Grid: all shapes once, in an order that the seed chooses."""

from __future__ import annotations

from collections import Counter

import networkx as nx

from graphscore.datasets import load_dataset


def shape(graph: nx.Graph) -> tuple[int, int]:
    """Rows and columns, from the largest difference between joined nodes."""
    columns = max(abs(a - b) for a, b in graph.edges)
    return len(graph) // columns, columns


def test_every_shape_occurs_once():
    graphs = load_dataset("grid").graphs
    expected = Counter((rows, columns) for rows in range(10, 20) for columns in range(10, 20))
    assert Counter(map(shape, graphs)) == expected
    rows, columns = shape(graphs[0])
    assert nx.is_isomorphic(graphs[0], nx.grid_2d_graph(rows, columns))


def test_the_test_part_is_not_all_of_one_kind():
    assert len({rows for rows, _ in map(shape, load_dataset("grid").test)}) > 5
