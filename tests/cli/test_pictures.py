"""Pictures of samples show what the model learned of nodes and edges."""

from __future__ import annotations

import re
import sys

import networkx as nx
import pytest
from tests.tiny_generator import make

from graphscore.datasets import load_dataset
from graphscore.errors import MissingExtraError
from graphscore.generator import GraphGenerator
from graphscore.graphs import read_graphs, write_graphs
from graphscore.graphs.molecules import rdkit

SMALL = {"blocks": 1, "pair_width": 4, "node_width": 4, "product_width": 2}


@pytest.fixture
def molecules(place):
    """A run of a model that was hardly trained on molecules."""
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: "C", 1: "N", 2: "O"}, "element")
    nx.set_edge_attributes(graph, {(0, 1): "single", (1, 2): "double"}, "bond")
    generator = GraphGenerator(
        network=SMALL,
        training={"steps": 1, "batch_size": 2},
        sampling={"steps": 2},
        device="cpu",
        show_progress=False,
    )
    generator.fit([graph] * 4, node_type="element", edge_type="bond", run=place / "molecules")
    return generator


def test_a_picture_shows_attributes(place, call, molecules):
    """Texts of an SVG are outlines with their text in a comment."""
    assert molecules.schema.names.node_type == "element"
    made = (
        "sample",
        "molecules",
        "--number",
        12,
        "--seed",
        0,
        "--out",
        "new",
        "--format",
        "graphml",
    )
    outcome = call(*made, "--picture", "new.svg")
    assert outcome.code == 0
    assert "drawn as other graphs" not in outcome.err
    try:
        rdkit()
    except MissingExtraError:
        pytest.skip("rdkit is not installed")
    picture = (place / "new.svg").read_text()
    assert "<!-- samples -->" in picture
    assert ("<!-- invalid -->" in picture) == ("<!-- element -->" in picture)


def test_what_molecules_need_is_said(place, call, molecules, monkeypatch):
    monkeypatch.setitem(sys.modules, "rdkit", None)
    outcome = call("sample", "molecules", "--number", 2, "--seed", 0, "--picture", "new.svg")
    assert outcome.code == 0
    (said,) = [line for line in outcome.err.splitlines() if "new.svg" in line]
    assert said.startswith("new.svg: molecules are drawn as other graphs.")
    assert "pip install 'graphscore[molecules]'" in said
    picture = (place / "new.svg").read_text()
    for text in ("element", "bond"):
        assert f"<!-- {text} -->" in picture


def drawn(place, call, *options):
    """Headings of the picture of two samples."""
    outcome = call("sample", *options, "--number", 2, "--out", "s.g6", "--picture", "s.svg")
    assert (outcome.code, outcome.err.count("warning")) == (0, 0)
    return re.findall(r"<!-- (samples|training graphs|communities) -->", _svg(place))


def _svg(place):
    return (place / "s.svg").read_text()


def test_training_graphs_are_drawn_beside_samples(place, call):
    """If they are still there as they were."""
    trained = call("train", "graphs.g6", "--out", "new", "--config", "tiny.toml", "--steps", 1)
    assert trained.code == 0
    assert drawn(place, call, "new") == ["training graphs", "samples"]
    write_graphs(place / "graphs.g6", [nx.path_graph(4)] * 4)
    assert drawn(place, call, "new") == ["samples"]
    (place / "graphs.g6").write_text("damaged")
    assert drawn(place, call, "new") == ["samples"]
    (place / "graphs.g6").unlink()
    assert drawn(place, call, "new") == ["samples"]


def test_training_graphs_are_read_as_they_were_for_training(place, call):
    """A dataset's training part, and weights where they were learned."""
    tiny = ("--config", "tiny.toml", "--steps", 1)
    assert call("train", "ego-small", "--out", "ego", *tiny).code == 0
    assert drawn(place, call, "ego") == ["training graphs", "samples"]
    graph = nx.Graph([(0, 1, {"weight": 1.5}), (1, 2, {"weight": 2.5})])
    write_graphs(place / "weighted.json", [graph] * 4)
    named = ("--edge-weight", "weight", "--out", "weighted")
    assert call("train", "weighted.json", *named, *tiny).code == 0
    assert drawn(place, call, "weighted") == ["training graphs", "samples"]


def test_files_that_a_saved_model_names_are_not_read(place, call):
    """It may be a stranger's. Datasets that are in the package are."""
    source = str(place / "graphs.g6")
    make().fit(read_graphs(source), source=source).save(place / "saved")
    assert drawn(place, call, "saved") == ["samples"]
    make().fit(load_dataset("ego-small").train, source="ego-small").save(place / "ego")
    assert drawn(place, call, "ego") == ["training graphs", "samples"]


def test_many_training_graphs_are_not_read_again(place, call, monkeypatch):
    monkeypatch.setattr("graphscore.cli.picture.MOST_TRAINING_GRAPHS", 3)
    assert call("train", "graphs.g6", "--out", "new", "--config", "tiny.toml").code == 0
    assert drawn(place, call, "new") == ["samples"]
