"""Learning tasks: the objective, the batches, and their training by the one trainer."""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from graphscore.errors import CheckpointError, SettingsError, TrainingError
from graphscore.graphs import Condition, GraphState
from graphscore.networks import EDPGNN, EDPGNNSettings
from graphscore.training import Trainer
from reproduce.algorithms.evaluation import edge_logits, predictor
from reproduce.algorithms.learning import EdgeClassification, LearningSettings, ProblemBatches
from reproduce.algorithms.tasks import TASKS, find_task

NARROW = {"channels": (3, 3), "message_steps": 2, "features": 8, "edge_width": 8}
GIN = {"learnable_adjacency": False, "complement_channel": False}
QUICK = {"nodes": 6, "batch_size": 8, "batches_at_once": 3, "log_every": 5, "warmup_steps": 2}


def make_trainer(
    name="weighted-shortest-path", network="edp-gnn", *, seed=0, shape=None, double=False, **more
):
    task = find_task(name)
    chosen = {**(GIN if network == "gin" else {}), **NARROW, **(shape or {})}
    settings = EDPGNNSettings(**{"edge_norm": "batch", **chosen}, node_feat_dim=task.node_feat_dim)
    net = EDPGNN(settings, (1.0,), generator=torch.Generator().manual_seed(100))
    learning = LearningSettings(**{"steps": 20, **QUICK, **more})
    batches = (InDouble if double else ProblemBatches)(task, learning, seed=seed)
    net = net.double() if double else net
    return Trainer(net, batches, EdgeClassification(), learning, seed=seed, bucketing=False)


def snapshot(trainer):
    return {name: tensor.clone() for name, tensor in trainer.state().items()}


def assert_equal_states(one, two):
    assert one.keys() == two.keys()
    assert [name for name in one if not torch.equal(one[name], two[name])] == []


def reference_training(network, batches, settings):
    """Adam with warm-up, half a cosine, clipping and averaged weights, in the plainest way."""
    network.train()
    optimiser = torch.optim.Adam(network.parameters(), settings.learning_rate)
    average = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    losses = []
    for step in range(settings.steps):
        rise = min(1.0, (step + 1) / (settings.warmup_steps + 1))
        fall = (1 + math.cos(math.pi * step / (settings.steps - 1))) / 2
        first, last = settings.learning_rate, settings.final_learning_rate
        optimiser.param_groups[0]["lr"] = rise * (last + (first - last) * fall)
        problems = batches.batch(step)
        logits = edge_logits(network, problems.adj, problems.node_feat)[problems.edges]
        answer = problems.answer[problems.edges].float()
        loss = nn.functional.binary_cross_entropy_with_logits(logits, answer)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), settings.gradient_clip)
        optimiser.step()
        decay = min(settings.ema_decay, (2 + step) / (11 + step))
        for name, tensor in network.state_dict().items():
            average[name] = decay * average[name] + (1 - decay) * tensor
        losses.append(loss.item())
    return average, losses


class InDouble(ProblemBatches):
    """The same problems in float64."""

    def batch(self, step):
        drawn = super().batch(step)
        return replace(drawn, adj=drawn.adj.double(), node_feat=drawn.node_feat.double())


@pytest.mark.parametrize(("norm", "double"), [("none", False), ("batch", True)])
def test_the_one_trainer_does_what_a_plain_loop_does(norm, double):
    """50 steps: weights, averaged weights and losses agree to 1e-6.

    In float64 with batch statistics: shifts before them have no gradient but rounding, which Adam
    would make large in float32.
    """
    how = {"steps": 50, "warmup_steps": 10, "learning_rate": 1e-3, "log_every": 1}
    trainer = make_trainer(shape={"edge_norm": norm}, double=double, **how)
    network = copy.deepcopy(trainer.network)
    records = []
    assert trainer.run(on_record=records.append)
    average, losses = reference_training(network, trainer.batches, trainer.settings)
    assert [record.loss for record in records] == pytest.approx(losses, abs=1e-6)
    for name, tensor in network.state_dict().items():
        assert torch.allclose(trainer.network.state_dict()[name], tensor, rtol=0, atol=1e-6), name
    for name, tensor in trainer.average.state_dict().items():
        assert torch.allclose(tensor, average[name], rtol=0, atol=1e-6), name


@pytest.mark.parametrize(
    ("name", "network"), [*((name, "edp-gnn") for name in TASKS), ("maximum-spanning-tree", "gin")]
)
def test_the_loss_falls(name, network):
    """A few steps take the loss well below its start."""
    records = []
    trainer = make_trainer(name, network, steps=40, batch_size=64, learning_rate=2e-2, log_every=10)
    assert trainer.run(on_record=records.append)
    assert [record.step for record in records] == [10, 20, 30, 40]
    assert records[-1].loss < 0.85 * records[0].loss
    assert records[-1].per_level[0] > records[0].per_level[0]
    if network == "edp-gnn":
        # An answer that knows only how common solution edges are.
        problems = trainer.batches.batch(0)
        share = problems.answer.sum() / problems.edges.sum()
        assert records[-1].loss < torch.distributions.Bernoulli(share).entropy()


@pytest.mark.parametrize("at", [1, 9, 13])
def test_resuming_is_bit_equal(at):
    """15 steps in one go, or interrupted anywhere in a pool of problems and continued elsewhere."""
    whole = make_trainer(steps=15)
    assert whole.run()
    first = make_trainer(steps=15)
    assert not first.run(should_stop=lambda: first.step >= at)
    second = make_trainer(steps=15)
    second.restore(snapshot(first), step=first.step, seconds=first.seconds)
    assert second.run()
    assert second.step == whole.step == 15
    assert_equal_states(whole.state(), second.state())


@pytest.mark.usefixtures("_global_state_untouched")
def test_the_seed_decides_and_the_global_state_is_left_alone():
    one, two, other = (make_trainer(seed=seed, steps=6) for seed in (0, 0, 1))
    for trainer in (one, two, other):
        trainer.run()
    assert_equal_states(one.state(), two.state())
    assert not torch.equal(one.batches.batch(0).adj, other.batches.batch(0).adj)


def test_every_step_sees_new_problems():
    """Within a pool and across pools no graph comes twice."""
    batches = make_trainer(nodes=10).batches
    seen = torch.cat([batches.batch(step).adj for step in range(7)])
    assert len(seen.flatten(1).unique(dim=0)) == 7 * 8
    assert torch.equal(batches.batch(1).adj, seen[8:16])
    assert batches.widths(0) == [10] * 8


@pytest.fixture
def problems():
    task = find_task("maximum-spanning-tree")
    return task.draw(5, 6, 0.5, generator=torch.Generator().manual_seed(0))


def constant(logits):
    return lambda noisy, sigma, condition: GraphState(logits[: len(noisy)], noisy.node_mask)


def values(network, problems):
    objective = EdgeClassification()
    items = objective.perturb(problems, generator=torch.Generator())
    return objective.metrics(items, objective.per_graph_loss(network, items))


def test_the_loss_is_the_mean_over_edges(problems):
    """Places without an edge carry neither loss nor gradient."""
    logits = torch.randn(5, 6, 6, generator=torch.Generator().manual_seed(1), requires_grad=True)
    loss, again, accuracy = values(constant(logits), problems)
    signed = torch.where(problems.answer, logits, -logits)[problems.edges]
    assert torch.isclose(loss, -nn.functional.logsigmoid(signed).mean())
    assert loss == again
    (gradient,) = torch.autograd.grad(loss, logits)
    assert torch.equal(gradient != 0, problems.edges)
    right = torch.where(problems.answer, 1.0, -1.0)
    assert values(constant(right), problems)[2] == 1
    assert values(constant(right * ~problems.edges - 1), problems)[2] == 0
    assert 0 <= accuracy <= 1


def test_micro_batches_have_the_loss_and_the_accuracy_of_the_batch(problems):
    right = torch.where(problems.answer, 1.0, -1.0)
    right[3] *= -1
    objective = EdgeClassification()
    items = objective.perturb(problems, generator=torch.Generator())
    losses = [
        objective.per_graph_loss(constant(right[part]), items.part(part, 6))
        for part in (slice(0, 2), slice(2, 5))
    ]
    expected = values(constant(right), problems)
    assert torch.allclose(objective.metrics(items, torch.cat(losses)), expected)
    assert expected[2] == pytest.approx(4 / 5)


def test_graphs_without_edges_do_not_break_training():
    assert make_trainer(probability=0.0, steps=2).run()


def test_predictions_are_those_of_the_network(problems):
    trainer = make_trainer("maximum-spanning-tree", learning_rate=1e-2)
    trainer.run()
    network = trainer.network.eval()
    ones = torch.ones(5, 6)
    state, condition = GraphState(problems.adj, ones.bool()), Condition(problems.node_feat)
    logits = network(state, ones[:, 0], condition).edges
    assert torch.equal(predictor(network)(problems), logits > 0)
    assert 0 < (logits > 0)[problems.edges].float().mean() < 1


def test_a_loss_that_is_not_finite_stops_training():
    trainer = make_trainer()
    with torch.no_grad():
        next(trainer.network.parameters()).fill_(float("nan"))
    with pytest.raises(TrainingError, match=r"not finite around step 5.*Lower the learning rate"):
        trainer.run()


def test_a_checkpoint_of_another_network_is_refused():
    trainer = make_trainer()
    trainer.run()
    with pytest.raises(CheckpointError, match="does not fit this network"):
        make_trainer(shape={"features": 5}).restore(snapshot(trainer), step=20, seconds=1.0)


def test_a_device_without_64_bit_numbers_is_refused():
    settings = LearningSettings(steps=1)
    with pytest.raises(SettingsError, match="Train on cpu or cuda"):
        ProblemBatches(find_task("shortest-path"), settings, seed=0, device="mps")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({}, "steps"),
        ({"steps": 0}, "greater than or equal to 1"),
        ({"steps": 5, "nodes": 0}, "greater than or equal to 1"),
        ({"steps": 5, "probability": 1.5}, "less than or equal to 1"),
        ({"steps": 5, "batchsize": 3}, "did you mean 'batch_size'"),
    ],
)
def test_impossible_settings_are_refused(wrong, message):
    with pytest.raises(SettingsError, match=message):
        LearningSettings(**wrong)
