"""`graphscore bench`."""

from __future__ import annotations

import json as json_module
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from graphscore.cli.tables import print_json, print_table
from graphscore.cli.whole_numbers import WholeNumber

if TYPE_CHECKING:
    import torch

Record = dict[str, Any]
PATHS = ("plain", "accelerated")


def bench(
    *,
    device: str = "auto",
    out: Annotated[Path | None, Parameter(name=("--out", "-o"))] = None,
    quick: Annotated[bool, Parameter(negative="")] = False,
    max_nodes: WholeNumber = 500,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Measure speed and memory of this machine, in a few minutes.

    Training step, sampling step, seconds for 1024 graphs, peak memory and the share of the device's
    own measured peak, on the plain and the accelerated path; growth with the number of nodes; where
    the time goes.

    Parameters
    ----------
    device
        cpu, cuda, all (both), or auto: cuda where there is one.
    out
        JSON file to write, runs/performance_DEVICE.json if not given. With --device all, one file
        per device: its name goes before the suffix.
    quick
        Fewer repeats, for a fast look.
    max_nodes
        Largest graphs of the growth table.
    json
        Print the record as JSON; with --device all, one record per device.
    """
    from graphscore.atomic import write_file
    from graphscore.bench import measure, plan_for
    from graphscore.bench.plan import GROWTH_NODES
    from graphscore.errors import SettingsError

    if max_nodes < GROWTH_NODES[0]:
        raise SettingsError(
            f"--max-nodes {max_nodes}: the growth table starts at {GROWTH_NODES[0]} nodes. "
            f"Give {GROWTH_NODES[0]} or more."
        )
    devices = _devices(device)
    files = {target.type: _file(out, target.type, device == "all") for target in devices}
    records: dict[str, Record] = {}
    for target in devices:
        record = measure(target, plan_for(target, quick=quick, max_nodes=max_nodes))
        write_file(files[target.type], (json_module.dumps(record, indent=1) + "\n").encode())
        records[target.type] = record
        if not json:
            _show(record)
            print(f"written to {files[target.type]}")
    if json:
        print_json(records if device == "all" else records[devices[0].type])
    return 0


def _devices(name: str) -> list[torch.device]:
    import torch

    from graphscore.device import resolve_device
    from graphscore.errors import SettingsError

    present = torch.cuda.is_available()
    if name == "all":
        return [resolve_device(each) for each in (["cpu", "cuda"] if present else ["cpu"])]
    if name == "auto":
        name = "cuda" if present else "cpu"
    if name.partition(":")[0] not in ("cpu", "cuda"):
        raise SettingsError(f"--device {name!r}: use auto, cpu, cuda or all.")
    return [resolve_device(name)]


def _file(out: Path | None, device: str, several: bool) -> Path:
    """The file of one device, refused now rather than after minutes of work."""
    from graphscore.errors import OutputError

    if out is None:
        out, several = Path("runs") / "performance.json", True
    if out.suffix != ".json":
        raise OutputError(f"--out {out}: the record is JSON. Give a name that ends in .json.")
    file = out.with_stem(f"{out.stem}_{device}") if several else out
    if file.is_dir():
        raise OutputError(f"--out {file}: a folder of that name exists. Give another name.")
    folder = next(parent for parent in file.absolute().parents if parent.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise OutputError(f"--out {file}: cannot write into {folder}. Give another place.")
    return file


def _show(record: Record) -> None:
    made, ceilings = record["provenance"], record["ceilings"]
    machine = made["processor"] if made["device"] == "CPU" else made["device"]
    peaks = ", ".join(
        f"{kind} {peak['flops_per_second'] / 1e12:.3g} TFLOP/s"
        for kind, peak in ceilings["matrix"].items()
        if isinstance(peak, dict)
    )
    print(f"{machine}, {made['threads']} threads, torch {made['torch']}")
    copied = ceilings["copy"]["bytes_per_second"] / 1e9
    print(f"measured peak: matrix product {peaks}; copy {copied:.3g} GB/s")
    _show_steps(record)
    _show_growth(record["growth"])
    _show_profile(record["profile"])


def _show_steps(record: Record) -> None:
    training, sampling = record["training"], record["sampling"]
    shape, schedule = training["workload"], sampling["schedule"]
    steps = {"training": training}
    steps |= {f"sampling {batch['graphs']}": batch for batch in sampling["batches"]}
    rows = []
    for step, part in steps.items():
        plain, fastest = _cells(part["plain"]), _cells(part["accelerated"])
        rows.append([step, *plain, part["accelerated"]["path"], *fastest])
    columns = ["one step", "plain ms", "MiB", "peak", "fastest path", "ms", "MiB", "peak"]
    title = (
        f"Training on {shape['graphs']} graphs x {shape['levels']} levels of {shape['nodes']} "
        "nodes, and sampling, with peak memory and share of the matrix peak"
    )
    print_table(title, columns, rows)
    rows = [
        [
            name,
            schedule[name]["path"],
            _short(schedule[name]["seconds"]),
            "extrapolated" if schedule[name]["extrapolated"] else "measured",
        ]
        for name in PATHS
    ]
    title = (
        f"{schedule['graphs']} graphs of {min(schedule['sizes'])} to {max(schedule['sizes'])} "
        f"nodes, {schedule['levels']} x {schedule['steps_per_level']} steps"
    )
    print_table(title, ["", "path", "seconds", ""], rows, text=2)


def _short(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _cells(part: Record) -> list[str]:
    return [
        _short(1e3 * part["step_seconds"]),
        _short(part["peak_memory_bytes"] / 2**20),
        f"{part['share_of_matrix_ceiling']:.1%}",
    ]


def _show_growth(growth: Record) -> None:
    cases = {
        "forward": "forward",
        "training_step": "step",
        "training_step_recomputed": "recomputed",
    }
    rows = []
    for row in growth["rows"]:
        cells = [f"{row['nodes']}", f"{row['graphs']}"]
        for case in cases:
            seconds, size = row[case]["seconds_per_graph"], row[case]["bytes_per_graph"]
            cells += [_short(1e3 * seconds), _short(size / 2**20)]
        rows.append(cells)
    fitted = [growth["exponents"][case] for case in cases]
    if all(fitted):
        exponents = [
            f"{part[key]:.2f}"
            for part in fitted
            for key in ("seconds_per_graph", "bytes_per_graph")
        ]
        rows.append(["N^", "", *exponents])
    columns = ["nodes", "graphs"]
    for short in cases.values():
        columns += [f"{short} ms", "MiB"]
    title = (
        f"Growth, per graph: one forward pass; one training step at {growth['levels']} levels, "
        "with activations kept and recomputed; last, fitted exponents of the number of nodes N"
    )
    print_table(title, columns, rows)
    for left_out in growth["skipped"]:
        print(f"{left_out['nodes']} nodes were left out: {left_out['reason']}")


def _show_profile(profile: Record) -> None:
    kinds = list(dict.fromkeys(kind for part in profile.values() for kind in part["shares"]))
    rows = [
        [kind, *(f"{part['shares'].get(kind, 0):.0%}" for part in profile.values())]
        for kind in kinds
    ]
    columns = ["", *(f"{name} ({part['path']})" for name, part in profile.items())]
    print_table("Where the time goes", columns, rows)
