"""What every network must satisfy, in training and in evaluation, to 1e-10 in float64.

A new network joins by one line in `NETWORKS`. `SHARES_STATISTICS` names those whose training mode
may couple the graphs of a batch (batch statistics); order and padding must not matter even there.
"""

from __future__ import annotations

import random
from functools import partial

import numpy as np
import pytest
import torch

from graphscore.diffusion import (
    BernoulliEdges,
    EdgeDensity,
    GraphLikelihood,
    GuidanceSettings,
    GuidedPosterior,
    Posterior,
)
from graphscore.graphs import GraphBatch, node_mask_of_sizes, pair_mask
from graphscore.networks import EDPGNN, Denoiser, DenoiserSettings, EDPGNNSettings

TOLERANCE = 1e-10
LEVELS = (1.6, 0.8, 0.4, 0.1)
DENSITY, WITHIN = EdgeDensity(-1.0, 0.2), EdgeDensity(0.5, 0.1)


def edp_gnn(settings, sigmas=LEVELS):
    return partial(EDPGNN, settings, sigmas)


def likelihood(communities):
    return GraphLikelihood(BernoulliEdges(DENSITY, WITHIN if communities else None))


def denoiser(**changes):
    shape = {"blocks": 2, "pair_width": 6, "node_width": 5, "product_width": 3, "walk_steps": 3}
    settings = DenoiserSettings(**{**shape, **changes})
    return partial(Denoiser, settings, likelihood(settings.communities))


def posterior(network, *, communities=False, analytic_skip=True):
    def make(*, generator):
        inner = network(generator=generator)
        return Posterior(inner, likelihood(communities), analytic_skip=analytic_skip)

    return make


def guided(**changes):
    communities = changes.get("communities", False)

    def make(*, generator):
        both = [
            posterior(denoiser(**shape, **changes), communities=communities)(generator=generator)
            for shape in ({}, {"blocks": 1})
        ]
        return GuidedPosterior(*both, GuidanceSettings(weight=2.0, sigma_max=1.0))

    return make


paper, released, ablation = EDPGNNSettings, EDPGNNSettings.released, EDPGNNSettings.ablation
# The contract is about structure, so most variants are narrow ones, which keeps the tests quick.
narrow = {"message_steps": 2, "features": 5, "edge_width": 6}
small = {"channels": (2, 3, 2), **narrow}
tiny = {"channels": (1,), "message_steps": 1, "features": 1, "edge_width": 1}
both = {"communities": True, "node_feat_dim": 2}

NETWORKS = {
    "paper": edp_gnn(paper()),
    "released": edp_gnn(released()),
    "gin": edp_gnn(ablation(learnable_adjacency=False, multi_channel=False, **narrow)),
    "ablation-channels": edp_gnn(ablation(learnable_adjacency=False, multi_channel=True, **small)),
    "ablation-learnable": edp_gnn(
        ablation(learnable_adjacency=True, multi_channel=False, **narrow)
    ),
    "ablation-both": edp_gnn(ablation(learnable_adjacency=True, multi_channel=True, **narrow)),
    "released-fixed-adjacency": edp_gnn(released(learnable_adjacency=False, **small)),
    "node-features": edp_gnn(paper(node_feat_dim=3, **small)),
    "released-node-features": edp_gnn(released(node_feat_dim=2, **small)),
    "one-level": edp_gnn(paper(**small), sigmas=(0.5,)),
    "append-degrees": edp_gnn(paper(append_degrees=True, **small)),
    "batch-norm": edp_gnn(paper(edge_norm="batch", **small)),
    "sum-readout-elu": edp_gnn(paper(node_readout="sum", activation="elu", **small)),
    "unconditioned-nodes": edp_gnn(paper(condition_nodes=False, **small)),
    "no-complement": edp_gnn(paper(complement_channel=False, **small)),
    "smallest": edp_gnn(paper(**tiny)),
    "denoiser": denoiser(),
    "denoiser-node-features": denoiser(node_feat_dim=3, walk_steps=0),
    "denoiser-communities": denoiser(communities=True),
    "denoiser-communities-features": denoiser(**both),
    "denoiser-no-products": denoiser(product_width=0, walk_steps=1),
    "denoiser-smallest": denoiser(blocks=1, pair_width=2, node_width=1, product_width=1),
    "posterior-denoiser": posterior(denoiser()),
    "posterior-denoiser-node-features": posterior(denoiser(node_feat_dim=3)),
    "posterior-denoiser-communities-features": posterior(denoiser(**both), communities=True),
    "posterior-denoiser-without-skip": posterior(denoiser(), analytic_skip=False),
    "posterior-edp-gnn": posterior(edp_gnn(paper(node_feat_dim=2, **small))),
    "posterior-released": posterior(edp_gnn(released(**small))),
    "guided": guided(),
    "guided-communities-features": guided(**both),
}
SHARES_STATISTICS = {
    "released",
    "released-fixed-adjacency",
    "released-node-features",
    "batch-norm",
    "posterior-released",
}


def randomised(make, generator):
    """Make a network whose every parameter and buffer is random, none at its initial value."""
    network = make(generator=generator).double()
    with torch.no_grad():
        for parameter in network.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.add_(0.1 * noise)
        for name, buffer in network.named_buffers():
            noise = torch.rand(buffer.shape, generator=generator, dtype=torch.float64)
            buffer.copy_(0.5 + noise if "var" in name else noise - 0.5)
    return network


def random_batch(sizes, features, communities, generator, width=None):
    """Noisy symmetric graphs of the given sizes, with what the network is conditioned on."""
    mask = node_mask_of_sizes(torch.tensor(sizes), width)
    batch, width = mask.shape
    raw = torch.randn(batch, width, width, generator=generator, dtype=torch.float64)
    adj = (raw.triu(1) + raw.triu(1).mT) * pair_mask(mask)
    feat = numbers = None
    if features:
        feat = torch.randn(batch, width, features, generator=generator, dtype=torch.float64)
        feat = feat * mask.unsqueeze(-1)
    if communities:
        numbers = torch.randint(2, (batch, width), generator=generator) * mask
    return GraphBatch(adj, mask, feat, numbers)


def answer(network, batch, sigma):
    state = network(batch.state, sigma, batch.condition)
    assert torch.equal(state.node_mask, batch.node_mask)
    assert state.nodes is None
    return state.edges


def assert_same(result, expected):
    torch.testing.assert_close(result, expected, rtol=TOLERANCE, atol=TOLERANCE)


class Case:
    """One network in one mode, with a batch of four graphs, the last padded or with one node."""

    def __init__(self, name, mode):
        self.generator = torch.Generator().manual_seed(7)
        self.make = NETWORKS[name]
        self.network = randomised(self.make, self.generator).train(mode == "train")
        self.couples = mode == "train" and name in SHARES_STATISTICS
        self.levels = 1 if name == "one-level" else len(LEVELS)
        settings = next(m.settings for m in self.network.modules() if hasattr(m, "settings"))
        self.features = settings.node_feat_dim
        self.communities = getattr(settings, "communities", False)
        self.batch = self.graphs([6, 4, 6, 1])
        # At a level, between levels, below and above all of them.
        self.sigma = torch.tensor([0.4, 0.25, 0.05, 2.0], dtype=torch.float64)

    def graphs(self, sizes, width=None):
        return random_batch(sizes, self.features, self.communities, self.generator, width)

    def __call__(self, batch=None, sigma=None):
        batch = self.batch if batch is None else batch
        return answer(self.network, batch, self.sigma if sigma is None else sigma)


@pytest.fixture(params=["train", "eval"])
def mode(request):
    return request.param


@pytest.fixture(params=NETWORKS)
def name(request):
    return request.param


@pytest.fixture
def case(name, mode):
    return Case(name, mode)


def test_the_output_is_not_trivial(case):
    """The tests below would hold for a constant; the answer differs between pairs and levels."""
    out = case()
    assert out[0][case.batch.pair_mask[0]].std() > 1e-3
    assert (case(sigma=torch.full_like(case.sigma, 0.1)) - out).abs().max() > 1e-3 or (
        case.levels == 1
    )


def test_permutation_equivariance(case):
    """Relabelling the nodes, differently in every graph, relabels the answer."""
    expected = GraphBatch(case(), case.batch.node_mask)
    for _ in range(3):
        order = torch.stack([torch.randperm(6, generator=case.generator) for _ in range(4)])
        assert_same(case(case.batch.permuted(order)), expected.permuted(order).adj)


def test_padding_invariance(case):
    """Padding 6 nodes to 12 leaves the answer for real pairs and adds zeros."""
    out = case()
    wide = case(case.batch.padded(12))
    assert_same(wide[:, :6, :6], out)
    assert not wide[:, 6:].any()
    assert not wide[:, :, 6:].any()


def test_holes_in_the_mask(case):
    """Real nodes may stand anywhere; what is stored on missing nodes and the diagonal is unread."""
    out = GraphBatch(case(), case.batch.node_mask).padded(12)
    order = torch.stack([torch.randperm(12, generator=case.generator) for _ in range(4)])
    scattered = case.batch.padded(12).permuted(order)
    rubbish = torch.randn(4, 12, 12, generator=case.generator, dtype=torch.float64)
    adj = torch.where(scattered.pair_mask, scattered.adj, 5 * (rubbish + rubbish.mT))
    feat, numbers, mask = scattered.node_feat, scattered.communities, scattered.node_mask
    if feat is not None:
        feat = torch.where(mask.unsqueeze(-1), feat, 9.0)
    if numbers is not None:
        numbers = torch.where(mask, numbers, rubbish[:, 0].sign().long())
    assert_same(case(GraphBatch(adj, mask, feat, numbers)), out.permuted(order).adj)


def test_batch_order_independence(case):
    """Reversing the graphs and their noise levels reverses the answers."""
    backwards = torch.arange(3, -1, -1)
    assert_same(case(case.batch[backwards], case.sigma[backwards]), case()[backwards])


def test_each_graph_alone(case):
    """A graph's answer does not depend on the other graphs of its batch."""
    if case.couples:
        pytest.skip("batch statistics couple graphs in training")
    out = case()
    for index in range(4):
        alone = case.batch[[index]].trimmed()
        width = alone.max_nodes
        assert_same(case(alone, case.sigma[[index]])[0], out[index, :width, :width])


def test_symmetry_and_zeros(case):
    """The answer is symmetric and exactly zero on the diagonal and on padding."""
    out = case(case.batch.padded(9))
    assert out.shape == (4, 9, 9)
    assert out.dtype == torch.float64
    assert_same(out, out.mT)
    assert not out[~case.batch.padded(9).pair_mask].any()
    assert not out[3].any()


def test_sigma_of_each_graph(case):
    """Changing one graph's noise level changes its answer and no other."""
    if case.couples:
        pytest.skip("batch statistics couple graphs in training")
    out = case()
    sigma = case.sigma.clone()
    sigma[1] = 1.1
    changed = case(sigma=sigma)
    others = [0, 2, 3]
    assert torch.equal(changed[others], out[others])
    assert torch.equal(changed[1], out[1]) == (case.levels == 1)


@pytest.mark.parametrize("nodes", [1, 2, 5, 30])
def test_any_number_of_nodes_with_finite_gradients(case, nodes):
    """The same network serves graphs of any size, and its gradients are finite."""
    batch = case.graphs([nodes, nodes])
    out = case(batch, case.sigma[:2])
    assert out.shape == (2, nodes, nodes)
    assert out.isfinite().all()
    out.square().sum().backward()
    for parameter in case.network.parameters():
        assert parameter.grad is None or parameter.grad.isfinite().all()


def test_every_parameter_is_used(case):
    """A parameter without a gradient would be dead weight in the checkpoint."""
    case().square().sum().backward()
    unused = [name for name, p in case.network.named_parameters() if p.grad is None]
    assert unused == []


def test_no_state_between_calls(case):
    """A call leaves no trace, apart from the running batch statistics of training."""
    first = case().detach()
    before = {key: value.clone() for key, value in case.network.state_dict().items()}
    case(case.graphs([9, 3]), case.sigma[:2])
    case(case.batch, torch.full_like(case.sigma, 0.3))
    assert torch.equal(case(), first)
    if not case.couples:
        after = case.network.state_dict()
        assert all(torch.equal(after[key], value) for key, value in before.items())


def test_inputs_are_not_changed(case):
    """In-place arithmetic stays inside the network."""
    copy = GraphBatch(*(None if t is None else t.clone() for t in vars(case.batch).values()))
    sigma = case.sigma.clone()
    case().sum().backward()
    assert torch.equal(copy.adj, case.batch.adj)
    assert torch.equal(copy.node_mask, case.batch.node_mask)
    assert torch.equal(sigma, case.sigma)
    assert copy.node_feat is None or torch.equal(copy.node_feat, case.batch.node_feat)
    assert copy.communities is None or torch.equal(copy.communities, case.batch.communities)


def test_float32_agrees_with_float64(name):
    """The precision that is trained in computes the same function."""
    case = Case(name, "eval")
    expected = case()
    case.network.float()
    single = answer(case.network, case.batch.to(dtype=torch.float32), case.sigma.float())
    assert single.dtype == torch.float32
    scale = float(expected.detach().abs().max()) + 1
    torch.testing.assert_close(single.double(), expected, rtol=0, atol=1e-4 * scale)


def test_global_random_state_is_untouched(name, mode):
    """Making and running a network draws from its generator only."""
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].copy()  # noqa: NPY002
    Case(name, mode)().sum().backward()
    assert torch.equal(torch.get_rng_state(), states[0])
    assert random.getstate() == states[1]
    assert np.array_equal(np.random.get_state()[1], states[2])  # noqa: NPY002


def test_same_generator_same_network(name):
    """Initial parameters follow from the generator's seed, and differ between seeds."""
    make = NETWORKS[name]
    one, two, other = (
        make(generator=torch.Generator().manual_seed(seed)).state_dict() for seed in (1, 1, 2)
    )
    assert all(torch.equal(one[key], two[key]) for key in one)
    assert any(not torch.equal(one[key], other[key]) for key in one)
