"""Files of molecules on the command line: learned, sampled and compared as such by themselves."""

from __future__ import annotations

import json
import sys

import pytest

from graphscore.graphs import read_graphs, write_graphs
from graphscore.graphs.files import FORMAT_NAMES
from graphscore.graphs.molecules import number_of_invalid

SMILES = ["CCO", "CC=O", "C1CC1O", "CC#N", "NCC=O", "OCCO", "CN(C)C", "COC=O", "CC(=O)N", "FCCO"]
TINY = ("--steps", 3, "--batch-size", 4)
CARRIED = "node type 'element', edge type 'bond'"
LEARNED = f"learned too: {CARRIED}"


@pytest.fixture
def molecules(place):
    (place / "m.smi").write_text("smiles\n" + "\n".join(SMILES * 2) + "\n")
    return place


@pytest.fixture
def trained(molecules, call):
    outcome = call("train", "m.smi", *TINY, "--out", "new")
    assert outcome.code == 0, outcome.err
    assert outcome.err.count(LEARNED) == 1
    return molecules


def attributes(run):
    return json.loads((run / "settings.json").read_text())["attributes"]


def test_molecules_are_trained_sampled_and_compared(trained, call):
    """Without an option for attributes; what is not valid keeps its line and is counted."""
    shown = json.loads(call("info", "new", "--json").out)
    assert shown["schema"]["node_type"]["name"] == "element"
    outcome = call("sample", "new", "-n", 12, "--seed", 0)
    assert "12 graphs written to new/samples.smi" in outcome.out
    lines = (trained / "new/samples.smi").read_text().splitlines()
    graphs = read_graphs("new/samples.smi")
    assert len(lines) == len(graphs) == 12
    invalid = number_of_invalid(graphs)
    assert invalid > 0
    said = f"new/samples.smi: {invalid} of 12 are not valid molecules; they are written as they are"
    assert said in outcome.err
    assert call("sample", "new", "-n", 12, "--seed", 0).code == 0  # an older file is replaced
    assert call("sample", "new", "-n", 12, "--seed", 0, "-o", "new.sdf").code == 0
    assert [len(g) for g in read_graphs("new.sdf")] == [len(g) for g in graphs]
    compared = call("evaluate", "new/samples.smi", "-r", "m.smi", "--training", "m.smi", "--json")
    assert f"compared too: {CARRIED}" in compared.err
    samples = json.loads(compared.out)["samples"]
    assert {"node_types", "edge_types"} <= set(str(samples).replace("'", " ").split())


def test_names_that_are_given_win(molecules, call):
    outcome = call("train", "m.smi", *TINY, "--node-type", "element", "--out", "new")
    assert LEARNED not in outcome.err
    assert "ignored: edge attribute 'bond'" in outcome.err
    assert call("train", "m.smi", "--model", "erdos-renyi", "--out", "er").code == 0
    compared = call("evaluate", "m.smi", "-r", "m.smi", "--edge-type", "bond")
    assert "not compared: node attribute 'element'" in compared.err


def test_a_run_is_resumed_as_it_was_started(trained, call):
    outcome = call("train", "m.smi", "--steps", 4, "--resume", "--out", "new")
    assert (outcome.code, LEARNED in outcome.err) == (0, False)


def test_the_default_without_rdkit_is_graphml(trained, call, monkeypatch):
    monkeypatch.setitem(sys.modules, "rdkit", None)
    assert "written to new/samples.graphml" in call("sample", "new", "-n", 2).out
    outcome = call("sample", "new", "-o", "x.smi")
    assert outcome.code == 2
    assert "pip install 'graphscore[molecules]'" in outcome.err
    assert not (trained / "x.smi").exists()


def test_graphs_that_are_no_molecules_are_refused_before_sampling(molecules, call):
    outcome = call("sample", "run", "-o", "x.smi")
    assert outcome.code == 2
    assert "this model did not learn their node type 'element' and edge type 'bond'" in outcome.err
    graphs = read_graphs("m.smi")
    for graph in graphs:
        graph.nodes[0]["element"] = "group"
    write_graphs("groups", graphs, format="graphml")
    names = ("--node-type", "element", "--edge-type", "bond")
    assert call("train", "groups", *TINY, *names, "--out", "new").code == 0
    outcome = call("sample", "new", "-o", "x.sdf")
    assert outcome.code == 2
    assert "only molecules can be written there; node " in outcome.err
    assert "'group'" in outcome.err
    assert not (molecules / "x.sdf").exists()


def test_the_formats_are_named(call):
    assert {"smiles", "sdf"} <= set(FORMAT_NAMES)
    assert "smiles, sdf" in " ".join(call("train", "--help").out.split())
