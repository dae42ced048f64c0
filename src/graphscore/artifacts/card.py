"""The card of a model: what it learnt from, how, for how long, and how good it is."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from graphscore.artifacts.document import Name, TensorFile
from graphscore.artifacts.reading import read_json
from graphscore.errors import CheckpointError, SettingsError
from graphscore.models import stored_settings
from graphscore.settings import Settings, in_one_line

CARD = "card.json"
README = "README.md"
MOST_BYTES = 1_000_000
"""Of `card.json`; those that come with graphscore have 4,000."""

Text = Annotated[str, Field(max_length=2000)]
Count = Annotated[int, Field(ge=0, le=2**53)]


class _Data(Settings):
    source: Text
    graphs: Count
    sha256: Text
    nodes: list[Count] = Field(min_length=2, max_length=2)
    communities: Text = ""
    description: Text = ""
    origin: Text = ""
    licence: Text = ""


class _Evaluation(Settings, extra="allow"):
    sample_count: Count | Literal[""] = ""
    kernel: Text = ""
    degree: float | None = None
    clustering: float | None = None
    orbit: float | None = None
    spectrum: float | None = None
    average: float | None = None
    fcd: float | None = None
    nspdk: float | None = None
    connected: float | None = None
    uniqueness: float | None = None
    novelty: float | None = None
    valid: float | None = None
    vun: float | None = None


class _Stored(Settings):
    """A card in a file, which may come from a stranger; see `ModelCard`."""

    name: Name
    data: _Data
    settings: dict[Name, Any]
    steps: Count
    seconds: float = Field(ge=0, le=1e10)
    parameters: Count
    weights: TensorFile
    metrics: dict[Name, _Evaluation] = Field(max_length=20)
    provenance: dict[Name, Text | int | float | None] = Field(max_length=100)
    note: Text = ""


@dataclass(frozen=True)
class ModelCard:
    """What a user should know of a model before using it.

    Attributes:
        name: of the model.
        data: `source`, number of `graphs`, range of `nodes`, `sha256` of the training graphs; for
            a dataset of the package also `description`, `origin` and `licence`; `communities` in
            words, if the model is conditioned on them.
        settings: all settings of the run, with the sampling settings the model is used with.
        steps: optimiser steps.
        seconds: training time.
        parameters: how many.
        weights: `file`, `bytes` and `sha256` of the averaged weights.
        metrics: evaluations by name (`EvaluationResult.to_dict`).
        provenance: versions and devices of the training, and what made the metrics.
        note: anything else.
    """

    name: str
    data: dict[str, Any]
    settings: dict[str, Any]
    steps: int
    seconds: float
    parameters: int
    weights: dict[str, Any]
    metrics: dict[str, dict[str, Any]]
    provenance: dict[str, Any]
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the card as plain values."""
        return asdict(self)

    def to_json(self) -> str:
        """Return the text of `card.json`."""
        return json.dumps(self.to_dict(), indent=1) + "\n"

    def rows(self) -> list[tuple[str, str]]:
        """Return the card as pairs of a heading and a text, without the metrics."""
        data = self.data
        low, high = data["nodes"]
        settings = [
            (part, in_one_line(values))
            for part, values in self.settings.items()
            if isinstance(values, dict)
        ]
        rows = [
            ("trained on", f"{data['source']}, {data['graphs']} graphs of {low} to {high} nodes"),
            ("communities", data.get("communities", "")),
            ("data", data.get("description", "")),
            ("origin of the data", data.get("origin", "")),
            ("licence of the data", data.get("licence", "")),
            (
                "trained for",
                f"{self.steps} steps, {self.seconds:.0f} s, seed {self.settings['seed']}",
            ),
            ("size", f"{self.parameters} parameters, {self.weights['bytes'] / 1e6:.2f} MB"),
            *settings,
            ("provenance", in_one_line(self.provenance)),
            ("note", self.note),
        ]
        return [(heading, text) for heading, text in rows if text]

    def metric_columns(self) -> list[list[str]]:
        """Return the columns of a table, heading first: the evaluations' names, then what was
        measured in at least one of them."""
        rows = [[name, *_metrics(values)] for name, values in self.metrics.items()]
        columns = [list(column) for column in zip(_HEADINGS, *rows)]
        return [column for column in columns if any(column[1:])]

    def to_markdown(self) -> str:
        """Return the card as a page."""
        about = "\n".join(f"| {heading} | {text} |" for heading, text in self.rows())
        page = (
            f"# {self.name}\n\n"
            f'`GraphGenerator.from_pretrained("{self.name}")`, '
            f"`graphscore sample {self.name} -n 64`.\n\n"
            f"| | |\n|---|---|\n{about}\n"
        )
        if not self.metrics:
            return page
        head, *rows = ("| " + " | ".join(row) + " |" for row in zip(*self.metric_columns()))
        table = "\n".join([head, f"|{'---|' * len(self.metric_columns())}", *rows])
        return f"{page}\n{self.about_metrics()}\n\n{table}\n"

    def about_metrics(self) -> str:
        """Return what the distances are."""
        kernels = {str(values.get("kernel", "")).split(" ")[0] for values in self.metrics.values()}
        named = f" ({kernels.pop()})" if len(kernels) == 1 and kernels != {""} else ""
        if any("fcd" in values for values in self.metrics.values()):
            return "FCD and NSPDK against the test molecules; smaller is better."
        return f"MMD{named} against the test graphs; smaller is better."


_DISTANCES = ("degree", "clustering", "orbit", "spectrum", "average")
_SHARES = {
    "unique": "uniqueness",
    "novel": "novelty",
    "valid": "valid",
    "connected": "connected",
    "V.U.N.": "vun",
}
_HEADINGS = ("", "graphs", *_DISTANCES, "FCD", "NSPDK", *_SHARES)


def read_card(folder: Path) -> ModelCard | None:
    """Read the card beside a model; None where there is none.

    Raises:
        CheckpointError: the card cannot be read.
    """
    path = folder / CARD
    if not os.path.lexists(path):
        return None
    values = read_json(path, MOST_BYTES)
    try:
        stored = _Stored(**values)
        stored_settings(stored.settings)
    except (SettingsError, TypeError) as error:
        raise CheckpointError(
            f"{path}: not a model card ({error!s:.500}). Remove it, or restore it from a copy."
        ) from None
    return ModelCard(**stored.model_dump(exclude_unset=True))


def _metrics(values: dict[str, Any]) -> list[str]:
    return [
        str(values.get("sample_count", "")),
        *(_rounded(values.get(key), 4) for key in (*_DISTANCES, "fcd")),
        _rounded(values.get("nspdk"), 5),
        *map(_percent, map(values.get, _SHARES.values())),
    ]


def _rounded(value: float | None, digits: int) -> str:
    # What rounds to zero has no sign.
    return "" if value is None else f"{round(value, digits) + 0:.{digits}f}"


def _percent(share: float | None) -> str:
    if share is None:
        return ""
    # What is not all does not look so.
    digits = 4 if 0.9995 <= share < 1 else 3
    return f"{100 * share:.{digits}g}%"
