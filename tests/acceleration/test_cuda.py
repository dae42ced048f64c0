"""The fast paths on a GPU, beside the plain ones."""

from __future__ import annotations

import math
import subprocess
import sys

import networkx as nx
import pytest
import torch

from graphscore import GraphGenerator
from graphscore.acceleration import choice, choose_sampler, choose_trainer
from graphscore.acceleration import trainer as trainer_module
from graphscore.acceleration.alignment import aligned
from graphscore.acceleration.compilation import compiled
from graphscore.acceleration.fused import fused_langevin
from graphscore.acceleration.langevin import cuda_graph_langevin
from graphscore.acceleration.trainer import CudaGraphTrainer
from graphscore.diffusion import (
    BernoulliEdges,
    Denoising,
    DenoisingSettings,
    EdgeDensity,
    GraphLikelihood,
    GuidanceSettings,
    GuidedPosterior,
    Posterior,
    ScoreMatching,
    SigmaLevels,
    SigmaRange,
    symmetric_noise,
)
from graphscore.diffusion.samplers import (
    AncestralSettings,
    HeunSettings,
    LangevinSettings,
    annealed_langevin,
)
from graphscore.errors import SamplingError
from graphscore.graphs import NO_CONDITION, Condition, GraphBatch, GraphState, node_mask_of_sizes
from graphscore.models.communities import community_tensor
from graphscore.networks import EDPGNN, Denoiser, DenoiserSettings, EDPGNNSettings
from graphscore.seeding import torch_generator
from graphscore.training import Trainer, TrainingSettings
from graphscore.training.batching import BatchSampler

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
# A capture that fails warns and gives way to the plain path, which is always right.
must_capture = pytest.mark.filterwarnings("error::graphscore.errors.GraphscoreWarning")

DEVICE = "cuda"
SIGMAS = (1.0, 0.4, 0.1)
NETWORKS = {
    "default": EDPGNNSettings(),
    "released": EDPGNNSettings.released(),
    "gin": EDPGNNSettings.ablation(learnable_adjacency=False, multi_channel=False),
    "odd shapes": EDPGNNSettings(channels=(3, 1), message_steps=3, features=5, edge_width=7),
}


@pytest.fixture
def chain(prior_of):
    """chain(run, network, sizes, settings, seed): the final edges of a Langevin sampler."""

    def final(run, network, sizes, settings, seed=3):
        prior = prior_of(node_mask_of_sizes(torch.tensor(sizes)).to(DEVICE))
        generator = torch_generator(seed, "chain", device=DEVICE)
        levels = SigmaLevels(sigmas=SIGMAS)
        return run(network, prior, levels, settings, generator=generator).state.edges

    return final


def graphs(count=12):
    """Of four to nine nodes: an odd width takes other operations than an even one."""
    return [nx.gnp_random_graph(4 + index % 6, 0.4, seed=index) for index in range(count)]


def untrimmed(network, data, objective, settings, *, seed, device):
    """The plain trainer with batches of the captured shape, so with the same noise."""
    width = aligned if getattr(network, "blocks_to_compile", []) else int
    data = data.padded(width(data.max_nodes)).to(device)
    batches = BatchSampler(data, settings.batch_size, seed=seed, trim=False)
    return Trainer(network, batches, objective, settings, seed=seed, device=device)


def trained(settings, network="default", make=choose_trainer, until=None, state=None):
    made = EDPGNN(NETWORKS[network], SIGMAS, generator=torch_generator(0, "weights"))
    return train(made, ScoreMatching(SIGMAS), settings, make, until, state)


def train(network, objective, settings, make, until=None, state=None):
    data = GraphBatch.from_networkx(graphs())
    trainer = make(network, data, objective, settings, seed=0, device=DEVICE)
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
def test_kernel_is_the_plain_sampler_with_its_own_noise(chain, network_of, reference, name):
    settings = LangevinSettings(steps_per_level=3, step_size=1e-3)
    network = network_of(NETWORKS[name], SIGMAS).to(DEVICE)
    node_mask = node_mask_of_sizes(torch.tensor([20, 5, 1, 17, 16, 32])).to(DEVICE)
    generator = torch_generator(3, "chain", device=DEVICE)
    expected = reference(network, node_mask, SIGMAS, settings, generator)
    result = chain(fused_langevin, network, [20, 5, 1, 17, 16, 32], settings)
    assert (result - expected).abs().max() < 1e-3 * expected.abs().max()


@pytest.mark.parametrize("name", NETWORKS)
def test_captured_step_is_the_plain_step_with_the_same_noise(chain, network_of, name):
    settings = LangevinSettings(steps_per_level=3, step_size=1e-3)
    network = network_of(NETWORKS[name], SIGMAS).to(DEVICE).eval()
    expected = chain(annealed_langevin, network, [41, 5, 17], settings)
    result = chain(cuda_graph_langevin, network, [41, 5, 17], settings)
    torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-5)


def test_statistics_of_the_paths_agree(chain, network_of):
    """Means and spreads of the entries over many chains, within their standard errors."""
    settings = LangevinSettings(steps_per_level=50, step_size=1e-3)
    network = network_of(NETWORKS["default"], SIGMAS).to(DEVICE).eval()
    states = [
        chain(run, network, [8] * 512, settings)[:, *torch.triu_indices(8, 8, 1)].flatten()
        for run in (annealed_langevin, cuda_graph_langevin, fused_langevin)
    ]
    for state in states[1:]:
        spread = states[0].std() * (2 / len(state)) ** 0.5
        assert abs(state.mean() - states[0].mean()) < 5 * spread
        assert abs(state.std() / states[0].std() - 1) < 5 / len(state) ** 0.5


@pytest.mark.parametrize("run", [cuda_graph_langevin, fused_langevin])
def test_same_seed_same_states(chain, network_of, run):
    settings = LangevinSettings(steps_per_level=5, step_size=1e-3)
    network = network_of(NETWORKS["default"], SIGMAS).to(DEVICE).eval()
    first, again = (chain(run, network, [20, 5], settings) for _ in range(2))
    assert torch.equal(first, again)
    assert not torch.equal(first, chain(run, network, [20, 5], settings, seed=4))


@pytest.mark.parametrize("run", [cuda_graph_langevin, fused_langevin])
def test_steps_too_large_are_an_error(chain, network_of, run):
    network = network_of(NETWORKS["default"], SIGMAS).to(DEVICE).eval()
    with pytest.raises(SamplingError, match="too large"):
        chain(run, network, [6], LangevinSettings(steps_per_level=4, step_size=1e30))


def test_which_path_is_chosen(network_of, make_denoiser):
    default, released = (
        network_of(NETWORKS[n], SIGMAS).to(DEVICE) for n in ("default", "released")
    )

    def path(network, nodes, settings=None, **options):
        mask = torch.ones(2, nodes, dtype=torch.bool, device=DEVICE)
        return choose_sampler(network, mask, settings or LangevinSettings(), **options).name

    assert path(default, 32) == "fused"
    assert path(default, 33) == "cuda-graph"
    assert path(released, 20) == "cuda-graph"
    assert path(default, 20, accelerate="off") == "plain"
    denoiser = make_denoiser().to(DEVICE)
    assert path(denoiser, 20) == "cuda-graph"
    assert path(denoiser, 20, HeunSettings()) == "cuda-graph"
    assert path(denoiser, 20, HeunSettings(), accelerate="off") == "plain"


WITHOUT_TRITON = """
import sys, warnings
import torch
sys.modules["triton"] = None
import importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "triton" else real(name, *rest)
from graphscore.acceleration import choose_sampler
from graphscore.diffusion.samplers import LangevinSettings
from graphscore.errors import GraphscoreWarning
from graphscore.networks import EDPGNN, EDPGNNSettings
network = EDPGNN(EDPGNNSettings(), (1.0,), generator=torch.Generator()).cuda()
mask = torch.ones(1, 20, dtype=torch.bool, device="cuda")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert choose_sampler(network, mask, LangevinSettings()).name == "cuda-graph"
assert [w.category for w in caught] == [GraphscoreWarning]
"""


def test_without_triton_there_is_a_warning():
    subprocess.run([sys.executable, "-c", WITHOUT_TRITON], check=True)


@pytest.mark.parametrize("network", NETWORKS)
def test_captured_training_is_the_plain_training(network):
    """The same graphs, noise and update, so the same weights but for rounding."""
    settings = TrainingSettings(steps=12, batch_size=4, log_every=4)
    fast, fast_records = trained(settings, network)
    plain, plain_records = trained(settings, network, make=untrimmed)
    assert (fast.path, plain.path) == ("cuda-graph", "plain")
    assert [r.step for r in fast_records] == [r.step for r in plain_records] == [4, 8, 12]
    for ours, expected in zip(fast_records, plain_records):
        assert ours.loss == pytest.approx(expected.loss, rel=1e-3)
    for part in (fast.network, plain.network):
        part.eval()
    for ours, expected in zip(fast.state().values(), plain.state().values()):
        torch.testing.assert_close(ours, expected, rtol=2e-2, atol=2e-3)


@must_capture
@pytest.mark.parametrize("optimiser", ["adam", "muon"])
@pytest.mark.parametrize(("half_precision", "near"), [(False, 1e-3), (True, 5e-2)])
def test_captured_training_of_a_denoiser_is_the_plain_training(
    make_denoiser, half_precision, near, optimiser
):
    objective = Denoising(SigmaRange(), DenoisingSettings(half_precision=half_precision))
    settings = TrainingSettings(steps=12, batch_size=4, log_every=4, optimiser=optimiser)
    _, fast = train(make_denoiser(), objective, settings, make=CudaGraphTrainer)
    _, plain = train(make_denoiser(), objective, settings, make=untrimmed)
    assert [r.step for r in fast] == [r.step for r in plain] == [4, 8, 12]
    for ours, expected in zip(fast, plain):
        assert ours.loss == pytest.approx(expected.loss, rel=near)
        assert ours.per_level == pytest.approx(expected.per_level, rel=near)


@must_capture
@pytest.mark.parametrize("compiles", [False, True])
def test_captured_buckets_are_the_plain_buckets(make_denoiser, monkeypatch, compiles):
    """Sizes that differ much: batches of the same sizes, each bucket padded to its own largest."""
    monkeypatch.setattr(trainer_module, "OVERHEAD", 100)
    data = GraphBatch.from_networkx([nx.path_graph(size) for size in [12] * 4 + [60] * 4])
    objective = Denoising(SigmaRange(), DenoisingSettings(half_precision=False))
    losses = []
    for captures in (False, True):
        long = 0.0 if compiles and captures else math.inf
        monkeypatch.setattr(trainer_module, "WORTH_COMPILING", long)
        settings = TrainingSettings(steps=4, batch_size=4, log_every=2)
        network = make_denoiser()
        trainer = CudaGraphTrainer(network, data, objective, settings, seed=0, device=DEVICE)
        assert len(trainer._shape) > 1
        assert bool(trainer._to_compile) == (compiles and captures)
        trainer._captures = captures
        trainer.run(on_record=lambda record: losses.append(record.loss))
    assert losses[2:] == pytest.approx(losses[:2], rel=1e-3)


@pytest.mark.parametrize("nodes", [28, 48, 52, 64])
def test_compiled_gradients_are_the_plain_ones(make_denoiser, nodes):
    """Of two graphs; those of a single one are wrong on torch 2.11, which is never compiled."""
    network = make_denoiser().to(DEVICE)
    mask = torch.ones(2, nodes, dtype=torch.bool, device=DEVICE)
    edges = symmetric_noise(mask, generator=torch_generator(0, "noise", device=DEVICE))
    noisy, sigma = GraphState(edges, mask), torch.ones(2, device=DEVICE)

    def gradients():
        network.zero_grad()
        network.logits(noisy, sigma).edges.square().sum().backward()
        return [p.grad.clone() for p in network.parameters() if p.grad is not None]

    expected = gradients()
    with compiled(network.blocks_to_compile, dynamic=False):
        found = gradients()
    for ours, plain in zip(found, expected):
        assert (ours - plain).norm() <= 1e-2 * plain.norm()


@must_capture
def test_compiled_gradients_of_large_graphs_are_those_of_the_plain_step(monkeypatch):
    """Long rows are added up in other kernels, in which a maximum must still find its entry."""
    data = GraphBatch.from_networkx([nx.path_graph(340), nx.path_graph(250)])
    objective, norms = Denoising(SigmaRange()), []
    for long in (math.inf, 0.0):
        monkeypatch.setattr(trainer_module, "WORTH_COMPILING", long)
        likelihood = GraphLikelihood(BernoulliEdges(EdgeDensity.constant(0.1)))
        generator = torch_generator(0, "weights")
        denoiser = Denoiser(DenoiserSettings(blocks=2), likelihood, generator=generator)
        network = Posterior(denoiser, likelihood)
        settings = TrainingSettings(steps=2, batch_size=2, log_every=1)
        trainer = CudaGraphTrainer(network, data, objective, settings, seed=0, device=DEVICE)
        trainer.run(on_record=lambda record: norms.append(record.gradient_norm))
    assert norms[2:] == pytest.approx(norms[:2], rel=5e-2)


@must_capture
@pytest.mark.parametrize("compiles", [False, True])
@pytest.mark.parametrize("largest", [20, 60])
@pytest.mark.parametrize("settings", [HeunSettings(steps=8, churn=3.2), AncestralSettings(steps=8)])
@pytest.mark.parametrize("kind", ["alone", "guided", "communities"])
def test_captured_denoiser_samples_as_the_plain_one(
    make_denoiser, settings, largest, compiles, kind, monkeypatch
):
    """With the same noise; half precision changes little but here and there an edge."""
    monkeypatch.setattr(choice, "WORTH_COMPILING", 0.0 if compiles else math.inf)
    network, condition = make_denoiser(), NO_CONDITION
    if kind == "guided":
        guide = make_denoiser(seed=1, blocks=1, pair_width=8, node_width=4)
        network = GuidedPosterior(network, guide, GuidanceSettings(weight=2.0, sigma_max=1.0))
    if kind == "communities":
        network = make_denoiser(seed=1, communities=True, pair_width=8, node_width=4)
        partitions = [(largest - 2, 2), (3, 2), (1,), (6, 6, 5)]
        condition = Condition(communities=community_tensor(partitions, largest)).to(DEVICE)
    network = network.to(DEVICE).eval()
    node_mask = node_mask_of_sizes(torch.tensor([largest, 5, 1, 17])).to(DEVICE)
    prior = network.likelihood.prior_of(node_mask, condition)

    def sample(seed=3, accelerate="auto"):
        path = choose_sampler(
            network, node_mask, settings, condition=condition, accelerate=accelerate
        )
        generator = torch_generator(seed, "chain", device=DEVICE)
        return path.sample(prior, SigmaRange(), settings, generator=generator)

    plain, first, again = sample(accelerate="off"), sample(), sample()
    assert first.network_calls == plain.network_calls
    difference = (first.state - plain.state).edges[prior.mean.pair_mask]
    assert difference.abs().mean() < 0.02
    assert torch.equal(first.state.edges, again.state.edges)
    assert not torch.equal(first.state.edges, sample(seed=4).state.edges)


@pytest.mark.parametrize("optimiser", ["adam", "muon"])
def test_captured_training_is_resumed_exactly(optimiser):
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
            "edp-gnn",
            training={"steps": 5, "batch_size": 4},
            sampling={"steps_per_level": 3},
            device=DEVICE,
            show_progress=False,
        )
        return [sorted(g.edges) for g in made.fit(graphs()).sample(6, seed=1)]

    assert samples() == samples()


@must_capture
@pytest.mark.parametrize("communities", [False, True])
def test_generator_of_denoisers_is_reproducible_and_moves_to_the_cpu(tmp_path, communities):
    def fitted():
        made = GraphGenerator(
            "denoiser",
            network={"kind": "denoiser", "communities": communities},
            training={"steps": 5, "batch_size": 4},
            device=DEVICE,
            show_progress=False,
        )
        return made.fit([nx.barbell_graph(3 + size % 3, 0) for size in range(12)])

    def edges(found):
        return [sorted(graph.edges) for graph in found]

    first = fitted()
    assert isinstance(first.network, Posterior)
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
    """With a hard limit on the memory, training goes on in micro-batches with a warning."""
    program = """
import warnings, torch, networkx as nx
from graphscore import GraphGenerator
from graphscore.errors import GraphscoreWarning
free, total = torch.cuda.mem_get_info()
torch.cuda.set_per_process_memory_fraction(2.5e9 / total)
graphs = [nx.gnp_random_graph(100, 0.1, seed=s) for s in range(32)]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    made = GraphGenerator(
        "edp-gnn", training={"steps": 2}, device="cuda", show_progress=False
    )
    made.fit(graphs)
assert any(issubclass(w.category, GraphscoreWarning) for w in caught), caught
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_attributes_are_learned_and_generated_in_cuda_graphs(recwarn):
    """Nothing is copied from the host while a step is captured, which a warning would say."""
    graphs = [nx.cycle_graph(nodes) for nodes in (4, 5, 6, 7)] * 4
    for graph in graphs:
        nx.set_node_attributes(graph, {node: "AB"[node % 2] for node in graph}, "kind")
        nx.set_edge_attributes(graph, {edge: sum(edge) + 0.5 for edge in graph.edges}, "w")
        nx.set_edge_attributes(graph, {edge: sum(edge) % 3 for edge in graph.edges}, "bond")
        nx.set_node_attributes(graph, {node: node / 7 for node in graph}, "h")
    nodes = {"node_type": "kind", "node_features": ["h"]}
    for model, edges in (("denoiser", {"bond", "w"}), ("edp-gnn", {"w"})):
        generator = GraphGenerator(
            model, training={"steps": 20}, device="cuda", show_progress=False
        )
        types = {"edge_type": "bond"} if "bond" in edges else {}
        generator.fit(graphs, edge_weight="w", **nodes, **types)
        for graph in generator.sample(8):
            assert all(data.keys() == {"kind", "h"} for _, data in graph.nodes(data=True))
            assert all(data.keys() == edges for *_, data in graph.edges(data=True))
    assert [str(each.message) for each in recwarn if "CUDA graph" in str(each.message)] == []
