"""Reasons of invalid samples: one is counted for each graph, and the record renders."""

from __future__ import annotations

import json

import networkx as nx
import pytest

from graphscore.artifacts import pretrained_folder
from graphscore.errors import OutputError
from reproduce.context import Context
from reproduce.experiments.invalid_reasons import EXPERIMENT, check


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    # Without samples of Planar, so that it has no row.
    keys = ["planar_fresh", "tree_samples", "tree_fresh", "sbm_samples", "sbm_alone", "sbm_fresh"]
    keys.append("sbm-communities_samples")
    folder = tmp_path_factory.mktemp("invalid-reasons")
    context = Context(folder, "tiny", seeds=1, device="cpu", show_progress=False)
    parts = EXPERIMENT.run_parts(context, keys)
    return {
        "experiment": "invalid-reasons",
        "scale": "tiny",
        "seeds": [0],
        "settings": EXPERIMENT.settings(context),
        "provenance": context.provenance(),
        "results": EXPERIMENT.assemble(context, parts),
    }


def test_models_and_fresh_graphs_have_the_same_check(record):
    rows = {
        (row["dataset"], kind): checked
        for row in record["results"]
        for kind, checked in row["checked"].items()
    }
    for row in rows.values():
        assert row["valid"] * row["number"] + sum(row["invalid_reasons"].values()) == row["number"]
        assert row["valid_low"] <= row["valid"] <= row["valid_high"]
    assert rows["tree", "fresh"]["valid"] == 1.0
    assert rows["tree", "samples"]["network_calls"] == 3  # two steps of Heun's method
    assert [rows["sbm", kind]["network_calls"] for kind in ("samples", "alone")] == [4, 2]
    sizes = rows["sbm", "fresh"]["block_sizes"]
    assert all(20 <= int(size) <= 40 for size in sizes)
    assert json.loads(json.dumps(record))["results"]


def test_the_record_renders(record, tmp_path):
    (table,) = EXPERIMENT.tables(record)
    names = ["tree", "tree", "sbm", "sbm", "sbm", "sbm-communities"]
    assert [row[0] for row in table.rows] == names
    text = EXPERIMENT.markdown(json.loads(json.dumps(record)))
    assert "fresh true graphs 0.0% and 0.0%" in text
    assert "samples of sbm-communities" in text
    (picture,) = EXPERIMENT.pictures(json.loads(json.dumps(record)), tmp_path)
    assert picture.stat().st_size > 5000


def test_without_blocks_there_is_no_picture_of_them(record, tmp_path):
    trees = {**record, "results": record["results"][:1]}
    assert EXPERIMENT.pictures(trees, tmp_path) == []
    assert "Blocks" not in EXPERIMENT.markdown(trees)


def test_reasons_are_counted():
    trees = [nx.path_graph(4), nx.cycle_graph(4), nx.empty_graph(3), nx.cycle_graph(5)]
    checked = check("tree", trees)
    assert checked["invalid_reasons"] == {"with a cycle": 2, "not connected": 1}
    assert checked["valid"] == 0.25


def test_parts_of_a_model_that_was_shipped_again_are_refused(tmp_path, monkeypatch):
    context = Context(tmp_path, "tiny", seeds=1, device="cpu", show_progress=False)
    keys = ["tree_samples", "tree_fresh"]
    EXPERIMENT.run_parts(context, keys)
    # Planar stands in for the other model.
    monkeypatch.setattr(
        "reproduce.core.pretrained_folder", lambda name: pretrained_folder("planar")
    )
    assert EXPERIMENT.run_parts(context, keys[1:])
    with pytest.raises(OutputError, match=r"tree_samples.*other settings \(model, sampling\)"):
        EXPERIMENT.run_parts(context, keys[:1])


def test_all_parts_are_listed(tmp_path):
    context = Context(tmp_path, "full", seeds=3, device="cpu", show_progress=False)
    assert EXPERIMENT.keys(context) == [
        *("planar_samples", "planar_fresh", "tree_samples", "tree_fresh"),
        *("sbm_samples", "sbm_alone", "sbm_fresh", "sbm-communities_samples"),
    ]
    assert EXPERIMENT.settings(context)["number"] == 1024
