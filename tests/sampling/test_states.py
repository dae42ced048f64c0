"""Initial states and quantisation."""

from __future__ import annotations

import math

import torch

from graphscore.graphs import GraphBatch, node_mask_of_sizes, pair_mask
from graphscore.sampling import folded_normal, quantise


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_folded_normal_moments_and_symmetry():
    """|e| has mean sqrt(2/pi) and second moment 1; symmetric, zero off the existing pairs."""
    mask = node_mask_of_sizes(torch.tensor([5, 3, 1]).repeat(4000))
    state = folded_normal(mask, generator=generator(), dtype=torch.float64)
    assert torch.equal(state, state.mT)
    assert torch.equal(state > 0, pair_mask(mask))
    values = state[pair_mask(mask) & torch.ones(5, 5, dtype=torch.bool).triu()]
    count = len(values)
    assert abs(values.mean() - math.sqrt(2 / math.pi)) < 5 * ((1 - 2 / math.pi) / count) ** 0.5
    assert abs(values.square().mean() - 1) < 5 * (2 / count) ** 0.5


def test_folded_normal_is_reproducible():
    mask = torch.ones(2, 4, dtype=torch.bool)
    first, again, other = (folded_normal(mask, generator=generator(s)) for s in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_quantise_is_the_strict_threshold_on_existing_pairs():
    """Equation 4: above the threshold, not at it; never on the diagonal or on padding."""
    values = torch.tensor([0.5, 0.5000001, 0.4999999, -2.0, 7.0, 1.0])
    adj = torch.full((1, 5, 5), 9.0)
    rows, columns = torch.triu_indices(4, 4, offset=1)
    adj[0, rows, columns] = adj[0, columns, rows] = values
    mask = torch.tensor([[True, True, True, True, False]])
    result = quantise(adj, mask)
    assert result[0, rows, columns].tolist() == [0, 1, 0, 0, 1, 1]
    assert torch.equal(result, result.mT)
    assert not result[~pair_mask(mask)].any()
    assert quantise(adj, mask, 0.9)[0, rows, columns].tolist() == [0, 0, 0, 0, 1, 1]


def test_quantised_states_are_graphs():
    """What quantise returns can be turned into networkx graphs, isolated nodes included."""
    mask = node_mask_of_sizes(torch.tensor([6, 2, 1]))
    adj = quantise(folded_normal(mask, generator=generator()), mask)
    graphs = GraphBatch(adj, mask).to_networkx()
    assert [len(graph) for graph in graphs] == [6, 2, 1]
