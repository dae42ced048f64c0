"""Write docs/results.md, its figures and the table of README.md from the records in results/.

Numbers in the docs are never typed: they come from these records, and the text around them from
`reproduce/templates`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from graphscore.atomic import write_file
from reproduce.experiment import find_experiment
from reproduce.experiments.denoiser_plans import MEASURES, value_text
from reproduce.experiments.molecule_report import MEASURES as MEASURED
from reproduce.pages import fill
from reproduce.records import read_record
from reproduce.tables import Table, percent, summary
from reproduce.titles import TITLES

BEGIN, END = "<!-- from results/, by python -m reproduce render -->\n", "<!-- until here -->\n"
Record = dict[str, Any]


def render_docs(root: Path) -> None:
    """Write the results page, its figures and README's table below the repository `root`."""
    results, docs, readme = root / "results", root / "docs", root / "README.md"
    found = {name: read_record(results, name, "full") for name in TITLES}
    records = {name: record for name, record in found.items() if record is not None}
    demo, metrics = (
        json.loads((results / f"{name}.json").read_text()) for name in ("demo", "benchmark_metrics")
    )
    page = fill(
        "results.md",
        sections=[find_experiment(name).markdown(record) for name, record in records.items()],
        demo=demo,
        demo_table=_demo_table(demo),
        metrics=metrics,
        metrics_table=_metrics_table(metrics),
    )
    write_file(docs / "results.md", page.encode())
    if benchmark := records.get("denoiser-benchmark"):
        table = readme_table(benchmark, records.get("molecules"))
        write_file(readme, with_table(readme.read_text(), table).encode())
    for name, record in records.items():
        find_experiment(name).pictures(record, docs / "images")


def readme_table(benchmark: Record, molecules: Record | None = None) -> str:
    """The results of the denoiser in a few lines."""
    rows = []
    for result in benchmark["results"]:
        best, measure = result["test_result"], result["measure"]
        rows.append(
            {
                "dataset": result["dataset"],
                "measure": MEASURES[measure],
                "value": value_text(result["value"], measure),
                "valid": percent(best["vun"]["valid"], 1) if "vun" in best else "–",
                "published": result["published"],
                "calls": best["network_calls"],
                "minutes": best["training_seconds"] / 60,
            }
        )
    for result in molecules["results"] if molecules else ():
        seeds = result["per_seed"]
        fcd, valid = (summary([MEASURED[name](one) for one in seeds]) for name in ("fcd", "valid"))
        rows.append(
            {
                "dataset": result["dataset"],
                "measure": "FCD of valid molecules",
                "value": f"{fcd['mean']:.3f} ({valid['mean']:.2%} valid)",
                "published": result["published"],
                "calls": seeds[0]["calls"],
                "minutes": seeds[0]["training_seconds"] / 60,
            }
        )
    return fill("readme.md", rows=rows)


def with_table(readme: str, table: str) -> str:
    """Put the table between its marks."""
    before, rest = readme.split(BEGIN)
    return f"{before}{BEGIN}\n{table}\n{END}{rest.split(END, 1)[1]}"


def _demo_table(demo: Record) -> Table:
    rows = []
    for name, part in demo["metrics"].items():
        values = [part[key] for key in ("degree", "clustering", "orbit")]
        distances = [f"{value:.4f}" for value in (*values, sum(values) / 3)]
        shares = [percent(part["uniqueness"]), percent(part["novelty"])]
        rows.append([name, f"{part['sample_count']}", *distances, *shares])
    columns = ["community-small", "graphs", "degree", "clustering", "orbit", "average"]
    return Table("The demo", [*columns, "unique", "novel"], rows)


def _metrics_table(metrics: Record) -> Table:
    rows = [[row["case"], f"{row['median_s'] * 1e3:.0f}"] for row in metrics["results"]]
    return Table("Speed of the metrics", ["", "median ms"], rows)
