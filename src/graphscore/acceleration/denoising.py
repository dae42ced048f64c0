"""Denoising samplers with the network in half precision and recorded on CUDA."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from graphscore.acceleration.alignment import aligned
from graphscore.acceleration.capture import captured
from graphscore.acceleration.compilation import compiled
from graphscore.acceleration.notices import notify, short
from graphscore.networks import LogOddsNetwork
from graphscore.noise import SigmaRange
from graphscore.sampling import HeunSettings, RenoisingSettings, SamplingResult, heun, renoise
from graphscore.sampling.denoising import Denoise
from graphscore.sampling.langevin import OnStep
from graphscore.training.memory import is_out_of_memory

WORTHWHILE = 2.5e8
"""Pairs of nodes, over all network calls, from which compiling about saves the time that it takes,
if not the first time, then the next."""


def sample_denoiser(
    network: LogOddsNetwork,
    node_mask: Tensor,
    sigma_range: SigmaRange,
    settings: HeunSettings | RenoisingSettings,
    *,
    generator: torch.Generator,
    on_step: OnStep | None = None,
    fast: bool = True,
) -> SamplingResult:
    """Run the sampler that the settings belong to.

    Args:
        network: answers in log-odds.
        node_mask: (B,N) bool on the network's device.
        sigma_range: noise levels the network was trained on.
        fast: on CUDA, compute products in bfloat16, and record the network once instead of
            launching its kernels at every call; compile it too, where that is worthwhile.
    """
    denoise: Denoise = network.denoised
    if fast and node_mask.device.type == "cuda":
        pairs = node_mask.shape[0] * node_mask.shape[1] ** 2
        long = pairs * settings.network_calls >= WORTHWHILE
        denoise = recorded_denoiser(network, node_mask, compiles=long)
    if isinstance(settings, HeunSettings):
        run = partial(heun, denoise, node_mask, sigma_range, settings)
    else:
        run = partial(renoise, denoise, node_mask, sigma_range, settings)
    return run(generator=generator, prior_mean=network.density(node_mask), on_step=on_step)


def recorded_denoiser(network: LogOddsNetwork, node_mask: Tensor, *, compiles: bool) -> Denoise:
    """Return the posterior mean for graphs of this mask on CUDA, in half precision and recorded.

    Args:
        compiles: compile blocks for the recording, if the network has any.
    """
    return _recorded(_halved(network), node_mask, network.blocks_to_compile if compiles else [])


def _halved(network: LogOddsNetwork) -> Denoise:
    def denoise(adj: Tensor, node_mask: Tensor, sigma: Tensor) -> Tensor:
        with torch.autocast(adj.device.type, torch.bfloat16):
            return network.denoised(adj, node_mask, sigma)

    return denoise


def _recorded(denoise: Denoise, node_mask: Tensor, to_compile: Sequence[nn.Module]) -> Denoise:
    """Return the same function for this mask as a recording, which is made at the first call."""
    nodes = node_mask.shape[1]
    extra = aligned(nodes) - nodes
    wide_mask = functional.pad(node_mask, (0, extra))
    places: list[Tensor] = []
    replay: Callable[[], None] | None = None

    def record(adj: Tensor, sigma: Tensor) -> Callable[[], None]:
        wide = functional.pad(adj, (0, extra, 0, extra))
        places[:] = [wide, sigma.clone(), torch.zeros_like(wide)]

        def step() -> None:
            places[2].copy_(denoise(places[0], wide_mask, places[1]))

        # A network draws nothing, but recording wants to know from where it would.
        return captured(step, generator=torch.Generator(adj.device), undo=lambda: None)

    def first_replay(adj: Tensor, sigma: Tensor) -> Callable[[], None]:
        if to_compile:
            try:
                with compiled(to_compile):
                    return record(adj, sigma)
            # Compilers raise exceptions of many kinds, none of them the user's concern.
            except Exception as error:
                if is_out_of_memory(error):
                    raise
                notify(f"blocks cannot be compiled here, so sampling is slower ({short(error)}).")
        try:
            return record(adj, sigma)
        except RuntimeError as error:
            if is_out_of_memory(error):
                raise  # The plain path needs as much.
            notify(f"a network cannot be recorded here, so sampling is slower ({short(error)}).")
            places.clear()
            return lambda: None

    def recorded(adj: Tensor, _: Tensor, sigma: Tensor) -> Tensor:
        nonlocal replay
        if replay is None:
            replay = first_replay(adj, sigma)
        if not places:
            return denoise(adj, node_mask, sigma)
        places[0][:, :nodes, :nodes].copy_(adj)
        places[1].copy_(sigma)
        replay()
        return places[2][:, :nodes, :nodes].clone()

    return recorded
