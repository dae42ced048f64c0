"""`graphscore info`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from graphscore.cli.tables import print_json, print_table


def info(run: Path, *, json: Annotated[bool, Parameter(negative="")] = False) -> int:
    """Show what the run folder RUN holds.

    Parameters
    ----------
    run
        Folder that `graphscore train` or `GraphGenerator.save` wrote.
    json
        Print it as JSON.
    """
    report(run, json=json)
    return 0


def report(run: Path, *, json: bool) -> None:
    """Show what a run folder holds."""
    from graphscore.training.checkpoint import read_document
    from graphscore.training.run_folder import RunFolder

    document = read_document(run)
    records = RunFolder(run).records()
    last = records[-1] if records else None
    sizes = [int(size) for size in document["sizes"]]
    steps = document["settings"]["training"]["steps"]
    record = {
        "run": str(run),
        "trained_on": document["training_graphs"]["source"],
        "graphs": document["training_graphs"]["graphs"],
        "nodes": [min(sizes), max(sizes)],
        "step": document["step"],
        "steps": steps,
        "finished": document["step"] >= steps,
        "loss": last["loss"] if last else None,
        "loss_summed": last["summed"] if last else None,
        "loss_per_pair": last["per_pair"] if last else None,
        "seconds": document["seconds"],
        "made_with": document["made_with"],
        "settings": document["settings"],
        "files": sorted(path.name for path in run.iterdir() if not path.name.startswith(".")),
    }
    if json:
        print_json(record)
        return
    loss = ""
    if last is not None:
        loss = (
            f"{last['loss']:.2f} (summed over levels, as in the paper's tables: "
            f"{last['summed']:.1f}; per pair: {last['per_pair']:.3f})"
        )
    made = ", ".join(f"{name} {version}" for name, version in document["made_with"].items())
    rows = [
        ["trained on", f"{record['trained_on']}, {record['graphs']} graphs"],
        ["nodes", f"{min(sizes)} to {max(sizes)}"],
        ["steps", f"{document['step']} of {steps}"],
        ["loss (equation 3)", loss],
        ["training time", f"{document['seconds']:.0f} s"],
        ["made with", made],
        ["files", ", ".join(record["files"])],
        *[
            [name, ", ".join(f"{key} {_short(value)}" for key, value in part.items())]
            for name, part in document["settings"].items()
            if isinstance(part, dict)
        ],
        ["seed", str(document["settings"]["seed"])],
    ]
    print_table(str(run), ["", ""], rows, text=2)


def _short(value: Any) -> str:
    return " ".join(str(item) for item in value) if isinstance(value, list) else str(value)
