"""Tree: every labelled tree is equally likely."""

from __future__ import annotations

from collections import Counter

import networkx as nx
import numpy as np
from scipy.stats import chisquare

from graphscore.datasets import load_dataset, sample_tree
from graphscore.datasets.tree import draw_trees


def test_all_are_trees():
    assert all(nx.is_tree(graph) for graph in load_dataset("tree").graphs)


def test_all_labelled_trees_of_four_nodes_occur_equally_often():
    trees = draw_trees(3200, np.random.default_rng(0), 4)
    counts = Counter(frozenset(frozenset(edge) for edge in tree.edges) for tree in trees)
    assert len(counts) == 4**2  # Cayley: n^(n-2)
    assert chisquare(list(counts.values())).pvalue > 0.001


def test_number_of_leaves():
    leaves = [sum(degree == 1 for _, degree in tree.degree) for tree in sample_tree(1000)]
    # Each node is missing in the Pruefer sequence with probability (1 - 1/n)^(n-2).
    assert abs(np.mean(leaves) - 64 * (63 / 64) ** 62) < 0.4
