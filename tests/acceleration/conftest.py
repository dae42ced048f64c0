"""The kernel's noise, written again with torch (Philox, Box and Muller), and the plain sampler
with that noise."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from graphscore.networks import EDPGNN, DenoiserSettings, EDPGNNSettings, LogOddsDenoiser
from graphscore.sampling import folded_normal
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
    adj = folded_normal(node_mask, generator=generator).double()
    network = network.double()
    step = 0
    with torch.no_grad():
        for sigma in sigmas:
            alpha = settings.step_size * (sigma / sigmas[-1]) ** 2
            level = torch.full((len(adj),), sigma, dtype=torch.float64, device=device)
            for _ in range(settings.steps_per_level):
                noise = counter_noise(key, step, node_mask.cpu()).to(device)
                drift = alpha / 2 * network(adj, node_mask, level)
                adj = adj + drift + settings.noise_scale * alpha**0.5 * noise
                step += 1
    network.float()
    return adj


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


def _make_denoiser() -> LogOddsDenoiser:
    settings = DenoiserSettings(blocks=2, pair_width=16, node_width=8, product_width=8)
    network = LogOddsDenoiser(settings, 0.4, generator=torch_generator(0, "weights"))
    _shake(network)
    return network


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
    """make_denoiser(): a small one, the same each time, with no parameter at a special value."""
    return _make_denoiser
