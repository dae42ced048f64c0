"""Options of `graphscore sample` that change the model's sampler."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from cyclopts import Group, Parameter

from graphscore.cli.option_types import WholeNumber

_SAMPLER = Group("Sampler, instead of the model's", sort_key=2)


@Parameter(name="*", group=_SAMPLER)
@dataclass(frozen=True)
class SamplerOptions:
    """Settings of a sampler; unset ones are the model's."""

    sampler: Literal["langevin", "heun", "ancestral"] | None = None
    """Which sampler. heun and ancestral need a model that was trained to denoise."""
    steps: WholeNumber | None = None
    """Steps of heun (two network calls each, one in the last) or ancestral (one each)."""
    churn: float | None = None
    """Fresh noise in heun; 0 for none."""
    sigma_max: float | None = None
    """Noise level that heun or ancestral starts from."""
    step_size: float | None = None
    """Langevin step size (epsilon)."""
    noise_scale: float | None = None
    """Factor of the Langevin noise (epsilon_s)."""
    steps_per_level: WholeNumber | None = None
    """Langevin steps at each noise level."""
    threshold: float | None = None
    """Edge probabilities above it become edges; of EDP-GNN's weights, this share of the weakest."""

    def changes(self, present: Any) -> dict[str, Any] | None:
        """Return the settings that were given; None if there are none.

        Args:
            present: sampling settings of the model; None if it has no sampler, which then says so
                itself.

        Raises:
            SettingsError: an option is for another sampler; the message says which.
        """
        options = asdict(self)
        kind = options.pop("sampler") or getattr(present, "kind", None)
        given = {name: value for name, value in options.items() if value is not None}
        if kind is not None:
            _check(list(options), given, kind)
        if self.sampler is not None:
            given["kind"] = self.sampler
        return given or None


def _check(options: list[str], given: dict[str, Any], kind: str) -> None:
    """Refuse options of other samplers, and say which ones this sampler has."""
    from graphscore.diffusion.samplers import SAMPLERS
    from graphscore.errors import SettingsError

    known = {
        name: [option for option in options if option in sampler.settings.model_fields]
        for name, sampler in SAMPLERS.items()
    }
    for name in given:
        if name not in known[kind]:
            others = " and ".join(other for other, names in known.items() if name in names)
            raise SettingsError(
                f"{_option(name)} is for {others}, but the sampler is {kind}, which has "
                f"{', '.join(map(_option, known[kind]))}. Use these, or another --sampler."
            )


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
