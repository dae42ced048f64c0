"""What tests of the fast paths share: small networks, a stand-in for the capture of CUDA graphs,
and the kernel's noise written again with torch (Philox, Box and Muller)."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from graphscore.diffusion import (
    BernoulliEdges,
    EdgeDensity,
    GraphLikelihood,
    Posterior,
    Prior,
)
from graphscore.diffusion.samplers import folded_normal
from graphscore.graphs import NO_CONDITION, GraphState
from graphscore.networks import EDPGNN, Denoiser, DenoiserSettings, EDPGNNSettings
from graphscore.seeding import torch_generator

_LOW = 0xFFFFFFFF


def philox(seed: int, counters: list[Tensor]) -> list[Tensor]:
    """Four 32-bit words, as int64, of each counter (four int64 tensors)."""
    c0, c1, c2, c3 = counters
    k0, k1 = seed & _LOW, seed >> 32
    for _ in range(10):
        # Products wrap around in int64; bits 32 to 63 are right all the same.
        product_0, product_2 = c0 * 0xD2511F53, c2 * 0xCD9E8D57
        c0, c2 = (
            ((product_2 >> 32) & _LOW) ^ c1 ^ k0,
            ((product_0 >> 32) & _LOW) ^ c3 ^ k1,
        )
        c1, c3 = product_2 & _LOW, product_0 & _LOW
        k0, k1 = (k0 + 0x9E3779B9) & _LOW, (k1 + 0xBB67AE85) & _LOW
    return [c0, c1, c2, c3]


def counter_noise(seed: int, step: int, node_mask: Tensor) -> Tensor:
    """Symmetric noise (B,N,N), float64, of one Langevin step."""
    batch, nodes = node_mask.shape
    second, first = torch.tril_indices(nodes, nodes, -1)
    pair = (second * (second - 1) // 2 + first).expand(batch, -1)
    graph = torch.arange(batch).unsqueeze(1).expand_as(pair)
    words = philox(seed, [pair, torch.full_like(pair, step), graph, torch.zeros_like(pair)])
    u, angle = ((word >> 8).double() for word in words[:2])
    radius = torch.sqrt(-2 * torch.log((u + 0.5) / 2**24))
    noise = torch.zeros(batch, nodes, nodes, dtype=torch.float64)
    noise[:, first, second] = radius * torch.cos(angle * (2 * math.pi / 2**24))
    noise = noise + noise.mT
    return noise * (node_mask.unsqueeze(1) & node_mask.unsqueeze(2))


def _reference(network, node_mask, sigmas, settings, generator):
    device = node_mask.device
    key = int(torch.randint(2**62, (), generator=generator, device=device))
    prior = prior_of(node_mask)
    state = folded_normal(prior.mean, generator=generator).map(Tensor.double)
    network = network.double()
    step = 0
    with torch.no_grad():
        for sigma in sigmas:
            alpha = settings.step_size * (sigma / sigmas[-1]) ** 2
            level = torch.full((len(state),), sigma, dtype=torch.float64, device=device)
            for _ in range(settings.steps_per_level):
                noise = counter_noise(key, step, node_mask.cpu()).to(device)
                drift = network(state, level) * (alpha / 2)
                moved = settings.noise_scale * alpha**0.5 * noise
                state = state + drift + GraphState(moved, node_mask)
                step += 1
    network.float()
    return state.edges


def _shake(network: nn.Module) -> None:
    """Gains of one and shifts of zero would hide mistakes."""
    generator = torch_generator(1, "shake")
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 0.05 * torch.randn(parameter.shape, generator=generator)


def _network_of(settings: EDPGNNSettings, sigmas: tuple[float, ...]) -> EDPGNN:
    network = EDPGNN(settings, sigmas, generator=torch_generator(0, "weights"))
    _shake(network)
    return network


def _make_denoiser(*, seed: int = 0, communities: bool = False, **changes: int) -> Posterior:
    shape = {"blocks": 2, "pair_width": 16, "node_width": 8, "product_width": 8, **changes}
    within = EdgeDensity.constant(0.7) if communities else None
    likelihood = GraphLikelihood(BernoulliEdges(EdgeDensity.constant(0.4), within))
    settings = DenoiserSettings(**shape, communities=communities)
    network = Denoiser(settings, likelihood, generator=torch_generator(seed, "weights"))
    _shake(network)
    return Posterior(network, likelihood)


def prior_of(node_mask: Tensor) -> Prior:
    """A prior of graphs of these sizes, with half of the edges."""
    likelihood = GraphLikelihood(BernoulliEdges(EdgeDensity(level=0.0)))
    return likelihood.prior_of(node_mask, NO_CONDITION)


class _NothingOnTheHost(TorchDispatchMode):
    """Raises where a capture on CUDA would: a value is read from, or sent by, the host."""

    FORBIDDEN = ("_local_scalar_dense", "lift_fresh", "nonzero", "masked_select", "_unique2")

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.name().partition("::")[2].partition(".")[0]
        if name in self.FORBIDDEN:
            raise RuntimeError(f"{name} is not allowed in a capture")
        return func(*args, **(kwargs or {}))


def _capture(step, *, generator, undo):
    state = generator.get_state()
    try:
        for _ in range(3):
            step()
        with _NothingOnTheHost():
            step()
    finally:
        undo()
        generator.set_state(state)
    return step


@pytest.fixture
def capture():
    """capture(step, generator=, undo=): in place of `cuda_graph`, for a machine without a GPU.

    Like a real capture it runs the step a few times, puts everything back, and returns what runs
    it again. It refuses what a capture on CUDA refuses.
    """
    return _capture


@pytest.fixture(name="prior_of")
def _prior_of():
    """prior_of(node_mask) -> Prior"""
    return prior_of


@pytest.fixture(name="philox")
def _philox():
    """philox(seed, four counters) -> four words"""
    return philox


@pytest.fixture(name="counter_noise")
def _counter_noise():
    """counter_noise(seed, step, node_mask) -> (B,N,N)"""
    return counter_noise


@pytest.fixture
def reference():
    """reference(network, node_mask, sigmas, settings, generator): `annealed_langevin` in float64
    with the kernel's noise."""
    return _reference


@pytest.fixture
def network_of():
    """network_of(settings, sigmas): a network with no parameter at a special value."""
    return _network_of


@pytest.fixture
def make_denoiser():
    """make_denoiser(seed=, communities=, ...): a small one, no parameter at a special value."""
    return _make_denoiser
