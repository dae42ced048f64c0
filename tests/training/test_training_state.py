"""Training states that are not those of the network: named, and nothing is changed."""

from __future__ import annotations

import networkx as nx
import pytest
import torch

from graphscore.diffusion import ScoreMatching
from graphscore.errors import CheckpointError
from graphscore.graphs import GraphBatch
from graphscore.networks import EDPGNN, EDPGNNSettings
from graphscore.training import Trainer, TrainingSettings
from graphscore.training.training_state import mismatch

SIGMAS = (1.0, 0.1)


def make_trainer(optimiser, weights):
    settings = EDPGNNSettings(channels=(2,), message_steps=1, features=8, edge_width=8)
    network = EDPGNN(settings, SIGMAS, generator=torch.Generator().manual_seed(weights))
    return Trainer(
        network,
        GraphBatch.from_networkx([nx.path_graph(4), nx.cycle_graph(5)]),
        ScoreMatching(SIGMAS),
        TrainingSettings(steps=5, optimiser=optimiser),
        seed=0,
    )


@pytest.fixture(params=["adam", "muon"])
def trainer(request):
    made = make_trainer(request.param, 0)
    made.train_step()
    return made


def some(state, end):
    return next(name for name in state if name.endswith(end))


CHANGES = {
    "another shape": lambda t: t.update({some(t, ".exp_avg"): torch.zeros(2, 2)}),
    "another type": lambda t: t.update({some(t, ".exp_avg"): t[some(t, ".exp_avg")].double()}),
    "one missing": lambda t: t.pop(some(t, ".exp_avg_sq")),
    "one more": lambda t: t.update({"optimiser.0.more": torch.zeros(2)}),
    "huge number": lambda t: t.update({"optimiser.1000000.exp_avg": torch.zeros(2)}),
    "negative number": lambda t: t.update({"optimiser.-1.exp_avg": torch.zeros(2)}),
    "no number": lambda t: t.update({"optimiser.x.exp_avg": torch.zeros(2)}),
    "steps as a matrix": lambda t: t.update({some(t, ".step"): torch.zeros(2, 2)}),
    "a part of its own": lambda t: t.update({"other.x": torch.zeros(2)}),
    "weights missing": lambda t: t.pop(some(t, "table.bias")),
    "averages of another shape": lambda t: t.update({"average.table.bias": torch.zeros(2)}),
    "no optimiser": lambda t: [t.pop(name) for name in list(t) if name.startswith("optimiser.")],
}


@pytest.mark.parametrize("kind", CHANGES)
def test_another_training_state_is_refused(trainer, kind):
    state = {name: tensor.clone() for name, tensor in trainer.state().items()}
    CHANGES[kind](state)
    before = {name: tensor.clone() for name, tensor in trainer.state().items()}
    with pytest.raises(CheckpointError, match="does not fit this network"):
        trainer.restore(state, step=1, seconds=0.0)
    assert all(torch.equal(tensor, before[name]) for name, tensor in trainer.state().items())


NAMES = {name: torch.zeros(2) for name in "abc"}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (NAMES, ""),
        ({name: NAMES[name] for name in "bc"}, "without a"),
        ({"b": NAMES["b"]}, "without a and 1 more"),
        ({}, "without a and 2 more"),
        ({**NAMES, "d": torch.zeros(2)}, "with unknown d"),
        ({**NAMES, "e": torch.zeros(2), "d": torch.zeros(2)}, "with unknown d and 1 more"),
        ({**NAMES, "b": torch.zeros(2, 1)}, "b is (2, 1) float32 in place of (2,) float32"),
        ({**NAMES, "b": torch.zeros(2).int()}, "b is (2,) int32 in place of (2,) float32"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_mismatch_is_described(found, expected):
    assert mismatch(found, NAMES) == expected


def test_a_state_before_the_first_step_needs_no_optimiser(trainer):
    """At step 0 there is none; later it is missing."""
    state = {name: t for name, t in trainer.state().items() if not name.startswith("optimiser.")}
    trainer.restore(state, step=0, seconds=0.0)
    with pytest.raises(CheckpointError, match="the optimiser's state is missing"):
        trainer.restore(state, step=1, seconds=0.0)


def test_a_restored_training_goes_on_like_the_first(trainer):
    other = make_trainer(trainer.settings.optimiser, 1)
    other.restore(trainer.state(), step=1, seconds=0.0)
    for each in (trainer, other):
        each.train_step()
        each.train_step()
    ours, theirs = trainer.state(), other.state()
    assert ours.keys() == theirs.keys()
    assert [name for name in ours if not torch.equal(ours[name], theirs[name])] == []
