"""`--ignore-weights` and `--weight-threshold`, wherever graphs are read."""

from __future__ import annotations

import json

import networkx as nx
import pytest

from graphscore.graphs import read_graphs, write_graphs

KARATE = nx.karate_club_graph()


@pytest.fixture
def karate(place):
    write_graphs(place / "karate.json", KARATE)
    return place


def test_the_refusal_names_them(karate, refused):
    words = ("--edge-weight weight", "--ignore-weights", "--weight-threshold", "edge_weight=")
    refused(["train", "karate.json", "--out", "r"], "non-binary weight 4", *words)


@pytest.mark.parametrize(
    ("options", "edges", "said"),
    [
        (["--ignore-weights"], 78, ["weights ignored in 1 of 1"]),
        (["--weight-threshold", 3], 48, ["weights ignored", "below the weight threshold dropped"]),
    ],
)
def test_training_and_evaluation(karate, call, options, edges, said):
    shown = call(
        *("train", "karate.json", "--out", "r", "--model", "erdos-renyi", *options, "--json"),
    )
    assert shown.code == 0
    assert all(words in shown.err for words in said)
    plain = nx.Graph([ends for *ends, w in KARATE.edges(data="weight") if w >= 3 or edges == 78])
    plain.add_nodes_from(KARATE)
    write_graphs(karate / "plain.json", plain)
    options = [*options, "--json", "--keep-isolated"]
    shown = call("evaluate", "karate.json", "-r", "plain.json", *options)
    assert json.loads(shown.out)["samples"]["average"] == 0
    assert "weights of edges are not compared" not in shown.err
    assert read_graphs("plain.json")[0].number_of_edges() == edges


def test_weights_of_a_data_set_that_is_learned_with_them(place, call):
    shown = call("train", "weighted-community", "--out", "r", "--steps", 1, "--ignore-weights")
    assert shown.code == 0
    assert "weights ignored in 128 of 128 graphs" in shown.err
    assert "learned too" not in shown.err


@pytest.mark.parametrize("options", [["--ignore-weights"], ["--weight-threshold", "2"]])
def test_learning_what_is_dropped_is_refused(karate, refused, options):
    arguments = ["train", "karate.json", "--out", "r", "--edge-weight", "weight"]
    refused([*arguments, *options], "asked for, and weights are to be dropped", options[0])


def test_molecules_without_bonds(place, call):
    pytest.importorskip("rdkit")
    (place / "m.smi").write_text("C\nO\nN\n")
    shown = call("train", "m.smi", "--out", "r")
    assert shown.code == 2
    assert "no graph has edges" in shown.err
    assert "--node-type element" in shown.err
    shown = call("train", "m.smi", "--out", "r", "--node-type", "element", "--steps", 1)
    assert shown.code == 0
