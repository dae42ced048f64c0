"""What a trained model is, and what is written of it: weights, where they come from, how far."""

from __future__ import annotations

import hashlib
import platform
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import networkx as nx
import torch
from torch import Tensor

from graphscore.assembly import Network, make_network
from graphscore.config import GuideSettings, RunSettings, changed_settings
from graphscore.errors import CheckpointError, SettingsError
from graphscore.graphs import GraphBatch
from graphscore.networks import Density, GuidanceSettings, GuidedNetwork, LogOddsNetwork
from graphscore.sampling import CommunityDistribution, SizeDistribution
from graphscore.seeding import torch_generator
from graphscore.training.checkpoint import read_checkpoint
from graphscore.training.training_state import AVERAGE
from graphscore.version import __version__


@dataclass(frozen=True)
class TrainedModel:
    """What belongs together.

    Attributes:
        network: with averaged weights.
        sizes: numbers of nodes of the training graphs.
        origin: the training graphs, see `origin_of`.
        step: optimiser steps.
        seconds: training time.
        communities: sizes of communities in the training graphs, if the network is told them.
        graphs: the training graphs, where they are still at hand.
        made_with: versions and device of the training, where that was not here and now.
    """

    network: Network
    sizes: SizeDistribution
    origin: dict[str, Any]
    step: int
    seconds: float
    communities: CommunityDistribution | None = None
    graphs: list[nx.Graph[Any]] | None = None
    made_with: dict[str, Any] | None = None

    def document(self, settings: RunSettings, device: torch.device) -> dict[str, Any]:
        """Return everything but the weights, as plain values."""
        here = {
            "graphscore": __version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
            "device": str(device),
        }
        return {
            "settings": settings.model_dump(mode="json"),
            "sizes": {str(size): count for size, count in self.sizes.counts.items()},
            **({"communities": self.communities.to_dict()} if self.communities else {}),
            "training_graphs": self.origin,
            "seconds": self.seconds,
            "made_with": self.made_with or here,
        }

    def weights(self) -> dict[str, Tensor]:
        """Return the weights by the names they have in a checkpoint."""
        return {f"{AVERAGE}{name}": t for name, t in self.network.state_dict().items()}


def initial_network(settings: RunSettings, density: Density) -> Network:
    """Return the network of a run before training."""
    generator = torch_generator(settings.seed, "initial weights")
    return make_network(settings, density=density, generator=generator)


def read_model(path: Path) -> tuple[RunSettings, TrainedModel]:
    """Read a model, and the settings of its run, from a checkpoint.

    Raises:
        CheckpointError: missing, truncated, edited, or written by another version.
    """
    document, tensors = read_checkpoint(path)
    settings = RunSettings(**document["settings"])
    # The density that was trained with comes with the weights.
    network = initial_network(settings, 0.5)
    averaged = {name: tensor for name, tensor in tensors.items() if name.startswith(AVERAGE)}
    try:
        network.load_state_dict({n.removeprefix(AVERAGE): t for n, t in averaged.items()})
    except RuntimeError as error:
        raise CheckpointError(
            f"{path}: the weights do not fit the settings beside them: {error}"
        ) from None
    sizes = SizeDistribution({int(size): count for size, count in document["sizes"].items()})
    communities = document.get("communities")
    return settings, TrainedModel(
        network,
        sizes,
        origin=document["training_graphs"],
        step=document["step"],
        seconds=document["seconds"],
        communities=None if communities is None else CommunityDistribution.from_dict(communities),
        made_with=document["made_with"],
    )


def guided_model(
    better: tuple[RunSettings, TrainedModel],
    weaker: tuple[RunSettings, TrainedModel],
    guidance: GuidanceSettings,
) -> tuple[RunSettings, TrainedModel]:
    """Put a model and its guide together.

    The model's step is that of the better one, its seconds are those of both.

    Raises:
        SettingsError: one of them cannot denoise or is guided already, only one is told
            communities, or the guide was trained on other graphs, or not at all noise levels at
            which it is to guide.
    """
    (settings, model), (of_guide, guide) = better, weaker
    if settings.guide is not None or of_guide.guide is not None:
        raise SettingsError(
            "guidance wants two models without a guide; give those that this one was made from."
        )
    if settings.denoising is None or of_guide.denoising is None:
        raise SettingsError(
            "guidance wants two models that were trained to denoise at every noise level; train "
            "both with network kind 'denoiser', or with [denoising] set."
        )
    assert isinstance(model.network, LogOddsNetwork)
    assert isinstance(guide.network, LogOddsNetwork)
    if (model.communities is None) != (guide.communities is None):
        raise SettingsError(
            "one of the two models is told communities and the other is not. Train both with "
            "network.communities, or both without."
        )
    if model.origin["sha256"] != guide.origin["sha256"]:
        raise SettingsError(
            f"the model was trained on {model.origin['source']} ({model.origin['graphs']} graphs) "
            f"and its guide on {guide.origin['source']} ({guide.origin['graphs']} graphs). Train "
            "both on the same graphs in the same order."
        )
    if settings.network == of_guide.network and _same_weights(model.network, guide.network):
        raise SettingsError(
            "the model and its guide are the same, so that guidance would change nothing. Give a "
            "guide that is smaller, or was trained for a shorter time."
        )
    trained, known = settings.denoising.sigma_range, of_guide.denoising.sigma_range
    low, high = guidance.limits
    low, high = max(low, trained.sigma_min), min(high, trained.sigma_max)
    if not known.sigma_min <= low < high <= known.sigma_max:
        raise SettingsError(
            f"guidance from sigma {low:g} to {high:g}, but the guide was trained from "
            f"{known.sigma_min:g} to {known.sigma_max:g} and the model from {trained.sigma_min:g} "
            f"to {trained.sigma_max:g}. Give sigma_min and sigma_max within both."
        )
    values = guidance.model_dump(include=set(GuidanceSettings.model_fields))
    described = GuideSettings(network=of_guide.network.model_dump(), **values)
    # A copy, because the guide may be on another device and is to stay there.
    network = GuidedNetwork(model.network, deepcopy(guide.network), described)
    joined = replace(model, network=network, seconds=model.seconds + guide.seconds)
    return settings.replaced(guide=described.model_dump()), joined


def _same_weights(first: Network, second: Network) -> bool:
    weights = second.state_dict()
    return all(torch.equal(t.cpu(), weights[n].cpu()) for n, t in first.state_dict().items())


def reweighted(
    settings: RunSettings, model: TrainedModel, weight: float
) -> tuple[RunSettings, TrainedModel]:
    """Give the guide of a model another weight, and keep the guide where that is 0."""
    network = model.network
    assert isinstance(network, GuidedNetwork)
    guide = settings.guide
    assert guide is not None
    guide = guide.replaced(weight=weight)
    network = GuidedNetwork(network.network, network.guide, guide)
    return settings.replaced(guide=guide.model_dump()), replace(model, network=network)


def origin_of(data: GraphBatch, source: str) -> dict[str, Any]:
    """Describe training graphs: their name, number, and a digest of their content and order."""
    digest = hashlib.sha256()
    digest.update(data.sizes.to(torch.int64).numpy().tobytes())
    digest.update((data.adj > 0).numpy().tobytes())
    return {"source": source, "graphs": len(data), "sha256": digest.hexdigest()}


def check_continues(
    path: Path, document: dict[str, Any], settings: RunSettings, origin: dict[str, Any]
) -> None:
    """Refuse to continue a run with other settings or graphs than it was started with.

    Raises:
        CheckpointError: they differ; the message says in what.
    """
    changed = changed_settings(RunSettings(**document["settings"]), settings)
    if changed:
        raise CheckpointError(
            f"{path}: was started with other settings ({'; '.join(changed)}). "
            "Continue with the same ones, or start a new run."
        )
    if settings.training.steps < document["step"]:
        raise CheckpointError(
            f"{path}: was trained for {document['step']} steps already, but "
            f"{settings.training.steps} are asked for in all. Give at least as many, or start a "
            "new run."
        )
    before = document["training_graphs"]
    if before["sha256"] != origin["sha256"]:
        raise CheckpointError(
            f"{path}: was started on other graphs "
            f"({before['source']}, {before['graphs']} graphs). "
            "Continue with the same ones, or start a new run."
        )
