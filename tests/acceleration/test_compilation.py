"""Compiled blocks, and what happens where a compiler does not work, without a GPU."""

from __future__ import annotations

import math

import networkx as nx
import pytest
import torch
from torch._dynamo.backends.common import aot_autograd

from graphscore.acceleration import denoise as denoise_module
from graphscore.acceleration import trainer as trainer_module
from graphscore.acceleration.compilation import compiled
from graphscore.acceleration.trainer import CudaGraphTrainer
from graphscore.diffusion import Denoising, SigmaRange, symmetric_noise
from graphscore.errors import GraphscoreWarning
from graphscore.graphs import NO_CONDITION, GraphBatch, GraphState, node_mask_of_sizes
from graphscore.training import TrainingSettings

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
    noisy = GraphState(adj + adj.mT, mask)
    loss = network.logits(noisy, torch.tensor([0.5, 1.0, 2.0])).edges.square().sum()
    loss.backward()
    return [loss.detach(), *(p.grad for p in network.parameters() if p.grad is not None)]


def test_compiled_blocks_are_the_blocks_and_plain_again_afterwards(make_denoiser, monkeypatch):
    monkeypatch.setattr(torch, "compile", eagerly)
    plain, network = make_denoiser(), make_denoiser()
    blocks = network.blocks_to_compile
    assert len(blocks) == 2
    with compiled(blocks):
        assert all(block._compiled_call_impl is not None for block in blocks)
        found = gradient(network)
    assert all(block._compiled_call_impl is None for block in network.blocks_to_compile)
    torch.testing.assert_close(found, gradient(plain), rtol=1e-4, atol=1e-5)


def test_more_shapes_are_compiled_than_a_compiler_takes_by_itself(make_denoiser, monkeypatch):
    monkeypatch.setattr(torch, "compile", eagerly)
    network = make_denoiser()
    torch._dynamo.utils.counters.clear()
    with compiled(network.blocks_to_compile, dynamic=False):
        for nodes in range(3, 14):
            mask = torch.ones(1, nodes, dtype=torch.bool)
            network.logits(GraphState(torch.zeros(1, nodes, nodes), mask), torch.ones(1))
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 11


@pytest.fixture
def trained(make_denoiser, capture, monkeypatch):
    """trained(compiles=, capture=, batch_size=): the losses of a training.

    Graphs of a batch are computed in buckets of two, or alone in a batch of one.
    """

    def losses_of(*, compiles, capture=capture, batch_size=4):
        monkeypatch.setattr(trainer_module, "cuda_graph", capture)
        monkeypatch.setattr(trainer_module, "WORTH_COMPILING", 0.0 if compiles else math.inf)
        monkeypatch.setattr(trainer_module, "OVERHEAD", 100)
        data = GraphBatch.from_networkx([nx.path_graph(size) for size in [4] * 4 + [20] * 4])
        settings = TrainingSettings(steps=4, batch_size=batch_size, log_every=1)
        network, objective = make_denoiser(), Denoising(SigmaRange())
        trainer = CudaGraphTrainer(network, data, objective, settings, seed=0, device="cpu")
        assert [len(bucket) for bucket in trainer._shape] == ([1] if batch_size == 1 else [2, 2])
        losses = []
        trainer.run(on_record=lambda record: losses.append(record.loss))
        assert all(block._compiled_call_impl is None for block in network.blocks_to_compile)
        return losses

    return losses_of


@pytest.mark.parametrize("compiler", [fails, without_backward])
def test_where_compiling_fails_there_is_a_warning_and_the_same_training(
    trained, monkeypatch, compiler
):
    expected = trained(compiles=False)
    monkeypatch.setattr(torch, "compile", compiler)
    with pytest.warns(GraphscoreWarning, match="blocks cannot be compiled here"):
        found = trained(compiles=True)
    assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.filterwarnings("error::graphscore.errors.GraphscoreWarning")
def test_a_compiled_training_is_the_plain_one(trained, monkeypatch):
    expected = trained(compiles=False)
    monkeypatch.setattr(torch, "compile", eagerly)
    assert trained(compiles=True) == pytest.approx(expected, rel=1e-4)


@pytest.mark.filterwarnings("error::graphscore.errors.GraphscoreWarning")
def test_where_a_graph_is_computed_alone_nothing_is_compiled(trained, monkeypatch):
    monkeypatch.setattr(torch, "compile", fails)
    trained(compiles=True, batch_size=1)


def test_where_a_capture_fails_there_is_a_warning_and_the_same_training(trained):
    expected = trained(compiles=False)
    with pytest.warns(GraphscoreWarning, match="no CUDA graph of a step works here"):
        found = trained(compiles=False, capture=fails)
    assert found == pytest.approx(expected, rel=1e-5)


MASK = node_mask_of_sizes(torch.tensor([60, 7]))
SIGMA = torch.tensor([0.5, 1.0])


def noisy(seed):
    edges = symmetric_noise(MASK, generator=torch.Generator().manual_seed(seed))
    return GraphState(edges, MASK)


@pytest.fixture
def answers(make_denoiser, capture, monkeypatch):
    """answers(compiles=, capture=): two posterior means of 60 nodes and less; it sees 64."""

    def of_calls(*, compiles, capture=capture):
        monkeypatch.setattr(denoise_module, "cuda_graph", capture)
        network, widths = make_denoiser(), []
        plain = network.denoise
        network.denoise = lambda state, *rest: widths.append(state.max_nodes) or plain(state, *rest)
        call = denoise_module.CudaGraphDenoise(network, NO_CONDITION, compile_blocks=compiles)
        with torch.no_grad():
            found = [call(noisy(seed), SIGMA).edges for seed in range(2)]
        assert all(block._compiled_call_impl is None for block in network.blocks_to_compile)
        assert set(widths) == {64}
        return torch.stack(found)

    return of_calls


@pytest.mark.filterwarnings("error::graphscore.errors.GraphscoreWarning")
@pytest.mark.parametrize("compiles", [False, True])
def test_a_captured_denoiser_pads_and_gives_the_same_answer(
    make_denoiser, answers, monkeypatch, compiles
):
    monkeypatch.setattr(torch, "compile", eagerly)
    found = answers(compiles=compiles)
    assert found.shape == (2, 2, 60, 60)
    for seed, answer in enumerate(found):
        expected = make_denoiser().denoise(noisy(seed), SIGMA).edges
        torch.testing.assert_close(answer, expected, rtol=0, atol=0.05)


@pytest.mark.parametrize(
    ("compiler", "capture_fails", "message"),
    [
        (fails, False, "blocks cannot be compiled here"),
        (eagerly, True, "no CUDA graph of the network works here"),
    ],
)
def test_where_a_denoiser_cannot_be_captured_there_is_a_warning_and_the_same_answer(
    answers, monkeypatch, compiler, capture_fails, message
):
    expected = answers(compiles=False)
    monkeypatch.setattr(torch, "compile", compiler)
    changes = {"capture": fails} if capture_fails else {}
    with pytest.warns(GraphscoreWarning, match=message):
        found = answers(compiles=True, **changes)
    torch.testing.assert_close(found, expected, rtol=0, atol=0.05)
