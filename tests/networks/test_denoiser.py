"""The denoiser: exact where it starts, its parts against their formulas, its numerics."""

from __future__ import annotations

import itertools

import pytest
import torch

from graphscore.diffusion import (
    BernoulliEdges,
    EdgeDensity,
    GraphLikelihood,
    Posterior,
    perturb,
    symmetric_noise,
)
from graphscore.errors import GraphDataError, SettingsError
from graphscore.graphs import (
    NO_CONDITION,
    Condition,
    GraphState,
    node_mask_of_sizes,
    pair_mask,
)
from graphscore.networks import Denoiser, DenoiserSettings
from graphscore.networks.denoiser import SigmaConditioning, bounded, triangle_product
from graphscore.networks.denoiser_features import NO_NEIGHBOURS, input_features
from graphscore.networks.pair_index import PairIndex
from graphscore.training.memory import saved_bytes

SMALL = {"blocks": 2, "pair_width": 8, "node_width": 6, "product_width": 4, "walk_steps": 3}
SIGMA = torch.tensor([0.15, 0.6, 4.0], dtype=torch.float64)
P = 0.3
LIKELIHOOD = GraphLikelihood(BernoulliEdges(EdgeDensity.constant(P)))


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def make(*, randomised=True, dtype=torch.float64, **changes):
    """A denoiser as a posterior, the way it is trained and sampled from."""
    source = generator()
    settings = DenoiserSettings(**{**SMALL, **changes})
    network = Denoiser(settings, LIKELIHOOD, generator=source)
    if randomised:
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.add_(0.1 * torch.randn(parameter.shape, generator=source))
    return Posterior(network.to(dtype), LIKELIHOOD, analytic_skip=settings.analytic_skip)


def noisy_graphs(sizes=(6, 4, 5), dtype=torch.float64):
    mask = node_mask_of_sizes(torch.tensor(sizes))
    clean = GraphState(0.5 * pair_mask(mask).to(dtype), mask)
    return perturb(clean, torch.ones(len(sizes), dtype=dtype), generator=generator(1))


def test_at_the_start_it_is_bayes_rule_for_independent_edges():
    """D by brute force over all graphs on 4 nodes, each pair an edge with probability P."""
    nodes = 4
    rows, columns = torch.triu_indices(nodes, nodes, offset=1)
    graphs = torch.tensor(list(itertools.product([0.0, 1.0], repeat=len(rows)))).double()
    edges = graphs.sum(1)
    prior = P**edges * (1 - P) ** (len(rows) - edges)
    noisy = noisy_graphs((nodes,) * 3)
    result = make(randomised=False).denoise(noisy, SIGMA).edges[:, rows, columns]
    for graph, sigma in enumerate(SIGMA):
        distance = (noisy.edges[graph, rows, columns] - graphs).square().sum(1)
        weight = prior * torch.exp((distance.min() - distance) / (2 * sigma**2))
        expected = weight @ graphs / weight.sum()
        torch.testing.assert_close(result[graph], expected, rtol=1e-6, atol=1e-12)


def test_edges_are_exactly_symmetric_and_never_certain():
    noisy, network = noisy_graphs(), make()
    mean, logits = network.denoise(noisy, SIGMA).edges, network.logits(noisy, SIGMA).edges
    assert ((mean > 0) == noisy.pair_mask).all()
    assert torch.equal(mean, mean.mT)
    assert torch.equal(logits, logits.mT)


def test_the_bare_network_answers_the_residual_of_the_posterior():
    """Zero at the start of training, the difference from the analytic posterior after it."""
    noisy, pairs = noisy_graphs(), pair_mask(node_mask_of_sizes(torch.tensor([6, 4, 5])))
    assert not make(randomised=False).network(noisy, SIGMA).edges.any()
    network = make()
    prior = LIKELIHOOD.prior(noisy.node_mask, NO_CONDITION, torch.float64)
    analytic = LIKELIHOOD.posterior(noisy, SIGMA, prior).edges
    residual = network.network(noisy, SIGMA).edges
    assert residual.abs().max() > 0.01
    expected = (analytic + residual) * pairs
    torch.testing.assert_close(network.logits(noisy, SIGMA).edges, expected)


def test_other_pairs_are_looked_at():
    """Apart from the start, changing one pair changes the others, through nodes and products."""
    noisy = noisy_graphs((6, 6, 6))
    edges = noisy.edges.clone()
    edges[:, 0, 1] += 1
    edges[:, 1, 0] += 1
    changed = GraphState(edges, noisy.node_mask)
    for network, depends in [(make(), True), (make(randomised=False), False)]:
        before, after = (network.logits(s, SIGMA).edges[:, 2:, 2:] for s in (noisy, changed))
        assert ((before - after).abs().max() > 1e-6) == depends


def test_triangle_products_distinguish_what_nodes_and_walks_cannot():
    """Two triangles and a hexagon look alike to all nodes; paths over third nodes differ."""
    edges = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]
    ring = [(i, (i + 1) % 6) for i in range(6)]
    adj = torch.zeros(2, 6, 6, dtype=torch.float64)
    for graph, pairs in enumerate((edges, ring)):
        for i, j in pairs:
            adj[graph, i, j] = adj[graph, j, i] = 1
    mask, sigma = torch.ones(2, 6, dtype=torch.bool), torch.ones(2, dtype=torch.float64)
    for channels, differ in [(4, True), (0, False)]:
        network = make(product_width=channels, walk_steps=0)
        triangles, hexagon = network.logits(GraphState(adj, mask), sigma).edges[:, 0, 1]
        assert ((triangles - hexagon).abs() > 1e-6) == differ


def test_triangle_products_are_covariances_over_third_nodes():
    """sum_k (E1_ik - mean_i) E2_kj / sqrt(n), symmetrised, pair by pair."""
    mask = node_mask_of_sizes(torch.tensor([5, 3]))
    pairs = PairIndex.of(mask, torch.float64)
    first, second = torch.randn(2, 2, 3, 5, 5, generator=generator(), dtype=torch.float64)
    first, second = (m * pairs.mask.unsqueeze(1) for m in (first, second))
    first, second = first + first.mT, second + second.mT
    result = triangle_product(first, second, pairs)
    for graph, n in enumerate((5, 3)):
        e1, e2 = first[graph, :, :n, :n], second[graph, :, :n, :n]
        for i, j in itertools.permutations(range(n), 2):
            expected = torch.zeros(3, dtype=torch.float64)
            for a, b in ((i, j), (j, i)):
                mean = e1[:, a].sum(1) / (n - 1)
                others = [k for k in range(n) if k != a]
                expected += sum((e1[:, a, k] - mean) * e2[:, k, b] for k in others) / n**0.5
            expected = bounded(expected, dim=0)
            torch.testing.assert_close(result[graph, :, pairs.place[i, j]], expected)


@pytest.mark.parametrize("nodes", [4, 400])
def test_features_keep_their_size_in_small_and_large_graphs(nodes):
    """After all blocks at the start, noise alone has features of size 1 at 4 and at 400 nodes."""
    network = make(randomised=False, dtype=torch.float32, blocks=4)
    mask = torch.ones(1, nodes, dtype=torch.bool)
    edges = P + symmetric_noise(mask, generator=generator())
    sizes = []
    inner = network.network
    inner.out.register_forward_pre_hook(lambda _, given: sizes.append(given[0].std().item()))
    for block in inner.blocks:
        block.register_forward_hook(lambda _, given, out: sizes.extend(x.std().item() for x in out))
    with torch.no_grad():
        network(GraphState(edges, mask), torch.ones(1))
    assert len(sizes) == 9
    assert 0.3 < min(sizes) < max(sizes) < 3


def test_walks_are_powers_of_the_random_walk():
    """The feature is log(1 + n sqrt(R^k_ij R^k_ji)) of the row-normalised posterior mean."""
    noisy = noisy_graphs()
    denoised = make(randomised=False).denoise(noisy, SIGMA).edges
    pairs = PairIndex.of(noisy.node_mask, torch.float64)
    of_pairs, of_nodes = input_features(
        noisy, pairs, SIGMA, NO_CONDITION, LIKELIHOOD, DenoiserSettings(walk_steps=3)
    )
    walk = denoised / (denoised.sum(2, keepdim=True) + NO_NEIGHBOURS)
    power = torch.eye(6, dtype=torch.float64)
    for steps in range(3):
        power = power @ walk
        expected = (pairs.sizes * (power * power.mT).sqrt()).log1p()
        result = pairs.matrices_of(of_pairs.mT)[:, 3 + steps]
        torch.testing.assert_close(result, expected * pairs.mask, rtol=1e-6, atol=1e-9)
        if steps:
            diagonal = expected.diagonal(dim1=1, dim2=2)
            torch.testing.assert_close(of_nodes[..., 3 + steps], diagonal, rtol=1e-6, atol=1e-9)


def test_gains_are_smooth_in_sigma_and_start_at_one():
    conditioning = SigmaConditioning([3, 5], 8, generator=generator()).double()
    for film, width in zip(conditioning(SIGMA), (3, 5)):
        assert torch.equal(film.gain, torch.ones(3, 1, width, dtype=torch.float64))
        assert torch.equal(film.shift, torch.zeros(3, 1, width, dtype=torch.float64))
    torch.nn.init.normal_(conditioning.out.weight, generator=generator())
    sigma = torch.logspace(-1, 1, 2001, dtype=torch.float64)
    gain = conditioning(sigma)[0].gain
    assert gain.std(0).min() > 0.1
    assert gain.diff(dim=0).abs().max() < 0.02


def test_without_the_analytic_skip_nothing_is_known_at_the_start():
    """The answer is 1/2 everywhere."""
    noisy = noisy_graphs()
    mean = make(randomised=False, analytic_skip=False).denoise(noisy, SIGMA).edges
    assert torch.equal(mean, noisy.pair_mask / 2)


def test_parameters_of_the_default():
    """About 0.4 million; switches take away what they switch off."""

    def count(**changes):
        network = Denoiser(DenoiserSettings(**changes), LIKELIHOOD, generator=generator())
        return sum(parameter.numel() for parameter in network.parameters())

    assert 350_000 < count() < 450_000
    assert count(product_width=0) < count() - 60_000
    assert count(walk_steps=0) < count()


def test_half_precision_inside_full_precision_outside():
    """Autocast runs, answers in single precision, and stays near the exact answer."""
    noisy, sigma = noisy_graphs(dtype=torch.float32), SIGMA.float()
    network = make(dtype=torch.float32)
    expected = network.denoise(noisy, sigma).edges
    with torch.autocast("cpu", torch.bfloat16):
        result = network.denoise(noisy, sigma).edges
        network(noisy, sigma).edges.square().mean().backward()
        alone = make(dtype=torch.float32, analytic_skip=False).logits(noisy, sigma).edges
    assert result.dtype == alone.dtype == torch.float32
    assert torch.equal(result, result.mT)
    assert 0 < (result - expected).abs().max() < 0.05
    assert all(p.grad.dtype == torch.float32 for p in network.parameters())
    assert all(p.grad.isfinite().all() for p in network.parameters())


def test_it_compiles_to_one_graph():
    """Nothing in it makes torch.compile stop and ask Python, autocast or not."""
    noisy = noisy_graphs(dtype=torch.float32)
    network = make(dtype=torch.float32, blocks=1)
    with torch.autocast("cpu", torch.bfloat16):
        found = torch._dynamo.explain(network)(noisy, SIGMA.float())
    assert (found.graph_count, found.graph_break_count) == (1, 0)


def test_activation_checkpointing():
    """The same score and gradient from less memory."""
    noisy = noisy_graphs((12, 9, 10))
    found, kept = [], []
    for checkpointing in (False, True):
        network = make(blocks=4)
        network.checkpoint_activations = checkpointing
        score = network(noisy, SIGMA).edges
        score.square().sum().backward()
        found.append([score.detach(), *(p.grad for p in network.parameters())])
        kept.append(saved_bytes(lambda network=network: network(noisy, SIGMA)))
    for plain, checkpointed in zip(*found):
        torch.testing.assert_close(checkpointed, plain, rtol=1e-10, atol=1e-10)
    assert kept[1] < kept[0] / 2


@pytest.mark.parametrize(("expected", "given"), [(2, None), (2, 3), (0, 3)])
def test_wrong_node_features_are_named(expected, given):
    network = make(node_feat_dim=expected, dtype=torch.float32)
    noisy = GraphState(torch.zeros(1, 4, 4), torch.ones(1, 4, dtype=torch.bool))
    condition = Condition(None if given is None else torch.zeros(1, 4, given))
    with pytest.raises(GraphDataError, match=rf"got {given or 0} node features.*for {expected}"):
        network(noisy, torch.ones(1), condition)


@pytest.mark.parametrize(
    "values",
    [
        {"blocks": 0},
        {"pair_width": 1},
        {"node_width": 0},
        {"product_width": -1},
        {"walk_steps": -1},
        {"conditioning_width": 0},
        {"node_feat_dim": -1},
    ],
    ids=str,
)
def test_settings_are_validated(values):
    with pytest.raises(SettingsError, match=next(iter(values))):
        DenoiserSettings(**values)


def test_rows_that_cuda_has_besides_change_nothing(monkeypatch):
    """Places without a pair, for aligned rows: the answer and every gradient are the same."""

    def answer_and_gradients():
        posterior, noisy = make(), noisy_graphs()
        answer = posterior.denoise(noisy, SIGMA).edges
        answer.square().sum().backward()
        return [answer, *(parameter.grad for parameter in posterior.parameters())]

    expected = answer_and_gradients()
    of = PairIndex.of
    monkeypatch.setattr(PairIndex, "of", lambda mask, dtype: of(mask, dtype, multiple=8))
    for found, value in zip(answer_and_gradients(), expected, strict=True):
        torch.testing.assert_close(found, value, rtol=1e-10, atol=1e-10)
