"""Write docs/results.md and its pictures from what is in results/.

    python scripts/render_results.py

Numbers in the docs are never typed: they come from these files, each written by the command that
its section names. Experiments (`graphscore reproduce NAME`) render themselves; where one is there,
it replaces what the older benchmark told about the same datasets.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from graphscore import load_dataset, read_graphs
from graphscore.atomic import write_file
from graphscore.experiments import TITLES, find_experiment
from graphscore.plots import draw_comparison

ROOT = Path(__file__).resolve().parents[1]
RESULTS, DOCS = ROOT / "results", ROOT / "docs"

# Niu et al. 2020, Table 2, rows "EDP-GNN" and "EDP-GNN (1024)".
PUBLISHED = {
    "community-small-released": ((0.053, 0.144, 0.026), (0.006, 0.127, 0.018)),
    "ego-small": ((0.052, 0.093, 0.007), (0.010, 0.025, 0.003)),
}
PUBLISHED_LOSS = {"community-small-released": 98, "ego-small": 10}


def read(name: str) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((RESULTS / name).read_text())
    return record


def distances(result: dict[str, Any]) -> str:
    values = [result["degree"], result["clustering"], result["orbit"]]
    return " | ".join(f"{value:.4f}" for value in [*values, sum(values) / 3])


def published(values: tuple[float, float, float]) -> str:
    return " | ".join(f"{value:.3f}" for value in [*values, sum(values) / 3])


def share(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"


def experiments() -> dict[str, dict[str, Any]]:
    """Records of the experiments that were run at full scale, in the order of the list."""
    return {name: read(f"{name}.json") for name in TITLES if (RESULTS / f"{name}.json").exists()}


def quality(covered: set[str], pictures: bool) -> str:
    """Quality of the default model on datasets that no experiment covers."""
    record = read("quality.json")
    results = [result for result in record["results"] if result["dataset"] not in covered]
    if not results:
        return ""
    made = record["provenance"]
    head = (
        "\n## Quality of the default model\n\n"
        "Default settings, one seed. The Langevin settings were chosen on validation graphs. "
        "Learning rate, gradient clipping and width were chosen with test losses and some test "
        "MMDs of community-small, community-small-released and ego-small in view, so those rows "
        "are not blind. MMD against the test graphs, smaller is better; the floor is the training "
        "set against the same test graphs.\n\n"
        f"`python benchmarks/quality.py NAMES --device cuda --json results/quality.json`, "
        f"{made['device']}, torch {made['torch']}, commit {made['commit']}, {made['date']} "
        f"({made.get('note', '')}).\n\n"
        "| dataset | graphs | degree | clustering | orbit | average | unique | novel |\n"
        "|---|---|---|---|---|---|---|---|\n"
    )
    rows = []
    for result in results:
        name = result["dataset"]
        few_published, many_published = PUBLISHED.get(name, (None, None))
        for label, key, paper in (
            ("samples", "samples", many_published),
            ("samples", "test_size_samples", few_published),
            ("floor", "floor", None),
        ):
            part = result[key]
            rows.append(
                f"| {name}, {label} | {part['sample_count']} | {distances(part)} | "
                f"{share(part['uniqueness'])} | {share(part['novelty'])} |"
            )
            if paper is not None:
                rows.append(
                    f"| {name}, published | {part['sample_count']} | {published(paper)} | | |"
                )
    training = [
        "\n\nThe published column is the training loss of the paper's Table 3, summed over "
        "levels.\n\n| dataset | loss (equation 3) | summed over levels | published | per pair "
        "| training | 1024 samples |",
        "|---|---|---|---|---|---|---|",
        *(
            f"| {r['dataset']} | {r['loss']:.2f} | {r['loss_summed']:.1f} "
            f"| {PUBLISHED_LOSS.get(r['dataset'], '–')} | {r['loss_per_pair']:.3f} "
            f"| {r['training_seconds']:.0f} s | {r['sampling_seconds']:.0f} s |"
            for r in results
        ),
    ]
    note = (
        "\n\nThe published rows for Community-small used other files of the same distribution "
        "(see [data](data.md)). Test-size samples are one draw; the small counts make them vary.\n"
    )
    shown = (
        "\n![Training graphs and samples of Community-small and Ego-small](images/samples.png)\n"
        "\n![Training graphs and samples of Lobster](images/samples_lobster.png)\n"
    )
    return head + "\n".join(rows) + "\n".join(training) + note + (shown if pictures else "")


def demo() -> str:
    record = read("demo.json")
    result, made = record["metrics"], record["provenance"]
    rows = [
        f"| {name} | {part['sample_count']} | {distances(part)} | {share(part['uniqueness'])} | "
        f"{share(part['novelty'])} |"
        for name, part in result.items()
    ]
    return (
        "\n## The demo\n\n"
        f"`make demo` on {made['processor']}, {made['threads']} cores: training "
        f"{made['training_seconds']:.0f} s, {made['seconds']:.0f} s in all, one seed. Its sampler "
        "was chosen on fresh graphs of the same generator.\n\n"
        "| community-small | graphs | degree | clustering | orbit | average | unique | novel |\n"
        "|---|---|---|---|---|---|---|---|\n" + "\n".join(rows) + "\n"
    )


def metric_speed() -> str:
    record = read("benchmark_metrics.json")
    made = record["provenance"]
    rows = [f"| {row['case']} | {row['median_s'] * 1e3:.0f} |" for row in record["results"]]
    return (
        "\n## Speed of the metrics\n\n"
        f"`python benchmarks/bench_metrics.py`, conversion from networkx included; "
        f"{made['processor']}, {made['threads']} threads.\n\n"
        "| | median ms |\n|---|---|\n" + "\n".join(rows) + "\n"
    )


def pictures() -> None:
    community, ego = load_dataset("community-small"), load_dataset("ego-small")
    samples = {
        name: read_graphs(RESULTS / "samples" / f"{name}.g6")
        for name in ("community-small", "ego-small", "lobster")
    }
    draw_comparison(
        {
            "Community-small: training graphs": community.train,
            "Community-small: samples": samples["community-small"],
            "Ego-small: training graphs": ego.train,
            "Ego-small: samples": samples["ego-small"],
        },
        DOCS / "images" / "samples.png",
        columns=3,
        rows=3,
    )
    draw_comparison(
        {
            "Lobster: training graphs": load_dataset("lobster").train,
            "Lobster: samples": samples["lobster"],
        },
        DOCS / "images" / "samples_lobster.png",
        columns=5,
        rows=3,
    )


def main() -> None:
    records = experiments()
    generated = records.get("generation", {"results": []})["results"]
    covered = {result["dataset"] for result in generated}
    parts = [
        "# Results\n\nGenerated by `scripts/render_results.py` from `results/`; do not edit. Speed "
        "and memory: [performance.md](performance.md).\n",
        *("\n" + find_experiment(name).markdown(record) for name, record in records.items()),
        quality(covered, pictures="samples" not in records),
        demo(),
        metric_speed(),
    ]
    write_file(DOCS / "results.md", "".join(parts).encode())
    for name, record in records.items():
        find_experiment(name).pictures(record, DOCS / "images")
    if "samples" not in records:
        pictures()


if __name__ == "__main__":
    main()
