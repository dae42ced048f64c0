"""Compiled blocks, and what happens where a compiler does not work, without a GPU."""

from __future__ import annotations

import math

import networkx as nx
import pytest
import torch
from torch._dynamo.backends.common import aot_autograd

from graphscore.acceleration import captured_trainer, denoising
from graphscore.acceleration.captured_trainer import CapturedTrainer
from graphscore.acceleration.compilation import compiled
from graphscore.errors import GraphscoreNotice
from graphscore.graphs import GraphBatch, node_mask_of_sizes
from graphscore.noise import symmetric_noise
from graphscore.training import Denoising, DenoisingSettings, TrainingSettings

real_compile = torch.compile


def fails(*_, **__):
    raise RuntimeError("no compiler here")


def eagerly(function, *, dynamic=None, **_):
    """Traced and split into forward and backward, but not lowered, which takes minutes."""
    return real_compile(function, backend="aot_eager", dynamic=dynamic)


def without_backward(function, **_):
    backend = aot_autograd(fw_compiler=lambda module, _: module, bw_compiler=fails)
    return real_compile(function, backend=backend)


@pytest.fixture(autouse=True)
def _fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def gradient(network):
    network.zero_grad()
    adj = torch.randn(3, 6, 6, generator=torch.Generator().manual_seed(1))
    mask = torch.arange(6) < torch.tensor([[6], [4], [6]])
    loss = network.log_odds(adj + adj.mT, mask, torch.tensor([0.5, 1.0, 2.0])).square().sum()
    loss.backward()
    return [loss.detach(), *(p.grad for p in network.parameters() if p.grad is not None)]


def test_compiled_blocks_are_the_blocks_and_plain_again_afterwards(make_denoiser, monkeypatch):
    monkeypatch.setattr(torch, "compile", eagerly)
    plain, network = make_denoiser(), make_denoiser()
    with compiled(network.blocks):
        assert all(block._compiled_call_impl is not None for block in network.blocks)
        found = gradient(network)
    assert all(block._compiled_call_impl is None for block in network.blocks)
    torch.testing.assert_close(found, gradient(plain), rtol=1e-4, atol=1e-5)


def test_more_shapes_are_compiled_than_a_compiler_takes_by_itself(make_denoiser, monkeypatch):
    monkeypatch.setattr(torch, "compile", eagerly)
    network = make_denoiser()
    torch._dynamo.utils.counters.clear()
    with compiled(network.blocks, dynamic=False):
        for nodes in range(3, 14):
            mask = torch.ones(1, nodes, dtype=torch.bool)
            network.log_odds(torch.zeros(1, nodes, nodes), mask, torch.ones(1))
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 11


def run_only(step, *, generator, undo):
    """Stands in for a recorder, which the CPU does not have."""
    state = generator.get_state()
    try:
        step()
    finally:
        undo()
        generator.set_state(state)
    return step


def trained(make_denoiser, monkeypatch, *, long, record=None, batch_size=4):
    """Losses of a training whose recorder only runs each step.

    Graphs of a batch are computed two by two, or alone in a batch of one.
    """
    monkeypatch.setattr(captured_trainer, "captured", record or run_only)
    monkeypatch.setattr(captured_trainer, "WORTHWHILE", 0.0 if long else math.inf)
    monkeypatch.setattr(captured_trainer, "OVERHEAD", 100)
    data = GraphBatch.from_networkx([nx.path_graph(size) for size in [4] * 4 + [20] * 4])
    settings = TrainingSettings(steps=4, batch_size=batch_size, log_every=1)
    objective = Denoising(DenoisingSettings())
    network = make_denoiser()
    trainer = CapturedTrainer(network, data, objective, settings, seed=0, device="cpu")
    assert [len(group) for group in trainer._shape] == ([1] if batch_size == 1 else [2, 2])
    losses = []
    trainer.run(on_record=lambda record: losses.append(record.loss))
    assert all(block._compiled_call_impl is None for block in network.blocks)
    return losses


@pytest.mark.parametrize("compiler", [fails, without_backward])
def test_where_compiling_fails_there_is_a_notice_and_the_same_training(
    make_denoiser, monkeypatch, compiler
):
    expected = trained(make_denoiser, monkeypatch, long=False)
    monkeypatch.setattr(torch, "compile", compiler)
    with pytest.warns(GraphscoreNotice, match="cannot be compiled here"):
        found = trained(make_denoiser, monkeypatch, long=True)
    assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.filterwarnings("error::graphscore.errors.GraphscoreNotice")
def test_a_compiled_training_is_the_plain_one(make_denoiser, monkeypatch):
    expected = trained(make_denoiser, monkeypatch, long=False)
    monkeypatch.setattr(torch, "compile", eagerly)
    assert trained(make_denoiser, monkeypatch, long=True) == pytest.approx(expected, rel=1e-4)


@pytest.mark.filterwarnings("error::graphscore.errors.GraphscoreNotice")
def test_where_a_graph_is_computed_alone_nothing_is_compiled(make_denoiser, monkeypatch):
    monkeypatch.setattr(torch, "compile", fails)
    trained(make_denoiser, monkeypatch, long=True, batch_size=1)


def test_where_recording_fails_there_is_a_notice_and_the_same_training(make_denoiser, monkeypatch):
    expected = trained(make_denoiser, monkeypatch, long=False)
    with pytest.warns(GraphscoreNotice, match="cannot be recorded here"):
        found = trained(make_denoiser, monkeypatch, long=False, record=fails)
    assert found == pytest.approx(expected, rel=1e-5)


def answers(make_denoiser, monkeypatch, *, compiles, record=run_only):
    """What a recorded denoiser says about graphs of 60 nodes and less, twice; it sees 64."""
    monkeypatch.setattr(denoising, "captured", record)
    network, widths = make_denoiser(), []
    plain = network.denoised
    network.denoised = lambda adj, *rest: widths.append(adj.shape[1]) or plain(adj, *rest)
    mask = node_mask_of_sizes(torch.tensor([60, 7]))
    call = denoising.recorded_denoiser(network, mask, compiles=compiles)
    found = []
    with torch.no_grad():
        for seed in range(2):
            adj = symmetric_noise(mask, generator=torch.Generator().manual_seed(seed))
            found.append(call(adj, mask, torch.tensor([0.5, 1.0])))
    assert all(block._compiled_call_impl is None for block in network.blocks)
    assert set(widths) == ({60} if record is fails else {64})
    return torch.stack(found)


@pytest.mark.filterwarnings("error::graphscore.errors.GraphscoreNotice")
@pytest.mark.parametrize("compiles", [False, True])
def test_a_recorded_denoiser_pads_and_says_the_same(make_denoiser, monkeypatch, compiles):
    monkeypatch.setattr(torch, "compile", eagerly)
    found = answers(make_denoiser, monkeypatch, compiles=compiles)
    network, mask = make_denoiser(), node_mask_of_sizes(torch.tensor([60, 7]))
    assert found.shape == (2, 2, 60, 60)
    for seed, said in enumerate(found):
        adj = symmetric_noise(mask, generator=torch.Generator().manual_seed(seed))
        expected = network.denoised(adj, mask, torch.tensor([0.5, 1.0]))
        torch.testing.assert_close(said, expected, rtol=0, atol=0.05)


@pytest.mark.parametrize(
    ("compiler", "record", "notice"),
    [(fails, run_only, "cannot be compiled here"), (eagerly, fails, "cannot be recorded here")],
)
def test_where_a_denoiser_cannot_be_recorded_there_is_a_notice_and_the_same_answer(
    make_denoiser, monkeypatch, compiler, record, notice
):
    expected = answers(make_denoiser, monkeypatch, compiles=False)
    monkeypatch.setattr(torch, "compile", compiler)
    with pytest.warns(GraphscoreNotice, match=notice):
        found = answers(make_denoiser, monkeypatch, compiles=True, record=record)
    torch.testing.assert_close(found, expected, rtol=0, atol=0.05)
