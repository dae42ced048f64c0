"""Training on tasks: it learns, resumes bit for bit and stops when it must."""

from __future__ import annotations

import copy

import pytest
import torch

from graphscore.errors import CheckpointError, SettingsError, TrainingError
from graphscore.networks import EDPGNN, EDPGNNSettings
from reproduce.algorithms.learning import EdgeLearner, LearningSettings, edge_loss
from reproduce.algorithms.tasks import TASKS, find_task

NARROW = {"channels": (3, 3), "message_steps": 2, "features": 8, "edge_width": 8}
GIN = {"learnable_adjacency": False, "complement_channel": False}
QUICK = {"nodes": 6, "batch_size": 8, "batches_at_once": 3, "log_every": 5, "warmup_steps": 2}


def make_learner(
    name="weighted-shortest-path", network="edp-gnn", *, seed=0, shape=None, record=None, **changes
):
    task = find_task(name)
    chosen = {**GIN, **NARROW} if network == "gin" else {**NARROW}
    settings = EDPGNNSettings(
        **{"edge_norm": "batch", **chosen, **(shape or {})}, node_feat_dim=task.node_feat_dim
    )
    net = EDPGNN(settings, (1.0,), generator=torch.Generator().manual_seed(100))
    learning = LearningSettings(**{"steps": 20, **QUICK, **changes})
    return EdgeLearner(net, task, learning, seed=seed, record=record)


def snapshot(learner):
    return {name: tensor.clone() for name, tensor in learner.state().items()}


def assert_equal_states(one, two):
    assert one.keys() == two.keys()
    assert [name for name in one if not torch.equal(one[name], two[name])] == []


@pytest.mark.parametrize(
    ("name", "network"), [*((name, "edp-gnn") for name in TASKS), ("maximum-spanning-tree", "gin")]
)
def test_the_loss_falls(name, network):
    """A few steps take the loss well below its start."""
    records = []
    learner = make_learner(name, network, steps=40, batch_size=64, learning_rate=2e-2, log_every=10)
    assert learner.run(on_record=records.append)
    assert [record.step for record in records] == [10, 20, 30, 40]
    assert records[-1].loss < 0.85 * records[0].loss
    assert records[-1].accuracy > records[0].accuracy
    assert records[-1].seconds >= records[0].seconds > 0
    if network == "edp-gnn":
        # An answer that knows only how common solution edges are.
        problems = learner.problems(0)
        share = problems.answer.sum() / problems.edges.sum()
        assert records[-1].loss < torch.distributions.Bernoulli(share).entropy()


@pytest.mark.parametrize("at", [1, 9, 13])
def test_resuming_is_bit_equal(at):
    """15 steps in one go, or interrupted anywhere in a pool of problems and continued elsewhere."""
    whole = make_learner(steps=15)
    assert whole.run()
    first = make_learner(steps=15)
    assert not first.run(should_stop=lambda: first.step >= at)
    second = make_learner(steps=15)
    second.restore(snapshot(first), step=first.step, seconds=first.seconds)
    assert second.run()
    assert second.step == whole.step == 15
    assert_equal_states(whole.state(), second.state())


@pytest.mark.usefixtures("_global_state_untouched")
def test_the_seed_decides_and_the_global_state_is_left_alone():
    one, two, other = (make_learner(seed=seed, steps=6) for seed in (0, 0, 1))
    for learner in (one, two, other):
        learner.run()
    assert_equal_states(one.state(), two.state())
    assert not torch.equal(one.problems(0).adj, other.problems(0).adj)


def test_every_step_sees_new_problems():
    """Within a pool and across pools no graph comes twice."""
    learner = make_learner(nodes=10)
    seen = torch.cat([learner.problems(step).adj for step in range(7)])
    assert len(seen.flatten(1).unique(dim=0)) == 7 * 8
    assert torch.equal(learner.problems(1).adj, seen[8:16])


def test_the_loss_is_the_mean_over_edges():
    """Places without an edge carry neither loss nor gradient."""
    task = find_task("maximum-spanning-tree")
    problems = task.draw(5, 6, 0.5, generator=torch.Generator().manual_seed(0))
    logits = torch.randn(5, 6, 6, generator=torch.Generator().manual_seed(1), requires_grad=True)
    network = lambda adj, node_mask, sigma, node_feat: logits  # noqa: E731
    tensors = (problems.adj, problems.node_feat, problems.edges, problems.answer)
    loss, accuracy = edge_loss(network, *tensors)
    signed = torch.where(problems.answer, logits, -logits)[problems.edges]
    assert torch.isclose(loss, -torch.nn.functional.logsigmoid(signed).mean())
    (gradient,) = torch.autograd.grad(loss, logits)
    assert torch.equal(gradient != 0, problems.edges)
    right = torch.where(problems.answer, 1.0, -1.0)
    tensors = (problems.adj, problems.node_feat, problems.edges, problems.answer)
    assert edge_loss(lambda *_: right, *tensors)[1] == 1
    assert edge_loss(lambda *_: right * ~problems.edges - 1, *tensors)[1] == 0
    assert 0 <= accuracy <= 1


def test_graphs_without_edges_do_not_break_training():
    learner = make_learner(probability=0.0, steps=2)
    assert learner.run()


def test_the_learning_rate_rises_and_falls():
    learner = make_learner(steps=100, warmup_steps=9, learning_rate=1.0, final_learning_rate=0.01)
    rates = [learner.learning_rate(step) for step in range(101)]
    assert rates[0] == pytest.approx(0.1, rel=0.01)
    assert max(rates) == rates[9]
    assert rates[9:] == sorted(rates[9:], reverse=True)
    assert rates[100] == pytest.approx(0.01)


def test_the_optimiser_follows_the_learning_rate():
    """In the first of a million steps of warm-up the weights stay where they are."""
    learner = make_learner(steps=3, warmup_steps=10**6)
    before = snapshot(learner)
    learner.run()
    for name, parameter in learner.network.named_parameters():
        assert torch.allclose(parameter, before[f"model.{name}"], atol=1e-7)


def test_the_average_follows_the_weights():
    """At once without decay, slowly with it."""
    quick = make_learner(steps=4, ema_decay=0.0)
    start = snapshot(quick)
    quick.run()
    slow = make_learner(steps=4, ema_decay=0.9)
    slow.run()
    for name in dict(quick.network.named_parameters()):
        end = quick.state()[f"model.{name}"]
        assert torch.equal(quick.state()[f"average.{name}"], end)
        assert torch.equal(slow.state()[f"model.{name}"], end)
        between = slow.state()[f"average.{name}"]
        if not torch.equal(start[f"model.{name}"], end):
            assert not torch.equal(between, end)
            assert not torch.equal(between, start[f"model.{name}"])


def test_predictions_are_those_of_the_averaged_weights():
    """A copy of the averages, in evaluation; the network and its averages may change later."""
    learner = make_learner(learning_rate=1e-2)
    learner.run()
    problems = learner.problems(0)
    expected = copy.deepcopy(learner.network).eval()
    expected.load_state_dict(learner.average.state_dict())
    ones = torch.ones(8, 6)
    logits = expected(problems.adj, ones.bool(), ones[:, 0], problems.node_feat)
    with torch.no_grad():  # the averages do not follow
        learner.network.final.last.columns.bias.fill_(1e6)
    before = snapshot(learner)
    predict = learner.predictor()
    assert torch.equal(predict(problems), logits > 0)
    assert not (logits > 0)[problems.edges].all()
    assert_equal_states(snapshot(learner), before)
    assert learner.network.training
    with torch.no_grad():
        learner.network.final.last.columns.bias.fill_(-1e6)
        learner.average.state_dict()["table.bias"].fill_(-1e6)
    assert torch.equal(predict(problems), logits > 0)


def test_a_loss_that_is_not_finite_stops_training():
    learner = make_learner()
    with torch.no_grad():
        next(learner.network.parameters()).fill_(float("nan"))
    with pytest.raises(TrainingError, match=r"not finite around step 5.*Lower the learning rate"):
        learner.run()


def test_a_checkpoint_of_another_network_is_refused():
    learner = make_learner()
    learner.run()
    state = snapshot(learner)
    with pytest.raises(CheckpointError, match="does not fit this network"):
        make_learner(shape={"features": 5}).restore(state, step=20, seconds=1.0)
    bare = {name: tensor for name, tensor in state.items() if not name.startswith("adam")}
    with pytest.raises(CheckpointError, match="optimiser's state is missing"):
        make_learner().restore(bare, step=20, seconds=1.0)


def test_the_caller_s_tensors_do_not_change_with_training():
    first = make_learner()
    first.run(should_stop=lambda: first.step >= 5)
    given = snapshot(first)
    kept = {name: tensor.clone() for name, tensor in given.items()}
    second = make_learner()
    second.restore(given, step=5, seconds=0.0)
    second.run()
    assert_equal_states(given, kept)


@pytest.mark.parametrize("at", [0, 7])
def test_a_recorded_step_is_the_same_step(at):
    """The runs before the recording leave no trace, at the start and after restoring."""
    recordings = []

    def recorder(step, *, generator, undo):
        recordings.append(generator.device)
        for _ in range(3):
            step()
        undo()
        return step

    plain = make_learner(steps=12)
    plain.run()
    first, second = make_learner(steps=12, record=recorder), make_learner(steps=12, record=recorder)
    first.run(should_stop=lambda: first.step >= at)
    if at:
        second.restore(snapshot(first), step=at, seconds=0.0)
    second.run()
    assert len(recordings) == 1 + (at > 0)
    assert_equal_states(plain.state(), second.state())
    # Restored once more, it must not replay what was recorded on tensors that are gone.
    second.restore(snapshot(first) if at else snapshot(second), step=at, seconds=0.0)
    second.run()
    assert len(recordings) == 2 + (at > 0)
    if at:
        assert_equal_states(plain.state(), second.state())


def test_a_device_without_64_bit_numbers_is_refused():
    learner = make_learner()
    with pytest.raises(SettingsError, match="Train on cpu or cuda"):
        EdgeLearner(learner.network, learner.task, learner.settings, seed=0, device="mps")


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
