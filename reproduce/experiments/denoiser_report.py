"""Tables and figures of the denoiser benchmark, and the facts of its page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from graphscore.plots import draw_comparison
from reproduce.context import Record
from reproduce.experiments.denoiser_plans import MEASURES, NAME, measured, reaches, value_text
from reproduce.graph_texts import from_texts
from reproduce.plots.quality import QualityCurve, draw_quality
from reproduce.tables import Table, percent

DISTANCES = ("degree", "clustering", "orbit", "spectrum", "average")
SAMPLERS = {"heun": "Heun", "ancestral": "ancestral", "renoising": "ancestral"}
"""Names of samplers in tables; "renoising" is what older records call ancestral sampling."""
CURVES = {
    "heun": "Heun",
    "late": "ancestral, late start",
    "late-heun": "Heun, late start",
    "langevin": "EDP-GNN, Langevin",
}
"""Names of curves."""
SMALL = ("community-small-released", "ego-small", "lobster")
"""Sets of the paper; the samples of the others are drawn."""


def tables(record: Record) -> list[Table]:
    return [_results(record), _details(record)]


def _results(record: Record) -> Table:
    rows = []
    for result in record["results"]:
        best, measure = result["test_result"], result["measure"]
        guidance = best.get("guidance")
        guided = f", guided with weight {guidance['weight']:g}" if guidance else ""
        rows.append(
            [
                result["dataset"],
                MEASURES[measure],
                value_text(result["value"], measure),
                value_text(result["target"], measure),
                "yes" if result["reached"] else "no",
                f"{SAMPLERS[best['sampling']['kind']]}{guided}, {best['network_calls']} calls",
                f"{best['parameters']}",
                f"{best['training_seconds']:.0f} s",
                result["published"],
            ]
        )
    columns = ["set", "measure", "graphscore", "target", "reached", "sampler", "parameters"]
    return Table("Test results", [*columns, "training", "published"], rows, text=2)


def _details(record: Record) -> Table:
    rows = []
    for result in record["results"]:
        name, best = result["dataset"], result["test_result"]
        for part in (best, result["alternative"]):
            if part is not None:
                whose = "samples, guided" if part.get("guidance") else "samples"
                rows.append(_detail(name, whose, part))
        if unseen := best.get("unseen_communities"):
            rows.append(_detail(name, "samples, unseen communities", unseen))
        if result["ground_truth"] is not None:
            rows.append(_detail(name, "fresh graphs", result["ground_truth"]))
        if null := result.get("erdos_renyi"):
            rows.append(_detail(name, "Erdős–Rényi", null))
        rows.append(_detail(name, "training set", {"mmd": best["floor"]}))
    columns = ["", "graphs", *DISTANCES, "ratio", "unique", "novel", "valid", "V.U.N."]
    return Table("Against the test graphs", columns, rows)


def _detail(name: str, whose: str, part: Record) -> list[str]:
    mmd, shares = part["mmd"], part.get("vun")
    ratio = part.get("ratio", {}).get("average")
    # Rounded first, so that no "-0.0000" is shown.
    distances = [None if mmd.get(d) is None else round(mmd[d], 4) + 0.0 for d in DISTANCES]
    return [
        f"{name}, {whose}",
        f"{mmd['sample_count']}",
        *("–" if distance is None else f"{distance:.4f}" for distance in distances),
        "–" if ratio is None else f"{ratio:.2f}",
        percent(mmd["uniqueness"]),
        percent(mmd["novelty"]),
        "–" if shares is None else percent(shares["valid"], 1),
        "–"
        if shares is None
        else f"{shares['vun']:.1%} [{shares['vun_low']:.1%}, {shares['vun_high']:.1%}]",
    ]


def pictures(record: Record, out: Path) -> list[Path]:
    if not record["results"]:
        return []
    made = [
        _quality(record, out / f"{NAME}_calls.png", "by_network_calls", "calls", "network calls"),
        _quality(
            record, out / f"{NAME}_training.png", "by_training_time", "seconds", "training seconds"
        ),
    ]
    for name, best in _drawn(record).items():
        made.append(out / f"{NAME}_{name}.png")
        groups = {
            f"{name}: training graphs": from_texts(best["training_graphs"]),
            f"{name}: samples": from_texts(best["sampled_graphs"]),
        }
        draw_comparison(groups, made[-1])
    return made


def _quality(record: Record, file: Path, curves: str, cost: str, axis: str) -> Path:
    """Draw quality against a cost, one panel for each set."""
    panels = {}
    for result in record["results"]:
        by_label: dict[str, list[Record]] = {}
        for point in result[curves]:
            by_label.setdefault(point.get("sampler", ""), []).append(point)
        panels[result["dataset"]] = [
            QualityCurve(
                CURVES.get(label, ""), [p[cost] for p in points], [p["value"] for p in points]
            )
            for label, points in by_label.items()
        ]
    measures = {r["dataset"]: MEASURES[r["measure"]] for r in record["results"]}
    targets = {r["dataset"]: r["target"] for r in record["results"]}
    draw_quality(panels, file, along=axis, measures=measures, targets=targets)
    return file


def _drawn(record: Record) -> dict[str, Record]:
    results = {result["dataset"]: result["test_result"] for result in record["results"]}
    return {name: result for name, result in results.items() if name not in SMALL}


# ---------------------------------------------------------------------- facts of the page


def facts(record: Record) -> dict[str, Any]:
    rows = {result["dataset"]: _facts_of(record, result) for result in record["results"]}
    missing = record.get("missing", [])
    langevin = {
        name: plan["training"]["steps"]
        for name, plan in record["settings"]["langevin"].items()
        if f"{name}_langevin" not in missing and name in rows
    }
    return {"sets": rows, "langevin": langevin, "drawn": list(_drawn(record))}


def _facts_of(record: Record, result: Record) -> Record:
    """What the page says about one set, as text."""
    name, measure, best = result["dataset"], result["measure"], result["test_result"]
    results = [part for part in (best, result["alternative"]) if part is not None]
    by_guide = {bool(part.get("guidance")): part for part in results}
    truth = result["ground_truth"]
    at_truth = None if truth is None else measured(truth, measure)

    def text(value: float) -> str:
        return value_text(value, measure)

    found: Record = {
        "value": text(result["value"]),
        "target": text(result["target"]),
        "reached": result["reached"],
        "truth": None if at_truth is None else text(at_truth),
        "truth_reaches": at_truth is None or reaches(at_truth, result["target"], measure),
        "trials": sum(len(part["trials"]) for part in results),
        "valid": percent(best["vun"]["valid"], 1) if "vun" in best else None,
        "guide": None,
        "communities": None,
    }
    if len(by_guide) > 1:
        guided, alone = by_guide[True], by_guide[False]
        found["guide"] = {
            **guided["guidance"],
            "plan": record["settings"]["guides"][name],
            "seconds": f"{guided['guide_seconds']:.0f}",
            "on_cpu": guided.get("guide_device") == "cpu",
            "guided": f"{text(measured(guided, measure))} in {guided['network_calls']} calls",
            "alone": f"{text(measured(alone, measure))} in {alone['network_calls']} calls",
        }
    if unseen := best.get("unseen_communities"):
        plain = record["settings"]["plans"][name]["dataset"]
        values = {row["dataset"]: row["value"] for row in record["results"]}
        found["communities"] = {
            "dataset": plain,
            "unseen": text(measured(unseen, measure)),
            "without": text(values[plain]) if plain in values else None,
        }
    return found
