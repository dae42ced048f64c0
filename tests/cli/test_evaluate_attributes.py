"""`graphscore evaluate` with attributes: rows, JSON, what is not compared, refusals."""

from __future__ import annotations

import json
import random

import networkx as nx
import pytest

from graphscore.graphs import write_graphs
from graphscore.metrics import evaluate, is_tree, vun

ROWS = ["node_types", "edge_types", "typed_degree", "edge_weights", "node_feature_charge"]
OPTIONS = (
    *("--node-type", "element", "--edge-type", "bond"),
    *("--edge-weight", "weight", "--node-features", "charge"),
)
NAMES = {
    "node_type": "element",
    "edge_type": "bond",
    "edge_weight": "weight",
    "node_features": ["charge"],
}


def molecules(seed, count=6):
    source = random.Random(seed)
    graphs = [
        nx.random_labeled_tree(source.randint(3, 6), seed=source.randint(0, 999))
        for _ in "a" * count
    ]
    for graph in graphs:
        for _, data in graph.nodes(data=True):
            data.update(element=source.choice("CN"), charge=source.gauss(0, 1))
        for *_, data in graph.edges(data=True):
            data.update(bond=source.choice(["single", "double"]), weight=source.random())
    return graphs


SAMPLES, TEST, TRAINING = molecules(0), molecules(1), molecules(2) + molecules(0)[:2]
LISTS = ("samples", "--reference", "test", "--training", "training")


@pytest.fixture
def files(place):
    for name, graphs in (("samples", SAMPLES), ("test", TEST), ("training", TRAINING)):
        write_graphs(place / name, graphs, format="graphml")
    return place


def test_json_is_what_evaluate_returns(files, call):
    shown = call("evaluate", *LISTS, *OPTIONS, "--valid", "tree", "--json")
    assert (shown.code, shown.err) == (0, "")
    record = json.loads(shown.out)
    expected = {
        "samples": evaluate(SAMPLES, TEST, training=TRAINING, **NAMES),
        "training set": evaluate(TRAINING, TEST, **NAMES),
    }
    for name, result in expected.items():
        assert {**record[name], "seconds": 0} == {
            **json.loads(json.dumps(result.to_dict())),
            "seconds": 0,
        }
        assert record[name]["average"] == pytest.approx(
            sum(record[name][row] for row in ("degree", "clustering", "orbit")) / 3
        )
    assert record["samples"]["attributes"] == NAMES
    assert record["samples"]["novelty"] == pytest.approx(4 / 6)
    shares = vun(SAMPLES, TRAINING, is_tree, node_type="element", edge_type="bond")
    assert (record["vun"]["unique"], record["vun"]["novel"]) == (shares.unique, shares.novel)
    assert shares.novel > vun(SAMPLES, TRAINING, is_tree).novel


def test_the_table_has_both_averages(files, call):
    shown = call("evaluate", *LISTS, *OPTIONS)
    (heading,) = (line for line in shown.out.splitlines() if "degree" in line)
    cells = [cell.strip() for cell in heading.split("┃")[1:-1]]
    structures = ["degree", "clustering", "orbit", "average"]
    assert cells == ["", "graphs", *structures, *ROWS, "average_of_all", "unique", "novel"]


def test_what_is_not_compared_is_said_once(files, call):
    shown = call("evaluate", *LISTS, "--json")
    assert shown.code == 0
    assert shown.err.splitlines() == [
        *(f"{name}: weights of edges are not compared" for name in ("samples", "test", "training")),
        "not compared: node attributes 'element' (2 values; to compare it, --node-type element), "
        "'charge' (more than 20 values); edge attribute 'bond' (to compare one, --edge-type or "
        "--edge-weight)",
    ]
    samples = json.loads(shown.out)["samples"]
    plain = evaluate(SAMPLES, TEST, training=TRAINING)
    assert samples == {**plain.to_dict(), "seconds": samples["seconds"]}
    some = call("evaluate", *LISTS, "--edge-weight", "weight", "--node-type", "element").err
    assert "weight" not in some.replace("--edge-weight", "")
    assert "element" not in some


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--node-type", "kind"], ["samples, graph 1, node 0: no attribute 'kind'", "element"]),
        (["--edge-type", "order"], ["samples, graph 1, edge (0, ", "no attribute 'order'"]),
        (["--node-type", "charge"], ["samples, graph 1", "Compare real", "--node-features"]),
        (["--edge-weight", "bond"], ["samples, graph 1", "compare it with --edge-type"]),
        (["--edge-type", "bond", "--edge-weight", "bond"], ["'bond' is named twice"]),
    ],
)
def test_what_makes_no_sense_is_refused(files, call, options, words):
    refused = call("evaluate", *LISTS, *options)
    assert (refused.code, refused.out) == (2, "")
    for word in words:
        assert word in refused.err


def test_graphs_of_a_file_without_attributes_are_refused(files, call):
    write_graphs("plain.g6", [nx.path_graph(3)])
    refused = call("evaluate", "samples", "-r", "plain.g6", "--edge-type", "bond")
    assert refused.code == 2
    assert "reference, graph 1, edge (0, 1): no attribute 'bond'" in refused.err
