"""Activation checkpointing: the same gradient and statistics from less memory."""

from __future__ import annotations

import pytest
import torch

from graphscore.diffusion import symmetric_noise
from graphscore.graphs import Condition, GraphState, node_mask_of_sizes
from graphscore.networks import EDPGNN, EDPGNNSettings
from graphscore.training.memory import saved_bytes

SIGMAS = (1.0, 0.3, 0.1)
SETTINGS = {
    "paper": EDPGNNSettings(),
    "released": EDPGNNSettings.released(),
    "features": EDPGNNSettings(node_feat_dim=2),
    "gin": EDPGNNSettings.ablation(learnable_adjacency=False, multi_channel=False),
}


def make(settings, checkpointing, dtype=torch.float64):
    network = EDPGNN(settings, SIGMAS, generator=torch.Generator().manual_seed(0)).to(dtype)
    network.checkpoint_activations = checkpointing
    return network.train()


def inputs(settings, dtype=torch.float64, nodes=9):
    generator = torch.Generator().manual_seed(1)
    mask = node_mask_of_sizes(torch.tensor([nodes, 4, nodes - 2]))
    adj = symmetric_noise(mask, generator=generator, dtype=dtype)
    width = settings.node_feat_dim
    feat = torch.randn(3, nodes, width, generator=generator, dtype=dtype) * mask.unsqueeze(-1)
    condition = Condition(feat if width else None)
    return GraphState(adj, mask), torch.tensor(SIGMAS, dtype=dtype), condition


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_the_same_gradient_and_statistics(settings):
    """Scores, gradients with respect to weights and input, and running statistics."""
    found = []
    for checkpointing in (False, True):
        network = make(settings, checkpointing)
        noisy, *rest = inputs(settings)
        noisy.edges.requires_grad_(True)
        score = network(noisy, *rest).edges
        score.square().sum().backward()
        gradients = [p.grad for p in network.parameters() if p.grad is not None]
        found.append([score.detach(), noisy.edges.grad, *gradients, *network.buffers()])
    assert len(found[0]) == len(found[1]) > 10
    for plain, checkpointed in zip(*found):
        torch.testing.assert_close(checkpointed, plain, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_less_memory(settings):
    """What is kept for the gradient is less than half."""
    given = inputs(settings, nodes=40)
    plain, checkpointing = make(settings, False), make(settings, True)
    kept = saved_bytes(lambda: plain(*given))
    assert saved_bytes(lambda: checkpointing(*given)) < kept / 2


def test_nothing_is_recomputed_without_gradients(monkeypatch):
    """Sampling and evaluation do not pay for it."""
    monkeypatch.setattr("graphscore.networks.edp_gnn.checkpointed", None)
    network = make(SETTINGS["paper"], True)
    with torch.no_grad():
        network(*inputs(SETTINGS["paper"]))
    with pytest.raises(TypeError):
        network(*inputs(SETTINGS["paper"]))


def test_it_is_off_unless_asked_and_no_part_of_the_state():
    network = EDPGNN(SETTINGS["paper"], SIGMAS, generator=torch.Generator())
    assert network.checkpoint_activations is False
    before = network.state_dict().keys()
    network.checkpoint_activations = True
    assert network.state_dict().keys() == before


def test_global_random_state_is_untouched():
    before = torch.get_rng_state()
    network = make(SETTINGS["paper"], True)
    network(*inputs(SETTINGS["paper"])).edges.sum().backward()
    assert torch.equal(torch.get_rng_state(), before)
