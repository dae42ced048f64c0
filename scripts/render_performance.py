"""Write docs/performance.md and its plot from what is in results/.

    python scripts/render_performance.py

Numbers in the docs are never typed: they come from these files, each written by the command that
its section names. Only the bars and what the released program took are typed, with their source.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from graphscore.atomic import write_file
from graphscore.plots import GrowthCurve, draw_growth

ROOT = Path(__file__).resolve().parents[1]
PICTURE = Path("images") / "performance.png"

DEVICES = ("cuda", "cpu")
PATHS = ("plain", "accelerated")
CASES = {
    "forward": "forward pass",
    "training_step": "training step",
    "training_step_recomputed": "training step, recomputed",
}

# Targets, and what the released program of the paper takes on one H200 (measured
# with that program; 1024 graphs with the evaluations of its network that it makes twice a step).
BARS = {"schedule": (10.0, 3.0), "training": (4e-3, 2e-3)}
RELEASED = {"schedule": 976.0, "training": 38e-3}
RATIO_BARS = {"forward": 3.0, "training step": 2.5}

Record = dict[str, Any]


def short(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def milliseconds(seconds: float) -> str:
    return f"{short(1e3 * seconds)} ms"


def seconds_text(seconds: float) -> str:
    return f"{short(seconds)} s"


def mebibytes(size: float) -> str:
    return short(size / 2**20)


def machine(record: Record) -> str:
    made = record["provenance"]
    if made["device_type"] == "cuda":
        return str(made["device"])
    return f"{made['processor']}, {made['threads']} thread{'s' * (made['threads'] != 1)}"


def verdict(value: float, bar: float, stretch: float) -> str:
    if value <= stretch:
        return "stretch reached"
    return "reached" if value <= bar else "not reached"


def bars(records: dict[str, Record], networks: list[Record]) -> str:
    """The targets beside what was measured."""
    rows = []
    if "cuda" in records:
        record = records["cuda"]
        name = record["provenance"]["device"]
        schedule, training = record["sampling"]["schedule"], record["training"]
        values = {
            "schedule": schedule["accelerated"]["seconds"],
            "training": training["accelerated"]["step_seconds"],
        }
        shape = training["workload"]
        titles = {
            "schedule": f"{schedule['graphs']} Community-small graphs, {schedule['levels']} x "
            f"{schedule['steps_per_level']} steps, {name}"
            + (" (extrapolated)" if schedule["accelerated"]["extrapolated"] else ""),
            "training": f"training step, {shape['graphs']} graphs x {shape['levels']} levels of "
            f"{shape['nodes']} nodes, {name}",
        }
        for key, text in (("schedule", seconds_text), ("training", milliseconds)):
            bar, stretch = BARS[key]
            faster = short(RELEASED[key] / values[key])
            rows.append(
                f"| {titles[key]} | {text(values[key])} | at most {text(bar)}, stretch "
                f"{text(stretch)} | {text(RELEASED[key])} | {faster}x | "
                f"{verdict(values[key], bar, stretch)} |"
            )
    for network in networks:
        made = network["provenance"]
        where = f"{made['processor']}, {made['threads']} threads{note(made)}"
        for name, bar in RATIO_BARS.items():
            row = network["rows"][name]
            reached = "reached" if row["ratio"] >= bar else "not reached"
            rows.append(
                f"| {name}, {network['what']}, {where} | {row['median_ms']:.0f} ms | at least "
                f"{bar:g}x the released structure | {row['reference_median_ms']:.0f} ms (its "
                f"structure, run in turns) | {row['ratio']:.2f}x | {reached} |"
            )
    if not rows:
        return ""
    return (
        "## Targets\n\n"
        "The released program's times on the GPU were measured with that program on one H200.\n\n"
        "| | measured | bar | released program | faster | |\n|---|---|---|---|---|---|\n"
        + "\n".join(rows)
        + "\n\n"
    )


def note(made: Record) -> str:
    """What else is to be known about the machine, if anything."""
    return f", {made['note']}" if made.get("note") else ""


def device_section(kind: str, record: Record) -> str:
    made, ceilings = record["provenance"], record["ceilings"]
    peaks = ", ".join(
        f"{peak['flops_per_second'] / 1e12:.3g} TFLOP/s in {precision}"
        for precision, peak in ceilings["matrix"].items()
        if isinstance(peak, dict)
    )
    quick = " with --quick, so fewer repeats than a number to quote needs" * record["plan"]["quick"]
    return (
        f"## {'GPU' if kind == 'cuda' else 'CPU'}: {machine(record)}\n\n"
        f"`graphscore bench --device {kind}`{quick}, torch {made['torch']}, commit "
        f"{made['commit']}, {made['date']}{note(made)}, {record['seconds']:.0f} s in all. The "
        f"network has {record['parameters']} parameters. Peaks measured in the same run: matrix "
        f"products {peaks}; copies {ceilings['copy']['bytes_per_second'] / 1e9:.3g} GB/s, read and "
        "written. Shares are those of the float32 matrix peak, with the floating-point operations "
        f"of matrix products only. Memory: {record['memory']}.\n\n"
        + steps(record)
        + schedule(record["sampling"]["schedule"])
        + where_time_goes(record)
    )


def steps(record: Record) -> str:
    training = record["training"]
    shape = training["workload"]
    title = f"training, {shape['graphs']} x {shape['levels']} graphs of {shape['nodes']} nodes"
    parts = {title: training}
    parts |= {f"sampling, {row['graphs']} graphs": row for row in record["sampling"]["batches"]}
    rows = [
        f"| {name} | {part[path]['path']} | {milliseconds(part[path]['step_seconds'])} | "
        f"{part['plain']['step_seconds'] / part[path]['step_seconds']:.1f}x | "
        f"{mebibytes(part[path]['peak_memory_bytes'])} | "
        f"{part[path]['share_of_matrix_ceiling']:.2%} | "
        f"{part[path]['warm_up_seconds']:.2g} s |"
        for name, part in parts.items()
        for path in paths_of(part)
    ]
    return (
        "| one step | path | time | faster | peak MiB | share of the peak | warm-up |\n"
        "|---|---|---|---|---|---|---|\n" + "\n".join(rows) + "\n\n"
    )


def paths_of(part: Record) -> tuple[str, ...]:
    """Both paths, or the plain one where nothing faster works."""
    return PATHS if part["accelerated"]["path"] != "plain" else PATHS[:1]


def schedule(part: Record) -> str:
    rows = [
        f"| {part[path]['path']} | {seconds_text(part[path]['seconds'])} | "
        + (
            f"extrapolated from {part[path]['from_steps']} steps of {part[path]['from_graphs']} "
            "graphs |"
            if part[path]["extrapolated"]
            else f"median of {len(part[path]['runs_seconds'])} whole runs |"
        )
        for path in paths_of(part)
    ]
    return (
        f"{part['graphs']} graphs of {min(part['sizes'])} to {max(part['sizes'])} nodes, "
        f"{part['levels']} levels x {part['steps_per_level']} steps:\n\n"
        "| path | seconds | |\n|---|---|---|\n" + "\n".join(rows) + "\n\n"
    )


def where_time_goes(record: Record) -> str:
    """One paragraph and a table, from the profile."""
    sentences, kinds = [], []
    for name, part in record["profile"].items():
        shares = list(part["shares"].items())
        kinds += [kind for kind, _ in shares if kind not in kinds]
        (first, most), *others = [(kind, share) for kind, share in shares if share >= 0.01]
        listed = ", ".join(f"{kind} {share:.0%}" for kind, share in others)
        sentence = f"In {name} ({part['path']} path), the largest part is {first}, {most:.0%}"
        sentences.append(sentence + (f"; then {listed}." if listed else "."))
        reached = part["matrix_products_share_of_ceiling"]
        if reached is not None:
            sentences.append(
                f"While its matrix products run, they reach {reached:.1%} of the matrix peak."
            )
    plain = record["training"]["plain"]["share_of_copy_ceiling"]
    sentences.append(
        "Reading and writing every operator's inputs and outputs once would, at the time of the "
        f"plain training step, be {plain:.0%} of the copy bandwidth."
    )
    profile = record["profile"]
    rows = [
        f"| {kind} | "
        + " | ".join(f"{p['shares'].get(kind, 0):.1%}" for p in profile.values())
        + " |"
        for kind in kinds
    ]
    return (
        "**Where the remaining time goes** (torch's profiler). "
        + " ".join(sentences)
        + f"\n\n| | {' | '.join(profile)} |\n|---{'|---' * len(profile)}|\n"
        + "\n".join(rows)
        + "\n\n"
    )


def growth_section(records: dict[str, Record]) -> str:
    levels = {record["growth"]["levels"] for record in records.values()}
    text = (
        "## Growth with the number of nodes\n\n"
        "Time and peak memory per graph on the plain path: one forward pass without gradients, and "
        f"a training step at {' or '.join(map(str, sorted(levels)))} noise levels, with "
        "activations kept and with those of each layer computed again. Batches have about "
        "the same number of pairs at every size, at least one graph. Exponents are "
        "fitted to the logarithms of the largest sizes.\n\n"
        f"![Time and memory against the number of nodes]({PICTURE})\n\n"
    )
    head = " | ".join(f"{label}, ms | MiB" for label in CASES.values())
    for kind, record in records.items():
        growth = record["growth"]
        rows = [
            f"| {row['nodes']} | {row['graphs']} | "
            + " | ".join(
                f"{short(1e3 * row[case]['seconds_per_graph'])} | "
                f"{mebibytes(row[case]['bytes_per_graph'])}"
                for case in CASES
            )
            + " |"
            for row in growth["rows"]
        ]
        fitted = [growth["exponents"][case] for case in CASES]
        if all(fitted):
            sizes = fitted[0]["sizes"]
            values = " | ".join(
                f"{part['seconds_per_graph']:.2f} | {part['bytes_per_graph']:.2f}"
                for part in fitted
            )
            rows.append(f"| exponent, {sizes[0]} to {sizes[-1]} | | {values} |")
        text += (
            f"{'GPU' if kind == 'cuda' else 'CPU'}, {machine(record)}:\n\n"
            f"| nodes | graphs | {head} |\n|---|---{'|---' * 2 * len(CASES)}|\n"
            + "\n".join(rows)
            + "\n\n"
        )
        for part in growth["skipped"]:
            text += f"Left out at {part['nodes']} nodes: {part['reason']}.\n\n"
    return text


def denoiser_section(records: list[Record]) -> str:
    """What a training step and a network call of the denoiser take, path by path."""
    if not records:
        return ""
    rows = []
    for record in records:
        for part in ("training", "sampling"):
            plain = record[part]["plain"]["seconds"]
            for path, numbers in record[part].items():
                graphs = numbers.get("graphs", record["batch"])
                what = "training step" if part == "training" else "network call"
                rows.append(
                    f"| {what}, {graphs} graphs, {machine(record)} | {path} | "
                    f"{milliseconds(numbers['seconds'])} | {plain / numbers['seconds']:.1f}x | "
                    f"{seconds_text(numbers['warm_up'])} |\n"
                )
    return (
        f"\n## The denoiser, graphs of {records[0]['nodes']} nodes\n\n"
        "`python benchmarks/bench_denoiser.py`: the usual network, medians; on CUDA all paths but "
        "the plain call without gradient compute products in bfloat16. "
        + "; ".join(f"{machine(r)}: commit {r['provenance']['commit']}" for r in records)
        + ".\n\n"
        "| | path | time | faster | once before |\n|---|---|---|---|---|\n" + "".join(rows)
    )


def draw(records: dict[str, Record], path: Path) -> None:
    curves = [
        GrowthCurve(
            label=f"{'GPU' if kind == 'cuda' else 'CPU'}: {label}",
            device=DEVICES.index(kind),
            case=case_number,
            nodes=[row["nodes"] for row in record["growth"]["rows"]],
            seconds=[row[case]["seconds_per_graph"] for row in record["growth"]["rows"]],
            bytes=[row[case]["bytes_per_graph"] for row in record["growth"]["rows"]],
        )
        for kind, record in records.items()
        for case_number, (case, label) in enumerate(CASES.items())
    ]
    draw_growth(curves, path)


def render(results: Path, docs: Path) -> None:
    """Write performance.md and its plot into `docs` from the records in `results`."""
    files = {kind: results / f"performance_{kind}.json" for kind in DEVICES}
    records = {kind: json.loads(f.read_text()) for kind, f in files.items() if f.exists()}
    if not records:
        raise SystemExit(
            f"{results}: no performance_cpu.json or performance_cuda.json. "
            "Write one with: graphscore bench --device cpu --out results/performance_cpu.json"
        )
    # One file per machine: the ratio depends on how fast its memory is.
    networks = [json.loads(f.read_text()) for f in sorted(results.glob("benchmark_network*.json"))]
    denoisers = [
        json.loads(f.read_text()) for f in sorted(results.glob("benchmark_denoiser*.json"))
    ]
    parts = [
        "# Performance\n\n"
        "Generated by `scripts/render_performance.py` from `results/`; do not edit.\n\n",
        bars(records, networks),
        *(device_section(kind, record) for kind, record in records.items()),
        growth_section(records),
        denoiser_section(denoisers),
    ]
    draw(records, docs / PICTURE)
    write_file(docs / "performance.md", ("".join(parts).rstrip() + "\n").encode())


if __name__ == "__main__":
    render(ROOT / "results", ROOT / "docs")
