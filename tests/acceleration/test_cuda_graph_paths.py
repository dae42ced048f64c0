"""The logic of the CUDA-graph paths on the CPU, beside the plain ones.

A stand-in (`capture`) takes the place of the driver: it runs a step, puts everything back, refuses
reads on the host, and replays by running the step again. test_cuda.py has the real captures.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace

import pytest
import torch

from graphscore.acceleration import denoise as denoise_module
from graphscore.acceleration import langevin as langevin_module
from graphscore.acceleration import trainer as trainer_module
from graphscore.acceleration.choice import choose_sampler, with_fallback
from graphscore.acceleration.denoise import CudaGraphDenoise
from graphscore.acceleration.langevin import STEPS_BETWEEN_REPORTS, cuda_graph_langevin
from graphscore.diffusion import (
    GuidanceSettings,
    GuidedPosterior,
    SigmaLevels,
    SigmaRange,
)
from graphscore.diffusion.samplers import (
    SAMPLERS,
    AncestralSettings,
    HeunSettings,
    LangevinSettings,
    Sampler,
    SamplerSettings,
    annealed_langevin,
)
from graphscore.errors import GraphscoreWarning, SamplingError, SettingsError
from graphscore.graphs import NO_CONDITION, Condition, GraphState, node_mask_of_sizes
from graphscore.models.communities import community_tensor
from graphscore.networks import EDPGNNSettings
from graphscore.seeding import torch_generator

SIGMAS = (1.0, 0.4, 0.1)
LEVELS = SigmaLevels(sigmas=SIGMAS)
SMALL = {"channels": (2, 2), "message_steps": 1, "features": 4, "edge_width": 4}
no_warnings = pytest.mark.filterwarnings("error::graphscore.errors.GraphscoreWarning")


def fails(*_, **__):
    raise RuntimeError("no driver here\nand a trace")


@pytest.fixture
def score_network(network_of):
    """A small EDP-GNN in double precision."""
    return network_of(EDPGNNSettings(**SMALL), SIGMAS).double().eval()


@pytest.fixture(autouse=True)
def _captured(capture, monkeypatch):
    for module in (denoise_module, langevin_module, trainer_module):
        monkeypatch.setattr(module, "cuda_graph", capture)


# ---------------------------------------------------------------- denoise


@pytest.fixture
def make_kind(make_denoiser):
    """make_kind(kind, largest): a network, its condition, and the sizes of four graphs."""

    def make(kind, largest):
        network, condition = make_denoiser(), NO_CONDITION
        if kind == "guided":
            guide = make_denoiser(seed=1, blocks=1)
            network = GuidedPosterior(network, guide, GuidanceSettings(weight=2.0, sigma_max=1.0))
        if kind == "communities":
            network = make_denoiser(communities=True)
            parts = [(largest - 2, 2), (3, 2), (1,), (6, 6, 5)]
            condition = Condition(communities=community_tensor(parts, largest))
        return network.double().eval(), condition, torch.tensor([largest, 5, 1, 17])

    return make


@no_warnings
@pytest.mark.parametrize("kind", ["alone", "guided", "communities"])
@pytest.mark.parametrize("largest", [20, 60])
@pytest.mark.parametrize("settings", [HeunSettings(steps=3, churn=1.2), AncestralSettings(steps=3)])
def test_a_captured_denoiser_samples_as_the_plain_one(make_kind, settings, largest, kind):
    """Aligned or padded; the same noise, so the same states but for half precision."""
    network, condition, sizes = make_kind(kind, largest)
    mask = node_mask_of_sizes(sizes)
    prior = network.likelihood.prior_of(mask, condition, torch.float64)
    sampler, counts = SAMPLERS[settings.kind].function, []

    def sample(denoise, seed=3):
        generator = torch_generator(seed, "chain")
        note = lambda done, _: counts.append(done)  # noqa: E731
        return sampler(denoise, prior, SigmaRange(), settings, generator=generator, on_step=note)

    plain = sample(partial(network.denoise, condition=condition))
    fast = sample(CudaGraphDenoise(network, condition, compile_blocks=False))
    assert fast.network_calls == plain.network_calls
    assert fast.state.edges.shape == plain.state.edges.shape
    assert torch.equal(fast.state.node_mask, mask)
    assert counts == 2 * [1, 2, 3]
    torch.testing.assert_close(fast.state.edges, fast.state.edges.mT)
    difference = (fast.state.edges - plain.state.edges)[prior.mean.pair_mask].abs().mean()
    assert difference < 0.02
    again = sample(CudaGraphDenoise(network, condition, compile_blocks=False))
    assert torch.equal(again.state.edges, fast.state.edges)


@no_warnings
@pytest.mark.parametrize("kind", ["alone", "guided", "communities"])
@pytest.mark.parametrize("fail", [False, True])
def test_every_call_has_the_answer_of_its_own_input(make_kind, monkeypatch, kind, fail):
    """Exactly that of the padded graphs in half precision; earlier answers stay as they are."""
    if fail:
        monkeypatch.setattr(denoise_module, "cuda_graph", fails)
    network, condition, sizes = make_kind(kind, 60)
    mask = node_mask_of_sizes(sizes)
    prior = network.likelihood.prior_of(mask, condition, torch.float64)
    call = CudaGraphDenoise(network, condition, compile_blocks=False)
    inputs = [
        (prior.sample(sigma, generator=torch_generator(0, index)), torch.full((4,), sigma).double())
        for index, sigma in enumerate((4.0, 1.0, 0.3))
    ]
    before = [state.edges.clone() for state, _ in inputs]
    with torch.no_grad():
        if fail:
            with pytest.warns(GraphscoreWarning, match=r"slower \(no driver here\)"):
                call(*inputs[0])
        found = [call(state, sigma) for state, sigma in inputs]
        for answer, (state, sigma) in zip(found, inputs):
            with torch.autocast("cpu", torch.bfloat16):
                wide = network.denoise(state.extended(4), sigma, condition.extended(4))
            assert torch.equal(answer.edges, wide.edges[:, :60, :60])
    assert all(torch.equal(state.edges, kept) for (state, _), kept in zip(inputs, before))


@pytest.mark.parametrize("compiles", [False, True])
def test_memory_that_runs_out_is_no_missing_path(make_denoiser, monkeypatch, compiles):
    def out_of_memory(*_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(denoise_module, "cuda_graph", out_of_memory)
    call = CudaGraphDenoise(make_denoiser(), NO_CONDITION, compile_blocks=compiles)
    state = GraphState(torch.zeros(1, 4, 4), torch.ones(1, 4, dtype=torch.bool))
    with torch.no_grad(), pytest.raises(torch.OutOfMemoryError):
        call(state, torch.ones(1))


@pytest.mark.parametrize("communities", [False, True])
def test_no_tensor_is_left_on_the_host(make_denoiser, monkeypatch, communities):
    """With everything on another device (here one without values) nothing is mixed."""
    # That device does not have autocast, not even to turn it off.
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: nullcontext())
    network = make_denoiser(communities=communities).to("meta")
    mask = torch.ones(2, 7, dtype=torch.bool, device="meta")
    numbers = torch.zeros(2, 7, dtype=torch.int64, device="meta") if communities else None
    prior = network.likelihood.prior_of(mask, Condition(communities=numbers))
    sigma = torch.ones(2, device="meta")
    answer = network.denoise(prior.mean, sigma, Condition(communities=numbers))
    assert answer.edges.device.type == "meta"


# ---------------------------------------------------------------- langevin


@pytest.mark.parametrize("given", [False, True], ids=["drawn", "initial"])
def test_a_captured_step_is_the_plain_step_with_the_same_noise(score_network, prior_of, given):
    settings = LangevinSettings(steps_per_level=15, step_size=1e-3, noise_scale=0.7)
    prior = prior_of(node_mask_of_sizes(torch.tensor([11, 5, 1, 17])))
    prior = type(prior)(prior.mean.map(torch.Tensor.double), prior.likelihood)
    initial = prior.sample(1.0, generator=torch_generator(0, "initial")) if given else None
    kept = None if initial is None else initial.edges.clone()
    seen = {annealed_langevin: [], cuda_graph_langevin: []}
    states = []
    for run, steps in seen.items():
        generator = torch_generator(3, "chain")
        note = lambda done, state, steps=steps: steps.append((done, state))  # noqa: E731
        result = run(
            score_network,
            prior,
            LEVELS,
            settings,
            generator=generator,
            initial=initial,
            on_step=note,
        )
        assert result.network_calls == 45
        states.append((result.state.edges, generator.get_state()))
    torch.testing.assert_close(states[1][0], states[0][0], rtol=1e-6, atol=1e-7)
    assert torch.equal(states[0][1], states[1][1])
    plain, fast = seen.values()
    assert [done for done, _ in plain] == list(range(1, 46))
    assert [done for done, _ in fast] == [STEPS_BETWEEN_REPORTS, 2 * STEPS_BETWEEN_REPORTS, 45]
    # Each report is the caller's to keep.
    for done, state in fast:
        torch.testing.assert_close(state.edges, plain[done - 1][1].edges, rtol=1e-6, atol=1e-7)
    assert given is False or torch.equal(initial.edges, kept)


def test_a_captured_step_sees_the_features_of_nodes(network_of, prior_of):
    """On the device and bound to the score, so that a replay reads them where they are."""
    network = network_of(EDPGNNSettings(**SMALL, node_feat_dim=3), SIGMAS).eval()
    mask, source = node_mask_of_sizes(torch.tensor([7, 4])), torch.Generator().manual_seed(0)
    features = 20 * torch.randn(2, 7, 3, generator=source) * mask.unsqueeze(2)
    settings, states = LangevinSettings(steps_per_level=5, step_size=1e-3), {}
    for run in (annealed_langevin, cuda_graph_langevin):
        for given in (features, features.flip(1) * mask.unsqueeze(2)):
            score = partial(network, condition=Condition(node_feat=given))
            result = run(score, prior_of(mask), LEVELS, settings, generator=torch_generator(3))
            states.setdefault(run, []).append(result.state.edges)
    for plain, fast in zip(*states.values()):
        torch.testing.assert_close(fast, plain, rtol=1e-5, atol=1e-5)
    assert (states[annealed_langevin][0] - states[annealed_langevin][1]).abs().max() > 1e-3


def test_where_nodes_have_features_the_kernel_is_not_chosen(network_of):
    """It would leave them out; a CUDA graph refuses what the network does not take."""
    on_cuda = SimpleNamespace(device=torch.device("cuda"), shape=(1, 5))
    given = Condition(node_feat=torch.zeros(1, 5, 2))
    plain = network_of(EDPGNNSettings(**SMALL), SIGMAS)
    takes = network_of(EDPGNNSettings(**SMALL, node_feat_dim=2), SIGMAS)
    for network, condition in ((takes, given), (plain, given), (takes, NO_CONDITION)):
        path = choose_sampler(network, on_cuda, LangevinSettings(), condition=condition)
        assert path.name == "cuda-graph"


def test_steps_too_large_are_an_error(score_network, prior_of):
    prior = prior_of(node_mask_of_sizes(torch.tensor([6])))
    settings = LangevinSettings(steps_per_level=4, step_size=1e30)
    score = score_network.float()
    with pytest.raises(SamplingError, match="too large"):
        cuda_graph_langevin(score, prior, LEVELS, settings, generator=torch_generator(3))


def test_a_capture_that_fails_gives_way_to_the_plain_sampler(score_network, prior_of, monkeypatch):
    """With the same random numbers, as if nothing had been tried."""
    monkeypatch.setattr(langevin_module, "cuda_graph", fails)
    prior = prior_of(node_mask_of_sizes(torch.tensor([6, 4])))
    settings, counts = LangevinSettings(steps_per_level=2), []
    plain = partial(annealed_langevin, score_network.float())
    sample = with_fallback("it", partial(cuda_graph_langevin, score_network), plain)
    with pytest.warns(GraphscoreWarning, match=r"it does not work here.*\(no driver here\)"):
        found = sample(
            prior,
            LEVELS,
            settings,
            generator=torch_generator(3),
            on_step=lambda done, _: counts.append(done),
        )
    expected = plain(prior, LEVELS, settings, generator=torch_generator(3))
    assert torch.equal(found.state.edges, expected.state.edges)
    assert counts == [1, 2, 3, 4, 5, 6]


def test_only_langevin_dynamics_takes_its_fast_paths(score_network, monkeypatch):
    """Another sampler that needs the score is run as it is."""

    def mine(score, *_, **__):
        return "mine"

    monkeypatch.setitem(SAMPLERS, "mine", Sampler(SamplerSettings, mine, needs="score"))
    on_cuda = SimpleNamespace(device=torch.device("cuda"), shape=(1, 5))
    path = choose_sampler(score_network, on_cuda, SamplerSettings(kind="mine"))
    assert (path.name, path.sample()) == ("plain", "mine")
    assert choose_sampler(score_network, on_cuda, LangevinSettings()).name != "plain"


def test_samplers_that_denoise_need_a_posterior(score_network):
    mask = torch.ones(1, 5, dtype=torch.bool)
    with pytest.raises(SettingsError, match=r"'heun' needs a network with a posterior mean"):
        choose_sampler(score_network, mask, HeunSettings())
