"""Experiments at the scale of tests, run once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from reproduce.context import Context, Record
from reproduce.experiment import find_experiment


@pytest.fixture
def context(tmp_path: Path) -> Callable[..., Context]:
    """Makes a context of scale tiny in the folder of this test."""

    def make(folder: str = "work", **changes: Any) -> Context:
        given = {"scale": "tiny", "seeds": 1, "device": "cpu", "show_progress": False, **changes}
        return Context(tmp_path / folder, **given)

    return make


@pytest.fixture(scope="session")
def record(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Record]:
    """Returns the record of an experiment; without Protein, whose files are missing."""
    made: dict[str, Record] = {}

    def of(name: str) -> Record:
        if name not in made:
            torch.set_num_threads(1)
            folder = tmp_path_factory.mktemp(name)
            with pytest.MonkeyPatch.context() as patch:
                go_offline(patch, folder)
                seeds = 2 if name == "table2" else 1
                run = Context(folder, scale="tiny", seeds=seeds, device="cpu", show_progress=False)
                made[name] = find_experiment(name).run(run)
        return made[name]

    return of


@pytest.fixture(scope="session")
def full_record() -> Record:
    """The committed record of the denoiser benchmark."""
    results = Path(__file__).resolve().parents[2] / "results"
    made: Record = json.loads((results / "denoiser-benchmark.json").read_text())
    return made


@pytest.fixture
def _offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    go_offline(monkeypatch, tmp_path)


def go_offline(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Make downloads fail, and no source files of datasets be found."""

    def refuse(*arguments: object, **options: object) -> None:
        raise OSError("no network in tests")

    patch.setenv("GRAPHSCORE_DATA", str(folder / "nothing"))
    patch.setattr("urllib.request.urlopen", refuse)
