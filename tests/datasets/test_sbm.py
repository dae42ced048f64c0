"""SBM: sizes, edge probabilities and connectedness of the block models."""

from __future__ import annotations

import networkx as nx
import numpy as np

from graphscore.datasets import load_dataset, sample_sbm
from graphscore.metrics import find_blocks


def test_all_are_connected():
    assert all(nx.is_connected(graph) for graph in load_dataset("sbm").graphs)
    assert all(nx.is_connected(graph) for graph in sample_sbm(100))


def test_without_the_condition_some_are_not_connected():
    connected = [nx.is_connected(graph) for graph in sample_sbm(300, connected=False)]
    assert 0 < 300 - sum(connected) < 30


def test_communities_and_edge_probabilities():
    counts, sizes = [], []
    joined, pairs = np.zeros(2), np.zeros(2)
    for graph in sample_sbm(50, connected=False, seed=3):
        blocks = find_blocks(graph)
        # Communities stand one after the other.
        assert (np.diff(blocks) >= 0).mean() > 0.95
        sizes += np.bincount(blocks).tolist()
        counts.append(blocks.max() + 1)
        same = blocks[:, None] == blocks
        adj = nx.to_numpy_array(graph)
        for kind, cells in enumerate((same & ~np.eye(len(graph), dtype=bool), ~same)):
            joined[kind] += adj[cells].sum()
            pairs[kind] += cells.sum()
    assert set(counts) == {2, 3, 4, 5}
    assert (min(sizes), max(sizes)) == (20, 40)
    assert abs(np.mean(sizes) - 30) < 2
    # About 80,000 pairs inside and 220,000 between: standard deviations .0016 and .00015.
    inside, between = joined / pairs
    assert abs(inside - 0.3) < 0.006
    assert abs(between - 0.005) < 0.0006
