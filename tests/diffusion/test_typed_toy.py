"""A distribution of typed graphs that is known exactly: samplers draw from it.

Graphs of three nodes with two types of nodes and two of edges, in which equal nodes are joined by
edges of the first type and different ones by the second more often than by chance. The exact
posterior mean is a sum over all 216 graphs.
"""

from __future__ import annotations

import itertools

import pytest
import torch

from graphscore.diffusion import (
    BernoulliEdges,
    EdgeDensity,
    GraphLikelihood,
    NodeTypes,
    SigmaRange,
    TypedEdges,
)
from graphscore.diffusion.samplers import SAMPLERS, AncestralSettings, HeunSettings
from graphscore.graphs import NO_CONDITION, GraphState

PAIRS = [(0, 1), (0, 2), (1, 2)]
STATES = list(
    itertools.product(itertools.product((0, 1), repeat=3), itertools.product((0, 1, 2), repeat=3))
)
RANGE = SigmaRange(sigma_min=0.1, sigma_max=6.0)
NUMBER = 8_000


def energy(state):
    nodes, edges = state
    fits = [kind == (1 if nodes[u] == nodes[v] else 2) for kind, (u, v) in zip(edges, PAIRS)]
    return 1.5 * sum(fits) + 0.4 * sum(nodes)


EXACT = torch.tensor([energy(state) for state in STATES], dtype=torch.float64).softmax(0)


def entries(state):
    nodes, kinds = state
    edges = torch.zeros(3, 3, 2, dtype=torch.float64)
    for kind, (u, v) in zip(kinds, PAIRS):
        if kind:
            edges[u, v, kind - 1] = edges[v, u, kind - 1] = 1
    return edges, torch.eye(2, dtype=torch.float64)[list(nodes)]


EDGES, NODES = (torch.stack(each) for each in zip(*map(entries, STATES)))


def likelihood():
    """With the marginals of the distribution, of which sampling starts."""
    of_edges, of_nodes = (EXACT @ e.flatten(1) for e in (EDGES, NODES))
    types = of_edges.view(3, 3, 2)[0, 1]
    present = BernoulliEdges(EdgeDensity.constant(float(types.sum())))
    nodes = NodeTypes(tuple((of_nodes.view(3, 2)[0]).tolist()))
    return GraphLikelihood(TypedEdges(present, tuple((types / types.sum()).tolist())), nodes)


def denoise(noisy: GraphState, sigma: torch.Tensor) -> GraphState:
    """The exact posterior mean."""
    upper = [noisy.edges[:, u, v] for u, v in PAIRS]
    clean = [EDGES[:, u, v] for u, v in PAIRS]
    # Noise is drawn once per pair.
    values = torch.cat([*upper, noisy.nodes.flatten(1)], dim=1)
    targets = torch.cat([*clean, NODES.flatten(1)], dim=1)
    distance = torch.cdist(values, targets).square()
    weight = (EXACT.log() - distance / (2 * sigma.view(-1, 1) ** 2)).softmax(1)
    edges = (weight @ EDGES.flatten(1)).view(-1, 3, 3, 2)
    return GraphState(edges, noisy.node_mask, (weight @ NODES.flatten(1)).view(-1, 3, 2))


@pytest.mark.parametrize(
    ("settings", "most"),
    [
        (HeunSettings(steps=40), 0.07),
        (HeunSettings(steps=40, churn=10), 0.07),
        (AncestralSettings(steps=100, noise="posterior"), 0.09),
    ],
    ids=["heun", "heun with fresh noise", "ancestral"],
)
def test_samples_have_the_exact_distribution(settings, most):
    """Total variation; that of as many exact draws is .05."""
    known = likelihood()
    mask = torch.ones(NUMBER, 3, dtype=torch.bool)
    sampler = SAMPLERS[settings.kind]
    state = sampler.function(
        denoise,
        known.prior_of(mask, NO_CONDITION, torch.float64),
        RANGE,
        settings,
        generator=torch.Generator().manual_seed(1),
    ).state
    clean = known.decode(state, 0.5)
    assert torch.equal(clean.nodes.sum(2), torch.ones(NUMBER, 3).double())
    kinds = torch.stack(
        [clean.edges[:, u, v] @ torch.tensor([1.0, 2.0]).double() for u, v in PAIRS], 1
    )
    powers = torch.tensor([108, 54, 27, 9, 3, 1]).double()
    found = torch.cat([clean.nodes.argmax(2).double(), kinds], dim=1) @ powers
    shares = torch.bincount(found.long(), minlength=len(STATES)) / NUMBER
    assert (shares - EXACT).abs().sum() / 2 < most
    independent = _independent()
    assert (independent - EXACT).abs().sum() / 2 > 0.3  # what the marginals alone would give


def _independent():
    """The distribution of independent entries with the same marginals."""
    product = torch.ones(len(STATES), dtype=torch.float64)
    for place in range(6):
        values = [[*nodes, *edges][place] for nodes, edges in STATES]
        shares = torch.zeros(3, dtype=torch.float64).index_add(0, torch.tensor(values), EXACT)
        product = product * shares[values]
    return product
