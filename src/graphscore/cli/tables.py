"""Print results as tables or as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from graphscore.streams import shortened, visible

if TYPE_CHECKING:
    from graphscore.metrics import EvaluationResult, MoleculeResult


def print_json(record: Any) -> None:
    """Print one JSON document."""
    print(json.dumps(record, indent=1))


def print_text(text: str) -> None:
    """Print a line."""
    print(visible(text))


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    text: int = 1,
    wide: bool = False,
) -> None:
    """Print a table whose first `text` columns are text and the others numbers.

    Args:
        wide: let it be wider than the terminal instead of breaking cells.
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=escape(visible(title)), title_justify="left")
    for index, column in enumerate(columns):
        justify: Literal["left", "right"] = "left" if index < text else "right"
        name = escape(visible(shortened(column)))
        table.add_column(name, justify=justify, overflow="fold", no_wrap=index >= text)
    for row in rows:
        table.add_row(*(escape(visible(shortened(cell))) for cell in row))
    console = Console()
    if wide:
        unlimited = console.options.update(width=1000)
        console.width = max(console.width, console.measure(table, options=unlimited).maximum)
    console.print(table)


def print_evaluations(title: str, results: Mapping[str, EvaluationResult]) -> None:
    """Print the MMDs of several sets of graphs to the same reference graphs."""
    from graphscore.metrics.novelty import share_in_words

    rows = []
    names = list(next(iter(results.values())).measured)
    for name, result in results.items():
        rows.append(
            [
                name,
                f"{result.sample_count}",
                *(f"{value:.4f}" for value in result.measured.values()),
                share_in_words(result.uniqueness, result.uniqueness_low),
                share_in_words(result.novelty, result.novelty_low),
            ]
        )
    columns = ["", "graphs", *names, "unique", "novel"]
    print_table(title, columns, rows, wide=True)


_TOO_FEW = {
    "fcd": "needs 2 valid molecules in each list",
    "nspdk": "needs a valid molecule in each list",
}
"""Why a distance between molecules was not measured."""


def print_molecules(title: str, result: MoleculeResult) -> None:
    """Print what was measured of molecules, and how."""
    rows = []
    for name in ("valid", "valid_as_is", "connected", "unique", "novel"):
        found = getattr(result, name)
        if found is not None:
            rows.append([name.replace("_", " "), *found.texts, f"{found.count} of {found.out_of}"])
    for name, digits in (("fcd", 3), ("nspdk", 5)):
        value = getattr(result, name)
        text, note = ("–", _TOO_FEW[name]) if value is None else (f"{value:.{digits}f}", "")
        rows.append([name.upper(), text, "", note])
    print_table(title, ["", "value", "95 % interval", "count"], rows)
    print_text(result.protocol)
