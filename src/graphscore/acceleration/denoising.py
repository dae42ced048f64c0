"""Denoising samplers with the network in half precision and recorded on CUDA."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from graphscore.acceleration.capture import captured
from graphscore.acceleration.notices import notify, short
from graphscore.networks import LogOddsNetwork
from graphscore.noise import SigmaRange
from graphscore.sampling import HeunSettings, RenoisingSettings, SamplingResult, heun, renoise
from graphscore.sampling.denoising import Denoise
from graphscore.sampling.langevin import OnStep
from graphscore.training.memory import is_out_of_memory


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
            launching its kernels at every call.
    """
    denoise: Denoise = network.denoised
    if fast and node_mask.device.type == "cuda":
        denoise = recorded_denoiser(network, node_mask)
    if isinstance(settings, HeunSettings):
        run = partial(heun, denoise, node_mask, sigma_range, settings)
    else:
        run = partial(renoise, denoise, node_mask, sigma_range, settings)
    return run(generator=generator, prior_mean=network.density(node_mask), on_step=on_step)


def recorded_denoiser(network: LogOddsNetwork, node_mask: Tensor) -> Denoise:
    """Return the posterior mean for graphs of this mask on CUDA, in half precision and recorded."""
    return _recorded(_halved(network), node_mask)


def _halved(network: LogOddsNetwork) -> Denoise:
    def denoise(adj: Tensor, node_mask: Tensor, sigma: Tensor) -> Tensor:
        with torch.autocast(adj.device.type, torch.bfloat16):
            return network.denoised(adj, node_mask, sigma)

    return denoise


def _recorded(denoise: Denoise, node_mask: Tensor) -> Denoise:
    """Return the same function for this mask as a recording, which is made at the first call."""
    places: list[Tensor] = []
    replay: Callable[[], None] | None = None

    def record(adj: Tensor, sigma: Tensor) -> Callable[[], None]:
        places[:] = [adj.clone(), sigma.clone(), torch.zeros_like(adj)]

        def step() -> None:
            places[2].copy_(denoise(places[0], node_mask, places[1]))

        # A network draws nothing, but recording wants to know from where it would.
        return captured(step, generator=torch.Generator(adj.device), undo=lambda: None)

    def recorded(adj: Tensor, _: Tensor, sigma: Tensor) -> Tensor:
        nonlocal replay
        if replay is None:
            try:
                replay = record(adj, sigma)
            except RuntimeError as error:
                if is_out_of_memory(error):
                    raise  # The plain path needs as much.
                notify(
                    f"a network cannot be recorded here, so sampling is slower ({short(error)})."
                )
                places.clear()
                replay = lambda: None  # noqa: E731 - nothing to replay
        if not places:
            return denoise(adj, node_mask, sigma)
        places[0].copy_(adj)
        places[1].copy_(sigma)
        replay()
        return places[2].clone()

    return recorded
