"""Pictures of samples show what the model learned of nodes and edges."""

from __future__ import annotations

import sys

import networkx as nx
import pytest

from graphscore.errors import MissingExtraError
from graphscore.generator import GraphGenerator
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
