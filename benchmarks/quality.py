"""Train the default model on datasets and judge its samples beside the floor.

    python benchmarks/quality.py community-small ego-small --json results/quality.json

Default settings, one seed; the sampler settings are the defaults too.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from graphscore import GraphGenerator, evaluate, load_dataset, write_graphs
from graphscore.atomic import write_file
from graphscore.provenance import provenance

MANY = 1024


def judge(name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    data = load_dataset(name, data_dir=arguments.data_dir)
    generator = GraphGenerator(
        seed=arguments.seed, training={"steps": arguments.steps}, device=arguments.device
    )
    records: list[dict[str, Any]] = []
    run = None if arguments.runs is None else arguments.runs / name
    generator.fit(data.train, run=run, source=name, on_record=lambda r: records.append(r.to_dict()))
    started = time.perf_counter()
    many = generator.sample(MANY, seed=arguments.seed)
    seconds = time.perf_counter() - started
    few = generator.sample(len(data.test), seed=arguments.seed + 1)
    write_graphs(arguments.json.parent / "samples" / f"{name}.g6", many[:64])
    return {
        "dataset": name,
        "dataset_seed": data.info.standard_seed if data.info.seeded else None,
        "graphs": {"train": len(data.train), "test": len(data.test)},
        "settings": generator.settings.model_dump(mode="json"),
        "loss": records[-1]["loss"],
        "loss_summed": records[-1]["summed"],
        "loss_per_pair": records[-1]["per_pair"],
        "training_seconds": records[-1]["seconds"],
        "sampling_seconds": seconds,
        "samples": evaluate(many, data.test, training=data.train).to_dict(),
        "test_size_samples": evaluate(few, data.test, training=data.train).to_dict(),
        "floor": evaluate(data.train, data.test).to_dict(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--runs", type=Path, help="keep run folders here")
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--note", default="", help="anything else to know about this run")
    arguments = parser.parse_args()
    rows = [judge(name, arguments) for name in arguments.datasets]
    made = provenance(arguments.device) | {"note": arguments.note}
    record = {"provenance": made, "results": rows}
    write_file(arguments.json, (json.dumps(record, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
