"""The training loop: it learns, resumes bit for bit, covers the data and stops when it must."""

from __future__ import annotations

import copy
import dataclasses
import math
import random

import numpy as np
import pytest
import torch

from graphscore.errors import CheckpointError, SettingsError, TrainingError
from graphscore.graphs import GraphBatch, node_mask_of_sizes, pair_mask
from graphscore.networks import EDPGNN, EDPGNNSettings
from graphscore.noise import symmetric_noise
from graphscore.training import ScoreMatching, Trainer, TrainingSettings
from graphscore.training.batches import BatchOrder
from graphscore.training.checkpoint import read_checkpoint, write_checkpoint
from graphscore.training.readout import ReadOut

SIGMAS = (1.0, 0.3)
SMALL = {"channels": (2, 2), "message_steps": 1, "features": 4, "edge_width": 4}
PAPER, RELEASED = EDPGNNSettings(**SMALL), EDPGNNSettings.released(**SMALL)


def small_data():
    """Ten graphs of three to six nodes."""
    mask = node_mask_of_sizes(torch.tensor([3, 4, 5, 6, 6, 5, 4, 3, 6, 5]))
    noise = symmetric_noise(mask, generator=torch.Generator().manual_seed(0))
    return GraphBatch(((noise > 0) & pair_mask(mask)).float(), mask)


def make_trainer(settings=None, *, network=PAPER, seed=0, data=None):
    settings = settings or TrainingSettings(steps=20, batch_size=4, log_every=5)
    net = EDPGNN(network, SIGMAS, generator=torch.Generator().manual_seed(seed + 100))
    return Trainer(net, data or small_data(), ScoreMatching(SIGMAS), settings, seed=seed)


def snapshot(trainer):
    return {name: tensor.clone() for name, tensor in trainer.state().items()}


def run_until(trainer, step):
    """Interrupt between steps, as a signal handler would."""
    return trainer.run(should_stop=lambda: trainer.step >= step)


def assert_equal_states(one, two):
    assert one.keys() == two.keys()
    assert [name for name in one if not torch.equal(one[name], two[name])] == []


def test_the_loss_falls():
    """A tiny set is learnt: the loss per pair ends well below that of a network that says 0."""
    records = []
    settings = TrainingSettings(steps=100, batch_size=10, learning_rate=1e-2, log_every=20)
    assert make_trainer(settings).run(on_record=records.append)
    assert [record.step for record in records] == [20, 40, 60, 80, 100]
    assert records[-1].loss < 0.75 * records[0].loss
    assert records[-1].per_pair < 0.85
    assert len(records[-1].per_level) == 2
    assert records[-1].loss == pytest.approx(sum(records[-1].per_level) / 2)


@pytest.mark.parametrize("network", [PAPER, RELEASED], ids=["paper", "released"])
@pytest.mark.parametrize("at", [1, 10, 13])
def test_resuming_is_bit_equal(network, at):
    """20 steps in one go, or interrupted at any step and continued by another trainer."""
    whole = make_trainer(network=network)
    assert whole.run()
    first = make_trainer(network=network)
    assert not run_until(first, at)
    second = make_trainer(network=network, seed=0)
    second.restore(snapshot(first), step=first.step, seconds=first.seconds)
    assert second.run()
    assert second.step == whole.step == 20
    state = whole.state()
    assert {name.partition(".")[0] for name in state} == {"model", "average", "adam"}
    assert_equal_states(state, second.state())


@pytest.mark.parametrize("network", [PAPER, RELEASED], ids=["paper", "released"])
def test_resuming_from_disk_is_bit_equal(network, tmp_path):
    """The same through a checkpoint file, before the first step and in the middle."""
    whole = make_trainer(network=network)
    whole.run()
    for at in (0, 7):
        first = make_trainer(network=network)
        run_until(first, at)
        write_checkpoint(tmp_path, first.step, {}, first.state())
        document, tensors = read_checkpoint(tmp_path)
        second = make_trainer(network=network)
        second.restore(tensors, step=document["step"], seconds=0.0)
        second.run()
        assert_equal_states(whole.state(), second.state())


def test_a_restored_trainer_is_independent():
    """Training on after `restore` changes neither the tensors given nor the trainer they are of."""
    first = make_trainer()
    run_until(first, 5)
    tensors = first.state()
    before = {name: tensor.clone() for name, tensor in tensors.items()}
    second = make_trainer()
    second.restore(tensors, step=5, seconds=0.0)
    second.run()
    assert_equal_states(tensors, before)


def test_the_seed_decides():
    """Same seed, same everything; another seed, other weights."""
    one, two = make_trainer(), make_trainer()
    one.run()
    two.run()
    assert_equal_states(one.state(), two.state())
    # The same initial weights with another order and other noise.
    network, settings = make_trainer().network, one.settings
    other = Trainer(network, small_data(), ScoreMatching(SIGMAS), settings, seed=1)
    other.run()
    name = "model.final.last.weight"
    assert not torch.equal(one.state()[name], other.state()[name])


def test_global_random_state_is_untouched():
    """All randomness comes from the seed."""
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].copy()  # noqa: NPY002
    make_trainer().run()
    assert torch.equal(torch.get_rng_state(), states[0])
    assert random.getstate() == states[1]
    assert np.array_equal(np.random.get_state()[1], states[2])  # noqa: NPY002


@pytest.mark.parametrize(("log_every", "recorded"), [(1, [1]), (5, [])])
def test_a_loss_that_is_not_finite_ends_training(log_every, recorded):
    """A learning rate that blows up the weights: no record, hence no checkpoint, after that."""
    settings = TrainingSettings(steps=10, batch_size=4, learning_rate=1e30, log_every=log_every)
    steps = []
    with pytest.raises(TrainingError, match=r"not finite around step \d.*learning rate"):
        make_trainer(settings).run(on_record=lambda record: steps.append(record.step))
    assert steps == recorded


def test_a_gradient_that_is_not_finite_ends_training():
    """Also when the loss itself is finite, and at the last step."""
    trainer = make_trainer(TrainingSettings(steps=1, batch_size=4))
    weight = trainer.network.final.last.weight
    weight.register_hook(lambda gradient: torch.full_like(gradient, math.nan))
    records = []
    with pytest.raises(TrainingError, match="gradient norm nan"):
        trainer.run(on_record=records.append)
    assert records == []


class Overflowing(torch.nn.Module):
    """Weights near the largest float, whose value does not matter but whose gradient does."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([3.3e38, -3.3e38]))

    def forward(self, adj, node_mask, sigma, node_feat=None):
        return adj * (0.5 + (self.weight - self.weight.detach()).sum())


def test_weights_that_are_not_finite_end_training():
    """A last step with finite loss and gradient can still overflow a weight.

    Then no record and no state is handed out, so no checkpoint is replaced.
    """
    settings = TrainingSettings(steps=1, learning_rate=2e37)
    trainer = Trainer(Overflowing(), small_data(), ScoreMatching(SIGMAS), settings, seed=0)
    records = []
    with pytest.raises(TrainingError):
        trainer.run(on_record=records.append)
    assert not trainer.network.weight.isfinite().all()
    assert records == []
    with pytest.raises(TrainingError, match=r"weights are not finite at step 1\b.*learning rate"):
        trainer.state()


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("part", ["weight", "average", "optimiser"])
def test_a_state_that_is_not_finite_is_refused(part, value):
    trainer = make_trainer()
    run_until(trainer, 2)
    tensor = {
        "weight": trainer.network.final.last.weight,
        "average": trainer.average.state_dict()["final.last.weight"],
        "optimiser": trainer.state()["adam.3.exp_avg_sq"],
    }[part]
    assert trainer.state()
    with torch.no_grad():
        tensor.view(-1)[0] = value
    with pytest.raises(TrainingError, match="not finite at step 2"):
        trainer.state()


class Late(ReadOut):
    """Numbers that arrive only when they are waited for, as from a device that is far behind."""

    def arrived(self):
        return False


def test_records_that_arrive_late_are_the_same(monkeypatch):
    """They come when the next ones are due or training ends, and tell of their own steps."""
    found, steps = [], []
    for late in (False, True):
        if late:
            monkeypatch.setattr("graphscore.training.trainer.ReadOut", Late)
        trainer, records = make_trainer(), []

        def note(record, trainer=trainer, records=records):
            records.append(dataclasses.replace(record, seconds=0.0))
            steps.append(trainer.step)

        assert not trainer.run(on_record=note, should_stop=lambda t=trainer: t.step >= 12)
        assert trainer.run(on_record=note)
        found.append(records)
    assert found[0] == found[1]
    assert [record.step for record in found[0]] == [5, 10, 12, 15, 20]
    assert steps == [5, 10, 12, 15, 20, 10, 12, 12, 20, 20]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_steps_do_not_wait_for_the_device():
    """Over several windows of batches and a record, nothing makes the host wait."""
    network = EDPGNN(PAPER, SIGMAS, generator=torch.Generator().manual_seed(0))
    settings = TrainingSettings(steps=100, batch_size=4)
    trainer = Trainer(network, small_data(), ScoreMatching(SIGMAS), settings, seed=0, device="cuda")
    trainer._train_step()
    torch.cuda.set_sync_debug_mode("error")
    try:
        numbers = [trainer._train_step() for _ in range(20)]
        read_out = trainer._read_out(numbers)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert len(read_out.values()) == 4 + len(SIGMAS)


class Watching(torch.nn.Module):
    """A network that notes what it sees."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.zeros(()))
        self.seen, self.states = [], []

    def forward(self, adj, node_mask, sigma, node_feat=None):
        self.seen.append(node_mask.sum(-1).tolist())
        self.states.append(adj)
        return self.scale * adj


@pytest.fixture
def _unknown_memory(monkeypatch):
    """No measuring beforehand, which would be one more call of the network."""
    monkeypatch.setattr("graphscore.training.pieces.available_memory", lambda device: None)


def watched(batch_size, steps, graphs=7, seed=0, bucketing=False):
    """Graphs of 1, 2, ... nodes tell which graph is in which batch."""
    mask = node_mask_of_sizes(torch.arange(1, graphs + 1))
    data = GraphBatch(torch.zeros(graphs, graphs, graphs), mask)
    network = Watching()
    settings = TrainingSettings(steps=steps, batch_size=batch_size)
    Trainer(network, data, ScoreMatching((0.5,)), settings, seed=seed, bucketing=bucketing).run()
    return network


@pytest.mark.usefixtures("_unknown_memory")
def test_batches_are_those_of_the_order():
    """Every step trains on the graphs that `BatchOrder` says, no wider than the largest."""
    network = watched(2, steps=12, bucketing=True)
    order = BatchOrder(node_mask_of_sizes(torch.arange(1, 8)), 2, seed=0)
    assert network.seen == [(order.indices(step) + 1).tolist() for step in range(12)]
    assert [adj.shape[1] for adj in network.states] == [max(sizes) for sizes in network.seen]


@pytest.mark.usefixtures("_unknown_memory")
@pytest.mark.parametrize("batch_size", [1, 3, 7, 20])
def test_every_epoch_covers_all_graphs(batch_size):
    """Without bucketing the batches laid end to end are one random order after the other."""
    batches = watched(batch_size, steps=28).seen
    assert {len(batch) for batch in batches} == {batch_size}
    stream = [size for batch in batches for size in batch]
    epochs = [stream[start : start + 7] for start in range(0, len(stream) - 6, 7)]
    assert all(sorted(epoch) == [1, 2, 3, 4, 5, 6, 7] for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) > 1
    assert watched(batch_size, steps=28, seed=1).seen != batches


@pytest.mark.usefixtures("_unknown_memory")
def test_every_step_and_every_graph_has_its_own_noise():
    """No noise matrix occurs twice, within a batch of one graph repeated or between steps."""
    network = Watching()
    data = GraphBatch(torch.zeros(1, 4, 4), torch.ones(1, 4, dtype=torch.bool))
    settings = TrainingSettings(steps=6, batch_size=5)
    Trainer(network, data, ScoreMatching((0.5, 0.4)), settings, seed=0).run()
    values = torch.cat(network.states)[:, 0, 1]
    assert len(values.unique()) == 6 * 5 * 2


def test_a_batch_larger_than_the_data_trains():
    """Graphs then occur more than once, with different noise."""
    trainer = make_trainer(TrainingSettings(steps=3, batch_size=64))
    assert trainer.run()


def test_learning_rate_is_half_a_cosine():
    """From the first value to the last, which is that of the last step; no further."""
    settings = TrainingSettings(steps=11, learning_rate=1.0, final_learning_rate=0.2, log_every=1)
    trainer = make_trainer(settings)
    rates = [trainer.learning_rate(step) for step in range(11)]
    assert rates[0] == pytest.approx(1.0)
    assert rates[5] == pytest.approx(0.6)
    assert rates[10] == pytest.approx(0.2)
    assert rates == sorted(rates, reverse=True)
    assert trainer.learning_rate(500) == pytest.approx(0.2)
    assert make_trainer(TrainingSettings(steps=1)).learning_rate(0) == pytest.approx(2e-3)


def test_records_tell_the_learning_rate_in_use():
    settings = TrainingSettings(steps=4, log_every=1, learning_rate=1e-3, final_learning_rate=1e-4)
    records = []
    make_trainer(settings).run(on_record=records.append)
    assert records[0].learning_rate == pytest.approx(1e-3)
    assert records[-1].learning_rate == pytest.approx(1e-4)
    seconds = [record.seconds for record in records]
    assert seconds == sorted(seconds)
    assert records[0].to_dict()["step"] == 1


def test_records_average_all_steps_since_the_last():
    """One record over five steps is the mean of five records of one step."""
    one_by_one, together = [], []
    for log_every, records in [(1, one_by_one), (5, together)]:
        settings = TrainingSettings(steps=10, batch_size=4, log_every=log_every)
        make_trainer(settings).run(on_record=records.append)
    for index, record in enumerate(together):
        part = one_by_one[5 * index : 5 * index + 5]
        assert record.loss == pytest.approx(sum(r.loss for r in part) / 5)
        assert record.gradient_norm == pytest.approx(sum(r.gradient_norm for r in part) / 5)


def test_should_stop():
    """Stopping ends with a record of what was done, and `run` goes on where it stopped."""
    trainer, records = make_trainer(), []
    stopped = trainer.run(on_record=records.append, should_stop=lambda: trainer.step >= 7)
    assert stopped is False
    assert [record.step for record in records] == [5, 7]
    assert trainer.run(on_record=records.append) is True
    assert [record.step for record in records] == [5, 7, 10, 15, 20]
    untouched = make_trainer()
    untouched.run()
    assert_equal_states(trainer.state(), untouched.state())


def test_nothing_left_to_do():
    """Running a finished trainer again changes nothing and reports nothing."""
    trainer = make_trainer()
    trainer.run()
    before, records = snapshot(trainer), []
    assert trainer.run(on_record=records.append) is True
    assert records == []
    assert_equal_states(trainer.state(), before)


def test_gradients_are_clipped():
    """With a tiny bound Adam still moves, but the record shows the norm before clipping."""
    records = []
    settings = TrainingSettings(steps=2, gradient_clip=1e-12, log_every=1)
    trainer = make_trainer(settings)
    trainer.run(on_record=records.append)
    assert records[0].gradient_norm > 1e-3
    momentum = [t for name, t in trainer.state().items() if name.endswith("exp_avg")]
    assert 0 < sum(float(t.square().sum()) for t in momentum) ** 0.5 < 1e-12


def test_average_follows_the_weights():
    """The moving average is between the initial and the final weights, and loads as a network."""
    trainer = make_trainer(network=RELEASED)
    trainer.run()
    state = trainer.state()
    name = "final.last.weight"
    assert not torch.equal(state[f"average.{name}"], state[f"model.{name}"])
    network = EDPGNN(RELEASED, SIGMAS, generator=torch.Generator())
    network.load_state_dict(trainer.average.state_dict())
    assert torch.equal(network.final.last.weight, state[f"average.{name}"])
    norm = "edge_mlps.0.norms.0.running_mean"
    assert torch.equal(network.state_dict()[norm], state[f"average.{norm}"])
    assert not torch.equal(state[f"average.{norm}"], state[f"model.{norm}"])


def test_restoring_something_else_is_an_error():
    """Tensors of another network, or missing ones, are refused with advice."""
    wide = make_trainer(network=EDPGNNSettings(**{**SMALL, "features": 5}))
    wide.run()
    trainer = make_trainer()
    with pytest.raises(CheckpointError, match=r"(?s)does not fit this network.*settings"):
        trainer.restore(wide.state(), step=20, seconds=0.0)
    missing = {k: v for k, v in snapshot(make_trainer()).items() if not k.startswith("average")}
    with pytest.raises(CheckpointError, match="does not fit this network"):
        make_trainer().restore(missing, step=0, seconds=0.0)


def test_the_data_is_not_changed():
    """Training perturbs copies."""
    data = small_data()
    kept = copy.deepcopy(data)
    make_trainer(data=data).run()
    assert torch.equal(data.adj, kept.adj)
    assert torch.equal(data.node_mask, kept.node_mask)


@pytest.mark.parametrize(
    "values",
    [
        {"steps": 0},
        {"batch_size": 0},
        {"optimiser": "sgd"},
        {"learning_rate": 0},
        {"ema_decay": 1.0},
        {"log_every": 0},
    ],
    ids=str,
)
def test_settings_are_validated(values):
    with pytest.raises(SettingsError, match=next(iter(values))):
        TrainingSettings(**values)
