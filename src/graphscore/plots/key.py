"""The key below a picture: what its colours, shapes, kinds of lines and widths stand for."""

from __future__ import annotations

from typing import Any

from graphscore.plots.looks import COLOUR_MAP, OUTLINE, KeyPart, Looks, NodeLook, Range, brief

MARGIN, GAP = 0.15, 0.3
"""Inches around a key, and between its parts."""
BAR_WIDTH, BAR_HEIGHT = 1.4, 0.09
"""Inches of a colour bar."""
BESIDE_BAR, ABOVE_BAR, BELOW_BAR = 0.2, 0.16, 0.17
"""Inches for its name and numbers."""
TEXT_SIZE = 7.5


def add_key(figure: Any, looks: Looks) -> Any:
    """Make a figure higher by a key, and return the part of it above the key.

    The parts of the key stand side by side as far as the figure is wide.
    """
    width, above = figure.get_size_inches().tolist()
    legends = [_legend(figure, part, width - 2 * MARGIN) for part in looks.key()]
    sizes = [_inches(legend) for legend in legends]
    if looks.feature is not None:
        sizes.append((BAR_WIDTH + 2 * BESIDE_BAR, ABOVE_BAR + BAR_HEIGHT + BELOW_BAR))
    if not sizes:
        return figure
    places, height = _side_by_side(sizes, width)
    figure.set_size_inches(width, above + height)
    total = above + height
    for legend, (left, top) in zip(legends, places):
        legend.set_bbox_to_anchor((left / width, (height - top) / total), figure.transFigure)
    if looks.feature is not None:
        left, bottom = places[-1][0] + BESIDE_BAR, height - places[-1][1] - ABOVE_BAR - BAR_HEIGHT
        place = left / width, bottom / total, BAR_WIDTH / width, BAR_HEIGHT / total
        _colour_bar(figure, looks.feature, place)
    return figure.subfigures(2, 1, height_ratios=(above, height))[0]


def _side_by_side(
    sizes: list[tuple[float, float]], width: float
) -> tuple[list[tuple[float, float]], float]:
    """Return left and top of boxes, in lines as wide as a figure, and the height of all lines.

    >>> _side_by_side([(1.0, 0.5), (1.0, 0.25), (2.0, 0.25)], 2.6)
    ([(0.15, 0.0), (1.45, 0.0), (0.15, 0.65)], 1.05)
    """
    places, left, top, line = [], MARGIN, 0.0, 0.0
    for wide, high in sizes:
        if left > MARGIN and left + wide + MARGIN > width:
            left, top, line = MARGIN, top + line + MARGIN, 0.0
        places.append((left, top))
        left, line = left + wide + GAP, max(line, high)
    return places, top + line + MARGIN


def _inches(legend: Any) -> tuple[float, float]:
    figure = legend.get_figure()
    wide, high = legend.get_window_extent(figure.canvas.get_renderer()).size / figure.dpi
    return float(wide), float(high)


def _legend(figure: Any, part: KeyPart, width: float) -> Any:
    """Draw a part of the key with as many columns as `width` inches have room for."""
    columns = max(1, len(part.entries))
    while True:
        legend = figure.legend(
            [_handle(look, points) for look, points, _ in part.entries],
            # Set below, because matplotlib leaves out texts that begin with "_".
            [" "] * len(part.entries),
            title=" ",
            ncols=columns,
            loc="upper left",
            fontsize=TEXT_SIZE,
            title_fontproperties={"size": TEXT_SIZE, "weight": "bold"},
            alignment="left",
            frameon=False,
            borderpad=0,
            borderaxespad=0,
            columnspacing=1.2,
            handletextpad=0.5,
            handlelength=part.handle_length,
        )
        texts = [part.title, *(label for *_, label in part.entries)]
        for shown, text in zip([legend.get_title(), *legend.get_texts()], texts):
            shown.set_parse_math(False)
            shown.set_text(text)
        if columns == 1 or _inches(legend)[0] <= width:
            return legend
        legend.remove()
        columns -= 1


def _handle(look: Any, width: float) -> Any:
    """Return what stands for a look in a legend."""
    from matplotlib.lines import Line2D

    if isinstance(look, NodeLook):
        return Line2D(
            [],
            [],
            linestyle="none",
            marker=look.marker,
            markersize=5.5,
            markerfacecolor=look.colour,
            markeredgecolor=OUTLINE["edgecolors"],
            markeredgewidth=OUTLINE["linewidths"],
        )
    strokes = look.strokes(width)
    options = {"linestyle": look.dashes, "solid_capstyle": "butt"}
    return tuple(Line2D([], [], color=c, linewidth=w, **options) for c, w in strokes)


def _colour_bar(figure: Any, numbers: Range, place: tuple[float, float, float, float]) -> None:
    from matplotlib.cm import ScalarMappable

    axis = figure.add_axes(place)
    colours = ScalarMappable(numbers.norm, COLOUR_MAP)
    bar = figure.colorbar(colours, cax=axis, orientation="horizontal")
    bar.set_ticks(numbers.steps, labels=numbers.labels())
    bar.minorticks_off()
    bar.outline.set_linewidth(0.4)
    axis.tick_params(labelsize=TEXT_SIZE, width=0.4, length=2, pad=1.5)
    axis.set_title(
        brief(numbers.name),
        loc="left",
        fontsize=TEXT_SIZE,
        fontweight="bold",
        pad=3,
        parse_math=False,
    )
