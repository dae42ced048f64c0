"""What is shown of the frontier experiment: tables, pictures and the section of the docs."""

from __future__ import annotations

from pathlib import Path

from graphscore.experiments.context import Record
from graphscore.experiments.frontier_plans import (
    LARGE_SETS,
    NAMES,
    measured,
    reaches,
    text_of,
)
from graphscore.experiments.graph_texts import graphs_of
from graphscore.experiments.tables import Table, made_by
from graphscore.plots import draw_comparison
from graphscore.plots.frontier import QualityCurve, draw_quality

DISTANCES = ("degree", "clustering", "orbit", "spectrum", "average")
LABELS = {
    "heun": "Heun",
    "late": "re-noising, late start",
    "late-heun": "Heun, late start",
    "langevin": "EDP-GNN, Langevin",
}
"""Names of curves."""


LIMITS = {
    "tree-spectre": (
        "Its verdict is the second one. The first took the best of twenty samplers on validation "
        "samples, which was the luckiest of them and worse on new ones. The four of the second "
        "have the fresh noise that was best in a look at more samples of validation. So many "
        "samples leave a percent or two open; more of the same model are counted "
        "[below](#why-samples-are-not-valid)."
    ),
    "sbm-spectre": (
        "Without its guide, distances are near those of fresh graphs; what is missed are hard "
        "limits: blocks with a node or two more or fewer than a true one can have, as [counts of "
        "faults](#why-samples-are-not-valid) show. Which block a node belongs to is decided where "
        "noise hides most of it, and there one node too many costs hardly any cross-entropy. The "
        "guide makes blocks fewer and larger, which degrees show: fewer are too small, and no "
        "fewer too large. A network of more than twice the depth, not judged to the end, had the "
        "same cross-entropy. Training harder, by Muon in larger batches, is worse: the training "
        "graphs are learned by heart, the cross-entropy falls on them and rises on fresh graphs."
    ),
    "grid": (
        "Nearly all of a sample is made of perfect squares, but sheets are folded, branched or in "
        "pieces: what is near is learned, the shape of the whole is not. A true grid under noise "
        "is recognised, but one with a few wrong edges, which sampling meets and training does "
        "not, is answered as if little of it were known. Wrong edges heal slowly, under little "
        "noise: many network calls and a late start help, longer training and a guide do not."
    ),
}
"""What samples show that are not as they should be."""


def tables(record: Record) -> list[Table]:
    return [_bars(record), _details(record)]


def _bars(record: Record) -> Table:
    rows = []
    for result in record["results"]:
        verdict, measure = result["verdict"], result["measure"]
        rows.append(
            [
                result["dataset"],
                NAMES[measure],
                text_of(result["value"], measure),
                text_of(result["target"], measure),
                "yes" if result["reached"] else "no",
                _sampler(verdict),
                f"{verdict['parameters']}",
                f"{verdict['training_seconds']:.0f} s",
                result["published"],
            ]
        )
    columns = ["set", "measure", "measured", "to reach", "reached", "sampler", "parameters"]
    return Table("Verdicts", [*columns, "training", "published"], rows, text=2)


def _sampler(verdict: Record) -> str:
    guidance = verdict.get("guidance")
    guided = f", guided by {guidance['weight']:g}" if guidance else ""
    return f"{verdict['sampling']['sampler']}{guided}, {verdict['network_calls']} calls"


def _details(record: Record) -> Table:
    rows = []
    for result in record["results"]:
        verdict, truth = result["verdict"], result["truth"]
        for part in (verdict, result["other"]):
            if part is not None:
                whose = "samples, guided" if part.get("guidance") else "samples"
                rows.append(_detail(result["dataset"], whose, part))
        if unseen := verdict.get("unseen"):
            rows.append(_detail(result["dataset"], "samples, unseen communities", unseen))
        if truth is not None:
            rows.append(_detail(result["dataset"], "fresh graphs", truth))
        rows.append(_detail(result["dataset"], "training set", {"mmd": verdict["floor"]}))
    columns = ["", "graphs", *DISTANCES, "ratio", "unique", "novel", "valid", "V.U.N."]
    return Table("Against the test graphs", columns, rows)


def _detail(name: str, whose: str, part: Record) -> list[str]:
    mmd, shares = part["mmd"], part.get("vun")
    ratio = part.get("ratio", {}).get("average")
    # Rounding first, since what is left of zero must not show a sign.
    distances = [None if mmd.get(d) is None else round(mmd[d], 4) + 0.0 for d in DISTANCES]
    return [
        f"{name}, {whose}",
        f"{mmd['sample_count']}",
        *("–" if distance is None else f"{distance:.4f}" for distance in distances),
        "–" if ratio is None else f"{ratio:.2f}",
        f"{mmd['uniqueness']:.0%}",
        "–" if mmd["novelty"] is None else f"{mmd['novelty']:.0%}",
        "–" if shares is None else f"{shares['valid']:.1%}",
        "–"
        if shares is None
        else f"{shares['vun']:.1%} [{shares['vun_low']:.1%}, {shares['vun_high']:.1%}]",
    ]


def pictures(record: Record, out: Path) -> list[Path]:
    made: list[Path] = []
    if not record["results"]:
        return made
    for file, field_name, ends in (
        ("frontier_calls.png", "against_calls", "calls"),
        ("frontier_training.png", "against_training", "seconds"),
    ):
        panels = {}
        for result in record["results"]:
            points = result[field_name]
            labels = list(dict.fromkeys(point.get("sampler", "") for point in points))
            panels[result["dataset"]] = [
                QualityCurve(
                    LABELS.get(label, ""),
                    [point[ends] for point in points if point.get("sampler", "") == label],
                    [point["value"] for point in points if point.get("sampler", "") == label],
                )
                for label in labels
            ]
        made.append(out / file)
        axis = "network calls" if ends == "calls" else "seconds of training"
        headings = {r["dataset"]: NAMES[r["measure"]] for r in record["results"]}
        targets = {r["dataset"]: r["target"] for r in record["results"]}
        draw_quality(panels, made[-1], along=axis, measures=headings, targets=targets)
    for name, verdict in _drawn(record).items():
        made.append(out / f"frontier_{name}.png")
        groups = {
            f"{name}: training graphs": graphs_of(verdict["training_graphs"]),
            f"{name}: samples": graphs_of(verdict["sampled_graphs"]),
        }
        draw_comparison(groups, made[-1])
    return made


def _drawn(record: Record) -> dict[str, Record]:
    """Verdicts on the sets whose samples are shown."""
    verdicts = {result["dataset"]: result["verdict"] for result in record["results"]}
    return {name: verdicts[name] for name in verdicts if name in LARGE_SETS}


def _out_of_reach(record: Record) -> list[str]:
    """What is to be said of targets that fresh graphs of the true generator miss too."""
    found = []
    for result in record["results"]:
        measure, target, truth = result["measure"], result["target"], result["truth"]
        if truth is None:
            continue
        value = measured(truth, measure)
        if not reaches(value, target, measure):
            found.append(
                f"Fresh graphs are at {text_of(value, measure)} on {result['dataset']}, so that "
                f"{text_of(target, measure)} is not a matter of the model: with few test graphs "
                "distances depend on which ones were drawn, and the target comes from another "
                "draw.\n"
            )
    return found


def _limits(record: Record) -> list[str]:
    """What was tried where a target is missed that fresh graphs reach, and what limits samples."""
    found = []
    for result in record["results"]:
        name, measure, truth = result["dataset"], result["measure"], result["truth"]
        target = result["target"]
        within = truth is None or reaches(measured(truth, measure), target, measure)
        said = LIMITS.get(name, "")
        if not result["reached"] and within:
            judged = [part for part in (result["verdict"], result["other"]) if part is not None]
            said = (
                f"**{name} does not reach {text_of(target, measure)}.** Its sampler is the best of "
                f"{sum(len(part['trials']) for part in judged)} on validation graphs (kind, fresh "
                f"noise, where to start{', guidance' if len(judged) > 1 else ''}); the curves show "
                f"what more network calls and longer training bring. {said}"
            )
        elif said:
            said = f"**On {name}.** {said}"
        if said:
            found.append(said + "\n")
    return found


def _guides(record: Record) -> list[str]:
    """How sets that were judged with a guide and without one are guided, and what that brings."""
    found = []
    for result in record["results"]:
        name, measure = result["dataset"], result["measure"]
        judged = [part for part in (result["verdict"], result["other"]) if part is not None]
        with_guide = {bool(part.get("guidance")): part for part in judged}
        if len(with_guide) < 2:
            continue
        guided, alone = with_guide[True], with_guide[False]
        plan, guidance = record["settings"]["guides"][name], guided["guidance"]
        values = [
            f"{text_of(measured(part, measure), measure)} in {part['network_calls']} calls"
            for part in (guided, alone)
        ]
        where = " on the CPU" if guided.get("guide_device") == "cpu" else ""
        found.append(
            f"On {name} a weaker model is trained too ({plan['network']['blocks']} blocks of "
            f"width {plan['network']['pair_width']}, {plan['training']['steps']} steps, "
            f"{guided['guide_seconds']:.0f} s{where}). Between sigma {guidance['sigma_min']:g} and "
            f"{guidance['sigma_max']:g} log-odds are moved away from its own by "
            f"{guidance['weight']:g} times the difference, a weight that validation graphs chose. "
            f"That gives {values[0]} instead of {values[1]}.\n"
        )
    return found


def _communities(record: Record) -> list[str]:
    """What telling a network the communities of graphs means, and what it brings."""
    found = []
    values = {result["dataset"]: result["value"] for result in record["results"]}
    for result in record["results"]:
        name, measure, verdict = result["dataset"], result["measure"], result["verdict"]
        if "unseen" not in verdict:
            continue
        plain = record["settings"]["plans"][name]["dataset"]
        beside = f" instead of {text_of(values[plain], measure)}" if plain in values else ""
        found.append(
            f"On {name} the network is told which nodes of {plain} belong together. The "
            "communities of every training graph are found in that graph alone, by least "
            "description length, and new graphs take number and sizes of theirs from a training "
            "graph with as many nodes, as numbers of nodes are drawn from training graphs "
            "everywhere here: sizes are copied and not learned, edges are learned. That gives "
            f"{text_of(result['value'], measure)}{beside}; with the communities of validation "
            "graphs, which training has not seen, "
            f"{text_of(measured(verdict['unseen'], measure), measure)}. Given its communities, a "
            "graph of this set has independent edges, for which the closed form is exact before "
            "any training: what the other row lacks are sizes of blocks.\n"
        )
    return found


def _langevin_trainings(record: Record) -> str:
    plans = record["settings"]["langevin"]
    missing = record.get("missing", [])
    steps = [
        f"{plan['training']['steps']} steps ({name})"
        for name, plan in plans.items()
        if f"{name}_langevin" not in missing
    ]
    if not steps:
        return ""
    return (
        f" EDP-GNN is trained for {', '.join(steps)}; its step size and noise scale are chosen for "
        "each length of its chains."
    )


def markdown(record: Record) -> str:
    bars, details = tables(record)
    parts = [
        "## Past the paper: the log-odds denoiser\n",
        made_by(record),
        "One model for each set, one seed. The sampler was chosen on validation graphs and on "
        "samples of its own; test graphs are seen by the verdict only. In the small sets and in "
        "Grid the validation graphs are part of the training graphs, as in the paper. MMDs of the "
        "small sets and of Grid with the Gaussian-EMD kernel, the others with Gaussian-TV; the "
        "ratio is the mean of the distances in units of the training set's; V.U.N. with its 95 % "
        "interval. Fresh graphs are new draws from the true generator, where it is known: what a "
        "perfect model would be measured at.\n",
        bars.markdown() + "\n",
        details.markdown() + "\n",
        *_guides(record),
        *_communities(record),
        *_out_of_reach(record),
        *_limits(record),
        "![Quality against network calls](images/frontier_calls.png)\n",
        "![Quality against training time](images/frontier_training.png)\n",
        "*Measured on validation graphs, against training time with Heun's method and much fresh "
        "noise; the verdict's sampler may be another. Dashed: what was to be reached by the "
        "verdict. Seconds are those of a GPU that other trainings may have shared."
        + _langevin_trainings(record)
        + "*\n",
        *(f"![{name}](images/frontier_{name}.png)\n" for name in _drawn(record)),
    ]
    return "\n".join(parts)
