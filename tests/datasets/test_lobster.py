"""Lobster: trees of ten nodes that become a path when leaves are removed twice."""

from __future__ import annotations

from typing import Any

import networkx as nx

from graphscore.datasets import load_dataset


def pruned(graph: nx.Graph[Any]) -> nx.Graph[Any]:
    return graph.subgraph([node for node, degree in graph.degree if degree > 1]).copy()


def test_all_are_lobsters_of_ten_nodes() -> None:
    graphs = load_dataset("lobster").graphs
    assert len(graphs) == 68
    for graph in graphs:
        assert len(graph) == 10
        assert nx.is_tree(graph)
        assert all(degree <= 2 for _, degree in pruned(pruned(graph)).degree)


def test_graphs_vary() -> None:
    degrees = {
        tuple(sorted(dict(graph.degree).values())) for graph in load_dataset("lobster").graphs
    }
    assert len(degrees) > 10
