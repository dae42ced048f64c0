"""Small trainers of EDP-GNN, and what their tests share."""

from __future__ import annotations

import pytest
import torch
from safetensors.torch import load_file, save_file

from graphscore.diffusion import ScoreMatching, symmetric_noise
from graphscore.graphs import GraphBatch, node_mask_of_sizes, pair_mask
from graphscore.networks import EDPGNN, EDPGNNSettings
from graphscore.training import Trainer, TrainingSettings

SIGMAS = (1.0, 0.3)
SMALL = {"channels": (2, 2), "message_steps": 1, "features": 4, "edge_width": 4}


@pytest.fixture
def unknown_memory(monkeypatch):
    """No measuring beforehand, which would be one more call of the network."""
    monkeypatch.setattr("graphscore.training.micro_batches.available_memory", lambda device: None)


@pytest.fixture
def through_disk(tmp_path):
    """through_disk(trainer): its state, written to a file and read again."""

    def write_and_read(trainer):
        path = tmp_path / "state.safetensors"
        save_file({name: tensor.clone() for name, tensor in trainer.state().items()}, path)
        return load_file(path)

    return write_and_read


@pytest.fixture
def ragged():
    """ragged(dtype, features): random graphs of 3, 7, 1, 5 and 6 nodes."""

    def make(dtype=torch.float64, features=0):
        mask = node_mask_of_sizes(torch.tensor([3, 7, 1, 5, 6]))
        generator = torch.Generator().manual_seed(0)
        noise = symmetric_noise(mask, generator=generator, dtype=dtype)
        feat = torch.randn(5, 7, features, generator=generator, dtype=dtype) * mask.unsqueeze(-1)
        adj = ((noise > 0) & pair_mask(mask)).to(dtype)
        return GraphBatch(adj, mask, feat if features else None)

    return make


@pytest.fixture
def make_trainer(ragged):
    """make_trainer(data, settings of the network, ..., **settings of the training)."""

    def make(data=None, settings=None, *, dtype=torch.float64, bucketing=None, **training):
        if data is None:
            # All of seven nodes, so that all batches are equally wide.
            data = GraphBatch(ragged().adj, torch.ones(5, 7, dtype=torch.bool))
        settings = settings or EDPGNNSettings(**SMALL)
        network = EDPGNN(settings, SIGMAS, generator=torch.Generator().manual_seed(1)).to(dtype)
        return Trainer(
            network,
            data.to(dtype=dtype),
            ScoreMatching(SIGMAS),
            TrainingSettings(**{"steps": 3, "batch_size": 4, "log_every": 1, **training}),
            seed=0,
            **({} if bucketing is None else {"bucketing": bucketing}),
        )

    return make


@pytest.fixture
def assert_same_weights():
    """assert_same_weights(trainer, trainer): equal states but for rounding in float64."""

    def check(one, two):
        ours, theirs = one.state(), two.state()
        assert ours.keys() == theirs.keys()
        for name, value in ours.items():
            torch.testing.assert_close(value, theirs[name], rtol=1e-9, atol=1e-11)

    return check
