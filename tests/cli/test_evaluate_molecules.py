"""`graphscore evaluate --molecules`: the second table, JSON, refusals."""

from __future__ import annotations

import json
import sys

import networkx as nx
import pytest

from graphscore.graphs import write_graphs
from graphscore.metrics import evaluate_molecules

LISTS = ("samples.graphml", "-r", "test.graphml", "--training", "training.graphml")


def chain(*elements, bond="single"):
    graph = nx.path_graph(len(elements))
    nx.set_node_attributes(graph, dict(enumerate(elements)), "element")
    nx.set_edge_attributes(graph, bond, "bond")
    return graph


SAMPLES = [chain("C", "C", "O"), chain("O", "C", "C"), chain("C", "F", "C"), chain("C", "C", "N")]
TEST = [chain("C", "C", "C"), chain("C", "N"), chain("C", "O")]
TRAINING = [chain("N", "C", "C"), chain("C", "O", bond="double")]


@pytest.fixture
def files(place):
    for name, graphs in (("samples", SAMPLES), ("test", TEST), ("training", TRAINING)):
        write_graphs(place / f"{name}.graphml", graphs)
    return place


@pytest.fixture
def _installed():
    pytest.importorskip("rdkit")
    pytest.importorskip("fcd_torch")


@pytest.mark.usefixtures("files", "_installed")
def test_json_has_what_evaluate_molecules_returns(call):
    shown = call("evaluate", *LISTS, "--molecules", "--json")
    assert (shown.code, shown.err) == (0, "")
    record = json.loads(shown.out)
    expected = evaluate_molecules(SAMPLES, TEST, training=TRAINING)
    found = record["molecules"]
    assert {**found, "seconds": 0} == {**expected.to_dict(), "seconds": 0}
    assert (found["valid"]["share"], found["novel"]["share"]) == (0.75, 0.5)
    assert found["fcd"] > 0
    assert record["samples"]["attributes"]["edge_type"] == "bond"
    assert record["samples"]["uniqueness"] == 0.75


@pytest.mark.usefixtures("files", "_installed")
def test_the_second_table_has_shares_distances_and_the_protocol(call):
    shown = call("evaluate", *LISTS, "--molecules")
    assert shown.code == 0
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in shown.out.splitlines()]
    rows = {row[0]: row[1:] for row in cells if row}
    expected = evaluate_molecules(SAMPLES, TEST, training=TRAINING)
    assert rows["valid"] == ["75.00%", "30.06% to 95.44%", "3 of 4"]
    assert rows["connected"][-1] == "3 of 4"
    assert (rows["unique"][-1], rows["novel"][-1]) == ("2 of 3", "1 of 2")
    assert rows["FCD"] == [f"{expected.fcd:.3f}", "", ""]
    assert rows["NSPDK"] == [f"{expected.nspdk:.5f}", "", ""]
    assert expected.protocol in shown.out.splitlines()


@pytest.mark.usefixtures("files", "_installed")
def test_distances_of_too_few_molecules_are_dashes(place, call):
    write_graphs(place / "one.json", TEST[:1])
    shown = call("evaluate", "one.json", "-r", "test.graphml", "--molecules")
    row = next(line for line in shown.out.splitlines() if "FCD " in line)
    assert [cell.strip() for cell in row.split("│")[2:-1]] == [
        "–", "", "needs 2 valid molecules in each list"
    ]  # fmt: skip


@pytest.mark.usefixtures("files", "_installed")
def test_graphs_that_are_no_molecules_are_refused(call):
    write_graphs("plain.g6", [nx.path_graph(3)])
    refused = call("evaluate", "samples.graphml", "-r", "plain.g6", "--molecules")
    assert (refused.code, refused.out) == (2, "")
    assert "reference, graph 1, node 0: attribute 'element'" in refused.err


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("package", ["rdkit", "fcd_torch"])
def test_a_missing_package_names_the_extra(call, monkeypatch, package):
    if package == "fcd_torch":
        pytest.importorskip("rdkit")
    monkeypatch.setitem(sys.modules, package, None)
    refused = call("evaluate", *LISTS, "--molecules")
    assert (refused.code, refused.out) == (2, "")
    assert "graphscore[molecules]" in refused.err
