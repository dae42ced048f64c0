"""Which path trains and samples: the fastest that works here, or the plain one."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor, nn

from graphscore.acceleration.cuda_graph import short
from graphscore.acceleration.denoise import CudaGraphDenoise
from graphscore.acceleration.fused import fused_langevin, unsupported_by_kernel
from graphscore.acceleration.langevin import cuda_graph_langevin
from graphscore.acceleration.trainer import CudaGraphTrainer
from graphscore.diffusion.posterior import Posterior
from graphscore.diffusion.samplers import (
    SAMPLERS,
    LangevinSettings,
    OnStep,
    SamplerSettings,
    SamplingResult,
)
from graphscore.errors import GraphscoreError, SettingsError, warn
from graphscore.graphs.batch import GraphBatch
from graphscore.graphs.condition import NO_CONDITION, Condition
from graphscore.graphs.state import GraphState
from graphscore.networks import EDPGNN
from graphscore.training import Objective, Trainer, TrainingSettings
from graphscore.training.batching import Batches

Accelerate = Literal["auto", "off"]
"""The one switch: the fastest path that works here, or the plain one that it is compared with."""

WORTH_COMPILING = 2.5e8
"""Pairs of nodes, over all network calls, from which compiling about saves the time that it takes,
if not the first time, then the next."""


def resolve_accelerate(value: str) -> Accelerate:
    """Return the switch's value.

    Raises:
        SettingsError: there is no such value.
    """
    if value not in ("auto", "off"):
        raise SettingsError(f"accelerate {value!r}: use auto or off.")
    return "auto" if value == "auto" else "off"


Sample = Callable[..., SamplingResult]
"""A sampler with its function already chosen; arguments as in `diffusion.samplers`."""


@dataclass(frozen=True)
class SamplerPath:
    """A way to run a sampler.

    Attributes:
        name: "plain", "cuda-graph" (each step or network call one CUDA graph) or "fused" (many
            steps one kernel).
        sample: runs it.
    """

    name: str
    sample: Sample


def choose_sampler(
    network: nn.Module,
    node_mask: Tensor,
    settings: SamplerSettings,
    *,
    condition: Condition = NO_CONDITION,
    accelerate: Accelerate = "auto",
) -> SamplerPath:
    """Return the fastest way to run a sampler for graphs of this mask on its device.

    On CUDA, samplers that denoise call a CUDA graph of the network. Langevin dynamics is the fused
    kernel where it knows the network and the graphs are small enough, else a CUDA graph of a step.
    Other samplers that need the score are plain.

    Raises:
        SettingsError: the sampler needs a posterior mean, which the network does not have.

    >>> from graphscore.networks import EDPGNNSettings
    >>> network = EDPGNN(EDPGNNSettings(), (1.0, 0.1), generator=torch.Generator())
    >>> mask = torch.ones(1, 20, dtype=torch.bool)
    >>> choose_sampler(network, mask, LangevinSettings()).name
    'plain'
    """
    sampler = SAMPLERS[settings.kind]
    fast = accelerate == "auto" and node_mask.device.type == "cuda"
    if sampler.needs == "denoise":
        if not isinstance(network, Posterior):
            raise SettingsError(
                f"the sampler {settings.kind!r} needs a network with a posterior mean, see "
                "`diffusion.Posterior`; a score network is sampled by 'langevin'."
            )
        denoise: Any = partial(network.denoise, condition=condition)
        if fast:
            pairs = node_mask.shape[0] * node_mask.shape[1] ** 2
            calls: int = getattr(settings, "network_calls", 1)
            worth = pairs * calls >= WORTH_COMPILING
            denoise = CudaGraphDenoise(network, condition, compile_blocks=worth)
        name = "cuda-graph" if fast else "plain"
        return SamplerPath(name, partial(sampler.function, denoise))
    score = partial(network, condition=condition)
    plain = partial(sampler.function, score)
    if not fast or not isinstance(settings, LangevinSettings):
        return SamplerPath("plain", plain)
    captured = with_fallback("a CUDA graph", partial(cuda_graph_langevin, score), plain)
    if (
        not isinstance(network, EDPGNN)
        or condition.node_feat is not None  # which the kernel does not take
        or unsupported_by_kernel(network, node_mask.shape[1])
    ):
        return SamplerPath("cuda-graph", captured)
    if importlib.util.find_spec("triton") is None:
        warn("Triton is not installed, so sampling takes a slower path. Install triton.")
        return SamplerPath("cuda-graph", captured)
    fused = with_fallback("the sampling kernel", partial(fused_langevin, network), captured)
    return SamplerPath("fused", fused)


def with_fallback(name: str, fast: Sample, slower: Sample) -> Sample:
    """Return what runs `fast` or, where that does not work, `slower` with a warning."""

    def sample(
        *arguments: Any, generator: torch.Generator, on_step: OnStep | None = None, **options: Any
    ) -> SamplingResult:
        random_state = generator.get_state()
        started = False

        def watched(done: int, state: GraphState) -> None:
            nonlocal started
            started = True
            if on_step is not None:
                on_step(done, state)

        try:
            return fast(*arguments, generator=generator, on_step=watched, **options)
        except (GraphscoreError, torch.OutOfMemoryError):
            raise
        # Compilers and drivers raise exceptions of many kinds, none of them the user's concern.
        except Exception as error:
            if started:
                raise  # What works and then fails is no missing path, and may be the caller's own.
            warn(f"{name} does not work here, so sampling takes a slower path ({short(error)}).")
        generator.set_state(random_state)
        return slower(*arguments, generator=generator, on_step=on_step, **options)

    return sample


def choose_trainer(
    network: nn.Module,
    data: GraphBatch | Batches,
    objective: Objective,
    settings: TrainingSettings,
    *,
    seed: int,
    device: torch.device | str = "cpu",
    accelerate: Accelerate = "auto",
) -> Trainer:
    """Return the fastest trainer on the device: by CUDA graphs on CUDA, else the plain one."""
    fast = accelerate == "auto" and torch.device(device).type == "cuda"
    trainer = CudaGraphTrainer if fast else Trainer
    return trainer(network, data, objective, settings, seed=seed, device=device)
