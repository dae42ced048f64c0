"""Graphs of given sizes from the network of a run, a chunk at a time, on the fastest path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import torch
from torch import Tensor

from graphscore.acceleration import Accelerate, choose_sampler, sample_denoiser
from graphscore.assembly import Network
from graphscore.config import RunSettings, SamplingSettings
from graphscore.graphs import COMMUNITY, GraphBatch, node_mask_of_sizes
from graphscore.networks import LogOddsNetwork, ToldNetwork
from graphscore.noise import NoiseSettings, ladder
from graphscore.progress import progress
from graphscore.sampling import (
    LangevinSettings,
    Wanted,
    chunks_of_similar_size,
    numbered,
    numbers_of,
    quantise,
)

PAIRS_PER_CHUNK = {"cpu": 100_000, "cuda": 4_000_000, "mps": 1_000_000}
"""Pairs of nodes sampled at a time: enough to keep the device busy, and fitting its memory."""


def sample_graphs(
    network: Network,
    wanted: Wanted,
    sampling: SamplingSettings,
    settings: RunSettings,
    *,
    random: Callable[[int], torch.Generator],
    device: torch.device,
    accelerate: Accelerate,
    show_progress: bool,
) -> list[nx.Graph[Any]]:
    """Sample graphs of the sizes, and with the communities, that are wanted.

    Args:
        network: trained, on the device.
        wanted: what they are to be like.
        sampling: the sampler, which need not be that of the run.
        settings: of the run; what noise the network was trained on.
        random: source of noise on the device, by the number of the chunk.
        accelerate: "auto" takes the fastest path that works on the device, "off" the plain one.
        show_progress: show it on standard error.

    Raises:
        SamplingError: the states left the finite numbers.
    """
    levels = langevin_levels(settings)
    sizes, communities = wanted.sizes, wanted.communities
    chunks = chunks_of_similar_size(sizes, PAIRS_PER_CHUNK.get(device.type, 100_000))
    graphs: dict[int, nx.Graph[Any]] = {}
    steps = sampling.steps_in_all(levels)
    with progress("sampling", steps * len(chunks), enabled=show_progress) as update:
        for index, chunk in enumerate(chunks):
            node_mask = node_mask_of_sizes(sizes[chunk]).to(device)
            generator, before = random(index), index * steps
            of_chunk = network
            if communities is not None:
                # Only networks that answer in log-odds are told communities.
                assert isinstance(network, LogOddsNetwork)
                numbers = numbers_of([communities[i] for i in chunk.tolist()], node_mask.shape[1])
                of_chunk = ToldNetwork(network, numbers.to(device))

            def on_step(done: int, _: Tensor, before: int = before) -> None:
                update(before + done, "")

            if isinstance(sampling, LangevinSettings):
                nodes = node_mask.shape[1]
                sampler = choose_sampler(of_chunk, nodes=nodes, accelerate=accelerate)
                result = sampler.sample(
                    node_mask,
                    ladder(levels, device=device),
                    sampling,
                    generator=generator,
                    on_step=on_step,
                )
            else:
                # The settings of a run do not have these samplers without this objective.
                assert isinstance(of_chunk, LogOddsNetwork)
                assert settings.denoising is not None
                result = sample_denoiser(
                    of_chunk,
                    node_mask,
                    settings.denoising.sigma_range,
                    sampling,
                    generator=generator,
                    on_step=on_step,
                    fast=accelerate == "auto",
                )
            adj = quantise(result.adj, node_mask, sampling.threshold)
            made = GraphBatch(adj, node_mask).to("cpu").to_networkx()
            graphs |= dict(zip(chunk.tolist(), made))
    if communities is not None:
        for index, sizes_of_one in enumerate(communities):
            nx.set_node_attributes(
                graphs[index], dict(enumerate(numbered(sizes_of_one))), COMMUNITY
            )
    return [graphs[index] for index in range(len(sizes))]


def langevin_levels(settings: RunSettings) -> NoiseSettings:
    """Return the noise levels of Langevin dynamics: those that the network was trained on."""
    noise, denoising = settings.noise, settings.denoising
    if denoising is None:
        return noise
    low, high = denoising.sigma_range.sigma_min, denoising.sigma_range.sigma_max
    return NoiseSettings(sigmas=tuple(s for s in noise.sigmas if low <= s <= high) or (low,))
