"""Write docs/performance.md and its plot from the records in results/.

    python -m benchmarks page

The text is in `performance.md.j2`. Every number comes from a record, except the targets and the
times of the released program below.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from benchmarks.growth_plot import GrowthCurve, draw_growth
from graphscore.atomic import write_file

ROOT = Path(__file__).resolve().parents[1]
TEMPLATE = "performance.md.j2"
PICTURE = Path("images") / "performance.png"

DEVICES = {"cuda": "GPU", "cpu": "CPU"}
CASES = {
    "forward": "forward pass",
    "training_step": "training step",
    "training_step_checkpointed": "with checkpointing",
}
# Names of paths on the page; older records use other names for the same thing.
PATHS = {"captured": "CUDA graph", "cuda-graph": "CUDA graph"}
KINDS = {"element by element": "elementwise operations", "sums": "reductions"}

# Targets, and what the released program of the paper takes on one H200 (measured with that
# program; it evaluates its network twice per sampling step).
TARGETS = {"sampling": 10.0, "training": 4e-3}
RELEASED = {"sampling": 976.0, "training": 38e-3}

Record = dict[str, Any]


def short(value: float) -> str:
    """Three significant digits.

    >>> short(0.01234), short(12345.6)
    ('0.0123', '12346')
    """
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def milliseconds(seconds: float) -> str:
    return f"{short(1e3 * seconds)} ms"


def seconds_text(seconds: float) -> str:
    return "0 s" if seconds == 0 else f"{short(seconds)} s" if seconds >= 1e-3 else "< 0.001 s"


def machine(record: Record) -> str:
    """The device of a record, in words."""
    made = record["provenance"]
    if made["device_type"] == "cuda":
        return f"GPU: {made['device']}"
    return f"CPU: {made['processor']}, {made['threads']} thread{'s' * (made['threads'] != 1)}"


def note(made: Record) -> str:
    """What else the provenance says about the machine, if anything."""
    return f", {made['note']}" if made.get("note") else ""


def paths(part: Record) -> list[Record]:
    """Both paths, or the plain one where there is no accelerated one."""
    plain, fast = part["plain"], part["accelerated"]
    return [plain] if fast["path"] == "plain" else [plain, fast]


def step_rows(record: Record) -> list[tuple[str, Record]]:
    """Training and sampling steps with a title each."""
    training = record["training"]
    shape = training["workload"]
    title = f"training, {shape['graphs']} x {shape['levels']} graphs of {shape['nodes']} nodes"
    batches = record["sampling"]["batches"]
    return [(title, training)] + [(f"sampling, {row['graphs']} graphs", row) for row in batches]


def kinds(record: Record) -> list[str]:
    """All kinds of operation in a profile, the largest share of training first."""
    parts = record["profile"].values()
    return list(dict.fromkeys(kind for part in parts for kind in part["shares"]))


def targets(records: list[Record], networks: list[Record]) -> list[dict[str, str]]:
    """Measured times beside the targets."""
    rows = []
    for record in records:
        if record["provenance"]["device_type"] != "cuda":
            continue
        name, shape = record["provenance"]["device"], record["training"]["workload"]
        whole = record["sampling"]["schedule"]
        measured = {
            "sampling": whole["accelerated"]["seconds"],
            "training": record["training"]["accelerated"]["step_seconds"],
        }
        titles = {
            "sampling": f"{whole['graphs']} Community-small graphs, {whole['levels']} x "
            f"{whole['steps_per_level']} steps, {name}",
            "training": f"training step, {shape['graphs']} graphs x {shape['levels']} levels of "
            f"{shape['nodes']} nodes, {name}",
        }
        for key, text in (("sampling", seconds_text), ("training", milliseconds)):
            rows.append(
                {
                    "what": titles[key],
                    "measured": text(measured[key]),
                    "target": f"at most {text(TARGETS[key])}",
                    "released": text(RELEASED[key]),
                    "speed_up": short(RELEASED[key] / measured[key]),
                    "result": _result(measured[key] <= TARGETS[key]),
                }
            )
    for record in networks:
        made = record["provenance"]
        where = f"{made['processor']}, {made['threads']} threads{note(made)}"
        rows += [
            {
                "what": f"{name}, {record['what']}, {where}",
                "measured": f"{row['median_ms']:.0f} ms",
                "target": f"at least {row['target_ratio']:g}x",
                "released": f"{row['reference_median_ms']:.0f} ms",
                "speed_up": f"{row['ratio']:.2f}",
                "result": _result(row["ratio"] >= row["target_ratio"]),
            }
            for name, row in record["rows"].items()
        ]
    return rows


def _result(reached: bool) -> str:
    return "reached" if reached else "not reached"


FILTERS = {
    "short": short,
    "ms": milliseconds,
    "s": seconds_text,
    "mib": lambda size: short(size / 2**20),
    "tflops": lambda value: f"{value / 1e12:.3g} TFLOP/s",
    "gigabytes": lambda value: f"{short(value / 1e9)} GB/s",
    "percent": lambda share, digits: f"{share:.{digits}%}",
    "machine": machine,
    "note": note,
    "paths": paths,
    "path": lambda name: PATHS.get(name, name),
    "kind": lambda name: KINDS.get(name, name),
    "kinds": kinds,
    "step_rows": step_rows,
}


def draw(records: list[Record], path: Path) -> None:
    """Plot the growth of time and memory."""
    curves = []
    for record in records:
        kind = record["provenance"]["device_type"]
        rows = record["growth"]["rows"]
        for number, (case, label) in enumerate(CASES.items()):
            curves.append(
                GrowthCurve(
                    label=f"{DEVICES[kind]}: {label}",
                    device=list(DEVICES).index(kind),
                    case=number,
                    nodes=[row["nodes"] for row in rows],
                    seconds=[row[case]["seconds_per_graph"] for row in rows],
                    bytes=[row[case]["bytes_per_graph"] for row in rows],
                )
            )
    draw_growth(curves, path)


def render(results: Path, docs: Path) -> None:
    """Write performance.md and its plot into `docs` from the records in `results`."""

    def read(pattern: str) -> list[Record]:
        return [json.loads(file.read_text()) for file in sorted(results.glob(pattern))]

    records = [record for kind in DEVICES for record in read(f"performance_{kind}.json")]
    if not records:
        raise SystemExit(
            f"{results}: no performance_cpu.json or performance_cuda.json. Write one with: "
            "python -m benchmarks edp-gnn --device cpu --json results/performance_cpu.json"
        )
    loader = FileSystemLoader(Path(__file__).parent)
    # The output is Markdown, so nothing is escaped for HTML.
    environment = Environment(
        loader=loader, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    environment.filters |= FILTERS
    page = environment.get_template(TEMPLATE).render(
        denoisers=sorted(
            read("benchmark_denoiser*.json"),
            key=lambda record: list(DEVICES).index(record["provenance"]["device_type"]),
        ),
        records=records,
        parameters=records[0]["parameters"],
        # One file per machine: the ratio depends on how fast its memory is.
        targets=targets(records, read("benchmark_network*.json")),
        levels=records[0]["growth"]["levels"],
        cases=CASES,
        picture=PICTURE,
    )
    draw(records, docs / PICTURE)
    write_file(docs / "performance.md", (page.rstrip() + "\n").encode())
