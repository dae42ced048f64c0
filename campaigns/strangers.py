"""Models of strangers: loaded, shown, sampled, trained on, saved over, each in its own process."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import networkx as nx

from campaigns.crafted_files import (
    file_attacks,
    missing_tensor_attacks,
    state_attacks,
    tensor_attacks,
    written_attacks,
)
from campaigns.crafted_models import Attack, Crafted, field_attacks, resource_attacks
from campaigns.outcome import Outcome, require_fork
from campaigns.process import in_a_process
from graphscore import GraphGenerator
from graphscore.artifacts.checkpoint import DOCUMENT
from graphscore.cli.main import main as command_line
from graphscore.errors import GraphscoreError
from graphscore.training.tensorboard import tensorboard_writer

HELP = "load crafted models with matching digests"
MOST_SECONDS = 60
MOST_BYTES = 200_000_000
"""Above what there was before, while a model is refused."""
TWO_CLIQUES = [
    nx.disjoint_union(nx.complete_graph(8), nx.complete_graph(7)),
    nx.disjoint_union(nx.complete_graph(9), nx.complete_graph(6)),
]
for _graph in TWO_CLIQUES:
    nx.set_node_attributes(_graph, {n: {"kind": "AB"[n % 2], "h": n / 9} for n in _graph})
    nx.set_edge_attributes(_graph, {e: {"bond": sum(e) % 3, "w": 1.5 + e[0]} for e in _graph.edges})
SMALL = {"blocks": 1, "pair_width": 8, "node_width": 4, "product_width": 4}
STEPS = {"training": {"steps": 2, "batch_size": 2}, "seed": 1}
KINDS: dict[str, dict[str, Any]] = {
    "denoiser": {"network": SMALL, "sampling": {"steps": 2}, **STEPS},
    "edp-gnn": {
        "model": "edp-gnn",
        "network": {"channels": [2], "message_steps": 1, "features": 4, "edge_width": 4},
        "sampling": {"steps_per_level": 1},
        **STEPS,
    },
    "erdos-renyi": {"model": "erdos-renyi"},
    "communities": {
        "network": {**SMALL, "communities": True},
        "sampling": {"kind": "ancestral", "steps": 2},
        **STEPS,
    },
    "attributes": {
        "network": SMALL,
        "sampling": {"steps": 2},
        "attributes": {
            "node_type": "kind",
            "edge_type": "bond",
            "edge_weight": "w",
            "node_features": ["h"],
        },
        **STEPS,
    },
    "edp-gnn attributes": {
        "model": "edp-gnn",
        "network": {"channels": [2], "message_steps": 1, "features": 4, "edge_width": 4},
        "sampling": {"steps_per_level": 1},
        "attributes": {"node_type": "kind", "edge_weight": "w", "node_features": ["h"]},
        **STEPS,
    },
    "guided": {"network": SMALL, "sampling": {"steps": 2}, **STEPS},
}
"""Settings of the models that are crafted."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the campaign."""
    parser.add_argument("--values", type=int, default=3, help="nasty values put in every field")
    parser.add_argument("--every", type=int, default=1, help="of all attacks, take every so many")


def run(given: argparse.Namespace) -> Outcome:
    """Craft models, try them, and say which ended otherwise than with a message or a model."""
    require_fork()
    started, failures = time.monotonic(), []
    rows: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        number = 0
        for kind in KINDS:
            model = Path(scratch) / kind
            _make(kind, model)
            # Once here, so that what is imported only when it is needed does not count.
            with contextlib.redirect_stdout(io.StringIO()):
                _use(model, kind, resumes=False)
            for attack in _attacks(model, given.values):
                number += 1
                if number % given.every:
                    continue
                folder = Path(scratch) / "place" / str(number)
                result = _try(attack, model, folder, resumes=_has_state(model))
                row = rows.setdefault(
                    f"{kind}: {attack.group}",
                    {"tried": 0, "accepted": 0, "failed": 0, "peak MB": 0},
                )
                row["tried"] += 1
                row["accepted"] += result.get("load") == "accepted"
                row["peak MB"] = max(row["peak MB"], result.get("peak", 0) // 1_000_000)
                wrong = _wrong(attack, result)
                if wrong:
                    row["failed"] += 1
                    failures.append(f"{kind}, {attack.group}: {attack.name}: {wrong}")
    tried = sum(row["tried"] for row in rows.values())
    seconds = time.monotonic() - started
    settings = {"nasty_values_per_field": given.values, "tried_is_one_attack_of": given.every}
    return Outcome("crafted models", tried, failures, seconds, rows, settings)


def _make(kind: str, folder: Path) -> None:
    """Train a model of a kind, for a step."""
    options: dict[str, Any] = {"device": "cpu", "show_progress": False}
    generator = GraphGenerator(**KINDS[kind], **options).fit(TWO_CLIQUES, run=folder, stop_at=1)
    if kind == "guided":
        shutil.rmtree(folder)
        guide = GraphGenerator(**{**KINDS[kind], "seed": 2}, **options).fit(TWO_CLIQUES, stop_at=1)
        generator.guided_by(guide).save(folder)


def _has_state(model: Path) -> bool:
    return (model / "log.jsonl").exists() and model.name != "erdos-renyi"


def _attacks(model: Path, values: int) -> Iterator[Attack]:
    body = json.loads((model / DOCUMENT).read_text(encoding="utf-8"))
    yield from field_attacks(body, values)
    yield from resource_attacks()
    yield from tensor_attacks()
    yield from file_attacks()
    if model.name != "erdos-renyi":
        yield from missing_tensor_attacks()
    if _has_state(model):
        yield from state_attacks()
        yield from written_attacks()


def _wrong(attack: Attack, result: dict[str, Any]) -> str:
    """Return what was wrong with an attempt, in words; nothing if it ended as it should."""
    if "error" in result:
        return str(result["error"])
    if attack.refused_by and result.get(attack.refused_by, "refused") == "accepted":
        return f"accepted by {attack.refused_by}"
    used = {way for way in result if way != "save" and result[way] == "accepted"}
    if not used and result["peak"] > MOST_BYTES:
        return f"refused with {result['peak'] // 1_000_000} MB"
    return ""


def _try(attack: Attack, model: Path, folder: Path, *, resumes: bool) -> dict[str, Any]:
    """Craft a model and use it in every way in a process of its own."""
    folder.parent.mkdir(exist_ok=True)
    crafted = Crafted(model, folder)
    attack.change(crafted)
    crafted.write()
    before = _beside(folder)
    try:
        result = in_a_process(
            lambda: {**_use(folder, model.name, resumes=resumes), **_save_over(folder)},
            MOST_SECONDS,
        )
        return result if _beside(folder) == before else {"error": "written outside of its folder"}
    finally:
        shutil.rmtree(folder.parent)


def _beside(folder: Path) -> dict[Path, bytes | None]:
    """What is beside a folder: files with their content, and folders."""
    others = [path for path in folder.parent.iterdir() if path != folder]
    found = [path for other in others for path in (other, *other.rglob("*"))]
    return {path: path.read_bytes() if path.is_file() else None for path in found}


def _save_over(folder: Path) -> dict[str, Any]:
    """Save a model of one's own over a crafted one, which is refused if that is a run."""
    own = GraphGenerator("erdos-renyi", device="cpu", show_progress=False).fit(TWO_CLIQUES)
    return {"save": _accepted(lambda: own.save(folder))}


def _use(folder: Path, kind: str, *, resumes: bool) -> dict[str, Any]:
    """Load, show, sample and continue a model; say what was accepted."""
    options: dict[str, Any] = {"device": "cpu", "show_progress": False}
    loaded: list[GraphGenerator] = []
    few = KINDS[kind].get("sampling")

    def resume() -> None:
        board = folder / "tensorboard"
        on_record = tensorboard_writer(board) if os.path.lexists(board) else None
        generator = GraphGenerator(**KINDS[kind], **options)
        generator.fit(TWO_CLIQUES, run=folder, resume=True, on_record=on_record)

    ways: dict[str, Callable[[], Any]] = {
        "load": lambda: loaded.append(GraphGenerator.load(folder, **options)),
        "info": lambda: command_line(["info", str(folder)]),
        "info as JSON": lambda: command_line(["info", "--json", str(folder)]),
        "sample": lambda: loaded[0].sample(1, seed=0, sampling=few, sizes=_sizes(loaded[0])),
        "resume": resume,
    }
    results: dict[str, Any] = {}
    for name, way in ways.items():
        possible = {"sample": bool(loaded), "resume": resumes}.get(name, True)
        results |= {name: _accepted(way)} if possible else {}
    return results


def _sizes(model: GraphGenerator) -> list[int] | None:
    """Ask for a small graph where the model's own are large: how long those take is not bounded."""
    return [9] if max(model.sizes.counts) > 1000 else None


def _accepted(way: Callable[[], Any]) -> str:
    try:
        way()
    except GraphscoreError:
        return "refused"
    except SystemExit as stopped:
        if stopped.code == 2:
            return "refused"
        if stopped.code not in (0, None):
            raise RuntimeError(f"exit code {stopped.code}") from None
    return "accepted"
