"""A tiny trained run, and a folder of pretrained models that is not the package's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from graphscore.artifacts import registry
from graphscore.artifacts.document import MadeWith, ModelDocument, TrainingGraphs
from graphscore.generator import GraphGenerator

EVALUATION = {
    "degree": 0.01,
    "clustering": 0.02,
    "orbit": 0.03,
    "average": 0.02,
    "sample_count": 64,
    "uniqueness": 1.0,
    "novelty": 0.5,
}


def document_of(step: int, **learned: Any) -> ModelDocument:
    """Return the document of some model after `step` steps."""
    return ModelDocument(
        settings={"model": "erdos-renyi", "seed": 0},
        sizes={4: 1},
        learned=learned,
        training_graphs=TrainingGraphs(source="graphs", graphs=1, sha256="0" * 64),
        step=step,
        seconds=0.5,
        made_with=MadeWith.here("cpu"),
    )


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of 2 steps on three graphs."""
    folder = tmp_path_factory.mktemp("pretrained") / "run"
    generator = GraphGenerator(
        "edp-gnn",
        seed=3,
        network={"channels": [2], "message_steps": 1, "features": 4, "edge_width": 4},
        training={"steps": 2, "batch_size": 2, "log_every": 1},
        sampling={"steps_per_level": 1},
        device="cpu",
        show_progress=False,
    )
    graphs = [nx.path_graph(4), nx.cycle_graph(5), nx.star_graph(5)]
    generator.fit(graphs, run=folder, source="ego-small")
    return folder


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of models in place of the package's."""
    folder = tmp_path / "models"
    monkeypatch.setattr(registry, "MODELS", folder)
    return folder
