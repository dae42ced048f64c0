"""Which path trains and samples: the fastest that works here, or the plain one."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol

import torch
from torch import Tensor, nn

from graphscore.acceleration.captured_langevin import captured_langevin
from graphscore.acceleration.captured_trainer import CapturedTrainer
from graphscore.acceleration.fused import fused_langevin, outside_kernel
from graphscore.acceleration.notices import notify, short
from graphscore.errors import GraphscoreError, SettingsError
from graphscore.graphs.batch import GraphBatch
from graphscore.networks import EDPGNN
from graphscore.sampling import LangevinSettings, SamplingResult, annealed_langevin
from graphscore.sampling.langevin import OnStep
from graphscore.training import Objective, Trainer, TrainingSettings

Accelerate = Literal["auto", "off"]
"""The one switch: the fastest path that works here, or the plain one that it is compared with."""


def resolve_accelerate(value: str) -> Accelerate:
    """Return the switch's value.

    Raises:
        SettingsError: there is no such value.
    """
    if value not in ("auto", "off"):
        raise SettingsError(f"accelerate {value!r}: use auto or off.")
    return "auto" if value == "auto" else "off"


class Sample(Protocol):
    """Annealed Langevin dynamics with the score already chosen."""

    def __call__(
        self,
        node_mask: Tensor,
        sigmas: Tensor,
        settings: LangevinSettings,
        *,
        generator: torch.Generator,
        initial: Tensor | None = None,
        on_step: OnStep | None = None,
    ) -> SamplingResult: ...


@dataclass(frozen=True)
class Sampler:
    """A way to run the sampler.

    Attributes:
        path: its name: "plain", "captured" (each step one CUDA graph) or "fused" (many steps one
            kernel).
        sample: runs it.
    """

    path: str
    sample: Sample


def choose_sampler(network: nn.Module, *, nodes: int, accelerate: Accelerate = "auto") -> Sampler:
    """Return the fastest sampler for graphs of up to `nodes` nodes on the network's device.

    On CUDA that is the fused kernel where it knows the network and the graphs are small enough,
    else a recorded step; elsewhere the plain one.

    >>> from graphscore.networks import EDPGNN, EDPGNNSettings
    >>> network = EDPGNN(EDPGNNSettings(), (1.0, 0.1), generator=torch.Generator())
    >>> choose_sampler(network, nodes=20).path
    'plain'
    """
    device = next(network.parameters()).device
    plain = Sampler("plain", partial(annealed_langevin, network))
    if accelerate == "off" or device.type != "cuda":
        return plain
    run = falling_back("a recorded step", partial(captured_langevin, network), plain.sample)
    captured = Sampler("captured", run)
    if not isinstance(network, EDPGNN) or outside_kernel(network, nodes):
        return captured
    if importlib.util.find_spec("triton") is None:
        notify("Triton is not installed, so sampling takes a slower path. Install triton.")
        return captured
    run = falling_back("the sampling kernel", partial(fused_langevin, network), captured.sample)
    return Sampler("fused", run)


def falling_back(name: str, fast: Sample, slower: Sample) -> Sample:
    """Return what runs `fast` or, where that does not work, `slower` with a notice."""

    def sample(
        node_mask: Tensor,
        sigmas: Tensor,
        settings: LangevinSettings,
        *,
        generator: torch.Generator,
        initial: Tensor | None = None,
        on_step: OnStep | None = None,
    ) -> SamplingResult:
        run: dict[str, Any] = {"generator": generator, "initial": initial, "on_step": on_step}
        state = generator.get_state()
        started = False

        def watched(done: int, adj: Tensor) -> None:
            nonlocal started
            started = True
            if on_step is not None:
                on_step(done, adj)

        try:
            return fast(node_mask, sigmas, settings, **{**run, "on_step": watched})
        except (GraphscoreError, torch.OutOfMemoryError):
            raise
        # Compilers and drivers raise exceptions of many kinds, none of them the user's concern.
        except Exception as error:
            if started:
                raise  # What works and then fails is no missing path, and may be the caller's own.
            notify(f"{name} does not work here, so sampling takes a slower path ({short(error)}).")
        generator.set_state(state)
        return slower(node_mask, sigmas, settings, **run)

    return sample


def choose_trainer(
    network: nn.Module,
    data: GraphBatch,
    objective: Objective,
    settings: TrainingSettings,
    *,
    seed: int,
    device: torch.device | str = "cpu",
    accelerate: Accelerate = "auto",
) -> Trainer:
    """Return the fastest trainer on the device: a recorded step on CUDA, else the plain one."""
    fast = accelerate == "auto" and torch.device(device).type == "cuda"
    trainer = CapturedTrainer if fast else Trainer
    return trainer(network, data, objective, settings, seed=seed, device=device)
