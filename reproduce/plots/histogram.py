"""How often each whole number is met, in several sets of graphs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from graphscore.plots.figure import new_figure, plain_axes, write_figure
from graphscore.plots.graphs import check_picture
from graphscore.plots.looks import PALETTE


def draw_shares(
    shares: Mapping[str, Mapping[int, float]],
    target: Path,
    *,
    along: str,
    limits: tuple[int, int],
) -> None:
    """Draw one line of steps for each set and write the picture.

    Args:
        shares: of each number, by the name of the set; numbers that are left out have none.
        target: .png, .pdf or .svg.
        along: what the numbers are.
        limits: the least and the most that is right; a dashed line outside of each.

    Raises:
        OutputError: the suffix is none of these, or the file cannot be written.
    """
    check_picture(target)
    figure = new_figure(7.2, 3.4, layout="constrained")
    axis = figure.subplots()
    met = [number for of_set in shares.values() for number in of_set]
    # Single numbers far outside would leave little space for the others.
    first, last = max(min(met), limits[0] - 6), min(max(met), limits[1] + 6)
    numbers = range(first - 1, last + 2)
    for index, (name, of_set) in enumerate(shares.items()):
        values = [of_set.get(number, 0.0) for number in numbers]
        axis.step(
            list(numbers), values, where="mid", color=PALETTE[index], linewidth=1.6, label=name
        )
    for limit in (limits[0] - 0.5, limits[1] + 0.5):
        axis.axvline(limit, color="0.4", linestyle="--", linewidth=1)
    axis.set_ylim(bottom=0)
    axis.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axis.set_xlabel(along, fontsize=9.5)
    axis.set_ylabel("share", fontsize=9.5)
    axis.legend(fontsize=8.5, frameon=False, loc="lower center")
    plain_axes(axis)
    write_figure(figure, target)
