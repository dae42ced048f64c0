"""How little a relabelling of the nodes changes, beside what a difference between graphs is."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphscore.plots.figure import new_figure, plain_axes, write_figure
from graphscore.plots.graphs import check_picture
from graphscore.plots.looks import PALETTE

_SMALLEST = 1e-17
"""Stands for exactly zero on logarithmic axes."""


@dataclass(frozen=True)
class ErrorCurve:
    """Relative change of the score by a relabelling, for each noise level."""

    label: str
    sigmas: Sequence[float]
    errors: Sequence[float]


def draw_permutation(
    curves: Sequence[ErrorCurve],
    changes: Mapping[str, Sequence[float]],
    path: str | os.PathLike[str],
    *,
    heading: str = "",
) -> None:
    """Draw errors of equivariance and differences of log-densities and write the picture.

    Args:
        curves: on the left, one for each precision and comparison.
        changes: on the right, absolute differences of log-densities by what was compared.
        path: .png, .pdf or .svg.
        heading: which model.

    Raises:
        OutputError: the suffix is none of these, or the file cannot be written.
    """
    target = Path(path)
    check_picture(target)
    figure = new_figure(9.6, 3.9, layout="constrained")
    if heading:
        figure.suptitle(heading, fontsize=11)
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.25))
    for index, curve in enumerate(curves):
        left.plot(
            curve.sigmas,
            np.maximum(curve.errors, _SMALLEST),
            color=PALETTE[index],
            marker="os^"[index % 3],
            markersize=5,
            linewidth=1.6,
            label=curve.label,
        )
    left.set_xscale("log")
    left.set_yscale("log")
    sigmas = sorted({sigma for curve in curves for sigma in curve.sigmas})
    left.set_xticks(sigmas, [f"{sigma:g}" for sigma in sigmas])
    left.xaxis.minorticks_off()
    left.set_xlabel("noise level σ", fontsize=9.5)
    left.set_ylabel("largest change / largest score", fontsize=9.5)
    left.set_title("Score after relabelling", fontsize=10.5)
    plain_axes(left)
    # Between the curves: they are many powers of ten apart.
    left.legend(fontsize=8.5, frameon=False, loc="upper left", bbox_to_anchor=(0, 0.92))
    _strips(right, changes)
    write_figure(figure, target)


def _strips(axis: Any, changes: Mapping[str, Sequence[float]]) -> None:
    """One row of points for each comparison; those that are exactly zero stand at the left."""
    rng = np.random.default_rng(0)
    values = [np.abs(np.asarray(numbers)) for numbers in changes.values()]
    smallest = min((value[value > 0].min() for value in values if value.any()), default=1e-16)
    zero = 10.0 ** (np.floor(np.log10(smallest)) - 2)
    for index, numbers in enumerate(values):
        row = len(values) - 1 - index
        heights = row + rng.uniform(-0.18, 0.18, len(numbers))
        axis.scatter(
            np.where(numbers > 0, numbers, zero),
            heights,
            s=9,
            color=PALETTE[index],
            alpha=0.45,
            linewidths=0,
        )
        share = float((numbers == 0).mean())
        if share:
            axis.annotate(
                f"{share:.0%}", (zero, row + 0.24), ha="center", va="bottom", fontsize=8,
                color=PALETTE[index],
            )  # fmt: skip
    axis.set_xscale("log")
    high = np.ceil(np.log10(max(value.max() for value in values)))
    decades = np.arange(np.floor(np.log10(smallest)), high + 1)
    ticks = [float(10**decade) for decade in decades if decade % 3 == 0]
    labels = [f"$10^{{{round(np.log10(tick))}}}$" for tick in ticks]
    axis.set_xticks([zero, *ticks], ["0", *labels])
    axis.xaxis.minorticks_off()
    axis.set_xlim(zero / 10, 10 ** (high + 0.5))
    axis.set_ylim(-0.5, len(values) - 0.4)
    axis.set_yticks(range(len(values)), list(changes)[::-1], fontsize=9)
    axis.set_xlabel("absolute difference of log-densities", fontsize=9.5)
    axis.set_title("Log-density by line integral", fontsize=10.5)
    plain_axes(axis)
    axis.grid(False, axis="y")
