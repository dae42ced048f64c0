"""The training loop: it learns, resumes bit for bit, covers the data and stops when it must."""

from __future__ import annotations

import copy
import random

import numpy as np
import pytest
import torch

from graphscore.diffusion import ScoreMatching, symmetric_noise
from graphscore.errors import CheckpointError, GraphDataError, SettingsError
from graphscore.graphs import GraphBatch, node_mask_of_sizes, pair_mask
from graphscore.networks import EDPGNN, EDPGNNSettings
from graphscore.training import Trainer, TrainingSettings
from graphscore.training.batching import BatchSampler

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
    return Trainer(
        net, small_data() if data is None else data, ScoreMatching(SIGMAS), settings, seed=seed
    )


def snapshot(trainer):
    return {name: tensor.clone() for name, tensor in trainer.state().items()}


def run_until(trainer, step):
    """Interrupt between steps, as a signal handler would."""
    return trainer.run(should_stop=lambda: trainer.step >= step)


def assert_equal_states(one, two):
    assert one.keys() == two.keys()
    assert [name for name in one if not torch.equal(one[name], two[name])] == []


def test_the_loss_falls():
    """A tiny set is learned: the loss per pair ends well below that of a network that answers 0."""
    records = []
    settings = TrainingSettings(steps=100, batch_size=10, learning_rate=1e-2, log_every=20)
    assert make_trainer(settings).run(on_record=records.append)
    assert [record.step for record in records] == [20, 40, 60, 80, 100]
    assert records[-1].loss < 0.75 * records[0].loss
    assert records[-1].per_pair < 0.85
    assert len(records[-1].per_level) == 2
    assert records[-1].loss == pytest.approx(sum(records[-1].per_level) / 2)
    assert records[-1].summed == pytest.approx(sum(records[-1].per_level))


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
    assert {name.partition(".")[0] for name in state} == {"network", "average", "optimiser"}
    assert_equal_states(state, second.state())


@pytest.mark.parametrize("network", [PAPER, RELEASED], ids=["paper", "released"])
def test_resuming_from_disk_is_bit_equal(network, through_disk):
    """The same through a checkpoint file, before the first step and in the middle."""
    whole = make_trainer(network=network)
    whole.run()
    for at in (0, 7):
        first = make_trainer(network=network)
        run_until(first, at)
        tensors = through_disk(first)
        second = make_trainer(network=network)
        second.restore(tensors, step=first.step, seconds=0.0)
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
    name = "network.final.last.weight"
    assert not torch.equal(one.state()[name], other.state()[name])


def test_global_random_state_is_untouched():
    """All randomness comes from the seed."""
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].copy()  # noqa: NPY002
    make_trainer().run()
    assert torch.equal(torch.get_rng_state(), states[0])
    assert random.getstate() == states[1]
    assert np.array_equal(np.random.get_state()[1], states[2])  # noqa: NPY002


class Watching(torch.nn.Module):
    """A network that notes what it sees."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.zeros(()))
        self.seen, self.states = [], []

    def forward(self, noisy, sigma, condition):
        self.seen.append(noisy.node_mask.sum(-1).tolist())
        self.states.append(noisy.edges)
        return noisy * self.scale


def watched(batch_size, steps, graphs=7, seed=0, bucketing=False):
    """Graphs of 1, 2, ... nodes tell which graph is in which batch."""
    mask = node_mask_of_sizes(torch.arange(1, graphs + 1))
    data = GraphBatch(torch.zeros(graphs, graphs, graphs), mask)
    network = Watching()
    settings = TrainingSettings(steps=steps, batch_size=batch_size)
    Trainer(network, data, ScoreMatching((0.5,)), settings, seed=seed, bucketing=bucketing).run()
    return network


@pytest.mark.usefixtures("unknown_memory")
def test_batches_are_those_of_the_sampler():
    """Every step trains on the graphs of `BatchSampler`, no wider than the largest."""
    network = watched(2, steps=12, bucketing=True)
    data = GraphBatch(torch.zeros(7, 7, 7), node_mask_of_sizes(torch.arange(1, 8)))
    sampler = BatchSampler(data, 2, seed=0)
    assert network.seen == [(sampler.indices(step) + 1).tolist() for step in range(12)]
    assert [adj.shape[1] for adj in network.states] == [max(sizes) for sizes in network.seen]


@pytest.mark.usefixtures("unknown_memory")
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


@pytest.mark.usefixtures("unknown_memory")
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


def rates_of(settings, steps):
    trainer, rates = make_trainer(settings), []
    for trainer.step in steps:
        rates.append(trainer.learning_rate())
    return rates


def test_learning_rate_is_half_a_cosine():
    """From the first value to the last, which is that of the last step; no further."""
    settings = TrainingSettings(steps=11, learning_rate=1.0, final_learning_rate=0.2, log_every=1)
    rates = rates_of(settings, range(11))
    assert rates[0] == pytest.approx(1.0)
    assert rates[5] == pytest.approx(0.6)
    assert rates[10] == pytest.approx(0.2)
    assert rates == sorted(rates, reverse=True)
    assert rates_of(settings, [500]) == pytest.approx([0.2])
    assert rates_of(TrainingSettings(steps=1), [0]) == pytest.approx([2e-3])


def test_learning_rate_rises_over_the_warm_up():
    """By equal steps from near zero to the cosine, which it then follows."""
    settings = TrainingSettings(steps=11, learning_rate=1.0, final_learning_rate=0.2)
    plain, risen = (rates_of(settings.replaced(warmup_steps=steps), range(11)) for steps in (0, 3))
    shares = [1 / 4, 2 / 4, 3 / 4, *[1.0] * 8]
    assert risen == pytest.approx([share * rate for share, rate in zip(shares, plain)])


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
    assert not torch.equal(state[f"average.{name}"], state[f"network.{name}"])
    network = EDPGNN(RELEASED, SIGMAS, generator=torch.Generator())
    network.load_state_dict(trainer.average.state_dict())
    assert torch.equal(network.final.last.weight, state[f"average.{name}"])
    norm = "edge_mlps.0.norms.0.running_mean"
    assert torch.equal(network.state_dict()[norm], state[f"average.{norm}"])
    assert not torch.equal(state[f"average.{norm}"], state[f"network.{norm}"])


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


def test_no_graphs_are_refused():
    with pytest.raises(GraphDataError, match="no graphs to train on"):
        make_trainer(data=small_data()[:0])


def test_the_data_is_not_changed():
    """Training perturbs copies."""
    data = small_data()
    kept = copy.deepcopy(data)
    make_trainer(data=data).run()
    assert torch.equal(data.adj, kept.adj)
    assert torch.equal(data.node_mask, kept.node_mask)


def test_settings_if_not_given():
    assert TrainingSettings().model_dump() == {
        "steps": 5000,
        "batch_size": 32,
        "optimiser": "adam",
        "learning_rate": 2e-3,
        "final_learning_rate": 2e-5,
        "warmup_steps": 0,
        "gradient_clip": 100.0,
        "ema_decay": 0.999,
        "log_every": 25,
    }


@pytest.mark.parametrize(
    ("name", "accepted", "refused"),
    [
        ("steps", [1], [0]),
        ("batch_size", [1, 100_000], [0, 100_001]),
        ("optimiser", ["adam", "muon"], ["sgd"]),
        ("learning_rate", [0.5], [0]),
        ("final_learning_rate", [0.5], [0]),
        ("warmup_steps", [0], [-1]),
        ("gradient_clip", [0.5], [0]),
        ("ema_decay", [0, 0.5], [-0.1, 1.0]),
        ("log_every", [1, 100_000], [0, 100_001]),
    ],
)
def test_settings_are_validated(name, accepted, refused):
    for value in accepted:
        assert getattr(TrainingSettings(**{name: value}), name) == value
    for value in refused:
        with pytest.raises(SettingsError, match=name):
            TrainingSettings(**{name: value})


def test_the_first_average_moves_by_nine_elevenths():
    """The decay after step t is (1 + t) / (10 + t), so that it forgets the initial weights."""
    trainer = make_trainer()
    before = [p.detach().clone() for p in trainer.network.parameters()]
    trainer.train_step()
    averages = trainer.average.state_dict()
    for (name, after), start in zip(trainer.network.named_parameters(), before):
        expected = start + (1 - 2 / 11) * (after.detach() - start)
        torch.testing.assert_close(averages[name], expected)


def test_counts_among_the_tensors_are_no_obstacle():
    """Whole numbers, and tensors of another device, which may hold counts of steps."""
    trainer = make_trainer()
    trainer.network.register_buffer("count", torch.tensor(3))
    trainer.network.register_buffer("elsewhere", torch.zeros(2, device="meta"))
    assert trainer.state()["network.count"].item() == 3
