"""Experiments of the size of a test, run once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from graphscore.experiments import find_experiment
from graphscore.experiments.context import Context, Record


@pytest.fixture
def context(tmp_path: Path) -> Callable[..., Context]:
    """Makes a context of tiny scale in the folder of this test."""

    def make(folder: str = "work", **changes: Any) -> Context:
        given = {"scale": "tiny", "seeds": 1, "device": "cpu", "show_progress": False, **changes}
        return Context(tmp_path / folder, **given)

    return make


@pytest.fixture(scope="session")
def record(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Record]:
    """Gives the record of an experiment; without Protein, whose files are not there."""
    made: dict[str, Record] = {}

    def of(name: str) -> Record:
        if name not in made:
            torch.set_num_threads(1)
            folder = tmp_path_factory.mktemp(name)
            with pytest.MonkeyPatch.context() as patch:
                _offline(patch, folder)
                seeds = 2 if name == "generation" else 1
                run = Context(folder, scale="tiny", seeds=seeds, device="cpu", show_progress=False)
                made[name] = find_experiment(name).run(run)
        return made[name]

    return of


def _offline(patch: pytest.MonkeyPatch, folder: Path) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise OSError("no network in tests")

    patch.setenv("GRAPHSCORE_DATA", str(folder / "nothing"))
    patch.setattr("urllib.request.urlopen", refuse)
    patch.setattr("graphscore.experiments.samples.SHOWN", 2)
