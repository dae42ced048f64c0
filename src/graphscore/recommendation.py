"""Settings that suit the graphs, where the user gave none."""

from __future__ import annotations

from typing import Any

from graphscore.config import RunSettings
from graphscore.graphs.batch import GraphBatch
from graphscore.networks import DenoiserSettings
from graphscore.sampling import HeunSettings

SAMPLING = HeunSettings(steps=32, churn=12.8)
"""Sampler of a denoiser; about 64 network calls."""


def _network(nodes: int) -> DenoiserSettings:
    """Small graphs are learned well by small networks, which CPUs train in minutes."""
    if nodes <= 32:
        return DenoiserSettings(blocks=4, pair_width=32, node_width=16, product_width=16)
    return DenoiserSettings()


def _training(nodes: int) -> dict[str, Any]:
    """The learning rate of a network with normalised layers, and batches of bounded size."""
    return {
        "steps": 3000 if nodes <= 32 else 20_000,
        "batch_size": 32 if nodes <= 32 else max(4, min(64, 2**18 // nodes**2)),
        "learning_rate": 2e-3,
        "final_learning_rate": 2e-5,
        "gradient_clip": 1.0,
    }


def suited(settings: RunSettings, data: GraphBatch) -> RunSettings:
    """Return settings with what was not given chosen from the size of the graphs.

    Without a network in `settings`, it is a denoiser. What was given stays.

    >>> import torch
    >>> data = GraphBatch(torch.zeros(3, 12, 12), torch.ones(3, 12, dtype=torch.bool))
    >>> suited(RunSettings(), data).network.kind
    'denoiser'
    >>> suited(RunSettings(network={"kind": "edp-gnn"}), data).network.kind
    'edp-gnn'
    """
    given = {name: getattr(settings, name) for name in settings.model_fields_set}
    given.setdefault("network", _network(data.max_nodes))
    if not isinstance(given["network"], DenoiserSettings):
        return RunSettings(**given)
    training = settings.training.model_dump(exclude_unset=True)
    given["training"] = {**_training(data.max_nodes), **training}
    given.setdefault("sampling", SAMPLING)
    return RunSettings(**given)
