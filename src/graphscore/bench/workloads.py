"""What is measured: the default network on the paper's batch and on Community-small's sizes."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from graphscore.acceleration import Accelerate, choose_sampler, choose_trainer
from graphscore.bench.plan import BenchPlan
from graphscore.graphs import GraphBatch
from graphscore.graphs.batch import node_mask_of_sizes
from graphscore.networks import EDPGNN
from graphscore.noise import ladder, symmetric_noise
from graphscore.sampling import LangevinSettings
from graphscore.seeding import torch_generator
from graphscore.training import ScoreMatching, Trainer, TrainingSettings

# The network is not trained, and at the usual step size its chain could leave the finite numbers.
# The time of a step does not depend on its size.
STEP_SIZE = 1e-6

Chain = Callable[[int], object]
"""chain(steps_per_level): one sampling."""


def make_network(plan: BenchPlan, device: torch.device) -> EDPGNN:
    """The plan's network with its initial weights."""
    generator = torch_generator(0, "bench", "weights")
    return EDPGNN(plan.network, plan.noise.sigmas, generator=generator).to(device)


def random_graphs(graphs: int, nodes: int, device: torch.device) -> GraphBatch:
    """Graphs of equal size, each pair an edge with probability 0.3."""
    mask = torch.ones(graphs, nodes, dtype=torch.bool)
    noise = symmetric_noise(mask, generator=torch_generator(0, "bench", "graphs"))
    return GraphBatch((noise > 0.5).float(), mask).to(device)


def make_trainer(
    plan: BenchPlan,
    device: torch.device,
    accelerate: Accelerate,
    *,
    graphs: int,
    nodes: int,
    recompute: bool = False,
) -> Trainer:
    """A trainer whose batch is all of its graphs."""
    network = make_network(plan, device)
    network.recompute_layers = recompute
    return choose_trainer(
        network,
        random_graphs(graphs, nodes, device),
        ScoreMatching(plan.noise.sigmas),
        TrainingSettings(batch_size=graphs),
        seed=0,
        device=device,
        accelerate=accelerate,
    )


def make_chain(
    plan: BenchPlan, device: torch.device, accelerate: Accelerate, *, graphs: int
) -> tuple[str, Chain]:
    """The name of the path that samples, and a function that runs it."""
    mask = sampling_mask(plan, graphs, device)
    network = make_network(plan, device).eval()
    sampler = choose_sampler(network, nodes=mask.shape[1], accelerate=accelerate)
    sigmas = ladder(plan.noise, device=device)

    def chain(steps_per_level: int) -> object:
        settings = LangevinSettings(steps_per_level=steps_per_level, step_size=STEP_SIZE)
        generator = torch_generator(0, "bench", "sampling", device=device)
        return sampler.sample(mask, sigmas, settings, generator=generator)

    return sampler.path, chain


def sampling_mask(plan: BenchPlan, graphs: int, device: torch.device) -> Tensor:
    """Every size equally often, smallest first, as the generator orders them.

    >>> sampling_mask(BenchPlan(), 10, torch.device("cpu")).sum(1).tolist()
    [12, 12, 14, 14, 16, 16, 18, 18, 20, 20]
    """
    sizes = torch.tensor(plan.sampling_sizes)
    chosen = sizes[torch.arange(graphs) * len(sizes) // graphs]
    return node_mask_of_sizes(chosen, int(sizes.max())).to(device)
