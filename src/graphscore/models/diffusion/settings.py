"""Settings of diffusion models, complete and each with an explicit kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from graphscore.diffusion import DenoisingSettings, GuidanceSettings, SigmaLevels, SigmaRange
from graphscore.diffusion.samplers import (
    HeunSettings,
    LangevinSettings,
    SamplerSettings,
    SamplingSettings,
)
from graphscore.diffusion.sigmas import PAPER_SIGMAS
from graphscore.graphs import AttributeSettings
from graphscore.models.base import TrainedSettings
from graphscore.networks import DenoiserSettings, EDPGNNSettings, NetworkSettings
from graphscore.settings import MOST_LANGEVIN_STEPS


class GuideSettings(GuidanceSettings):
    """The guide model of a guided model, and how strongly it guides."""

    network: NetworkSettings
    noise: SigmaRange | None = None
    """Noise levels that the guide model was trained on; those of the model if not given."""


class DenoiserModelSettings(TrainedSettings):
    """A network trained to denoise at every noise level of a range."""

    model: Literal["denoiser"] = "denoiser"
    network: NetworkSettings = DenoiserSettings()
    noise: SigmaRange = SigmaRange()
    """Noise levels, drawn uniformly in log sigma in training."""
    objective: DenoisingSettings = DenoisingSettings()
    attributes: AttributeSettings = AttributeSettings()
    sampling: SamplingSettings = HeunSettings()
    guide: GuideSettings | None = None
    """A model has one if it was put together from two, see `GraphGenerator.guided_by`."""

    @property
    def communities(self) -> bool:
        """Whether the network is conditioned on communities."""
        return _knows_communities(self.network)

    @model_validator(mode="after")
    def _guide_fits(self) -> Self:
        if self.guide is not None and _knows_communities(self.guide.network) != self.communities:
            raise ValueError(
                "guide.network: a model and its guide are both conditioned on communities, or both "
                "not"
            )
        return self

    @model_validator(mode="after")
    def _samples_within(self) -> Self:
        # Before training, rather than when graphs are asked for.
        self.noise.starting_at(getattr(self.sampling, "sigma_max", None))
        _check_levels(self.sampling, self.noise.sigma_min, self.noise.sigma_max)
        _check_length(self.sampling, PAPER_SIGMAS)
        return self


class EDPGNNModelSettings(TrainedSettings):
    """The paper's model: score matching at fixed noise levels, Langevin sampling."""

    model: str = Field(default="edp-gnn", max_length=100)
    """Its name in the registry: edp-gnn, or one that stands for other settings of the network."""
    network: EDPGNNSettings = EDPGNNSettings()
    noise: SigmaLevels = SigmaLevels()
    attributes: AttributeSettings = AttributeSettings()
    sampling: LangevinSettings = LangevinSettings()

    @model_validator(mode="after")
    def _samples_within(self) -> Self:
        _check_levels(self.sampling, min(self.noise.sigmas), max(self.noise.sigmas))
        _check_length(self.sampling, self.noise.sigmas)
        return self

    @field_validator("attributes")
    @classmethod
    def _one_number_of_edges(cls, attributes: AttributeSettings) -> AttributeSettings:
        if attributes.edge_type is not None:
            raise ValueError(
                "edge_type: an entry of this model's adjacency matrix is one number, a weight at "
                "most. Leave it out, or use the model 'denoiser', which learns types of edges"
            )
        return attributes

    @field_validator("sampling", mode="before")
    @classmethod
    def _needs_score(cls, sampling: Any) -> Any:
        given = sampling if isinstance(sampling, Mapping) else {}
        kind = given.get("kind", getattr(sampling, "kind", "langevin"))
        if kind != "langevin":
            raise ValueError(
                f"the sampler {kind!r} needs a network that was trained to denoise at every noise "
                "level: use the model 'denoiser', whose network may be an EDP-GNN "
                "(network.kind 'edp-gnn'), or the sampler 'langevin'"
            )
        return sampling


def _knows_communities(network: DenoiserSettings | EDPGNNSettings) -> bool:
    return isinstance(network, DenoiserSettings) and network.communities


def _check_length(sampling: SamplerSettings, trained: Sequence[float]) -> None:
    """Refuse Langevin dynamics that would take days."""
    if not isinstance(sampling, LangevinSettings):
        return
    levels = len(sampling.sigmas or trained)
    steps = levels * sampling.steps_per_level
    if steps > MOST_LANGEVIN_STEPS:
        raise ValueError(
            f"sampling has {sampling.steps_per_level} steps at each of {levels} noise levels, "
            f"{steps} in all; use {MOST_LANGEVIN_STEPS} at most"
        )


def _check_levels(sampling: SamplerSettings, low: float, high: float) -> None:
    """Refuse noise levels of Langevin dynamics that the network was not trained on."""
    levels = sampling.sigmas if isinstance(sampling, LangevinSettings) else None
    outside = [sigma for sigma in levels or () if not low <= sigma <= high]
    if outside:
        raise ValueError(
            f"sampling.sigmas has {outside[0]:g}, but the network was trained on noise from "
            f"{low:g} to {high:g}; give levels within"
        )
