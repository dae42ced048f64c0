"""The fast paths on a GPU, beside the plain ones."""

from __future__ import annotations

import math
import subprocess
import sys

import networkx as nx
import pytest
import torch

from graphscore import GraphGenerator
from graphscore.acceleration import (
    captured_trainer,
    choose_sampler,
    choose_trainer,
    denoising,
    sample_denoiser,
)
from graphscore.acceleration.captured_langevin import captured_langevin
from graphscore.acceleration.captured_trainer import CapturedTrainer
from graphscore.acceleration.compilation import compiled
from graphscore.acceleration.fused import fused_langevin
from graphscore.errors import SamplingError
from graphscore.graphs import GraphBatch, node_mask_of_sizes, pair_mask
from graphscore.networks import (
    EDPGNN,
    DenoiserSettings,
    EDPGNNSettings,
    GuidanceSettings,
    GuidedNetwork,
    LogOddsDenoiser,
    ToldNetwork,
)
from graphscore.noise import SigmaRange, symmetric_noise
from graphscore.sampling import (
    HeunSettings,
    LangevinSettings,
    RenoisingSettings,
    annealed_langevin,
    numbers_of,
)
from graphscore.seeding import torch_generator
from graphscore.training import (
    Denoising,
    DenoisingSettings,
    ScoreMatching,
    Trainer,
    TrainingSettings,
)

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
# A recording that fails says so and gives way to the plain path, which is always right.
must_record = pytest.mark.filterwarnings("error::graphscore.errors.GraphscoreNotice")

SIGMAS = (1.0, 0.4, 0.1)
NETWORKS = {
    "default": EDPGNNSettings(),
    "released": EDPGNNSettings.released(),
    "gin": EDPGNNSettings.ablation(learnable_adjacency=False, multi_channel=False),
    "odd shapes": EDPGNNSettings(channels=(3, 1), message_steps=3, features=5, edge_width=7),
}


def chain(run, network, sizes, settings, seed=3):
    node_mask = node_mask_of_sizes(torch.tensor(sizes)).cuda()
    sigmas = torch.tensor(SIGMAS, device="cuda")
    generator = torch_generator(seed, "chain", device="cuda")
    return run(network, node_mask, sigmas, settings, generator=generator).adj


def graphs(count=12):
    """Of four to nine nodes: an odd width takes other operations than an even one."""
    return [nx.gnp_random_graph(4 + index % 6, 0.4, seed=index) for index in range(count)]


class Untrimmed(Trainer):
    """The plain trainer with batches of the recorded shape, so with the same noise."""

    trims_padding = False


def trained(settings, network="default", make=choose_trainer, until=None, state=None):
    made = EDPGNN(NETWORKS[network], SIGMAS, generator=torch_generator(0, "weights"))
    return train(made, ScoreMatching(SIGMAS), settings, make, until, state)


def train(network, objective, settings, make, until=None, state=None):
    data = GraphBatch.from_networkx(graphs())
    trainer = make(network, data, objective, settings, seed=0, device="cuda")
    if state is not None:
        trainer.restore(state, step=until, seconds=0.0)
        until = None
    records = []
    trainer.run(
        on_record=records.append,
        should_stop=lambda: until is not None and trainer.step >= until,
    )
    return trainer, records


@pytest.mark.parametrize("name", ["default", "gin", "odd shapes"])
def test_kernel_is_the_plain_sampler_with_its_own_noise(network_of, reference, name):
    settings = LangevinSettings(steps_per_level=3, step_size=1e-3)
    network = network_of(NETWORKS[name], SIGMAS).cuda()
    node_mask = node_mask_of_sizes(torch.tensor([20, 5, 1, 17, 16, 32])).cuda()
    generator = torch_generator(3, "chain", device="cuda")
    expected = reference(network, node_mask, SIGMAS, settings, generator)
    result = chain(fused_langevin, network, [20, 5, 1, 17, 16, 32], settings)
    assert (result - expected).abs().max() < 1e-3 * expected.abs().max()


@pytest.mark.parametrize("name", NETWORKS)
def test_recorded_step_is_the_plain_step_with_the_same_noise(network_of, name):
    settings = LangevinSettings(steps_per_level=3, step_size=1e-3)
    network = network_of(NETWORKS[name], SIGMAS).cuda().eval()
    expected = chain(annealed_langevin, network, [41, 5, 17], settings)
    result = chain(captured_langevin, network, [41, 5, 17], settings)
    torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-5)


def test_statistics_of_the_paths_agree(network_of):
    """Means and spreads of the entries over many chains, within their standard errors."""
    settings = LangevinSettings(steps_per_level=50, step_size=1e-3)
    network = network_of(NETWORKS["default"], SIGMAS).cuda().eval()
    states = [
        chain(run, network, [8] * 512, settings)[:, *torch.triu_indices(8, 8, 1)].flatten()
        for run in (annealed_langevin, captured_langevin, fused_langevin)
    ]
    for state in states[1:]:
        spread = states[0].std() * (2 / len(state)) ** 0.5
        assert abs(state.mean() - states[0].mean()) < 5 * spread
        assert abs(state.std() / states[0].std() - 1) < 5 / len(state) ** 0.5


@pytest.mark.parametrize("run", [captured_langevin, fused_langevin])
def test_same_seed_same_states(network_of, run):
    settings = LangevinSettings(steps_per_level=5, step_size=1e-3)
    network = network_of(NETWORKS["default"], SIGMAS).cuda().eval()
    first, again = (chain(run, network, [20, 5], settings) for _ in range(2))
    assert torch.equal(first, again)
    assert not torch.equal(first, chain(run, network, [20, 5], settings, seed=4))


@pytest.mark.parametrize("run", [captured_langevin, fused_langevin])
def test_steps_too_large_are_told(network_of, run):
    network = network_of(NETWORKS["default"], SIGMAS).cuda().eval()
    with pytest.raises(SamplingError, match="too large"):
        chain(run, network, [6], LangevinSettings(steps_per_level=4, step_size=1e30))


def test_which_path_is_chosen(network_of):
    default = network_of(NETWORKS["default"], SIGMAS).cuda()
    released = network_of(NETWORKS["released"], SIGMAS).cuda()
    assert choose_sampler(default, nodes=32).path == "fused"
    assert choose_sampler(default, nodes=33).path == "captured"
    assert choose_sampler(released, nodes=20).path == "captured"
    assert choose_sampler(default, nodes=20, accelerate="off").path == "plain"


WITHOUT_TRITON = """
import sys, warnings
import torch
sys.modules["triton"] = None
import importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "triton" else real(name, *rest)
from graphscore.acceleration import choose_sampler
from graphscore.errors import GraphscoreNotice
from graphscore.networks import EDPGNN, EDPGNNSettings
network = EDPGNN(EDPGNNSettings(), (1.0,), generator=torch.Generator()).cuda()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert choose_sampler(network, nodes=20).path == "captured"
assert [w.category for w in caught] == [GraphscoreNotice]
"""


def test_without_triton_there_is_a_notice():
    subprocess.run([sys.executable, "-c", WITHOUT_TRITON], check=True)


@pytest.mark.parametrize("network", NETWORKS)
def test_recorded_training_is_the_plain_training(network):
    """The same graphs, noise and update, so the same weights but for rounding."""
    settings = TrainingSettings(steps=12, batch_size=4, log_every=4)
    fast, fast_records = trained(settings, network)
    plain, plain_records = trained(settings, network, make=Untrimmed)
    assert (fast.path, plain.path) == ("captured", "plain")
    assert [r.step for r in fast_records] == [r.step for r in plain_records] == [4, 8, 12]
    for ours, expected in zip(fast_records, plain_records):
        assert ours.loss == pytest.approx(expected.loss, rel=1e-3)
    for part in (fast.network, plain.network):
        part.eval()
    for ours, expected in zip(fast.state().values(), plain.state().values()):
        torch.testing.assert_close(ours, expected, rtol=2e-2, atol=2e-3)


@must_record
@pytest.mark.parametrize("optimiser", ["adam", "muon"])
@pytest.mark.parametrize(("half_precision", "near"), [(False, 1e-3), (True, 5e-2)])
def test_recorded_training_of_a_denoiser_is_the_plain_training(
    make_denoiser, half_precision, near, optimiser
):
    objective = Denoising(DenoisingSettings(half_precision=half_precision))
    settings = TrainingSettings(steps=12, batch_size=4, log_every=4, optimiser=optimiser)
    _, fast = train(make_denoiser(), objective, settings, make=CapturedTrainer)
    _, plain = train(make_denoiser(), objective, settings, make=Untrimmed)
    assert [r.step for r in fast] == [r.step for r in plain] == [4, 8, 12]
    for ours, expected in zip(fast, plain):
        assert ours.loss == pytest.approx(expected.loss, rel=near)
        assert ours.per_level == pytest.approx(expected.per_level, rel=near)


@must_record
@pytest.mark.parametrize("compiles", [False, True])
def test_recorded_groups_are_the_plain_groups(make_denoiser, monkeypatch, compiles):
    """Sizes that differ much: batches of the same sizes, each group padded to its own largest."""
    monkeypatch.setattr(captured_trainer, "OVERHEAD", 100)
    data = GraphBatch.from_networkx([nx.path_graph(size) for size in [12] * 4 + [60] * 4])
    objective = Denoising(DenoisingSettings(half_precision=False))
    losses = []
    for records in (False, True):
        long = 0.0 if compiles and records else math.inf
        monkeypatch.setattr(captured_trainer, "WORTHWHILE", long)
        settings = TrainingSettings(steps=4, batch_size=4, log_every=2)
        network = make_denoiser()
        trainer = CapturedTrainer(network, data, objective, settings, seed=0, device="cuda")
        assert len(trainer._shape) > 1
        assert bool(trainer._to_compile) == (compiles and records)
        trainer._records = records
        trainer.run(on_record=lambda record: losses.append(record.loss))
    assert losses[2:] == pytest.approx(losses[:2], rel=1e-3)


@pytest.mark.parametrize("nodes", [28, 48, 52, 64])
def test_compiled_gradients_are_the_plain_ones(make_denoiser, nodes):
    """Of two graphs; those of a single one are wrong on torch 2.11, which is never compiled."""
    network = make_denoiser().cuda()
    mask = torch.ones(2, nodes, dtype=torch.bool, device="cuda")
    adj = symmetric_noise(mask, generator=torch_generator(0, "noise", device="cuda"))

    def gradients():
        network.zero_grad()
        network.log_odds(adj, mask, torch.ones(2, device="cuda")).square().sum().backward()
        return [p.grad.clone() for p in network.parameters() if p.grad is not None]

    expected = gradients()
    with compiled(network.blocks, dynamic=False):
        found = gradients()
    for ours, plain in zip(found, expected):
        assert (ours - plain).norm() <= 1e-2 * plain.norm()


@must_record
def test_compiled_gradients_of_large_graphs_are_those_of_the_plain_step(monkeypatch):
    """Long rows are added up in other kernels, in which a maximum must still find its entry."""
    data = GraphBatch.from_networkx([nx.path_graph(340), nx.path_graph(250)])
    objective, norms = Denoising(DenoisingSettings()), []
    for long in (math.inf, 0.0):
        monkeypatch.setattr(captured_trainer, "WORTHWHILE", long)
        network = LogOddsDenoiser(
            DenoiserSettings(blocks=2), 0.1, generator=torch_generator(0, "weights")
        )
        settings = TrainingSettings(steps=2, batch_size=2, log_every=1)
        trainer = CapturedTrainer(network, data, objective, settings, seed=0, device="cuda")
        trainer.run(on_record=lambda record: norms.append(record.gradient_norm))
    assert norms[2:] == pytest.approx(norms[:2], rel=5e-2)


@must_record
@pytest.mark.parametrize("compiles", [False, True])
@pytest.mark.parametrize("largest", [20, 60])
@pytest.mark.parametrize("settings", [HeunSettings(steps=8, churn=3.2), RenoisingSettings(steps=8)])
@pytest.mark.parametrize("kind", ["alone", "guided", "told communities"])
def test_recorded_denoiser_samples_as_the_plain_one(
    make_denoiser, settings, largest, compiles, kind, monkeypatch
):
    """With the same noise; half precision changes little but here and there an edge."""
    monkeypatch.setattr(denoising, "WORTHWHILE", 0.0 if compiles else math.inf)
    network = make_denoiser()
    if kind == "guided":
        settings_of_guide = DenoiserSettings(blocks=1, pair_width=8, node_width=4)
        guide = LogOddsDenoiser(settings_of_guide, 0.4, generator=torch_generator(1, "weights"))
        network = GuidedNetwork(network, guide, GuidanceSettings(weight=2.0, sigma_max=1.0))
    if kind == "told communities":
        shape = DenoiserSettings(blocks=2, pair_width=8, node_width=4, communities=True)
        network = LogOddsDenoiser(shape, 0.3, generator=torch_generator(1, "weights"))
        communities = [(largest - 2, 2), (3, 2), (1,), (6, 6, 5)]
        network = ToldNetwork(network, numbers_of(communities, largest).cuda())
    network = network.cuda().eval()
    node_mask = node_mask_of_sizes(torch.tensor([largest, 5, 1, 17])).cuda()

    def sample(seed=3, fast=True):
        generator = torch_generator(seed, "chain", device="cuda")
        return sample_denoiser(
            network, node_mask, SigmaRange(), settings, generator=generator, fast=fast
        )

    plain, first, again = sample(fast=False), sample(), sample()
    assert first.network_calls == plain.network_calls
    assert (first.adj - plain.adj)[pair_mask(node_mask)].abs().mean() < 0.02
    assert torch.equal(first.adj, again.adj)
    assert not torch.equal(first.adj, sample(seed=4).adj)


@pytest.mark.parametrize("optimiser", ["adam", "muon"])
def test_recorded_training_is_resumed_exactly(optimiser):
    settings = TrainingSettings(steps=20, batch_size=4, log_every=5, optimiser=optimiser)
    whole, _ = trained(settings)
    part, _ = trained(settings, until=7)
    # From the host, as a checkpoint is read.
    state = {name: tensor.cpu() for name, tensor in part.state().items()}
    resumed, _ = trained(settings, until=7, state=state)
    for ours, expected in zip(resumed.state().values(), whole.state().values()):
        torch.testing.assert_close(ours, expected, rtol=1e-5, atol=1e-6)


def test_generator_is_reproducible_on_the_fast_paths():
    def samples():
        made = GraphGenerator(
            network="edp-gnn",
            training={"steps": 5, "batch_size": 4},
            sampling={"steps_per_level": 3},
            device="cuda",
            show_progress=False,
        )
        return [sorted(g.edges) for g in made.fit(graphs()).sample(6, seed=1)]

    assert samples() == samples()


@must_record
@pytest.mark.parametrize("communities", [False, True])
def test_generator_of_denoisers_is_reproducible_and_moves_to_the_cpu(tmp_path, communities):
    def fitted():
        made = GraphGenerator(
            network={"kind": "denoiser", "communities": communities},
            training={"steps": 5, "batch_size": 4},
            device="cuda",
            show_progress=False,
        )
        return made.fit(graphs())

    def edges(found):
        return [sorted(graph.edges) for graph in found]

    first = fitted()
    assert isinstance(first.network, LogOddsDenoiser)
    samples = first.sample(6, seed=1)
    assert edges(samples) == edges(first.sample(6, seed=1)) == edges(fitted().sample(6, seed=1))
    assert edges(samples) != edges(first.sample(6, seed=2))
    first.save(tmp_path / "model")
    loaded = GraphGenerator.load(tmp_path / "model", device="cpu", show_progress=False)
    weights = loaded.network.state_dict()
    assert all(torch.equal(weights[n], t.cpu()) for n, t in first.network.state_dict().items())
    # Noise is another one on another device, sizes are not.
    assert [len(graph) for graph in loaded.sample(6, seed=1)] == [len(graph) for graph in samples]


def test_a_batch_that_does_not_fit_is_halved():
    """With a hard limit on the memory, training goes on in pieces and says so."""
    program = """
import warnings, torch, networkx as nx
from graphscore import GraphGenerator
from graphscore.errors import GraphscoreNotice
free, total = torch.cuda.mem_get_info()
torch.cuda.set_per_process_memory_fraction(2.5e9 / total)
graphs = [nx.gnp_random_graph(100, 0.1, seed=s) for s in range(32)]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    made = GraphGenerator(
        network="edp-gnn", training={"steps": 2}, device="cuda", show_progress=False
    )
    made.fit(graphs)
assert any(issubclass(w.category, GraphscoreNotice) for w in caught), caught
"""
    subprocess.run([sys.executable, "-c", program], check=True)
