"""What the experiments use of graphscore beyond its public interface.

Only this file and `reproduce/algorithms` import the packages networks, noise, sampling, training
and acceleration of graphscore, so that a change there is followed here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import cycle, islice, product
from pathlib import Path
from typing import Any, TypeAlias

import networkx as nx
import torch
from torch import Tensor

from graphscore.communities import with_communities
from graphscore.generator import GraphGenerator
from graphscore.graphs import GraphBatch, node_mask_of_sizes
from graphscore.networks import EDPGNN, EDPGNNSettings
from graphscore.noise import SigmaRange, ladder, perturb
from graphscore.pretrained import pretrained_folder
from graphscore.sampling import (
    CommunityDistribution,
    CommunitySizes,
    HeunSettings,
    LangevinSettings,
    RenoisingSettings,
    SamplerSettings,
    Selection,
    annealed_langevin,
    langevin_grid,
    log_density_difference,
    select,
    starts_within,
)
from graphscore.sampling.states import folded_normal
from graphscore.seeding import derive_seed, torch_generator
from graphscore.training.checkpoint import has_checkpoint, read_document
from graphscore.training.objective import score_matching_loss
from graphscore.training.run_folder import RunFolder

__all__ = [
    "CommunityDistribution",
    "GraphBatch",
    "LangevinSettings",
    "RenoisingSettings",
    "SamplerSettings",
    "Selection",
    "ablation_network",
    "channels_of",
    "choose_langevin",
    "default_samplers",
    "has_checkpoint",
    "heun_sampler",
    "langevin_grid",
    "langevin_trajectory",
    "log_density_difference",
    "mean_loss",
    "model_identity",
    "parameter_count",
    "perturb",
    "read_document",
    "sampler_of",
    "select",
    "training_log",
    "unseen_communities",
    "untrained_copy",
]

Record = dict[str, Any]
Graphs: TypeAlias = "Sequence[nx.Graph[Any]]"

# ---------------------------------------------------------------------- trained models


def parameter_count(generator: GraphGenerator) -> int:
    """Number of parameters of a trained network."""
    return sum(parameter.numel() for parameter in generator.network.parameters())


def training_log(run: Path) -> Record:
    """The last line of the training log in a run folder."""
    return RunFolder(run).records()[-1]


def model_identity(name: str) -> Record:
    """What identifies a version of a pretrained model: digest of its weights, and its sampler."""
    document = read_document(pretrained_folder(name))
    return {"model": document["tensors"]["sha256"], "sampling": document["settings"]["sampling"]}


def ablation_network(shape: Mapping[str, Any], learnable: bool, multi: bool) -> EDPGNNSettings:
    """EDP-GNN with or without learnable adjacency and several channels, of the given shape."""
    changes = dict(shape)
    channels = changes.pop("channels", None)
    if multi and channels is not None:
        changes["channels"] = channels
    return EDPGNNSettings.ablation(learnable_adjacency=learnable, multi_channel=multi, **changes)


@torch.no_grad()
def mean_loss(
    generator: GraphGenerator, graphs: Graphs, noise: Callable[[int], torch.Generator], draws: int
) -> Record:
    """Loss of equation 3, summed over pairs and per pair, averaged over noise draws.

    Args:
        noise: gives the generator of each draw.
    """
    device = generator.device
    batch = GraphBatch.from_networkx(graphs).to(device)
    sigmas = ladder(generator.settings.noise, device=device)
    found = []
    for draw in range(draws):
        values = score_matching_loss(generator.network, batch, sigmas, generator=noise(draw))
        found.append(torch.cat([values.summed.view(1), values.per_pair.mean().view(1)]))
    summed, per_pair = torch.stack(found).mean(0).tolist()
    return {"summed": summed, "per_pair": per_pair}


def untrained_copy(generator: GraphGenerator, seed: int) -> EDPGNN:
    """The network of a generator as it was before training."""
    settings = generator.settings
    assert isinstance(settings.network, EDPGNNSettings)
    weights = torch_generator(seed, "initial weights")
    network = EDPGNN(settings.network, settings.noise.sigmas, generator=weights)
    return network.to(generator.device).eval()


@torch.no_grad()
def channels_of(
    network: torch.nn.Module, graphs: Graphs, sigma: float, *, noise: torch.Generator
) -> list[Tensor]:
    """Adjacency channels (B,N,N,C) of the input and of every layer of EDP-GNN on noisy graphs."""
    assert isinstance(network, EDPGNN)
    batch = GraphBatch.from_networkx(list(graphs))
    device = next(network.parameters()).device
    levels = torch.full((len(batch),), sigma)
    noisy = perturb(batch.adj, batch.node_mask, levels, generator=noise)
    return network.edge_channels(noisy.to(device), batch.node_mask.to(device), levels.to(device))


# ---------------------------------------------------------------------- samplers


def sampler_of(values: Mapping[str, Any]) -> HeunSettings | RenoisingSettings:
    """Sampler settings from plain values, whose "sampler" names their kind.

    >>> sampler_of({"sampler": "heun", "steps": 32}).network_calls
    63
    """
    if values["sampler"] == "heun":
        return HeunSettings(**values)
    return RenoisingSettings(**values)


def heun_sampler(calls: int) -> HeunSettings:
    """Heun's method with added noise in at most so many network calls."""
    steps = max(1, (calls + 1) // 2)
    return HeunSettings(steps=steps, churn=0.4 * steps)


def default_samplers(
    calls: int, sigma_range: Mapping[str, float]
) -> list[HeunSettings | RenoisingSettings]:
    """Candidates of all kinds, from all starts within the range, in at most so many calls."""
    heun = heun_sampler(calls)
    kinds = [
        *(heun.replaced(churn=share * heun.steps) for share in (0.1, 0.4)),
        *(RenoisingSettings(steps=calls, noise=noise) for noise in ("fresh", "bridge")),
    ]
    starts = [None, *starts_within(SigmaRange(**sigma_range))]
    return [kind.replaced(sigma_max=start) for kind, start in product(kinds, starts)]


def choose_langevin(
    generator: GraphGenerator, validation: Graphs, plan: Mapping[str, Any], *, seed: int
) -> Record:
    """Let a generator keep the best (epsilon, epsilon_s) of a plan's grid on validation graphs.

    Returns:
        "sampling", the settings from now on; "validation_average", their MMD; "trials", every pair
        with its MMD, None where sampling failed.
    """
    default = generator.settings.sampling
    assert isinstance(default, LangevinSettings)
    grid = langevin_grid(default, plan["step_sizes"], plan["noise_scales"])
    selection = generator.select_sampling(
        validation,
        number=plan["selection_samples"],
        candidates=grid,
        seed=derive_seed(seed, "selection"),
    )
    trials = [
        {
            "step_size": tried.step_size,
            "noise_scale": tried.noise_scale,
            "average": average if average < float("inf") else None,
        }
        for tried, (_, average) in zip(grid, selection.trials)
    ]
    return {
        "sampling": selection.best.model_dump(mode="json"),
        "validation_average": selection.distance,
        "trials": trials,
    }


def langevin_trajectory(
    generator: GraphGenerator, sizes: Sequence[int], *, seed: int
) -> tuple[list[float], list[Tensor]]:
    """Noise levels, and the states (B,N,N) at the start and after each level."""
    device = generator.device
    mask = node_mask_of_sizes(torch.tensor(sizes)).to(device)
    sigmas = ladder(generator.settings.noise, device=device)
    settings = generator.settings.sampling
    assert isinstance(settings, LangevinSettings)
    noise = torch_generator(seed, "trajectory", device=device)
    start = folded_normal(mask, generator=noise, dtype=sigmas.dtype)
    states = [start]

    def keep(done: int, adj: Tensor) -> None:
        if done % settings.steps_per_level == 0:
            states.append(adj)

    annealed_langevin(
        generator.network, mask, sigmas, settings, generator=noise, initial=start, on_step=keep
    )
    return sigmas.tolist(), states


def unseen_communities(
    graphs: Graphs, seen: CommunityDistribution, number: int
) -> list[CommunitySizes]:
    """Community sizes of graphs, cyclically, without those that occur in `seen`."""
    _, known = with_communities(GraphBatch.from_networkx(graphs), graphs)
    new = (sizes for sizes in known.counts if sizes not in seen.counts)
    return list(islice(cycle(new), number))
