"""Tables of numbers, for the command line and for the docs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        title: a few words above it.
        columns: headings.
        rows: cells, as text.
        text: how many of the first columns are text; the others are numbers.

    >>> print(Table("Sums", ("", "sum"), [["two", "2"]]).markdown())
    |  | sum |
    |:---|---:|
    | two | 2 |
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    text: int = 1

    def markdown(self) -> str:
        """The table in Markdown, without its title."""
        marks = [":---" if index < self.text else "---:" for index in range(len(self.columns))]
        lines = [f"| {' | '.join(self.columns)} |", f"|{'|'.join(marks)}|"]
        lines += [f"| {' | '.join(row)} |" for row in self.rows]
        return "\n".join(lines)


def summary(values: Sequence[float]) -> dict[str, float]:
    """Count, mean, sample standard deviation and the 5 to 95 % interval.

    >>> summary([1.0, 2.0, 3.0])["mean"], summary([1.0, 2.0, 3.0])["std"]
    (2.0, 1.0)
    """
    numbers = np.asarray(values, dtype=float)
    low, high = np.quantile(numbers, [0.05, 0.95]).tolist()
    std = float(numbers.std(ddof=1)) if len(numbers) > 1 else 0.0
    mean = float(numbers.mean())
    return {"count": len(numbers), "mean": mean, "std": std, "low": low, "high": high}


def with_std(numbers: Mapping[str, float], digits: int) -> str:
    """The mean of a summary and, if there are several values, their standard deviation.

    >>> with_std(summary([1.0, 2.0, 3.0]), 1), with_std(summary([1.0]), 1)
    ('2.0 ± 1.0', '1.0')
    """
    std = f" ± {numbers['std']:.{digits}f}" if numbers["count"] > 1 else ""
    return f"{numbers['mean']:.{digits}f}{std}"


def summaries(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, Any]:
    """The summary of each named number over several rows; None where a row has none."""
    return {
        name: None
        if any(row[name] is None for row in rows)
        else summary([row[name] for row in rows])
        for name in names
    }


def percent(value: float | None, digits: int = 0) -> str:
    """A share as a percentage, or a dash.

    >>> percent(0.5), percent(0.123, 1), percent(None)
    ('50%', '12.3%', '–')
    """
    return "–" if value is None else f"{value:.{digits}%}"
