"""Settings that suit the graphs, where the user gave none."""

from __future__ import annotations

from typing import Any

from graphscore.config import RunSettings
from graphscore.graphs.batch import GraphBatch
from graphscore.networks import DenoiserSettings
from graphscore.sampling import HeunSettings, RenoisingSettings, SamplerSettings

SMALL = 32
"""Nodes up to which small networks learn graphs well, and few network calls sample them."""
FEW_CALLS = HeunSettings(steps=32, churn=12.8)
"""Sampler of small graphs; about 64 network calls."""
MANY_CALLS = RenoisingSettings(steps=256)
"""Sampler of larger graphs."""


def _network(nodes: int, on_cpu: bool) -> DenoiserSettings:
    """A small one, which CPUs train in minutes, or the usual one."""
    if nodes <= SMALL or on_cpu:
        return DenoiserSettings(blocks=4, pair_width=32, node_width=16, product_width=16)
    return DenoiserSettings()


def _training(nodes: int, on_cpu: bool) -> dict[str, Any]:
    """The learning rate of a network with normalised layers, and batches of bounded size."""
    little = on_cpu or nodes <= SMALL
    pairs = 2**15 if little else 2**17
    return {
        "steps": 3000 if little else 20_000,
        "batch_size": max(4, min(32, pairs // nodes**2)),
        "learning_rate": 2e-3 if little else 1e-3,
        "final_learning_rate": 2e-5,
        "gradient_clip": 1.0,
    }


def _sampling(settings: RunSettings, nodes: int) -> SamplerSettings:
    """The usual sampler with what was given of it, or the one that was named."""
    usual = FEW_CALLS if nodes <= SMALL else MANY_CALLS
    if "sampling" not in settings.model_fields_set:
        return usual
    changes = settings.sampling.model_dump(exclude_unset=True)
    if "sampler" in changes or not set(changes) <= set(type(usual).model_fields):
        return settings.sampling
    changed: SamplerSettings = usual.replaced(**changes)
    return changed


def suited(settings: RunSettings, data: GraphBatch, *, on_cpu: bool) -> RunSettings:
    """Return settings with what was not given chosen from the size of the graphs.

    Without a network in `settings`, it is a denoiser. What was given stays, also of a denoiser's
    shape; a sampler that was named has its own defaults.

    Args:
        settings: as given.
        data: the training graphs.
        on_cpu: choose what a CPU can train in minutes, or in hours for large graphs.

    >>> import torch
    >>> data = GraphBatch(torch.zeros(3, 12, 12), torch.ones(3, 12, dtype=torch.bool))
    >>> suited(RunSettings(), data, on_cpu=True).network.kind
    'denoiser'
    >>> suited(RunSettings(network={"kind": "edp-gnn"}), data, on_cpu=True).network.kind
    'edp-gnn'
    """
    given = {name: getattr(settings, name) for name in settings.model_fields_set}
    network = given.get("network", DenoiserSettings())
    if not isinstance(network, DenoiserSettings):
        return RunSettings(**given)
    chosen = network.model_dump(exclude_unset=True)
    given["network"] = _network(data.max_nodes, on_cpu).replaced(**chosen)
    training = settings.training.model_dump(exclude_unset=True)
    given["training"] = {**_training(data.max_nodes, on_cpu), **training}
    given["sampling"] = _sampling(settings, data.max_nodes)
    return RunSettings(**given)
