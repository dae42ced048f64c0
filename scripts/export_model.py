"""Put a trained run into the package: averaged weights and card, nothing else; at most 5 MB.

    python -m reproduce table2
    work=results/work/table2
    python scripts/export_model.py $work/runs/ego-small_seed0 ego-small \
        --metrics $work/parts/ego-small_seed0.json

The metrics come from a file, never by hand: a part of an experiment, what `graphscore evaluate
--json` prints, the metrics.json of a demo, or a row of a results file (`--at results.0`). Sampling
settings that were chosen on validation graphs are taken from the same place, where they are there.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path
from typing import Any

from graphscore import GraphGenerator
from graphscore.artifacts.export import evaluations, export_model
from graphscore.errors import GraphscoreError
from graphscore.provenance import commit


def value_at(record: Any, path: str | None) -> Any:
    for key in path.split(".") if path else ():
        try:
            record = record[int(key)] if isinstance(record, list) else record[key]
        except (KeyError, IndexError, TypeError, ValueError):
            known = list(record) if isinstance(record, dict) else len(record)
            raise GraphscoreError(f"--at {path}: nothing at {key!r}; there is: {known}") from None
    return record


def main(tokens: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, help="folder of the trained run")
    parser.add_argument("name", help="of the model, usually its dataset's")
    parser.add_argument("--metrics", type=Path, required=True, help="JSON file with evaluations")
    parser.add_argument("--at", help="where in that file, for instance results.0")
    parser.add_argument("--sampling", type=json.loads, help="JSON: settings for sampling")
    parser.add_argument("--note", default="", help="anything else a user should know")
    parser.add_argument("--models", type=Path, help="another folder than the package's")
    parser.add_argument("--replace", action="store_true", help="over a model of the same name")
    parser.add_argument("--half", action="store_true", help="store half precision")
    parser.add_argument("--unfinished", action="store_true", help="though stopped before its end")
    given = parser.parse_args(tokens)
    try:
        record = json.loads(given.metrics.read_text(encoding="utf-8"))
        row = value_at(record, given.at)
        if given.at is None and isinstance(row, dict):
            row = row.get("result", row)  # of a part of an experiment
        made: dict[str, Any] = next(
            (part["provenance"] for part in (row, record) if "provenance" in part), {}
        )
        folder = export_model(
            given.run,
            given.name,
            metrics=evaluations(row),
            sampling=given.sampling or row.get("sampling"),
            provenance={
                "exported_from_commit": commit(),
                **{f"metrics_{name}": value for name, value in made.items()},
            },
            note=given.note,
            models=given.models,
            replace=given.replace,
            half=given.half,
            unfinished=given.unfinished,
        )
        try:
            model = GraphGenerator.load(folder, device="cpu", show_progress=False)
            sampler = model.sampler_settings()
            steps = "steps_per_level" if sampler and sampler.kind == "langevin" else "steps"
            model.sample(1, sampling=None if sampler is None else {steps: 1})
        except GraphscoreError:
            shutil.rmtree(folder)
            raise
    except (OSError, ValueError, GraphscoreError) as error:
        sys.exit(f"export_model: {error}")
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{folder}: {size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
