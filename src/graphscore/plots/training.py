"""The course of a training as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphscore.plots.figure import new_figure, plain_axes, write_figure

TRAINING, HELD_OUT = "#4c72b0", "#dd5555"


def draw_training(records: Sequence[Mapping[str, Any]], target: Path) -> None:
    """Draw the loss by step: of all noise levels, and of those where structure is decided.

    Args:
        records: entries of the log of a training.
        target: file to write; its suffix is the format.
    """
    figure = new_figure(8, 3.2, layout="constrained")
    panels = [("loss per pair", "per_pair", "held_out")]
    if any("at_small_noise" in record for record in records):
        small = "loss at small noise"
        panels.append((small, "at_small_noise", "held_out_at_small_noise"))
    for axis, (title, training, held_out) in zip(
        figure.subplots(1, len(panels), squeeze=False)[0], panels
    ):
        for name, label, style in (
            (training, "training", {"color": TRAINING, "linewidth": 1.0}),
            (held_out, "held out", {"color": HELD_OUT, "marker": "o", "markersize": 3}),
        ):
            points = [(r["step"], r[name]) for r in records if name in r]
            if points:
                axis.plot(*zip(*points), label=label, **style)
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("step")
        plain_axes(axis)
        axis.legend(frameon=False)
    write_figure(figure, target)
