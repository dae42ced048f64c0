"""Samplers: pure functions of a callable. To add one, add a line to `SAMPLERS` and to the type.

Every sampler has the signature

    sampler(function, prior, noise levels, settings, *, generator, initial=None, on_step=None)

where the function is the posterior mean `denoise(state, sigma)` or the score `score(state, sigma)`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from graphscore.diffusion.samplers.ancestral import AncestralSettings, ancestral
from graphscore.diffusion.samplers.base import FiniteCheck, OnStep, SamplerSettings, SamplingResult
from graphscore.diffusion.samplers.heun import HeunSettings, heun
from graphscore.diffusion.samplers.langevin import (
    LangevinSettings,
    annealed_langevin,
    folded_normal,
)


@dataclass(frozen=True)
class Sampler:
    """One sampler of the registry.

    Attributes:
        settings: class of its settings.
        function: the sampler itself.
        needs: what it calls: "denoise", the posterior mean at every sigma of a range, or "score",
            the score at fixed noise levels.
    """

    settings: type[SamplerSettings]
    function: Callable[..., SamplingResult]
    needs: Literal["denoise", "score"]


SAMPLERS: dict[str, Sampler] = {
    "langevin": Sampler(LangevinSettings, annealed_langevin, needs="score"),
    "heun": Sampler(HeunSettings, heun, needs="denoise"),
    "ancestral": Sampler(AncestralSettings, ancestral, needs="denoise"),
}
"""All samplers by the kind of their settings."""

SamplingSettings = Annotated[
    LangevinSettings | HeunSettings | AncestralSettings, Field(discriminator="kind")
]
"""Settings of any sampler, distinguished by their kind."""


__all__ = [
    "SAMPLERS",
    "AncestralSettings",
    "FiniteCheck",
    "HeunSettings",
    "LangevinSettings",
    "OnStep",
    "Sampler",
    "SamplerSettings",
    "SamplingResult",
    "SamplingSettings",
    "ancestral",
    "annealed_langevin",
    "folded_normal",
    "heun",
]
