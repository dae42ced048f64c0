"""Training steps and samplings of EDP-GNN; with `denoiser.py`, the only files that build models."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from benchmarks.clock import Run
from benchmarks.plan import Plan
from graphscore.acceleration import Accelerate, choose_sampler, choose_trainer
from graphscore.diffusion import (
    BernoulliEdges,
    EdgeDensity,
    GraphLikelihood,
    ScoreMatching,
    symmetric_noise,
)
from graphscore.diffusion.samplers import LangevinSettings
from graphscore.graphs import NO_CONDITION, GraphBatch, node_mask_of_sizes
from graphscore.networks import EDPGNN
from graphscore.seeding import torch_generator
from graphscore.training import TrainingSettings

PATHS: dict[str, Accelerate] = {"plain": "off", "accelerated": "auto"}
"""The two paths that are compared, and the option that selects each."""

STEP_SIZE = 1e-6
"""Langevin step size: an untrained network could diverge, and the time is the same."""

Chain = Callable[[int], object]
"""chain(steps_per_level): one sampling."""


def make_network(plan: Plan, device: torch.device) -> EDPGNN:
    """The plan's network with its initial weights."""
    generator = torch_generator(0, "bench", "weights")
    return EDPGNN(plan.network, plan.noise.sigmas, generator=generator).to(device)


def random_graphs(graphs: int, nodes: int, device: torch.device) -> GraphBatch:
    """Graphs of equal size, each pair an edge with probability 0.3."""
    mask = torch.ones(graphs, nodes, dtype=torch.bool)
    noise = symmetric_noise(mask, generator=torch_generator(0, "bench", "graphs"))
    return GraphBatch((noise > 0.5).float(), mask).to(device)


def make_step(
    plan: Plan,
    device: torch.device,
    accelerate: Accelerate,
    shape: tuple[int, int],
    *,
    checkpointing: bool = False,
) -> tuple[str, Run]:
    """The name of the path that trains, and its optimiser step on a batch of all graphs.

    Args:
        shape: number of graphs, and of their nodes.
        checkpointing: use activation checkpointing in every layer.
    """
    network = make_network(plan, device)
    network.checkpoint_activations = checkpointing
    trainer = choose_trainer(
        network,
        random_graphs(*shape, device),
        ScoreMatching(plan.noise.sigmas),
        TrainingSettings(batch_size=shape[0]),
        seed=0,
        device=device,
        accelerate=accelerate,
    )
    return trainer.path, trainer.train_step


def make_chain(
    plan: Plan, device: torch.device, accelerate: Accelerate, *, graphs: int
) -> tuple[str, Chain]:
    """The name of the path that samples, and a function that samples."""
    mask = sampling_mask(plan, graphs, device)
    network = make_network(plan, device).eval()
    path = choose_sampler(network, mask, LangevinSettings(), accelerate=accelerate)
    # Of the prior, Langevin dynamics uses the sizes alone.
    likelihood = GraphLikelihood(BernoulliEdges(EdgeDensity(level=0.0)))
    prior = likelihood.prior_of(mask, NO_CONDITION)

    def chain(steps_per_level: int) -> object:
        settings = LangevinSettings(steps_per_level=steps_per_level, step_size=STEP_SIZE)
        generator = torch_generator(0, "bench", "sampling", device=device)
        return path.sample(prior, plan.noise, settings, generator=generator)

    return path.name, chain


def sampling_mask(plan: Plan, graphs: int, device: torch.device) -> Tensor:
    """Every size equally often, smallest first.

    >>> sampling_mask(Plan(), 10, torch.device("cpu")).sum(1).tolist()
    [12, 12, 14, 14, 16, 16, 18, 18, 20, 20]
    """
    sizes = torch.tensor(plan.sampling_sizes)
    chosen = sizes[torch.arange(graphs) * len(sizes) // graphs]
    return node_mask_of_sizes(chosen, int(sizes.max())).to(device)
