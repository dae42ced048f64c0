"""How large an experiment is: as the docs need it, or as patience allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from graphscore.errors import SettingsError


@dataclass(frozen=True)
class Scale:
    """Sizes of the parts of an experiment.

    Attributes:
        name: what `Context` takes.
        training: settings of training that differ from the defaults.
        long_steps: training steps of models whose samples are judged; the experiment "training"
            is where this number comes from.
        sampling: settings of sampling that differ from the defaults.
        network: settings of the network that differ from the defaults.
        samples: graphs drawn for a verdict.
        step_sizes, noise_scales: the grid of (epsilon, epsilon_s) that is searched.
        selection_samples: graphs drawn for each pair of the grid.
        floor_draws: sets of graphs that the floor's interval is taken from.
        loss_draws: noise draws that a loss is averaged over.
        accuracy_steps: training steps of the algorithms experiment; None for its own budget.
        test_graphs: graphs that accuracies are measured on.
    """

    name: str
    training: Mapping[str, Any] = field(default_factory=dict)
    long_steps: int = 20_000
    sampling: Mapping[str, Any] = field(default_factory=dict)
    network: Mapping[str, Any] = field(default_factory=dict)
    samples: int = 1024
    step_sizes: tuple[float, ...] = (5e-3, 2e-3, 1e-3, 5e-4, 2e-4)
    noise_scales: tuple[float, ...] = (1.0, 0.9, 0.7)
    selection_samples: int = 256
    floor_draws: int = 200
    loss_draws: int = 200
    accuracy_steps: int | None = None
    test_graphs: int = 10_000


SCALES = {
    scale.name: scale
    for scale in (
        Scale("full", training={"steps": 5000}, sampling={"steps_per_level": 1000}),
        Scale(
            "quick",
            training={"steps": 150, "batch_size": 16},
            long_steps=150,
            sampling={"steps_per_level": 60, "step_size": 1e-2},
            samples=64,
            step_sizes=(2e-2, 1e-2),
            noise_scales=(1.0,),
            selection_samples=32,
            floor_draws=50,
            loss_draws=10,
            accuracy_steps=200,
            test_graphs=300,
        ),
        Scale(
            "tiny",
            training={"steps": 2, "batch_size": 4, "log_every": 1},
            long_steps=3,
            sampling={"steps_per_level": 1},
            network={"channels": (2,), "message_steps": 1, "features": 4, "edge_width": 4},
            samples=50,
            step_sizes=(2e-3, 1e-3),
            noise_scales=(1.0,),
            selection_samples=4,
            floor_draws=3,
            loss_draws=2,
            accuracy_steps=2,
            test_graphs=10,
        ),
    )
}
OFFERED = ("full", "quick")
"""Scales that the command line offers; the others are for tests."""


def find_scale(name: str) -> Scale:
    """Return a scale by name.

    Raises:
        SettingsError: there is none of that name.

    >>> find_scale("full").samples
    1024
    """
    if name not in SCALES:
        raise SettingsError(f"unknown scale {name!r}. Use one of: {', '.join(OFFERED)}.")
    return SCALES[name]
