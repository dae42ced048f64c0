"""The log-odds denoiser: exact where it starts, its parts against their formulas, its numerics."""

from __future__ import annotations

import itertools

import pytest
import torch

from graphscore.errors import GraphDataError, SettingsError
from graphscore.graphs import GraphBatch, node_mask_of_sizes, pair_mask
from graphscore.networks import DenoiserSettings, LogOddsDenoiser
from graphscore.networks.denoiser import SigmaConditioning, bounded, product
from graphscore.networks.denoiser_features import NO_NEIGHBOURS, first_features
from graphscore.networks.unordered_pairs import Present
from graphscore.noise import symmetric_noise
from graphscore.training.memory import saved_bytes

SMALL = {"blocks": 2, "pair_width": 8, "node_width": 6, "product_width": 4, "walk_steps": 3}
SIGMA = torch.tensor([0.15, 0.6, 4.0], dtype=torch.float64)
P = 0.3


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def make(*, randomised=True, dtype=torch.float64, **changes):
    source = generator()
    network = LogOddsDenoiser(DenoiserSettings(**{**SMALL, **changes}), P, generator=source)
    if randomised:
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.add_(0.1 * torch.randn(parameter.shape, generator=source))
    return network.to(dtype)


def noisy_graphs(sizes=(6, 4, 5), dtype=torch.float64):
    mask = node_mask_of_sizes(torch.tensor(sizes))
    adj = 0.5 * pair_mask(mask) + symmetric_noise(mask, generator=generator(1), dtype=dtype)
    return adj, mask


def test_at_the_start_it_is_bayes_rule_for_independent_edges():
    """D by brute force over all graphs on 4 nodes, each pair an edge with probability P."""
    nodes = 4
    rows, columns = torch.triu_indices(nodes, nodes, offset=1)
    graphs = torch.tensor(list(itertools.product([0.0, 1.0], repeat=len(rows)))).double()
    edges = graphs.sum(1)
    prior = P**edges * (1 - P) ** (len(rows) - edges)
    adj, mask = noisy_graphs((nodes,) * 3)
    network = make(randomised=False)
    result = network.denoised(adj, mask, SIGMA)[:, rows, columns]
    for graph, sigma in enumerate(SIGMA):
        distance = (adj[graph, rows, columns] - graphs).square().sum(1)
        weight = prior * torch.exp((distance.min() - distance) / (2 * sigma**2))
        expected = weight @ graphs / weight.sum()
        torch.testing.assert_close(result[graph], expected, rtol=1e-6, atol=1e-12)


def test_the_score_is_tweedies():
    """Score, posterior mean and log-odds of one network say the same."""
    adj, mask = noisy_graphs()
    network = make()
    denoised = network.denoised(adj, mask, SIGMA)
    assert ((denoised > 0) == pair_mask(mask)).all()
    log_odds = network.log_odds(adj, mask, SIGMA)
    assert torch.equal(log_odds, log_odds.mT)
    torch.testing.assert_close(denoised, log_odds.sigmoid() * pair_mask(mask))
    score = network(adj, mask, SIGMA)
    torch.testing.assert_close(adj + SIGMA.view(3, 1, 1) ** 2 * score, denoised)


def test_other_pairs_are_looked_at():
    """Apart from the start, changing one pair changes the others, through nodes and products."""
    adj, mask = noisy_graphs((6, 6, 6))
    changed = adj.clone()
    changed[:, 0, 1] += 1
    changed[:, 1, 0] += 1
    for network, depends in [(make(), True), (make(randomised=False), False)]:
        before, after = (network.log_odds(a, mask, SIGMA)[:, 2:, 2:] for a in (adj, changed))
        assert ((before - after).abs().max() > 1e-6) == depends


def test_products_tell_apart_what_nodes_and_walks_cannot():
    """Two triangles and a hexagon look alike to all nodes; paths over third nodes differ."""
    edges = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]
    ring = [(i, (i + 1) % 6) for i in range(6)]
    adj = torch.zeros(2, 6, 6, dtype=torch.float64)
    for graph, pairs in enumerate((edges, ring)):
        for i, j in pairs:
            adj[graph, i, j] = adj[graph, j, i] = 1
    mask, sigma = torch.ones(2, 6, dtype=torch.bool), torch.ones(2, dtype=torch.float64)
    for channels, tells in [(4, True), (0, False)]:
        network = make(product_width=channels, walk_steps=0)
        triangles, hexagon = network.log_odds(adj, mask, sigma)[:, 0, 1]
        assert ((triangles - hexagon).abs() > 1e-6) == tells


def test_products_are_covariances_over_third_nodes():
    """sum_k (E1_ik - mean_i) E2_kj / sqrt(n), symmetrised, pair by pair."""
    mask = node_mask_of_sizes(torch.tensor([5, 3]))
    present = Present.of(mask, torch.float64)
    first, second = torch.randn(2, 2, 3, 5, 5, generator=generator(), dtype=torch.float64)
    first, second = (m * present.pairs.unsqueeze(1) for m in (first, second))
    first, second = first + first.mT, second + second.mT
    result = product(first, second, present)
    for graph, n in enumerate((5, 3)):
        e1, e2 = first[graph, :, :n, :n], second[graph, :, :n, :n]
        for i, j in itertools.permutations(range(n), 2):
            expected = torch.zeros(3, dtype=torch.float64)
            for a, b in ((i, j), (j, i)):
                mean = e1[:, a].sum(1) / (n - 1)
                others = [k for k in range(n) if k != a]
                expected += sum((e1[:, a, k] - mean) * e2[:, k, b] for k in others) / n**0.5
            expected = bounded(expected, dim=0)
            torch.testing.assert_close(result[graph, :, present.place[i, j]], expected)


@pytest.mark.parametrize("nodes", [4, 400])
def test_features_keep_their_size_in_small_and_large_graphs(nodes):
    """After all blocks at the start, noise alone has features of size 1 at 4 and at 400 nodes."""
    network = make(randomised=False, dtype=torch.float32, blocks=4)
    mask = torch.ones(1, nodes, dtype=torch.bool)
    adj = P + symmetric_noise(mask, generator=generator())
    sizes = []
    network.out.register_forward_pre_hook(lambda _, given: sizes.append(given[0].std().item()))
    for block in network.blocks:
        block.register_forward_hook(lambda _, given, out: sizes.extend(x.std().item() for x in out))
    with torch.no_grad():
        network(adj, mask, torch.ones(1))
    assert len(sizes) == 9
    assert 0.3 < min(sizes) < max(sizes) < 3


def test_walks_are_powers_of_the_random_walk():
    """The feature is log(1 + n sqrt(R^k_ij R^k_ji)) of the row-normalised posterior mean."""
    adj, mask = noisy_graphs()
    network = make(randomised=False)
    denoised = network.denoised(adj, mask, SIGMA)
    present = Present.of(mask, torch.float64)
    prior = network.prior_log_odds(mask)
    of_pairs, of_nodes = first_features(adj, present, SIGMA, prior, 3, None)
    walk = denoised / (denoised.sum(2, keepdim=True) + NO_NEIGHBOURS)
    power = torch.eye(6, dtype=torch.float64)
    for steps in range(3):
        power = power @ walk
        expected = (present.sizes * (power * power.mT).sqrt()).log1p()
        result = present.matrices_of(of_pairs.mT)[:, 3 + steps]
        torch.testing.assert_close(result, expected * present.pairs, rtol=1e-6, atol=1e-9)
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


def test_no_closed_form_no_certainty():
    """Without the skip the start says 1/2 everywhere."""
    adj, mask = noisy_graphs()
    denoised = make(randomised=False, closed_form=False).denoised(adj, mask, SIGMA)
    assert torch.equal(denoised, pair_mask(mask) / 2)


def test_parameters_of_the_default():
    """About 0.4 million; switches take away what they switch off."""

    def count(**changes):
        network = LogOddsDenoiser(DenoiserSettings(**changes), P, generator=generator())
        return sum(parameter.numel() for parameter in network.parameters())

    assert 350_000 < count() < 450_000
    assert count(product_width=0) < count() - 60_000
    assert count(walk_steps=0) < count()


def test_half_precision_inside_full_precision_outside():
    """Autocast runs, answers in single precision, and stays near the exact answer."""
    adj, mask = noisy_graphs(dtype=torch.float32)
    network = make(dtype=torch.float32)
    expected = network.denoised(adj, mask, SIGMA.float())
    with torch.autocast("cpu", torch.bfloat16):
        result = network.denoised(adj, mask, SIGMA.float())
        network(adj, mask, SIGMA.float()).square().mean().backward()
        alone = make(dtype=torch.float32, closed_form=False).log_odds(adj, mask, SIGMA.float())
    assert result.dtype == alone.dtype == torch.float32
    assert torch.equal(result, result.mT)
    assert 0 < (result - expected).abs().max() < 0.05
    assert all(p.grad.dtype == torch.float32 for p in network.parameters())
    assert all(p.grad.isfinite().all() for p in network.parameters())


def test_it_compiles_to_one_graph():
    """Nothing in it makes torch.compile stop and ask Python, autocast or not."""
    adj, mask = noisy_graphs(dtype=torch.float32)
    network = make(dtype=torch.float32, blocks=1)
    with torch.autocast("cpu", torch.bfloat16):
        found = torch._dynamo.explain(network)(adj, mask, SIGMA.float())
    assert (found.graph_count, found.graph_break_count) == (1, 0)


def test_inner_results_can_be_computed_twice():
    """The same score and gradient from less memory."""
    adj, mask = noisy_graphs((12, 9, 10))
    found, kept = [], []
    for recompute in (False, True):
        network = make(blocks=4)
        network.recompute_layers = recompute
        score = network(adj, mask, SIGMA)
        score.square().sum().backward()
        found.append([score.detach(), *(p.grad for p in network.parameters())])
        kept.append(saved_bytes(lambda network=network: network(adj, mask, SIGMA)))
    for plain, recomputed in zip(*found):
        torch.testing.assert_close(recomputed, plain, rtol=1e-10, atol=1e-10)
    assert kept[1] < kept[0] / 2


@pytest.mark.parametrize(("expected", "given"), [(2, None), (2, 3), (0, 3)])
def test_wrong_node_features_are_named(expected, given):
    network = make(node_feat_dim=expected, dtype=torch.float32)
    batch = GraphBatch(torch.zeros(1, 4, 4), torch.ones(1, 4, dtype=torch.bool))
    feat = None if given is None else torch.zeros(1, 4, given)
    with pytest.raises(GraphDataError, match=rf"got {given or 0} node features.*for {expected}"):
        network(batch.adj, batch.node_mask, torch.ones(1), feat)


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
