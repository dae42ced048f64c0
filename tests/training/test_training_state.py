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

SIGMAS = (1.0, 0.1)


@pytest.fixture(params=["adam", "muon"])
def trainer(request):
    settings = EDPGNNSettings(channels=(2,), message_steps=1, features=8, edge_width=8)
    network = EDPGNN(settings, SIGMAS, generator=torch.Generator().manual_seed(0))
    made = Trainer(
        network,
        GraphBatch.from_networkx([nx.path_graph(4), nx.cycle_graph(5)]),
        ScoreMatching(SIGMAS),
        TrainingSettings(steps=5, optimiser=request.param),
        seed=0,
    )
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


def test_its_own_state_is_accepted(trainer):
    trainer.restore(trainer.state(), step=1, seconds=0.0)
    trainer.train_step()
