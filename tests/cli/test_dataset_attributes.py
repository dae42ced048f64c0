"""What the nodes and edges of a dataset carry is learned by itself; how to leave it out."""

from __future__ import annotations

import json

import networkx as nx

from graphscore.artifacts import read_document
from graphscore.cli.attributes import by_default
from graphscore.cli.data import READING, carried_by
from graphscore.datasets import load_dataset
from graphscore.generator import GraphGenerator
from graphscore.graphs import NOTHING, AttributeSettings, PackedGraphs, read_graphs, write_graphs
from graphscore.graphs.unnamed import unnamed_attributes

NAME = "weighted-community"
SHORT = ("--steps", "2", "--batch-size", "4")


def learned(place):
    """Attributes in the settings of a run."""
    stored = read_document(place).settings.get("attributes", {})
    return {kind: name for kind, name in stored.items() if name}


def test_a_dataset_is_learned_with_its_attributes(place, call):
    made = call("train", NAME, "--out", "r", *SHORT)
    assert made.code == 0
    assert "learned too: edge weight 'weight' (--structure-only: edges only)\n" in made.err
    assert "ignored" not in made.err
    assert learned(place / "r") == {"edge_weight": "weight"}
    generator = GraphGenerator.load(place / "r")
    again = GraphGenerator(training={"steps": 2, "batch_size": 4}, show_progress=False)
    data = load_dataset(NAME)
    again.fit(data.train, **data.info.attributes)
    assert again.schema == generator.schema


def test_structure_only_and_its_continuation(place, call):
    made = call("train", NAME, "--out", "r", *SHORT, "--structure-only")
    assert (made.code, learned(place / "r")) == (0, {})
    assert "learned too" not in made.err
    assert "ignored: edge attribute 'weight'" in made.err
    # The stored settings decide, so no option is needed.
    more = call("train", NAME, "--out", "r", "--steps", "3", "--resume")
    assert (more.code, learned(place / "r")) == (0, {})
    assert "learned too" not in more.err


def test_a_run_with_attributes_is_not_continued_without(place, call):
    assert call("train", NAME, "--out", "r", *SHORT).code == 0
    more = call("train", NAME, "--out", "r", "--steps", "3", "--resume", "--structure-only")
    assert more.code == 2
    assert learned(place / "r") == {"edge_weight": "weight"}
    assert call("train", NAME, "--out", "r", "--steps", "3", "--resume").code == 0


def test_names_and_files_of_settings_win(place, call):
    # The weights as types: refused, but not replaced by the dataset's own names.
    made = call("train", NAME, "--out", "r", *SHORT, "--edge-type", "weight")
    assert made.code == 2
    assert "--edge-weight" in made.err
    assert "learned too" not in made.err
    (place / "plain.toml").write_text("[attributes]\n")
    made = call("train", NAME, "--out", "r", *SHORT, "--config", "plain.toml")
    assert (made.code, learned(place / "r")) == (0, {})
    assert "ignored: edge attribute 'weight'" in made.err


def test_structure_only_beside_a_name(place, call):
    made = call("train", NAME, "--out", "r", *SHORT, "--structure-only", "--edge-weight", "weight")
    assert made.code == 2
    assert "--structure-only" in made.err
    assert "--edge-weight" in made.err
    assert not (place / "r").exists()


def test_a_model_that_learns_edges_only(place, call):
    made = call("train", NAME, "--out", "r", "--model", "erdos-renyi")
    assert made.code == 0
    assert "learned too" not in made.err
    assert "ignored: edge attribute 'weight'" in made.err


def test_what_a_model_can_learn_of_molecules(capsys):
    carried = carried_by("qm9:val", READING)
    assert by_default(carried, "edp-gnn") == {"node_type": "element"}
    assert capsys.readouterr().err == (
        "learned too: node type 'element' (--structure-only: edges only)\n"
    )
    assert by_default(carried, "denoiser") == carried
    assert by_default(carried, "erdos-renyi") == {}
    assert carried_by("graphs.g6", READING) == carried_by("ego-small", READING) == {}
    assert carried_by("some.smi", READING) == carried


def test_weights_of_files_are_left_out_on_request_only(place, call):
    graphs = [nx.path_graph(n) for n in (3, 4, 5)]
    for graph in graphs:
        nx.set_edge_attributes(graph, 0.5, "weight")
    write_graphs(place / "weighted", graphs, format="graphml")
    assert call("train", "weighted", "--out", "r", *SHORT).code == 2
    made = call("train", "weighted", "--out", "r", *SHORT, "--structure-only")
    assert (made.code, learned(place / "r")) == (0, {})


def test_evaluate_and_bench_read_it(place, call):
    assert call("datasets", "export", NAME, "-o", "set", "--format", "graphml").code == 0
    for names in ((), ("--edge-weight", "weight")):
        shown = call("evaluate", "set", "--reference", NAME, *names, "--json")
        assert shown.code == 0
        assert ("edge_weights" in json.loads(shown.out)["samples"]) == bool(names)
    kept = read_graphs(place / "set", edge_attributes=["weight"])
    assert all(nx.utils.graphs_equal(a, b) for a, b in zip(kept, load_dataset(NAME).train))


def test_list_of_datasets(call):
    infos = {info["name"]: info for info in json.loads(call("datasets", "--json").out)}
    assert infos["qm9"]["node_type"] == "element"
    assert infos["qm9"]["edge_type"] == "bond"
    assert infos["ego-small"]["edge_weight"] is None
    shown = " ".join(call("datasets").out.split())
    assert "edge weight 'weight'" in shown


class Untouchable(PackedGraphs):
    """Packed graphs of which none is made."""

    def _graph(self, number):
        raise AssertionError("a graph was made")


def test_packed_graphs_stay_packed(capsys):
    graphs = [nx.path_graph(n) for n in (2, 3)]
    for graph in graphs:
        nx.set_node_attributes(graph, "C", "element")
        graph.nodes[1]["element"] = "N"
        nx.set_edge_attributes(graph, "single", "bond")
    small = Untouchable.of(graphs, ["element"], ["bond"])
    names = AttributeSettings(node_type="element", edge_type="bond")
    assert unnamed_attributes([small], names) == ""
    said = unnamed_attributes([small.keeping(())], NOTHING)
    assert "'element' (2 values; to learn it, --node-type element, in Python" in said
    assert "'bond'" in said
    generator = GraphGenerator(training={"steps": 1}, show_progress=False)
    generator.fit(small, node_type="element", edge_type="bond")
    assert generator.sizes.counts == {2: 1, 3: 1}


def test_a_format_without_attributes_is_said(place, call):
    made = call("datasets", "export", NAME, "--split", "val", "-o", "val.g6")
    assert made.code == 0
    assert "val.g6: its format has no attributes of nodes and edges" in made.err
    assert len(read_graphs("val.g6")) == 32
