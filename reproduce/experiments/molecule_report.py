"""Tables and pictures of the record of molecules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from reproduce.plots.quality import QualityCurve, draw_quality
from reproduce.tables import Table, summary, with_std

Record = dict[str, Any]
MEASURES: dict[str, Callable[[Record], float]] = {
    "valid": lambda found: float(found["valid"]["share"]),
    "fcd": lambda found: float(found["fcd"]),
    "nspdk": lambda found: float(found["nspdk"]),
}
"""What may have a target, by its name there; NSPDK is measured where it has one."""
SHARES = ("valid_as_is", "connected", "unique", "novel")


def tables(record: Record) -> list[Table]:
    """The result of every set; then what it took."""
    return [_quality(record["results"]), _cost(record["results"])]


def _quality(rows: Sequence[Record]) -> Table:
    columns = ["set", "", "molecules", "valid", "as it is", "connected", "unique", "novel"]
    columns += ["FCD", "NSPDK"]
    cells: list[list[str]] = []
    for row in rows:
        seeds, known, targets = row["per_seed"], row["known"], row["targets"]
        cells.append([row["dataset"], "samples", *_values(seeds)])
        if known:
            cells.append(["", "training molecules", *_values([known])])
        aims = [f"≤ {targets[name]:g}" if name in targets else "" for name in ("fcd", "nspdk")]
        empty = [""] * len(SHARES)
        cells.append(["", "target", "", f"≥ {targets['valid']:.1%}", *empty, *aims])
        cells.append(["", f"published: {row['published']}", *[""] * (4 + len(SHARES))])
    return Table("Molecules", columns, cells, text=2)


def _values(found: Sequence[Record]) -> list[str]:
    shares = [[float(one[name]["share"]) * 100 for one in found] for name in ("valid", *SHARES)]
    nspdk = [MEASURES["nspdk"](one) for one in found if one["nspdk"] is not None]
    return [
        " + ".join(str(one["sample_count"]) for one in found),
        *(f"{with_std(summary(values), 2)} %" for values in shares),
        with_std(summary([MEASURES["fcd"](one) for one in found]), 3),
        with_std(summary(nspdk), 5) if nspdk else "",
    ]


def _cost(rows: Sequence[Record]) -> Table:
    columns = ["set", "parameters", "steps", "training", "calls", "10,000 molecules"]
    cells = []
    for row in rows:
        first = row["per_seed"][0]
        seconds = [one["sampling_seconds"] * 10_000 / one["number"] for one in row["per_seed"]]
        cells.append(
            [
                row["dataset"],
                f"{first['parameters']:,}",
                f"{first['step']:,}",
                f"{first['training_seconds']:.0f} s",
                str(first["calls"]),
                f"{min(seconds):.0f} to {max(seconds):.0f} s",
            ]
        )
    return Table("What it took", columns, cells)


def facts(record: Record) -> Mapping[str, Any]:
    """Values for the template."""
    sets = {}
    for row in record["results"]:
        seeds = row["per_seed"]
        missed = []
        for name, aim in row["targets"].items():
            mean = summary([MEASURES[name](one) for one in seeds])["mean"]
            if mean < aim if name == "valid" else mean > aim:
                missed.append(name)
        sets[row["dataset"]] = {
            "missed": [{"valid": "validity"}.get(name, name.upper()) for name in missed],
            "minutes": seeds[0]["training_seconds"] / 60,
            "allowed": row["minutes"],
        }
    return {
        "sets": sets,
        "protocol": record["results"][0]["per_seed"][0]["protocol"],
        "curves": [(title, f"molecules_{cost}.png") for cost, title, _, _ in _curves(record)],
    }


Panels = dict[str, list[QualityCurve]]


def _curves(record: Record) -> list[tuple[str, str, Panels, dict[str, float]]]:
    """FCD against network calls and against training time: cost, title, panels and targets."""
    found = []
    for key, title, cost in (
        ("by_network_calls", "network calls", "calls"),
        ("by_training", "training time in seconds", "training_seconds"),
    ):
        panels: Panels = {}
        targets: dict[str, float] = {}
        for row in record["results"]:
            points = row[key]
            if key == "by_training" and points:  # and the end of the training
                points = [*points, *row["by_network_calls"][-1:]]
            if len(points) > 1:
                values = [MEASURES["fcd"](point) for point in points]
                panels[row["dataset"]] = [QualityCurve("", [p[cost] for p in points], values)]
                targets[row["dataset"]] = row["targets"]["fcd"]
        if panels:
            found.append((cost, title, panels, targets))
    return found


def pictures(record: Record, out: Path) -> Sequence[Path]:
    """FCD against network calls and against training time."""
    drawn = []
    for cost, title, panels, targets in _curves(record):
        target = out / f"molecules_{cost}.png"
        measures = dict.fromkeys(panels, "FCD")
        draw_quality(panels, target, along=title, measures=measures, targets=targets)
        drawn.append(target)
    return drawn
