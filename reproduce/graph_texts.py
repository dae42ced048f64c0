"""Graphs in records: one line of graph6 each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import networkx as nx


def to_texts(graphs: Sequence[nx.Graph[Any]]) -> list[str]:
    """Return graphs as lines of graph6."""
    return [nx.to_graph6_bytes(graph, header=False).decode().strip() for graph in graphs]


def from_texts(texts: Sequence[str]) -> list[nx.Graph[Any]]:
    """Return the graphs of lines of graph6.

    >>> from_texts(to_texts([nx.path_graph(3)]))[0].number_of_edges()
    2
    """
    return [nx.from_graph6_bytes(text.encode()) for text in texts]
