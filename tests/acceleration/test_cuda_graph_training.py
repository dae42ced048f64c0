"""The logic of training by CUDA graphs on the CPU, beside the plain trainer.

A stand-in (`capture`) takes the place of the driver, see test_cuda_graph_paths.py.
"""

from __future__ import annotations

import math
from dataclasses import replace

import networkx as nx
import pytest
import torch

from graphscore.acceleration import trainer as trainer_module
from graphscore.acceleration.alignment import aligned
from graphscore.acceleration.trainer import CudaGraphTrainer
from graphscore.diffusion import Denoising, ScoreMatching, SigmaRange
from graphscore.errors import GraphDataError, GraphscoreWarning
from graphscore.graphs import GraphBatch
from graphscore.networks import EDPGNN, EDPGNNSettings
from graphscore.seeding import torch_generator
from graphscore.training import Trainer, TrainingSettings
from graphscore.training.batching import BatchSampler, SizeStratifiedSampler

SIGMAS = (1.0, 0.4, 0.1)
SMALL = {"channels": (2, 2), "message_steps": 1, "features": 4, "edge_width": 4}
GRAPHS = [nx.gnp_random_graph(10 + index % 6, 0.4, seed=index) for index in range(12)]
MIXED = [nx.gnp_random_graph(size, 0.3, seed=size) for size in [4, 5, 6, 4, 30, 30, 30, 28]]
no_warnings = pytest.mark.filterwarnings("error::graphscore.errors.GraphscoreWarning")


@pytest.fixture(autouse=True)
def _captured(capture, monkeypatch):
    monkeypatch.setattr(trainer_module, "cuda_graph", capture)
    monkeypatch.setattr(trainer_module, "WORTH_COMPILING", math.inf)


@pytest.fixture
def make_network(make_denoiser):
    """make_network(kind, graphs): a network in double precision, its objective and its data."""

    def make(kind, graphs):
        data = GraphBatch.from_networkx(graphs, dtype=torch.float64)
        if kind == "attributes":
            return _with_attributes(data)
        if kind in ("paper", "released"):
            make_settings = EDPGNNSettings.released if kind == "released" else EDPGNNSettings
            network = EDPGNN(make_settings(**SMALL), SIGMAS, generator=torch_generator(0))
            return network.double(), data, ScoreMatching(SIGMAS)
        if kind == "communities":
            numbers = torch.arange(data.max_nodes) % 3
            data = replace(data, communities=numbers.expand(len(data), -1))
        network = make_denoiser(communities=kind == "communities")
        return network.double(), data, Denoising(SigmaRange())

    return make


def _with_attributes(data):
    """Weights in place of ones, and features of nodes that the network takes."""
    source = torch.Generator().manual_seed(0)
    drawn = torch.randn(data.adj.shape, generator=source, dtype=torch.float64).triu(1)
    feat = torch.randn(*data.node_mask.shape, 2, generator=source, dtype=torch.float64)
    feat = feat * data.node_mask.unsqueeze(2)
    data = replace(data, adj=data.adj * (drawn + drawn.mT), node_feat=feat)
    network = EDPGNN(EDPGNNSettings(**SMALL, node_feat_dim=2), SIGMAS, generator=torch_generator(0))
    return network.double(), data, ScoreMatching(SIGMAS)


@pytest.fixture
def make_trainer(make_network):
    """make_trainer(kind, graphs, fast=, bucketing=, **settings of the training)."""

    def make(kind, graphs=GRAPHS, *, fast=True, bucketing=True, **settings):
        network, data, objective = make_network(kind, graphs)
        settings = TrainingSettings(**{"steps": 6, "batch_size": 4, "log_every": 2, **settings})
        options = {"seed": 0, "device": "cpu", "bucketing": bucketing}
        if fast:
            return CudaGraphTrainer(network, data, objective, settings, **options)
        # Batches as wide as those of a CUDA graph, so that the noise is the same.
        score = isinstance(network, EDPGNN)
        width = data.max_nodes if score else aligned(data.max_nodes)
        padded, size = data.padded(width), settings.batch_size
        batches = BatchSampler(padded, size, seed=0, sort=bucketing, trim=False)
        return Trainer(network, batches, objective, settings, **options)

    return make


def run(trainer):
    records = []
    assert trainer.run(on_record=records.append)
    return records


def assert_same(fast, plain):
    ours, theirs = fast.state(), plain.state()
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        torch.testing.assert_close(value, theirs[name], rtol=1e-8, atol=1e-10, msg=name)


@no_warnings
@pytest.mark.parametrize("optimiser", ["adam", "muon"])
@pytest.mark.parametrize("bucketing", [True, False])
@pytest.mark.parametrize("kind", ["paper", "attributes", "released", "denoiser", "communities"])
def test_training_is_the_plain_training(make_trainer, kind, bucketing, optimiser):
    """The same graphs, noise and updates on batches of the same shape, so the same weights."""
    fast, plain = (
        make_trainer(kind, fast=fast, bucketing=bucketing, optimiser=optimiser)
        for fast in (True, False)
    )
    assert (fast.path, plain.path) == ("cuda-graph", "plain")
    assert len(fast._shape) == 1
    fast_records, plain_records = run(fast), run(plain)
    assert_same(fast, plain)
    assert [record.step for record in fast_records] == [2, 4, 6]
    for ours, expected in zip(fast_records, plain_records):
        for name in ("step", "loss", "per_pair", "per_level", "gradient_norm", "learning_rate"):
            assert getattr(ours, name) == pytest.approx(getattr(expected, name), rel=1e-6)


@no_warnings
@pytest.mark.parametrize("kind", ["paper", "attributes", "denoiser", "communities"])
def test_buckets_are_those_of_the_plain_trainer(make_trainer, monkeypatch, kind):
    """Sizes that differ much: all batches of the same sizes, in buckets of their own width."""
    monkeypatch.setattr(trainer_module, "OVERHEAD", 100)
    fast, plain = (make_trainer(kind, MIXED, fast=fast) for fast in (True, False))
    widths = [bucket.nodes for bucket in fast._shape]
    assert len(widths) == 2
    assert widths[0] < widths[1] == fast.batches.data.max_nodes
    strata = fast.batches
    assert isinstance(strata, SizeStratifiedSampler)
    plain.batches = SizeStratifiedSampler(fast.batches.data, 4, seed=0, trim=False)
    run(fast)
    run(plain)
    assert_same(fast, plain)
    # Without buckets, and with batch statistics, all graphs are padded to the largest.
    assert len(make_trainer(kind, MIXED, bucketing=False)._shape) == 1
    assert len(make_trainer("released", MIXED)._shape) == 1


def test_denoisers_are_padded_to_an_aligned_width(make_trainer):
    graphs = [nx.path_graph(size) for size in (60, 61, 62, 59)]
    assert make_trainer("denoiser", graphs).batches.data.max_nodes == 64
    assert make_trainer("paper", graphs).batches.data.max_nodes == 62


@no_warnings
@pytest.mark.parametrize("optimiser", ["adam", "muon"])
@pytest.mark.parametrize("kind", ["released", "denoiser"])
def test_resuming_is_bit_equal(make_trainer, kind, optimiser):
    whole, part, resumed = (make_trainer(kind, optimiser=optimiser) for _ in range(3))
    run(whole)
    part.run(should_stop=lambda: part.step >= 3)
    tensors = {name: tensor.clone() for name, tensor in part.state().items()}
    resumed.run(should_stop=lambda: resumed.step >= 1)
    resumed.restore(tensors, step=3, seconds=0.0)
    # The optimiser's state is in new tensors, so the step must be captured again.
    assert resumed._replay is None
    run(resumed)
    ours, expected = resumed.state(), whole.state()
    assert [name for name in ours if not torch.equal(ours[name], expected[name])] == []


@no_warnings
@pytest.mark.parametrize("optimiser", ["adam", "muon"])
def test_what_a_capture_reads_and_writes_stays_where_it_is(make_trainer, capture, optimiser):
    """A replay uses the addresses of the capture; one more tensor made later would be missed."""
    trainer = make_trainer("denoiser", optimiser=optimiser, steps=12)

    def addresses():
        inputs = [trainer.batches._loaded, trainer._rate, trainer._metrics, trainer.average._weight]
        data = trainer.batches.data
        inputs += [data.adj, data.node_mask, trainer.average._averages]
        rates = [group["lr"] for group in trainer._optimiser.param_groups]
        return [tensor.data_ptr() for tensor in (*trainer._changing(), *inputs, *rates)]

    trainer.run(should_stop=lambda: trainer.step >= 1)
    replay, before = trainer._replay, addresses()
    run(trainer)
    assert trainer._replay is replay
    assert addresses() == before


def test_one_capture_serves_all_steps(make_trainer, capture, monkeypatch):
    captures = []

    def counting(step, **options):
        captures.append(1)
        return capture(step, **options)

    monkeypatch.setattr(trainer_module, "cuda_graph", counting)
    run(make_trainer("denoiser", steps=20))
    assert len(captures) == 1


@pytest.mark.parametrize("kind", ["released", "denoiser"])
def test_a_capture_that_fails_gives_way_to_the_plain_step(make_trainer, monkeypatch, kind):
    """Once, with a warning; also when it fails after the warm-up has changed everything."""
    tried = []

    def fails_late(step, *, generator, undo):
        tried.append(1)
        step()
        undo()
        raise RuntimeError("no driver here\nand a trace")

    monkeypatch.setattr(trainer_module, "cuda_graph", fails_late)
    fast, plain = (make_trainer(kind, fast=fast) for fast in (True, False))
    message = r"no CUDA graph of a step works here, so training is slower \(no driver here\)"
    with pytest.warns(GraphscoreWarning, match=message) as caught:
        run(fast)
    run(plain)
    assert (len(tried), len(caught)) == (1, 1)
    assert_same(fast, plain)


def test_a_capture_that_does_not_fit_leads_to_micro_batches(make_trainer, monkeypatch):
    """The plain step takes over with half of the batch at a time; nothing is captured again."""
    tried = []

    def out_of_memory(step, *, generator, undo):
        tried.append(1)
        step()
        undo()
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(trainer_module, "cuda_graph", out_of_memory)
    fast, plain = (make_trainer("denoiser", fast=fast) for fast in (True, False))
    with pytest.warns(GraphscoreWarning, match="4 at a time; computing 2 at a time"):
        run(fast)
    run(plain)
    assert len(tried) == 1
    assert fast._micro.size(4, fast.batches.data.max_nodes) == 2
    assert_same(fast, plain)


@no_warnings
def test_a_batch_planned_in_micro_batches_is_not_captured(make_trainer, monkeypatch):
    monkeypatch.setattr(trainer_module, "cuda_graph", lambda *_, **__: pytest.fail("captured"))
    fast, plain = (make_trainer("denoiser", fast=fast) for fast in (True, False))
    fast._micro._pairs = 2 * fast.batches.data.max_nodes**2
    run(fast)
    run(plain)
    assert_same(fast, plain)


def test_no_graphs_are_refused(make_network):
    network, data, objective = make_network("paper", GRAPHS)
    with pytest.raises(GraphDataError, match="no graphs to train on"):
        CudaGraphTrainer(network, data[:0], objective, TrainingSettings(), seed=0, device="cpu")


class DrawnGraphs:
    """New graphs at every step, as `training.batching.Batches`."""

    batch_size = 4

    def __init__(self):
        self._place = GraphBatch.from_networkx(GRAPHS[:1] * 4, dtype=torch.float64)

    def batch(self, step):
        drawn = [nx.gnp_random_graph(10, 0.4, seed=4 * step + index) for index in range(4)]
        return GraphBatch.from_networkx(drawn, dtype=torch.float64)

    def widths(self, step):
        return [10] * 4

    def largest(self):
        return None

    def load(self, step):
        self._place.adj.copy_(self.batch(step).adj)

    def loaded(self):
        return self._place


@no_warnings
def test_batches_of_another_source_are_captured_too():
    def make(trainer):
        network = EDPGNN(EDPGNNSettings(**SMALL), SIGMAS, generator=torch_generator(0)).double()
        settings = TrainingSettings(steps=5, batch_size=4, log_every=2)
        return trainer(
            network, DrawnGraphs(), ScoreMatching(SIGMAS), settings, seed=0, device="cpu"
        )

    fast, plain = make(CudaGraphTrainer), make(Trainer)
    run(fast)
    run(plain)
    assert fast._replay is not None
    assert_same(fast, plain)


@no_warnings
def test_batches_of_any_size_and_width_are_captured_whole(make_network):
    """Neither the size in the settings nor the width of the first batch cuts anything off."""
    settings = TrainingSettings(steps=5, batch_size=1, log_every=2)

    def make(trainer, *, trim):
        network, data, objective = make_network("paper", MIXED)
        batches = BatchSampler(data, 3, seed=2, trim=trim)
        return trainer(network, batches, objective, settings, seed=0, device="cpu")

    fast, plain = make(CudaGraphTrainer, trim=True), make(Trainer, trim=False)
    assert [plain.batches.widths(step)[-1] for step in range(2)] == [28, 30]
    run(fast)
    run(plain)
    assert fast._replay is not None
    assert_same(fast, plain)
