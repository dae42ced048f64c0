"""The protocol of a generative model: how it is built, trained, sampled and stored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Self

import networkx as nx
import torch
from torch import Tensor, nn

from graphscore.acceleration import Accelerate, choose_trainer
from graphscore.config import RunSettings
from graphscore.errors import SettingsError
from graphscore.graphs import AttributeSettings, GraphBatch, Schema
from graphscore.graphs.given import Graphs
from graphscore.models.communities import CommunityDistribution
from graphscore.models.nodes import KnownNodes
from graphscore.models.request import SampleRequest
from graphscore.models.sizes import SizeDistribution
from graphscore.training import Objective, Trainer, TrainingSettings


@dataclass(frozen=True)
class SamplingRun:
    """How and where graphs are sampled.

    Attributes:
        random: source of noise on the device, by the number of a chunk of graphs.
        device: where to compute.
        accelerate: "auto" takes the fastest path that works on the device, "off" the plain one.
        show_progress: show it on standard error.
    """

    random: Callable[[int], torch.Generator]
    device: torch.device
    accelerate: Accelerate = "auto"
    show_progress: bool = False


def check_names(learned: Mapping[str, Any], expected: set[str]) -> None:
    """Refuse a stored model that learned other things than its kind does.

    Raises:
        ValueError: names are missing or unknown.
    """
    if learned.keys() != expected:
        raise ValueError(f"learned {sorted(learned)} in place of {sorted(expected)}")


NOTHING_LEARNED: Mapping[str, Any] = MappingProxyType({})


class TrainedSettings(RunSettings):
    """Settings of a model that is trained by gradients."""

    training: TrainingSettings = TrainingSettings()

    @property
    def steps(self) -> int:
        """Optimiser steps in all."""
        return self.training.steps


class Model(ABC):
    """A generative model of graphs, trained or to be trained.

    Attributes:
        settings: complete settings of the run.
        sizes: numbers of nodes of the training graphs.
        communities: sizes of communities in the training graphs, if it is conditioned on them.
        nodes: of the training graphs with what they carry, if it takes that for new graphs.
        schema: what the nodes and edges of the graphs carry.
        network: what the trainer changes; None for models without weights.
        objective: what the trainer minimises; None for models that are fitted when they are built.
            The settings of a model with an objective are `TrainedSettings`.
    """

    Settings: ClassVar[type[RunSettings]]
    """Class of the settings of a run of this model."""

    settings: RunSettings
    sizes: SizeDistribution
    communities: CommunityDistribution | None = None
    nodes: KnownNodes | None = None
    schema = Schema()
    network: nn.Module | None = None
    objective: Objective | None = None

    @classmethod
    def defaults(cls, nodes: int, *, on_cpu: bool) -> dict[str, Any]:
        """Return settings that depend on the size of the largest training graph.

        Args:
            nodes: of the largest graph.
            on_cpu: choose what a CPU can train in minutes, or in hours for large graphs.
        """
        return {}

    @classmethod
    def schema_of(cls, graphs: Sequence[nx.Graph[Any]], names: AttributeSettings) -> Schema:
        """Return what training graphs carry, in the units that the model learns.

        Raises:
            GraphDataError: they lack an attribute, or it is none that the model can learn.
        """
        return Schema.of(graphs, names)

    @classmethod
    @abstractmethod
    def from_graphs(
        cls,
        settings: Any,
        graphs: Sequence[nx.Graph[Any]],
        data: GraphBatch,
        *,
        show_progress: bool = False,
    ) -> tuple[Self, GraphBatch]:
        """Build the model for training graphs, with initial weights.

        Args:
            settings: complete settings of the run.
            graphs: the training graphs.
            data: the same as a batch, nodes in the same order.
            show_progress: show long work on standard error.

        Returns:
            The model, and the batch that it is trained on.
        """

    @classmethod
    @abstractmethod
    def from_learned(cls, settings: Any, learned: dict[str, Any], sizes: SizeDistribution) -> Self:
        """Build a stored model. Its network has no memory yet (torch's device "meta"): names and
        shapes of its weights are there to compare with those that are to be loaded.

        Args:
            learned: what `learned` returned, or what somebody else put there.

        Raises:
            SettingsError, ValueError: it is not what `learned` returns, or the network would be too
                large.
        """

    @classmethod
    def blank_weights(
        cls, settings: Any, learned: Mapping[str, Any] = NOTHING_LEARNED
    ) -> dict[str, Tensor]:
        """Return weights without memory, which have the names and shapes of those of a model.

        Raises:
            SettingsError, ValueError: it would be too large, or what was learned is something else.
        """
        return {}

    @abstractmethod
    def learned(self) -> dict[str, Any]:
        """Return what was learned from the graphs besides weights and sizes, as plain values."""

    @abstractmethod
    def sample(self, request: SampleRequest, run: SamplingRun) -> list[nx.Graph[Any]]:
        """Generate graphs.

        Raises:
            SamplingError: the state became infinite or NaN.
        """

    def batch_of(self, graphs: Sequence[nx.Graph[Any]], data: GraphBatch) -> GraphBatch:
        """Return further graphs as `from_graphs` returns those that it is trained on.

        Args:
            graphs: graphs to measure the loss on.
            data: the same as a batch, nodes in the same order.
        """
        return data

    def trainer(
        self, data: GraphBatch, *, device: torch.device, accelerate: Accelerate
    ) -> Trainer | None:
        """Return what trains it on the fastest path; None if there is nothing to train."""
        settings, network, objective = self.settings, self.network, self.objective
        if not isinstance(settings, TrainedSettings) or network is None or objective is None:
            return None
        return choose_trainer(
            network,
            data,
            objective,
            settings.training,
            seed=settings.seed,
            device=device,
            accelerate=accelerate,
        )

    def log_density(
        self, graphs: Graphs, *, sigma: float | None = None, points: int = 32
    ) -> list[float]:
        """Return log p(A) - log p(0) of each graph, see `EDPGNNModel.log_density`.

        Raises:
            SettingsError: the model has none.
        """
        raise SettingsError(
            f"the model {self.settings.model!r} has no log-density as in Theorem 1; use the model "
            "'edp-gnn'."
        )

    def weights(self) -> dict[str, Tensor]:
        """Return the weights by name; none for models without a network."""
        return {} if self.network is None else self.network.state_dict()

    def with_options(self, *, sampling: Any = None, guidance: float | None = None) -> Self:
        """Return the same model with another sampler, or another weight of its guide model.

        Raises:
            SettingsError: the model has no such option.
        """
        for name, value in {"sampling": sampling, "guidance": guidance}.items():
            if value is not None:
                raise SettingsError(
                    f"the model {self.settings.model!r} has no settings for {name}; leave it out."
                )
        return self

    def sampling_variants(self) -> list[Any]:
        """Return the sampling settings that a search on validation graphs tries.

        Raises:
            SettingsError: the model has no sampling settings.
        """
        raise SettingsError(
            f"the model {self.settings.model!r} has no sampling settings to choose from."
        )
