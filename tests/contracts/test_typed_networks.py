"""What networks must satisfy for edges and nodes that carry something, to 1e-10 in float64."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from graphscore.diffusion import (
    BernoulliEdges,
    EdgeDensity,
    GraphLikelihood,
    GuidanceSettings,
    GuidedPosterior,
    JoinedNodes,
    NodeFeatures,
    NodeTypes,
    Posterior,
    TypedEdges,
    WeightedEdges,
    symmetric_noise,
)
from graphscore.graphs import GraphBatch, GraphState, node_mask_of_sizes
from graphscore.networks import Denoiser, DenoiserSettings

SIGMA = torch.tensor([0.4, 0.25, 0.05, 2.0], dtype=torch.float64)
EDGES = BernoulliEdges(EdgeDensity(-1.0, 0.2))
TYPES = TypedEdges(EDGES, (0.6, 0.3, 0.1))
LIKELIHOODS = {
    "edge types": GraphLikelihood(TYPES),
    "node types": GraphLikelihood(EDGES, NodeTypes((0.5, 0.5))),
    "weights": GraphLikelihood(WeightedEdges(TypedEdges(EDGES, (1.0,)))),
    "node features": GraphLikelihood(EDGES, NodeFeatures(2)),
    "all": GraphLikelihood(
        WeightedEdges(TYPES), JoinedNodes((NodeTypes((0.2, 0.3, 0.5)), NodeFeatures(1)))
    ),
}


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def network_of(likelihood, *, random=True, **changes):
    shape = {"blocks": 2, "pair_width": 6, "node_width": 5, "product_width": 3, "walk_steps": 3}
    settings = DenoiserSettings(**{**shape, **changes})
    network = Denoiser(settings, likelihood, generator=generator(7)).double()
    if random:
        with torch.no_grad():
            for number, parameter in enumerate(network.parameters()):
                noise = torch.randn(parameter.shape, generator=generator(number)).double()
                parameter.add_(0.1 * noise)
    return network


def batch_of(likelihood, sizes=(6, 4, 6, 1), width=None):
    """Noisy entries of the shapes of a likelihood."""
    mask = node_mask_of_sizes(torch.tensor(sizes), width)
    noise = [
        symmetric_noise(mask, generator=generator(seed), dtype=torch.float64) for seed in range(9)
    ]
    edges = nodes = None
    if not isinstance(likelihood.edges, BernoulliEdges):
        edges = torch.stack(noise[: likelihood.edges.width], dim=-1)
    if likelihood.nodes is not None:
        drawn = torch.randn(*mask.shape, likelihood.nodes.width, generator=generator(3)).double()
        nodes = drawn * mask.unsqueeze(-1)
    return GraphBatch(noise[8], mask, edge_entries=edges, node_entries=nodes)


class Case:
    """A network in one form, which answers with a batch of the shape of its input."""

    def __init__(self, likelihood, form):
        self.likelihood = likelihood
        self.network = network_of(likelihood)
        if form != "denoiser":
            self.network = Posterior(self.network, likelihood)
        if form == "guided":
            guide = Posterior(network_of(likelihood, blocks=1), likelihood)
            self.network = GuidedPosterior(self.network, guide, GuidanceSettings(weight=2.0))
        self.batch = batch_of(likelihood)

    def __call__(self, batch=None, sigma=SIGMA):
        batch = self.batch if batch is None else batch
        sigma = sigma.to(batch.adj.dtype)
        state = self.network(batch.state, sigma, batch.condition)
        assert torch.equal(state.node_mask, batch.node_mask)
        assert (state.nodes is None) == (batch.node_entries is None)
        if batch.edge_entries is None:
            return replace(batch, adj=state.edges, node_entries=state.nodes)
        assert state.edges.shape == batch.edge_entries.shape
        zero = torch.zeros_like(batch.adj)
        return replace(batch, adj=zero, edge_entries=state.edges, node_entries=state.nodes)


def assert_same(found: GraphBatch, expected: GraphBatch) -> None:
    for one, other in zip(found.state.entries, expected.state.entries):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


@pytest.fixture(params=["denoiser", "posterior", "guided"])
def form(request):
    return request.param


@pytest.fixture(params=LIKELIHOODS)
def case(request, form):
    return Case(LIKELIHOODS[request.param], form)


def test_every_kind_of_entry_is_answered(case):
    for entries in case().state.entries:
        assert entries[0].std() > 1e-3
        changed = case(sigma=torch.full_like(SIGMA, 0.1)).state
    for entries, before in zip(changed.entries, case().state.entries):
        assert (entries - before).abs().max() > 1e-3


def test_what_nodes_carry_changes_edges_and_the_reverse(case):
    if case.batch.node_entries is None or not isinstance(case.network, Denoiser):
        pytest.skip("nothing to compare")
    other = replace(case.batch, node_entries=case.batch.node_entries * 0.5)
    assert (case(other).state.edges - case().state.edges).abs().max() > 1e-6
    state = case.batch.state
    edges = GraphState(state.edges * 0.5, state.node_mask, state.nodes)
    found = case.network(edges, SIGMA, case.batch.condition)
    assert (found.nodes - case().state.nodes).abs().max() > 1e-6


def test_permutation_equivariance(case):
    expected = case()
    for seed in range(3):
        order = torch.stack([torch.randperm(6, generator=generator(seed)) for _ in range(4)])
        assert_same(case(case.batch.permuted(order)), expected.permuted(order))


def test_padding_and_holes(case):
    out, wide = case().padded(9), case.batch.padded(9)
    assert_same(case(wide), out)
    order = torch.stack([torch.randperm(9, generator=generator(k)) for k in range(4)])
    assert_same(case(wide.permuted(order)), out.permuted(order))


def test_graphs_do_not_see_each_other(case):
    backwards = torch.arange(3, -1, -1)
    assert_same(case(case.batch[backwards], SIGMA[backwards]), case()[backwards])
    for index in range(4):
        alone = case.batch[[index]].trimmed()
        assert_same(case(alone, SIGMA[[index]]), case()[[index]].trimmed())


def test_symmetry_and_zeros(case):
    state = case(case.batch.padded(9)).state
    torch.testing.assert_close(state.edges, state.edges.transpose(1, 2), rtol=1e-10, atol=1e-10)
    for entries, mask in zip(state.entries, state.masks.entries):
        assert not (entries * ~mask).any()


def test_every_parameter_has_a_finite_gradient(case):
    total = sum(entries.square().sum() for entries in case().state.entries)
    total.backward()
    for name, parameter in case.network.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


def test_float32_agrees_with_float64(case):
    expected = case().state
    case.network.float()
    single = case(case.batch.to(dtype=torch.float32)).state
    for one, other in zip(single.entries, expected.entries):
        scale = float(other.detach().abs().max()) + 1
        torch.testing.assert_close(one.double(), other, rtol=0, atol=2e-4 * scale)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_before_training_the_answer_is_the_analytic_posterior(name):
    """Which is exact where entries are independent, see the contract of likelihoods."""
    likelihood = LIKELIHOODS[name]
    batch = batch_of(likelihood, (3, 3, 2, 3))
    posterior = Posterior(network_of(likelihood, random=False), likelihood)
    noisy = batch.state
    found = posterior.denoise(noisy, SIGMA)
    prior = likelihood.prior(noisy.node_mask, batch.condition, torch.float64)
    expected = likelihood.mean(likelihood.posterior(noisy, SIGMA, prior), SIGMA)
    for one, other in zip(found.entries, expected.entries):
        torch.testing.assert_close(one, other)
