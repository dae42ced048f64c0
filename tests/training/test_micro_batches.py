"""Micro-batches and buckets: the gradient of the whole batch, and a size that fits the memory."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from graphscore.diffusion import ScoreMatching
from graphscore.errors import GraphscoreWarning, TrainingError
from graphscore.graphs import GraphBatch, node_mask_of_sizes
from graphscore.networks import EDPGNN, EDPGNNSettings
from graphscore.training import Trainer, TrainingSettings
from graphscore.training.batching import MicroBatch
from graphscore.training.memory import saved_bytes
from graphscore.training.micro_batches import SHARE, MicroBatcher
from graphscore.training.trainer import OVERHEAD

SIGMAS = (1.0, 0.3)
OBJECTIVE = ScoreMatching(SIGMAS)
SMALL = {"channels": (2, 2), "message_steps": 1, "features": 4, "edge_width": 4}
PAPER, RELEASED = EDPGNNSettings(**SMALL), EDPGNNSettings.released(**SMALL)


def items_of(batch):
    return OBJECTIVE.perturb(batch, generator=torch.Generator().manual_seed(3))


def gradients(trainer):
    return [parameter.grad.clone() for parameter in trainer.network.parameters()]


def assert_close(one, two, tolerance=1e-10):
    assert len(one) == len(two) > 0
    for a, b in zip(one, two):
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


def recorded_shapes(trainer):
    """The shapes (graphs, width) that the network will be called with."""
    shapes, forward = [], trainer.network.forward

    def noting(noisy, *rest):
        shapes.append(tuple(noisy.edges.shape[:2]))
        return forward(noisy, *rest)

    trainer.network.forward = noting
    return shapes


# ---------------------------------------------------------------- the same gradient


@pytest.mark.parametrize("features", [0, 2])
@pytest.mark.parametrize("size", [1, 2, 5, 9, 10])
def test_micro_batches_have_the_gradient_of_the_whole(make_trainer, ragged, size, features):
    """Ten noisy graphs of one to seven nodes, all at once or in micro-batches."""
    batch = ragged(features=features)
    trainer = make_trainer(batch, PAPER.replaced(node_feat_dim=features), batch_size=5)
    items = items_of(batch)
    losses = OBJECTIVE.per_graph_loss(trainer.network, items)
    losses.mean().backward()
    expected = gradients(trainer)
    metrics = trainer.accumulate_gradients(items, MicroBatch(slice(0, 10), 7).split(size))
    assert_close(gradients(trainer), expected)
    assert_close(list(metrics), list(OBJECTIVE.metrics(items, losses.detach())))


def test_the_noise_is_that_of_the_whole_batch(ragged):
    """Whatever is computed at a time, item b * L + i is graph b at level i, perturbed once."""
    batch, seen = ragged(), []

    def network(noisy, sigma, condition):
        seen.append((noisy.edges, noisy.node_mask, sigma))
        return noisy * 0.0

    items = items_of(batch)
    OBJECTIVE.per_graph_loss(network, items)
    for start in range(0, 10, 3):
        OBJECTIVE.per_graph_loss(network, items.part(slice(start, start + 3)))
    for whole, *parts in zip(*seen):
        assert torch.equal(whole, torch.cat(parts))
    assert torch.equal(seen[0][1], batch.node_mask.repeat_interleave(2, 0))
    assert torch.equal(seen[0][2], torch.tensor(SIGMAS).to(batch.adj).repeat(5))


@pytest.mark.parametrize("features", [0, 2])
@pytest.mark.parametrize(("cuts", "fitting"), [((2, 6), 10), ((2, 4, 6, 8), 10), ((4,), 1)])
def test_buckets_have_the_gradient_of_the_padded_batch(
    make_trainer, ragged, cuts, fitting, features
):
    """Graphs of 1, 3, 5, 6 and 7 nodes, cut to their own width in buckets, or all padded to 7."""
    batch = ragged(features=features)[[2, 0, 3, 4, 1]]
    widths = batch.sizes.repeat_interleave(2).tolist()
    trainer = make_trainer(batch, PAPER.replaced(node_feat_dim=features), batch_size=5)
    items = items_of(batch)
    expected = [
        trainer.accumulate_gradients(items, [MicroBatch(slice(0, 10), 7)]),
        *gradients(trainer),
    ]
    trainer._micro._pairs = fitting * 49
    buckets = [MicroBatch(slice(a, b), widths[b - 1]) for a, b in pairwise([0, *cuts, 10])]
    found = [trainer.accumulate_gradients(items, buckets), *gradients(trainer)]
    assert_close(found, expected)


def test_communities_are_cut_with_their_graphs(ragged):
    """A micro-batch carries the condition of its own graphs, at its own width."""
    batch = ragged()
    numbers = torch.arange(35).view(5, 7)
    part = items_of(replace(batch, communities=numbers)).part(slice(2, 5), 4)
    assert torch.equal(part.condition.communities, numbers[[1, 1, 2], :4])
    assert part.noisy.edges.is_contiguous()


@pytest.mark.usefixtures("unknown_memory")
@pytest.mark.parametrize("overhead", [0, 100, 10**9])
def test_bucketing_changes_the_work_and_not_the_result(
    make_trainer, ragged, assert_same_weights, overhead, monkeypatch
):
    """Buckets are narrower than the batch; weights are those of training without buckets."""
    monkeypatch.setitem(OVERHEAD, "cpu", overhead)
    trainers, shapes = {}, {}
    for bucketing in (True, False):
        trainers[bucketing] = make_trainer(ragged(), bucketing=None if bucketing else False)
        shapes[bucketing] = recorded_shapes(trainers[bucketing])
    # Batches in the same order, or noise would go to other graphs.
    trainers[False].batches = trainers[True].batches
    for trainer in trainers.values():
        trainer.run()
    assert_same_weights(trainers[True], trainers[False])
    pairs = {b: sum(k * n * n for k, n in shapes[b]) for b in shapes}
    graphs = {b: sum(k for k, _ in shapes[b]) for b in shapes}
    assert graphs[True] == graphs[False] == 3 * 8
    if overhead < 10**9:
        assert pairs[True] < pairs[False]
    else:
        assert shapes[True] == shapes[False]


@pytest.mark.usefixtures("unknown_memory")
def test_coupled_graphs_are_not_put_into_buckets(make_trainer, ragged, monkeypatch):
    """Batch statistics are those of the batch wherever it fits."""
    monkeypatch.setitem(OVERHEAD, "cpu", 0)
    trainer = make_trainer(ragged(), RELEASED)
    shapes = recorded_shapes(trainer)
    trainer.run()
    assert [graphs for graphs, _ in shapes] == [8, 8, 8]


def test_a_graph_without_nodes_is_no_obstacle(monkeypatch):
    """Its bucket has one empty node, as its batch would have."""
    monkeypatch.setitem(OVERHEAD, "cpu", 0)
    mask = node_mask_of_sizes(torch.tensor([0, 3, 4]))
    data = GraphBatch(torch.zeros(3, 4, 4), mask)
    network = EDPGNN(PAPER, SIGMAS, generator=torch.Generator().manual_seed(0))
    settings = TrainingSettings(steps=2, batch_size=3)
    trainer = Trainer(network, data, OBJECTIVE, settings, seed=0)
    assert trainer.run()
    trainer.step = 0
    items = trainer._perturb(trainer.batches.batch(0), torch.Generator())
    assert min(bucket.nodes for bucket in trainer._buckets(items)) == 1


# ---------------------------------------------------------------- smaller micro-batches


def test_the_largest_bucket_is_that_with_most_pairs():
    """Not that with most graphs."""
    micro = MicroBatcher(torch.nn.Linear(1, 1), torch.device("cpu"))
    with pytest.warns(GraphscoreWarning, match="2 noisy graphs padded to 7 nodes"):
        micro.shrink([MicroBatch(slice(0, 6), 3), MicroBatch(slice(6, 8), 7)])
    assert micro.size(2, 7) == 1
    assert micro.size(6, 3) == 5


def test_a_single_node_is_a_pair_and_so_is_none():
    micro = MicroBatcher(torch.nn.Linear(1, 1), torch.device("cpu"))
    micro._pairs = 10
    assert [micro.size(100, nodes) for nodes in (0, 1, 2, 9)] == [10, 10, 2, 1]


def test_a_network_that_cannot_keep_less_ends_with_an_error():
    micro = MicroBatcher(torch.nn.Linear(1, 1), torch.device("cpu"))
    with pytest.raises(TrainingError, match="one graph padded to 9 nodes does not fit"):
        micro.shrink([MicroBatch(slice(0, 1), 9)])


def test_the_largest_of_what_was_tried_is_halved():
    """Many small graphs are split already; it is the two large ones that do not fit."""
    network = EDPGNN(PAPER, SIGMAS, generator=torch.Generator().manual_seed(0))
    micro = MicroBatcher(network, torch.device("cpu"))
    buckets = [MicroBatch(slice(0, 100), 10), MicroBatch(slice(100, 102), 60)]
    micro._pairs = 4000
    with pytest.warns(GraphscoreWarning, match="10 nodes"):
        micro.shrink(buckets)
    assert max(len(part) * part.nodes**2 for part in micro.split(buckets)) == 60**2
    with pytest.warns(GraphscoreWarning, match="one graph padded to 60 nodes"):
        micro.shrink(buckets)
    assert network.checkpoint_activations


# ---------------------------------------------------------------- planned before the first step


@pytest.fixture
def plan(make_trainer, monkeypatch):
    """plan(available bytes, settings): a trainer that has planned, and its warnings."""

    def make(available, settings=PAPER):
        name = "graphscore.training.micro_batches.available_memory"
        monkeypatch.setattr(name, lambda device: available)
        trainer = make_trainer(settings=settings, dtype=torch.float32)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            trainer._plan()
        return trainer, [str(warning.message) for warning in caught]

    return make


@pytest.fixture
def memory_for(make_trainer):
    """memory_for(graphs): bytes in which that many graphs are planned to fit."""

    def needed(graphs):
        trainer = make_trainer(dtype=torch.float32)
        one = trainer.batches.largest()
        kept = saved_bytes(lambda: trainer.network(one.state, torch.ones(1)))
        return int((graphs + 0.5) * kept / SHARE)

    return needed


@pytest.mark.parametrize("available", [None, 1 << 40])
def test_what_fits_is_computed_at_once_without_a_warning(plan, available):
    trainer, caught = plan(available)
    assert caught == []
    assert trainer._micro.size(8, 7) == 8
    assert trainer._micro.size(10**6, 1000) == 10**6


@pytest.mark.parametrize("fitting", [1, 3, 7, 8])
def test_micro_batches_are_chosen_to_fit(plan, memory_for, fitting):
    """As many as a share of the memory holds; more of smaller graphs; one warning."""
    trainer, caught = plan(memory_for(fitting))
    assert trainer._micro.size(8, 7) == fitting
    assert trainer._micro.size(8, 1) == 8
    if fitting == 8:
        assert caught == []
        return
    assert trainer._micro.size(10**6, 3) == fitting * 49 // 9
    (message,) = caught
    assert "would need about" in message
    assert f"computing {fitting} at a time" in message


def test_a_run_begins_with_planning(plan, memory_for):
    trainer, _ = plan(memory_for(3))
    trainer._micro._pairs = None
    with pytest.warns(GraphscoreWarning, match="would need about") as caught:
        trainer.run()
    assert len(caught) == 1


def test_what_is_kept_takes_a_third_of_the_available_memory(plan, make_trainer):
    """Computing the gradient needs as much again, and other programs need some."""
    trainer = make_trainer(dtype=torch.float32)
    one = trainer.batches.largest()
    kept = saved_bytes(lambda: trainer.network(one.state, torch.ones(1)))
    for available, fitting in ((9.5 * kept, 3), (11.5 * kept, 3), (12.5 * kept, 4)):
        planned, _ = plan(int(available))
        assert planned._micro.size(8, 7) == fitting


@pytest.mark.parametrize(("missing", "size"), [(0, 5), (1, 4)])
def test_a_batch_that_just_fits_is_computed_at_once(monkeypatch, missing, size):
    """Five graphs in a share of exactly the bytes that their gradient keeps, or a byte less."""
    name = "graphscore.training.micro_batches.available_memory"
    network = torch.nn.Module()
    network.forward = lambda state, sigma, condition: state.edges.requires_grad_().exp()
    graph = GraphBatch(torch.zeros(1, 8, 8), torch.ones(1, 8, dtype=torch.bool))
    monkeypatch.setattr(name, lambda device: 5 * 3 * 8 * 8 * 4 - missing)
    micro = MicroBatcher(network, torch.device("cpu"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        micro.plan(graph, 5)
    assert micro.size(5, 8) == size
    assert len(caught) == missing


def test_one_graph_beyond_the_memory_is_checkpointed_from_the_start(plan):
    trainer, caught = plan(4000)
    assert trainer.network.checkpoint_activations
    assert trainer._micro.size(8, 7) == 1
    assert trainer._micro.size(8, 3) == 49 // 9
    assert len(caught) == 2
    assert "computing 1 at a time" in caught[0]
    assert "activation checkpointing is used" in caught[1]


def test_one_graph_that_is_sure_not_to_fit_is_refused(plan):
    """Before the system ends the process that takes all memory."""
    with pytest.raises(TrainingError, match=r"one graph padded to 7 nodes needs about .* GiB"):
        plan(100)


def test_measuring_leaves_no_trace(plan, make_trainer):
    """Neither gradients nor statistics nor random numbers change."""
    before = torch.get_rng_state()
    trainer, _ = plan(1 << 40, RELEASED)
    untouched = make_trainer(settings=RELEASED, dtype=torch.float32)
    ours, theirs = trainer.network.state_dict(), untouched.network.state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    assert all(parameter.grad is None for parameter in trainer.network.parameters())
    assert torch.equal(torch.get_rng_state(), before)


def test_sizes_found_to_fit_are_not_planned_again(plan, memory_for):
    """A trainer that stopped and goes on keeps the micro-batches that were found to fit."""
    trainer, _ = plan(memory_for(6))
    with pytest.warns(GraphscoreWarning):
        trainer._micro.shrink([MicroBatch(slice(0, 8), 7)])
    trainer._plan()
    assert trainer._micro.size(8, 7) == 3


def test_large_graphs_are_measured_on_a_part(monkeypatch):
    """So that measuring itself always fits."""
    name = "graphscore.training.micro_batches.available_memory"
    monkeypatch.setattr(name, lambda device: 1 << 40)
    seen = []

    class Noting(torch.nn.Module):
        def forward(self, noisy, sigma, condition):
            seen.append((tuple(noisy.edges.shape), tuple(noisy.node_mask.shape)))
            return noisy

    mask = torch.ones(1, 300, dtype=torch.bool)
    micro = MicroBatcher(Noting(), torch.device("cpu"))
    micro.plan(GraphBatch(torch.zeros(1, 300, 300), mask), 100)
    assert seen == [((1, 200, 200), (1, 200))]


def test_a_largest_graph_without_nodes_is_planned(monkeypatch):
    """It needs no memory, whatever is left."""
    name = "graphscore.training.micro_batches.available_memory"
    monkeypatch.setattr(name, lambda device: 1)
    micro = MicroBatcher(torch.nn.Identity(), torch.device("cpu"))
    micro._network.forward = lambda state, sigma, condition: state.edges
    micro.plan(GraphBatch(torch.zeros(1, 0, 0), torch.zeros(1, 0, dtype=torch.bool)), 0)
    assert micro.size(5, 0) == 5
