"""Records of training: what they average, when they come, and that they are finite."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch

from graphscore.diffusion import ScoreMatching
from graphscore.errors import TrainingError
from graphscore.graphs import GraphBatch
from graphscore.networks import EDPGNN, EDPGNNSettings
from graphscore.training import Trainer, TrainingSettings
from graphscore.training.pending_metrics import PendingMetrics

SIGMAS = (1.0, 0.3)


@pytest.mark.parametrize(("log_every", "recorded"), [(1, [1]), (5, [])])
def test_a_loss_that_is_not_finite_ends_training(make_trainer, log_every, recorded):
    """A learning rate that makes weights overflow: no record, so no checkpoint, after that."""
    trainer = make_trainer(dtype=torch.float32, steps=10, log_every=log_every)
    trainer.settings = trainer.settings.model_copy(update={"learning_rate": 1e30})  # unchecked
    steps = []
    with pytest.raises(TrainingError, match=r"not finite around step \d.*learning rate"):
        trainer.run(on_record=lambda record: steps.append(record.step))
    assert steps == recorded


def test_a_gradient_that_is_not_finite_ends_training(make_trainer):
    """Also when the loss itself is finite, and at the last step."""
    trainer = make_trainer(steps=1)
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

    def forward(self, noisy, sigma, condition):
        return noisy * (0.5 + (self.weight - self.weight.detach()).sum())


def test_weights_that_are_not_finite_end_training():
    """A last step with finite loss and gradient can still overflow a weight.

    Then no record and no state is handed out, so no checkpoint is replaced.
    """
    settings = TrainingSettings(steps=1).model_copy(update={"learning_rate": 2e37})  # unchecked
    data = GraphBatch(torch.zeros(1, 4, 4), torch.ones(1, 4, dtype=torch.bool))
    trainer = Trainer(Overflowing(), data, ScoreMatching(SIGMAS), settings, seed=0)
    records = []
    with pytest.raises(TrainingError):
        trainer.run(on_record=records.append)
    assert not trainer.network.weight.isfinite().all()
    assert records == []
    with pytest.raises(TrainingError, match=r"weights are not finite at step 1\b.*learning rate"):
        trainer.state()


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("part", ["weight", "average", "optimiser"])
def test_a_state_that_is_not_finite_is_refused(make_trainer, part, value):
    trainer = make_trainer(steps=2)
    trainer.run()
    tensor = {
        "weight": trainer.network.final.last.weight,
        "average": trainer.average.state_dict()["final.last.weight"],
        "optimiser": trainer.state()["optimiser.3.exp_avg_sq"],
    }[part]
    assert trainer.state()
    with torch.no_grad():
        tensor.view(-1)[0] = value
    with pytest.raises(TrainingError, match="not finite at step 2"):
        trainer.state()


class Late(PendingMetrics):
    """Numbers that arrive only when they are waited for, as from a device that is far behind."""

    def arrived(self):
        return False


def test_records_that_arrive_late_are_the_same(make_trainer, monkeypatch):
    """They come when the next ones are due or training ends, and are of their own steps."""
    found, steps = [], []
    for late in (False, True):
        if late:
            monkeypatch.setattr("graphscore.training.trainer.PendingMetrics", Late)
        trainer, records = make_trainer(steps=20, log_every=5), []

        def note(record, trainer=trainer, records=records):
            records.append(dataclasses.replace(record, seconds=0.0))
            steps.append(trainer.step)

        assert not trainer.run(on_record=note, should_stop=lambda t=trainer: t.step >= 12)
        assert trainer.run(on_record=note)
        found.append(records)
    assert found[0] == found[1]
    assert [record.step for record in found[0]] == [5, 10, 12, 15, 20]
    assert steps == [5, 10, 12, 15, 20, 10, 12, 12, 20, 20]


class Event:
    """Numbers that are on their way until somebody waits for them, as a CUDA event says."""

    done = False

    def query(self):
        return self.done

    def synchronize(self):
        self.done = True


def test_numbers_are_waited_for_when_they_are_asked_for():
    pending = PendingMetrics(torch.tensor([1.0, 2.0]), 3, 0.5)
    assert pending.arrived() is True
    pending._event = Event()
    assert pending.arrived() is False
    assert pending.values() == [1.0, 2.0]
    assert pending.arrived() is True


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_steps_do_not_wait_for_the_device(ragged):
    """Over several windows of batches and a record, nothing makes the host wait."""
    network = EDPGNN(
        EDPGNNSettings(channels=(2, 2)), SIGMAS, generator=torch.Generator().manual_seed(0)
    )
    settings = TrainingSettings(steps=100, batch_size=4)
    data = ragged(torch.float32)
    trainer = Trainer(network, data, ScoreMatching(SIGMAS), settings, seed=0, device="cuda")
    trainer.train_step()
    torch.cuda.set_sync_debug_mode("error")
    try:
        metrics = [trainer.train_step() for _ in range(20)]
        sent = trainer._send(metrics)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert len(sent.values()) == 4 + len(SIGMAS)


@pytest.mark.parametrize("steps", [2, 4])
def test_records_have_the_learning_rate_in_use(make_trainer, steps):
    records = []
    trainer = make_trainer(steps=steps, learning_rate=1e-3, final_learning_rate=1e-4)
    trainer.run(on_record=records.append)
    assert records[0].learning_rate == pytest.approx(1e-3)
    assert records[-1].learning_rate == pytest.approx(1e-4)
    seconds = [record.seconds for record in records]
    assert [0.0, *seconds] == sorted({0.0, *seconds})
    assert records[0].to_dict()["step"] == 1


def test_the_seconds_of_a_resumed_run_go_on(make_trainer):
    first, second, records = make_trainer(), make_trainer(), []
    assert first.seconds == 0
    second.restore(first.state(), step=0, seconds=5000.0)
    second.run(on_record=records.append)
    assert 5000 < records[0].seconds < records[-1].seconds == second.seconds < 6000


def test_records_average_all_steps_since_the_last(make_trainer):
    """One record over five steps is the mean of five records of one step."""
    one_by_one, together = [], []
    for log_every, records in [(1, one_by_one), (5, together)]:
        make_trainer(steps=10, log_every=log_every).run(on_record=records.append)
    for index, record in enumerate(together):
        part = one_by_one[5 * index : 5 * index + 5]
        assert record.loss == pytest.approx(sum(r.loss for r in part) / 5)
        assert record.gradient_norm == pytest.approx(sum(r.gradient_norm for r in part) / 5)
