"""What the experiments use of graphscore beyond its public interface.

Only this file and `reproduce/algorithms` import the packages diffusion, networks, training,
acceleration, artifacts and models of graphscore, so that a change there is followed here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import cycle, islice, product
from pathlib import Path
from typing import Any, TypeAlias

import networkx as nx
import torch
from torch import Tensor

from graphscore.artifacts import RunFolder, has_checkpoint, pretrained_folder, read_document
from graphscore.diffusion import (
    BernoulliEdges,
    EdgeDensity,
    GraphLikelihood,
    ScoreMatching,
    SigmaRange,
    log_density_difference,
    perturb,
)
from graphscore.diffusion.samplers import (
    SAMPLERS,
    AncestralSettings,
    HeunSettings,
    LangevinSettings,
    SamplerSettings,
    annealed_langevin,
    folded_normal,
)
from graphscore.diffusion.selection import Selection, select
from graphscore.generator import GraphGenerator
from graphscore.graphs import NO_CONDITION, GraphBatch, GraphState, node_mask_of_sizes
from graphscore.models.communities import (
    CommunityDistribution,
    CommunitySizes,
    with_communities,
)
from graphscore.networks import EDPGNN, EDPGNNSettings
from graphscore.seeding import derive_seed, torch_generator

__all__ = [
    "AncestralSettings",
    "CommunityDistribution",
    "GraphBatch",
    "GraphState",
    "LangevinSettings",
    "SamplerSettings",
    "Selection",
    "ablation_network",
    "channels_of",
    "choose_langevin",
    "default_samplers",
    "erdos_renyi_samples",
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
    return RunFolder(run).log.records()[-1]


def model_identity(name: str) -> Record:
    """What identifies a version of a pretrained model: digest of its weights, and its sampler."""
    document = read_document(pretrained_folder(name))
    assert document.tensors is not None
    return {"model": document.tensors.sha256, "sampling": document.settings["sampling"]}


def erdos_renyi_samples(
    graphs: Graphs, number: int, *, seed: int, source: str
) -> list[nx.Graph[Any]]:
    """Samples of the Erdős–Rényi model of training graphs: the null row of a table.

    Args:
        seed: fixes the samples.
        source: name of the graphs.
    """
    generator = GraphGenerator("erdos-renyi", device="cpu", show_progress=False)
    stream = derive_seed(seed, "erdos-renyi", source)
    return generator.fit(graphs, source=source).sample(number, seed=stream)


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
    settings: Any = generator.settings
    batch = GraphBatch.from_networkx(graphs).to(generator.device)
    objective = ScoreMatching(settings.noise.sigmas)
    found = []
    for draw in range(draws):
        items = objective.perturb(batch, generator=noise(draw))
        losses = objective.per_graph_loss(generator.network, items)
        _, per_pair, *per_level = objective.metrics(items, losses)
        found.append(torch.stack([torch.stack(per_level).sum(), per_pair]))
    summed, per_pair = torch.stack(found).mean(0).tolist()
    return {"summed": summed, "per_pair": per_pair}


def untrained_copy(generator: GraphGenerator, seed: int) -> EDPGNN:
    """The network of a generator as it was before training."""
    settings: Any = generator.settings
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
    noisy = perturb(batch.state, levels, generator=noise)
    given = GraphState(noisy.edges.to(device), noisy.node_mask.to(device))
    return network.edge_channels(given, levels.to(device))


# ---------------------------------------------------------------------- samplers


def sampler_of(values: Mapping[str, Any]) -> Any:
    """Sampler settings from plain values with their kind.

    >>> sampler_of({"kind": "heun", "steps": 32}).network_calls
    63
    """
    return SAMPLERS[values["kind"]].settings(**values)


def heun_sampler(calls: int) -> HeunSettings:
    """Heun's method with added noise in at most so many network calls."""
    steps = max(1, (calls + 1) // 2)
    return HeunSettings(steps=steps, churn=0.4 * steps)


def default_samplers(
    calls: int, sigma_range: Mapping[str, float]
) -> list[HeunSettings | AncestralSettings]:
    """Candidates of all kinds, from all starts within the range, in at most so many calls."""
    heun = heun_sampler(calls)
    kinds = [
        *(heun.replaced(churn=share * heun.steps) for share in (0.1, 0.4)),
        AncestralSettings(steps=calls),
        AncestralSettings(steps=calls, noise="posterior"),
    ]
    starts = heun.starts(SigmaRange(**sigma_range))
    return [kind.replaced(sigma_max=start) for kind, start in product(kinds, starts)]


def langevin_grid(base: LangevinSettings, plan: Mapping[str, Any]) -> list[LangevinSettings]:
    """All pairs (epsilon, epsilon_s) of a plan, other settings as in `base`."""
    pairs = product(plan["step_sizes"], plan["noise_scales"])
    return [base.replaced(step_size=one, noise_scale=other) for one, other in pairs]


def choose_langevin(
    generator: GraphGenerator, validation: Graphs, plan: Mapping[str, Any], *, seed: int
) -> Record:
    """Let a generator keep the best (epsilon, epsilon_s) of a plan's grid on validation graphs.

    Returns:
        "sampling", the settings from now on; "validation_average", their MMD; "trials", every pair
        with its MMD, None where sampling failed.
    """
    grid = langevin_grid(generator.sampler_settings(), plan)
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
    settings: Any = generator.settings
    mask = node_mask_of_sizes(torch.tensor(sizes)).to(generator.device)
    noise = torch_generator(seed, "trajectory", device=generator.device)
    # Scores need no prior of edges; only the sizes of the graphs are used.
    likelihood = GraphLikelihood(BernoulliEdges(EdgeDensity(level=0.0)))
    prior = likelihood.prior_of(mask, NO_CONDITION)
    start = folded_normal(prior.mean, generator=noise)
    states = [start.edges]

    def keep(done: int, state: GraphState) -> None:
        if done % settings.sampling.steps_per_level == 0:
            states.append(state.edges)

    annealed_langevin(
        generator.network,
        prior,
        settings.noise,
        settings.sampling,
        generator=noise,
        initial=start,
        on_step=keep,
    )
    return list(settings.noise.sigmas), states


def unseen_communities(
    graphs: Graphs, seen: CommunityDistribution, number: int
) -> list[CommunitySizes]:
    """Community sizes of graphs, cyclically, without those that occur in `seen`."""
    _, known = with_communities(GraphBatch.from_networkx(graphs), graphs)
    new = (sizes for sizes in known.counts if sizes not in seen.counts)
    return list(islice(cycle(new), number))
