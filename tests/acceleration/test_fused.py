"""The fused kernel, run by Triton's interpreter on the CPU, beside the plain sampler."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial

import pytest
import torch

from graphscore.acceleration.choice import with_fallback
from graphscore.acceleration.fused import fused_langevin, unsupported_by_kernel
from graphscore.diffusion import SigmaLevels
from graphscore.diffusion.samplers import LangevinSettings, folded_normal
from graphscore.errors import SamplingError
from graphscore.graphs import GraphState, node_mask_of_sizes, pair_mask
from graphscore.networks import EDPGNN, EDPGNNSettings
from graphscore.seeding import torch_generator

pytest.importorskip("triton")
# With a GPU the kernel is tested there: test_cuda.py.
pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="for Triton's interpreter")

SIGMAS = (1.0, 0.4, 0.1)
LEVELS = SigmaLevels(sigmas=SIGMAS)
SMALL = {"channels": (2, 2), "message_steps": 2, "features": 4, "edge_width": 8}
NETWORKS = {
    "small": EDPGNNSettings(**SMALL),
    "default widths": EDPGNNSettings(channels=(4, 4)),
    "odd shapes": EDPGNNSettings(channels=(3, 1), message_steps=3, features=5, edge_width=7),
    "elu": EDPGNNSettings(**SMALL, activation="elu"),
    "linear nodes": EDPGNNSettings(**SMALL, node_output="linear"),
    "unconditional nodes": EDPGNNSettings(**SMALL, condition_nodes=False),
    "no complement": EDPGNNSettings(**SMALL, complement_channel=False),
    "fixed adjacency": EDPGNNSettings(**SMALL, learnable_adjacency=False),
    "gin": EDPGNNSettings.ablation(
        learnable_adjacency=False, multi_channel=False, message_steps=2, features=4
    ),
}


@pytest.fixture
def sample(network_of, prior_of):
    """sample(settings of a network, node mask or sizes, settings, **options of the sampler)."""

    def run(shape, mask, settings, **options):
        if isinstance(mask, list):
            mask = node_mask_of_sizes(torch.tensor(mask))
        network = network_of(shape, SIGMAS)
        generator = torch_generator(3, "chain")
        return fused_langevin(
            network, prior_of(mask), LEVELS, settings, generator=generator, **options
        )

    return run


@pytest.fixture
def difference(sample, network_of, reference):
    """difference(settings of a network, sizes, settings): largest between kernel and reference."""

    def largest(shape, sizes, settings):
        network, node_mask = network_of(shape, SIGMAS), node_mask_of_sizes(torch.tensor(sizes))
        expected = reference(network, node_mask, SIGMAS, settings, torch_generator(3, "chain"))
        result = sample(shape, sizes, settings)
        assert result.network_calls == len(SIGMAS) * settings.steps_per_level
        return (result.state.edges - expected).abs().max().item()

    return largest


@pytest.mark.parametrize("name", NETWORKS)
def test_kernel_is_the_plain_sampler_with_its_own_noise(difference, name):
    """Same states to float32's accuracy, in every network that the kernel supports."""
    settings = LangevinSettings(steps_per_level=1, step_size=1e-3, noise_scale=0.7)
    assert difference(NETWORKS[name], [5, 1, 2], settings) < 2e-5


def test_sizes_on_both_sides_of_the_padding(difference):
    """Graphs of 16 and 17 nodes are padded differently, in one batch."""
    settings = LangevinSettings(steps_per_level=1, step_size=1e-3)
    assert difference(NETWORKS["small"], [17, 4, 16], settings) < 2e-5


def test_launches_do_not_show(monkeypatch, sample):
    """Cutting the steps into launches changes nothing."""
    settings = LangevinSettings(steps_per_level=3, step_size=1e-3)
    shape = NETWORKS["small"].replaced(channels=(2,), message_steps=1)
    seen, states = [], []
    for steps in (50, 2):
        monkeypatch.setattr("graphscore.acceleration.fused.STEPS_PER_LAUNCH", steps)
        note = lambda done, state, steps=steps: seen.append((steps, done))  # noqa: E731
        states.append(sample(shape, [3, 4], settings, on_step=note).state.edges)
    assert torch.equal(*states)
    assert seen == [(50, 3), (50, 6), (50, 9)] + [(2, done) for done in (2, 3, 5, 6, 8, 9)]


def test_states_keep_their_form(sample, prior_of):
    """Symmetric, zero on the diagonal and on padding, whatever the initial state has there."""
    mask, settings = node_mask_of_sizes(torch.tensor([3, 5])), LangevinSettings(steps_per_level=1)
    clean = folded_normal(prior_of(mask).mean, generator=torch_generator(0, "initial"))
    outside = ~pair_mask(mask)
    found = []
    for initial in (clean, clean + GraphState(outside.float(), mask)):
        before = initial.edges.clone()
        result = sample(NETWORKS["small"], mask, settings, initial=initial)
        assert torch.equal(initial.edges, before)
        found.append(result.state.edges)
    assert torch.equal(*found)
    assert torch.equal(found[0], found[0].mT)
    assert not found[0][outside].any()


def test_masks_with_gaps_are_left_to_others(sample):
    """The kernel enumerates the pairs of the first nodes; the other paths take any mask."""
    mask = torch.tensor([[True, False, True]])
    with pytest.raises(ValueError, match="gaps"):
        sample(NETWORKS["small"], mask, LangevinSettings(steps_per_level=1))


def test_an_error_of_the_caller_is_not_taken_for_a_missing_path(network_of, prior_of):
    """A path that has taken steps works; what goes wrong afterwards is raised as it is."""

    def fails(done, state):
        raise ValueError("mine")

    network = network_of(NETWORKS["small"], SIGMAS)
    run = partial(fused_langevin, network)
    with pytest.raises(ValueError, match="mine"):
        with_fallback("it", run, run)(
            prior_of(node_mask_of_sizes(torch.tensor([3]))),
            LEVELS,
            LangevinSettings(steps_per_level=1),
            generator=torch_generator(3, "chain"),
            on_step=fails,
        )


def test_steps_too_large_are_an_error(sample):
    with pytest.raises(SamplingError, match="too large"):
        sample(NETWORKS["small"], [4], LangevinSettings(steps_per_level=2, step_size=1e38))


def test_philox_is_the_published_one(philox):
    """Known answers of Random123 (Salmon et al. 2011) for philox4x32-10."""
    ones = 0xFFFFFFFF
    zero, full = torch.zeros(1, dtype=torch.int64), torch.full((1,), ones)
    words = [int(word) for word in philox(0, [zero] * 4)]
    assert words == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    words = [int(word) for word in philox((ones << 32) | ones, [full] * 4)]
    assert words == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


def test_noise_is_normal_and_fresh(counter_noise):
    """Moments of the noise, and no correlation between steps and graphs."""
    mask = torch.ones(40, 20, dtype=torch.bool)
    upper = torch.triu_indices(20, 20, 1)
    noise = torch.stack([counter_noise(7, step, mask) for step in range(10)])
    values = noise[:, :, upper[0], upper[1]]
    count = values.numel()
    assert abs(values.mean()) < 5 / count**0.5
    assert abs(values.var() - 1) < 5 * (2 / count) ** 0.5
    assert abs((values.pow(4)).mean() - 3) < 5 * (96 / count) ** 0.5
    assert abs((values[1:] * values[:-1]).mean()) < 5 / count**0.5
    assert abs((values[:, 1:] * values[:, :-1]).mean()) < 5 / count**0.5


COMPILE = """
import torch, triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from graphscore.acceleration.fused import _constants, _packed, _Shape
from graphscore.acceleration.fused_kernel import langevin_steps as kernel
from graphscore.networks import EDPGNN, EDPGNNSettings

settings = EDPGNNSettings()
network = EDPGNN(settings, (1.0,), generator=torch.Generator())
shape = _Shape.of(settings)
constants = _constants(settings, shape)
options = {name: constants.pop(name) for name in ("num_warps", "num_stages")}
layers, _ = _packed(network, shape, 1.0, torch.device("cpu"))
constants |= {"NODES": 32, "LAYER_BLOCK": layers.shape[1]}
scalars = {"seed": "i64", "first_step": "i32", "steps": "i32", "N": "i32"}
scalars |= {"half_alpha": "fp32", "noise_size": "fp32"}
integers = {"order", "sizes", "pair_first", "pair_second"}
signature = {
    name: "constexpr" if name in constants
    else scalars.get(name, "*i32" if name in integers else "*fp32")
    for name in kernel.arg_names
}
source = ASTSource(kernel, signature, constexprs=constants)
compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
assert "langevin_steps" in compiled.asm["ptx"]
"""

FALL_BACK = """
import warnings
from functools import partial
import torch
from graphscore.acceleration.choice import with_fallback
from graphscore.acceleration.fused import fused_langevin
from graphscore.acceleration.langevin import cuda_graph_langevin
from graphscore.diffusion import BernoulliEdges, EdgeDensity, GraphLikelihood, SigmaLevels
from graphscore.diffusion.samplers import LangevinSettings, annealed_langevin
from graphscore.errors import GraphscoreWarning
from graphscore.graphs import NO_CONDITION, node_mask_of_sizes
from graphscore.networks import EDPGNN, EDPGNNSettings
from graphscore.seeding import torch_generator

network = EDPGNN(EDPGNNSettings(channels=(2,)), (1.0, 0.1), generator=torch.Generator())
likelihood = GraphLikelihood(BernoulliEdges(EdgeDensity(level=0.0)))
prior = likelihood.prior_of(node_mask_of_sizes(torch.tensor([3, 4])), NO_CONDITION)
levels = SigmaLevels(sigmas=(1.0, 0.1))
settings = LangevinSettings(steps_per_level=2)

def plain(*arguments, **options):
    return annealed_langevin(network, *arguments, **options)

def draw(sample):
    return sample(prior, levels, settings, generator=torch_generator(3, "chain")).state.edges

for fast in (fused_langevin, cuda_graph_langevin):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = draw(with_fallback("it", partial(fast, network), plain))
    assert [w.category for w in caught if "slower path" in str(w.message)] == [GraphscoreWarning]
    assert torch.equal(result, draw(plain))
"""


def run_compiled(program: str) -> None:
    """Run a program that meets Triton's compiler and not its interpreter."""
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_kernel_compiles_for_a_gpu():
    """The interpreter is more tolerant than the compiler, which needs no GPU to be asked."""
    run_compiled(COMPILE)


def test_where_a_fast_path_does_not_work_a_slower_one_does():
    """On the CPU both fail; the user gets a warning and the other path's graphs."""
    run_compiled(FALL_BACK)


def test_without_triton_the_rest_works():
    """The kernel's module is only needed where the kernel runs."""
    run_compiled("import sys; sys.modules['triton'] = None; import graphscore.acceleration.choice")


def test_what_the_kernel_supports(network_of):
    assert not unsupported_by_kernel(network_of(NETWORKS["small"], SIGMAS), 32)
    assert unsupported_by_kernel(network_of(NETWORKS["small"], SIGMAS), 33)
    wide = NETWORKS["small"].replaced(edge_width=100)
    assert unsupported_by_kernel(network_of(wide, SIGMAS), 5)
    assert unsupported_by_kernel(
        EDPGNN(EDPGNNSettings.released(), SIGMAS, generator=torch_generator(0)), 5
    )
    assert unsupported_by_kernel(network_of(NETWORKS["small"].replaced(node_feat_dim=1), SIGMAS), 5)
