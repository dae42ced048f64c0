"""Random graphs: their distribution, their form, and where the random numbers come from."""

from __future__ import annotations

import pytest
import torch

from graphscore.errors import SettingsError
from reproduce.algorithms.graphs import random_edges, random_weights, symmetric, upper_pairs


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("nodes", [1, 2, 5, 12])
def test_edges_are_symmetric_without_loops(nodes):
    edges = random_edges(50, nodes, 0.5, generator=generator())
    assert edges.dtype == torch.bool
    assert edges.shape == (50, nodes, nodes)
    assert torch.equal(edges, edges.mT)
    assert not edges.diagonal(dim1=1, dim2=2).any()


@pytest.mark.parametrize("probability", [0.0, 0.3, 1.0])
def test_every_pair_has_the_probability_of_an_edge(probability):
    """Each pair on its own: within five standard errors of its share of 4000 graphs."""
    edges = random_edges(4000, 6, probability, generator=generator())
    share = edges.double().mean(0)[~torch.eye(6, dtype=torch.bool)]
    assert (share - probability).abs().max() <= 5 * (probability * (1 - probability) / 4000) ** 0.5


def test_pairs_are_independent():
    """Edges of one graph are uncorrelated."""
    edges = random_edges(4000, 6, 0.3, generator=generator()).flatten(1)[:, upper_pairs(6)]
    correlation = torch.corrcoef(edges.double().T) - torch.eye(15)
    assert correlation.abs().max() < 5 / 4000**0.5


def test_weights_are_uniform_and_only_on_edges():
    edges = random_edges(2000, 8, 0.5, generator=generator())
    weights = random_weights(edges, generator=generator(1))
    assert torch.equal(weights > 0, edges)
    assert torch.equal(weights, weights.mT)
    drawn = weights[edges]
    assert drawn.max() <= 1
    quantiles = torch.tensor([0.1, 0.25, 0.5, 0.75, 0.9])
    assert torch.allclose(torch.quantile(drawn[:100_000], quantiles), quantiles, atol=0.01)


def test_symmetric_fills_both_halves():
    values = torch.arange(1.0, 7).view(1, 6)
    full = symmetric(values, 4)
    assert full[0][torch.triu_indices(4, 4, 1).unbind()].tolist() == values[0].tolist()
    assert torch.equal(full, full.mT)
    assert symmetric(torch.ones(2, 0), 1).tolist() == [[[0]], [[0]]]


@pytest.mark.usefixtures("_global_state_untouched")
def test_the_seed_decides_and_the_global_state_is_left_alone():
    one = random_edges(20, 8, 0.5, generator=generator(3))
    two = random_edges(20, 8, 0.5, generator=generator(3))
    three = random_edges(20, 8, 0.5, generator=generator(4))
    assert torch.equal(one, two)
    assert not torch.equal(one, three)
    weights = [random_weights(one, generator=generator(5)) for _ in range(2)]
    assert torch.equal(*weights)


@pytest.mark.parametrize(
    ("count", "nodes", "probability", "message"),
    [
        (0, 5, 0.3, "at least 1"),
        (5, 0, 0.3, "at least 1"),
        (5, 5, 1.1, r"give one in \[0, 1\]"),
        (5, 5, -0.1, r"give one in \[0, 1\]"),
        (5, 5, float("nan"), r"give one in \[0, 1\]"),
    ],
)
def test_impossible_graphs_are_refused(count, nodes, probability, message):
    with pytest.raises(SettingsError, match=message):
        random_edges(count, nodes, probability, generator=generator())
